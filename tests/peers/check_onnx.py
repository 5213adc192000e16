"""The node cases of ONNX's own backend test: SoftmaxCrossEntropyLoss, NegativeLogLikelihoodLoss, LogSoftmax, Softmax.

Run from the root, with the peers installed:  python -m unittest tests/peers/check_onnx.py

Their expected values were computed in float32.  ONNX has the class axis second, refcalc last.
"""

import unittest
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from onnx.backend.test.case.node import collect_testcases

from refcalc import assert_close, cross_entropy, log_softmax, masked_mean, softmax


def cases_of(operator: str) -> list[tuple[str, dict[str, Any], list[np.ndarray], list[np.ndarray]]]:
    """Return (name, attributes, inputs, outputs) of each case whose graph is one node of the operator.

    The cases called "expanded" are the same numbers with the node written out in smaller ones: they are left out.
    """
    found = []
    for case in CASES:
        nodes = case.model.graph.node
        if len(nodes) == 1 and nodes[0].op_type == operator:
            attributes = {a.name: onnx.helper.get_attribute_value(a) for a in nodes[0].attribute}
            found += [(case.name, attributes, inputs, outputs) for inputs, outputs in case.data_sets]
    return found


def setUpModule() -> None:
    global CASES  # noqa: PLW0603 (the collection takes seconds, and can be made once only)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cases of other operators divide by zero
        CASES = collect_testcases(None)


def class_axis_last(array: np.ndarray, axis: int = 1) -> list:
    return np.moveaxis(array, axis, -1).tolist()


def nested(function: Callable[[list[float]], list[float]], rows: list) -> list:
    return [nested(function, row) for row in rows] if isinstance(rows[0], list) else function(rows)


class Onnx(unittest.TestCase):
    def test_softmax_cross_entropy_loss(self):
        cases = cases_of("SoftmaxCrossEntropyLoss")
        for name, attributes, (logits, targets, *weight), (loss, *log_prob) in cases:
            with self.subTest(name):
                classes, reduction = logits.shape[1], attributes.get("reduction", b"mean").decode()
                # Without the attribute ONNX ignores nothing; no target of the cases is -100.
                ignored = attributes.get("ignore_index", -100)
                self.assertFalse("ignore_index" not in attributes and (targets == -100).any())
                got = cross_entropy(
                    class_axis_last(logits),
                    targets.tolist(),
                    ignore_index=ignored,
                    weight=weight[0].tolist() if weight else None,
                    reduction=reduction,
                )
                counted = None if reduction == "none" else int((targets != ignored).sum())
                assert_close(loss, got, dtype="float32", classes=classes, reduction=reduction, targets=counted)
                if log_prob:
                    rows = nested(log_softmax, class_axis_last(logits))
                    assert_close(class_axis_last(log_prob[0]), rows, dtype="float32", classes=classes)
        self.assertGreaterEqual(len(cases), 34)

    def test_the_mean_of_negative_log_likelihood_loss(self):
        # Its input need not be log-probabilities: what is left is which values are averaged, with which weights.
        cases = [case for case in cases_of("NegativeLogLikelihoodLoss") if case[1].get("reduction", b"mean") == b"mean"]
        for name, attributes, (values, targets, *weight), (loss,) in cases:
            with self.subTest(name):
                kept = targets != attributes.get("ignore_index", -100)
                index = np.where(kept, targets, 0)
                picked = -np.take_along_axis(values, index[:, None], axis=1)[:, 0].astype(np.float64)
                weights = kept * (weight[0][index].astype(np.float64) if weight else 1.0)
                got = masked_mean(picked.tolist(), weights.tolist())
                assert_close(loss, got, dtype="float32", reduction="mean", targets=int(kept.sum()))
        self.assertGreaterEqual(len(cases), 5)

    def test_log_softmax_and_softmax(self):
        for operator, function in [("LogSoftmax", log_softmax), ("Softmax", softmax)]:
            cases = cases_of(operator)
            for name, attributes, (logits,), (expected,) in cases:
                with self.subTest(name):
                    axis = attributes.get("axis", -1)
                    rows = nested(function, class_axis_last(logits, axis))
                    want = class_axis_last(expected, axis)
                    assert_close(want, rows, dtype="float32", classes=logits.shape[axis])
            self.assertGreaterEqual(len(cases), 7)


if __name__ == "__main__":
    unittest.main()
