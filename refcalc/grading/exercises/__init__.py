"""The exercises that are built in."""

__all__ = ["EXERCISES"]

from refcalc.grading.exercises import baselines, evaluation, loss

EXERCISES = {exercise.name: exercise for exercise in (loss.EXERCISE, evaluation.EXERCISE, baselines.EXERCISE)}
