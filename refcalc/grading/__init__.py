"""Grading: somebody's module is run, its functions are held against the right ones, and what is wrong gets its name.

    exercise     which functions are asked for, with which arguments, and the right answers: Exercise, Function, Table
    exercises    those that are built in: loss, evaluation, baselines
    grader       grade: everything together
    worker       the grader's side of the child process; child is the other, run by its path
    judge        whether an answer is right
    shrinking    a smaller input that still fails
    naming       which known mistakes give the wrong answers
    verdict      what is said of it
"""

__all__ = ["Exercise", "Function", "Graded", "Table", "Verdict", "grade"]

from refcalc.grading.exercise import Exercise, Function, Table
from refcalc.grading.grader import grade
from refcalc.grading.verdict import Graded, Verdict
