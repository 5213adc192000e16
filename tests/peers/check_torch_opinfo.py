"""PyTorch's own samples of arguments for cross_entropy (OpInfo), scored by PyTorch and by refcalc.

Run from the root, with the peers installed:  python -m unittest tests/peers/check_torch_opinfo.py

PyTorch has the class axis second, refcalc last.  The weights of the samples may be negative, which refcalc refuses by
contract: that is asserted, and the sample is then scored with their absolute values by both.
"""

import random
import unittest
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional
from torch.testing._internal.common_methods_invocations import op_db

import refcalc

DTYPES = {"float64": torch.float64, "float32": torch.float32}


def samples_of(dtype: torch.dtype, requires_grad: bool = False) -> list[Any]:
    torch.manual_seed(0)
    random.seed(0)
    (op,) = (op for op in op_db if op.name == "nn.functional.cross_entropy")
    return list(op.sample_inputs("cpu", dtype, requires_grad=requires_grad))


def last(tensor: torch.Tensor) -> list:
    """Return the numbers of a tensor with the class axis moved last."""
    return tensor.detach().movedim(1, -1).tolist()


def is_soft(sample: Any) -> bool:
    return sample.args[0].is_floating_point()


def refcalc_arguments(sample: Any, **changed: Any) -> tuple[tuple[list, list], dict[str, Any]]:
    targets = sample.args[0]
    options = {**sample.kwargs, **changed}
    if options.get("weight") is not None:
        options["weight"] = options["weight"].tolist()
    return (last(sample.input), last(targets) if is_soft(sample) else targets.tolist()), options


def budget(sample: Any) -> dict[str, Any]:
    """Return what assert_close needs to know of the loss."""
    reduction = sample.kwargs.get("reduction", "mean")
    known = {"classes": sample.input.shape[1], "reduction": reduction}
    return known if reduction == "none" else {**known, "targets": sample.input.numel() // sample.input.shape[1]}


class CrossEntropy(unittest.TestCase):
    def for_each_sample(self, check: Callable[[str, Any], None], requires_grad: bool = False) -> None:
        for name, dtype in DTYPES.items():
            samples = samples_of(dtype, requires_grad)
            self.assertEqual(len(samples), 21)  # of torch 2.13
            for i, sample in enumerate(samples):
                with self.subTest(dtype=name, sample=i, shape=tuple(sample.input.shape), options=sample.kwargs):
                    check(name, sample)

    def test_negative_weights_are_refused_and_all_else_is_scored(self):
        refused, scored = 0, 0

        def check(dtype: str, sample: Any) -> None:
            nonlocal refused, scored
            weight = sample.kwargs.get("weight")
            changed = {}
            if weight is not None and (weight < 0).any():
                arguments, options = refcalc_arguments(sample)
                c = next(c for c, w in enumerate(weight.tolist()) if w < 0)
                with self.assertRaises(ValueError) as refusal:
                    refcalc.cross_entropy(*arguments, **options)
                message = f"cross_entropy: weight[{c}] must not be negative, got {weight.tolist()[c]!r}"
                self.assertEqual(str(refusal.exception), message)
                refused += 1
                changed = {"weight": weight.abs()}
            arguments, options = refcalc_arguments(sample, **changed)
            actual = functional.cross_entropy(sample.input, *sample.args, **{**sample.kwargs, **changed})
            refcalc.assert_close(actual, refcalc.cross_entropy(*arguments, **options), dtype=dtype, **budget(sample))
            scored += 1

        self.for_each_sample(check)
        self.assertEqual(scored, 2 * 21)
        self.assertGreater(refused, 0)

    def test_gradients_are_those_of_autograd(self):
        def check(dtype: str, sample: Any) -> None:
            weight = sample.kwargs.get("weight")
            changed = {} if weight is None else {"weight": weight.abs()}
            arguments, options = refcalc_arguments(sample, **changed)
            loss = functional.cross_entropy(sample.input, *sample.args, **{**sample.kwargs, **changed})
            (slope,) = torch.autograd.grad(loss.sum(), sample.input)
            scale = 1.0 if weight is None else float(weight.abs().sum())
            got = refcalc.cross_entropy_gradient(*arguments, **options)
            worst = torch.tensor(got, dtype=torch.float64) - slope.movedim(1, -1).to(torch.float64)
            self.assertLess(float(worst.abs().max()), 8 * scale * torch.finfo(DTYPES[dtype]).eps)

        self.for_each_sample(check, requires_grad=True)


if __name__ == "__main__":
    unittest.main()
