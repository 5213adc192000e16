"""Results that MPFR confirmed once (tests/peers/make_golden.py), recomputed to the last bit."""

import json
import unittest
from pathlib import Path
from typing import Any

from refcalc import exact

GOLDEN = Path(__file__).with_name("golden.json")


def read(value: Any) -> Any:
    """Return value with its texts read as floats."""
    if isinstance(value, str):
        return float.fromhex(value)
    if isinstance(value, list):
        return [read(v) for v in value]
    if isinstance(value, dict):
        return {key: v if key == "reduction" else read(v) for key, v in value.items()}
    return value


def recomputed(function: str, arguments: list[Any]) -> float:  # noqa: PLR0911
    if function in ("softmax", "log_softmax"):  # of one class; a log-probability as its nll
        xs, j = arguments
        return exact.softmax(xs)[j] if function == "softmax" else -exact.log_softmax(xs)[j]
    if function in ("cross_entropy", "cross_entropy_gradient"):
        xs, target, options, *place = arguments
        result = getattr(exact, function)(xs, target, **options)
        return result[place[0]] if place else result
    if function == "perplexity of a double":
        return exact.perplexity(*arguments)
    if function == "SmoothedUnigram.nll":
        counts, alpha = arguments
        tokens = [t for t, n in enumerate(counts) for _ in range(n)]
        return exact.SmoothedUnigram.fit(tokens, range(5), alpha).nll(3)
    if isinstance(arguments[0], list) and isinstance(arguments[0][0], list):  # a batch, its targets and weights
        rows, ys, weight, *count = arguments
        if function == "cross_entropy mean":
            return exact.cross_entropy(rows, ys, weight=weight)
        return getattr(exact, function)(exact.batch_nll(rows, ys, weight=weight, reduction="mean"), *count)
    return getattr(exact, function)(*arguments)


class Golden(unittest.TestCase):
    def test_every_result_is_the_same_bits(self):
        records = json.loads(GOLDEN.read_text(encoding="utf-8"))
        self.assertGreater(len(records), 500)
        for function, arguments, result in records:
            with self.subTest(function=function, arguments=arguments):
                self.assertEqual(recomputed(function, read(arguments)).hex(), result)
