"""The exercise `evaluation`: totals of batches and documents, windows, a bootstrap, greedy decoding.

    totals       sums of nll divided by counts, in the units of a report
    windows      a long text cut so that each target is scored once
    resamples    how far a mean moves with other documents
    decoding     greedy generation
"""

__all__ = ["EXERCISE"]

from refcalc.grading.exercise import Exercise
from refcalc.grading.exercises.evaluation import decoding, resamples, totals, windows

EXERCISE = Exercise("evaluation", (*totals.FUNCTIONS, windows.FUNCTION, resamples.FUNCTION, decoding.FUNCTION))
