"""What of the catalogue can be written into a function of an exercise, and why the rest cannot."""

import random
import unittest

from refcalc import MISTAKES
from refcalc.grading.exercise import Function
from refcalc.grading.exercises import EXERCISES
from refcalc.grading.judge import close
from refcalc.mistakes.kind import DoesNotApply
from tests.grading.answers import wrong_by_catalogue

NOT_WRITTEN = {
    "no function has rows of a padded vocabulary": ["padded-vocab-in-softmax"],
    "no function has an ignore index, which could be a class": ["ignored-class-in-normaliser"],
    "all targets are classes: for another there is no right answer": ["target-index-wraps"],
    "no function smooths labels": [
        *("smoothing-k-minus-one", "unit-mass-smoothing", "class-count-wrong-axis", "weight-times-smoothing"),
        *("smoothing-left-out", "smoothed-perplexity", "smoothing-counts-ignored"),
    ],
    "no function has class weights": ["weighted-mean-normaliser", "weights-left-out"],
    "no function has a batch of rows, prompts or packed documents": [
        *("cross-row-leak", "prompt-scored", "prompt-in-denominator"),
        *("document-edge-scored", "boundary-subtracted-twice", "duplicated-eval-rows"),
    ],
    "the function with a mask does not shift": ["pad-row-predicts"],
    "no id of a target has a meaning": [
        *("eos-masked-as-pad", "eos-nll-without-bytes", "end-token-miscounted", "pad-id-masked-by-value"),
        *("bos-added-twice", "oov-left-out", "oov-dropped"),
    ],
    "windows are returned, not scored": ["mean-of-windows", "window-weight-one-short"],
    "documents are not in batches": ["mean-of-text-perplexities"],
    "no objective is more than the loss": ["objective-perplexity", "aux-scaled-by-world"],
    "text is given by its counts, tokens have no text": [
        *("chars-for-bytes", "bytes-for-chars", "replacement-char-bytes", "transformed-text-bytes"),
    ],
    "no perplexity per word or byte is asked for": ["exponentiate-then-rescale"],
    "no model reads a context": [
        *("unnormalised-backoff", "discounted-denominator", "kn-raw-or-uniform-unigram"),
        *("log-domain-interpolation", "sentence-level-mixture"),
    ],
    "what it returns is chance": ["temperature-zero-division"],
    "generation returns ids, and has no temperature and no penalty": [
        *("logprob-divided-by-t", "processed-vs-raw-logprob", "penalty-boosts-negative"),
    ],
    "no function has successes and trials": ["boundary-zero-stderr"],
    "rows without a distribution have no right answer": ["lse-all-neginf-nan", "lse-posinf-nan"],
    "the textbook formula, which has to pass, overflows there": ["exp-overflow"],
    "targets come counted": ["float32-count-stall"],
}


def shown(function: Function) -> set[str]:
    """Return the mistakes that give a wrong answer to some case of a function."""
    names = set()
    cases = [(arguments, function.oracle(*arguments)) for arguments in function.draw(random.Random(1))]
    for name, wrong in (*function.mistakes.items(), *wrong_by_catalogue(function)):
        for arguments, want in cases:
            try:
                differs = not close(wrong(*arguments), want)
            except (ArithmeticError, ValueError, DoesNotApply):
                continue
            if differs:
                names.add(name)
                break
    return names


class Catalogue(unittest.TestCase):
    def test_every_kind_shows_in_a_function_or_there_is_a_reason(self):
        written = set().union(*(shown(function) for each in EXERCISES.values() for function in each.functions))
        reasons = [name for names in NOT_WRITTEN.values() for name in names]
        self.assertEqual(len(reasons), len({*reasons}))
        self.assertEqual({*reasons} - {*MISTAKES}, set())
        self.assertEqual({*reasons} & written, set())
        self.assertEqual({*MISTAKES} - written - {*reasons}, set())

    def test_names_of_an_exercise_are_none_of_the_catalogue_s_aliases(self):
        for exercise in EXERCISES.values():
            for function in exercise.functions:
                self.assertEqual({*function.mistakes} & {*MISTAKES.aliases}, set())


if __name__ == "__main__":
    unittest.main()
