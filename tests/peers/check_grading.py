"""Modules that use the frameworks: they are imported within the memory limit, and what they return is told apart."""

import tempfile
import unittest
from math import log
from pathlib import Path

from refcalc.grading import Exercise, Function, grade

SOURCE = """
import numpy
import torch
from scipy.special import log_softmax


def double(logits):
    return float(-log_softmax(logits)[0])

def numpy64(logits):
    return -log_softmax(numpy.array(logits))[0]

def numpy32(logits):
    return numpy.float32(-log_softmax(logits)[0])

def array(logits):
    return -log_softmax(logits)

def tensor(logits):
    return torch.nn.functional.cross_entropy(torch.tensor([logits], dtype=torch.float64), torch.tensor([0]))

def item(logits):
    return tensor(logits).item()

def array_item(logits):
    return array(logits).tolist()
"""


class Frameworks(unittest.TestCase):
    def test_what_they_return(self) -> None:
        names = ("double", "numpy64", "numpy32", "array", "tensor", "item", "array_item")

        def draw(rng):
            return [([0.0] * n,) for n in (3, 4)]

        functions = (Function(f"{n}(logits)", "nats", lambda x: log(len(x)), draw) for n in names)
        exercise = Exercise("first", tuple(functions))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "module.py"
            path.write_text(SOURCE, "utf-8")
            verdict = grade(path, exercise, timeout=10.0)
        found = {name: graded.status for name, graded in verdict.functions.items()}
        right, refused = "right", "refused"
        expected = [right, right, refused, refused, refused, right, refused]
        self.assertEqual(found, dict(zip(names, expected, strict=True)), str(verdict))
        reasons = [verdict.functions[name].reason for name in ("numpy32", "array", "tensor")]
        for reason, kind in zip(reasons, ("float32", "array", "tensor"), strict=True):
            self.assertIn(kind, reason)


if __name__ == "__main__":
    unittest.main()
