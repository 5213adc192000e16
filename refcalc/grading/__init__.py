"""Grading: somebody's module is run, its functions are held against the right ones, and what is wrong gets its name.

    exercise     which functions are asked for, with which arguments, and the right answers: Exercise, Function, Table
    exercises    those that are built in: loss, evaluation, baselines
    grader       grade: everything together
    worker       the grader's side of the child process; child is the other, run by its path
    judge        whether an answer is right
    shrinking    a smaller input that still fails
    naming       which known mistakes give the wrong answers
    verdict      what is said of it

An exercise of one's own, and an answer to it:

    >>> def doubled(x):
    ...     return 2.0 * x
    >>> def squared(x):
    ...     "The number is squared."
    ...     return x * x
    >>> def cases(rng):
    ...     return [(3.0,), (rng.random(),)]
    >>> function = Function("doubled(x)", "twice x", doubled, cases, {"squared": squared})
    >>> from tempfile import NamedTemporaryFile
    >>> with NamedTemporaryFile("w", suffix=".py") as answer:
    ...     print("def doubled(x): return x * x", file=answer, flush=True)
    ...     print(grade(answer.name, Exercise("doubles", (function,)), seed=1))
    wrong     doubled  2 of 2 cases
              doubled(1.0)
              expected 2.0
              got      1.0  (4.5e+15 ulp apart)
              squared: The number is squared.
    0 of 1 right: exercise doubles, seed 1
"""

__all__ = ["Exercise", "Function", "Graded", "Table", "Verdict", "grade"]

from refcalc.grading.exercise import Exercise, Function, Table
from refcalc.grading.grader import grade
from refcalc.grading.verdict import Graded, Verdict
