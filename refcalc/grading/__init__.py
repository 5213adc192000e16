"""Grading: somebody's module is run, its functions are held against the right ones, and what is wrong gets its name.

    exercise     which functions are asked for, with which arguments, and the right answers: Exercise, Function, Table
    exercises    those that are built in: loss, evaluation, baselines
"""

__all__ = ["Exercise", "Function", "Table"]

from refcalc.grading.exercise import Exercise, Function, Table
