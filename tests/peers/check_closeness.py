"""compare against the number lines of NumPy, PyTorch and ml_dtypes, and its verdicts on what PyTorch and JAX compute.

Run from the root, with the peers installed:  python -m unittest tests/peers/check_closeness.py

The truth is computed here in float64 by PyTorch, with a shift chosen so that its own error is far below that of the
dtype under test; for float64 it is computed by mpmath.
"""

import unittest
import warnings

import jax
import jax.numpy as jnp
import ml_dtypes
import mpmath
import numpy as np
import torch
import torch.nn.functional as F

import refcalc
from refcalc.closeness import compare

TORCH = {"float64": torch.float64, "float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
NUMPY = {"float64": np.float64, "float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
NARROW = ("float32", "float16", "bfloat16")
SIZES = (10, 100, 1000, 50257)


def rows_of(kind: str, size: int, seed: int, rows: int = 16) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(rows, size, generator=generator, dtype=torch.float64)
    if kind == "tied":  # equal terms, all additions round the same way
        z = torch.zeros(rows, size, dtype=torch.float64) - 2.0 * torch.rand(rows, 1, generator=generator)
        z[:, 0] = 0.0
        return z
    if kind == "confident":
        z[:, 0] += 25.0
        return z
    return z * {"flat": 0.01, "ordinary": 3.0, "wide": 100.0, "offset": 3.0}[kind] + (1000.0 if kind == "offset" else 0)


KINDS = ("flat", "ordinary", "wide", "offset", "confident", "tied")


def truth(row: torch.Tensor) -> list[float]:
    """Return the log-softmax of one row to double precision, from 40 digits."""
    with mpmath.workdps(40):
        exact = [mpmath.mpf(x) for x in row.tolist()]
        normaliser = mpmath.log(mpmath.fsum(mpmath.exp(x) for x in exact))
        return [float(x - normaliser) for x in exact]


def gradient(x: torch.Tensor, y: torch.Tensor, **options) -> torch.Tensor:
    z = x.clone().requires_grad_()
    F.cross_entropy(z, y, **options).backward()
    return z.grad


def jax_gradient(x: torch.Tensor, q: torch.Tensor, name: str, reduction: str):
    """Return the gradient of -sum q log p, all of it in one dtype."""
    z, q = (jnp.array(t.double().numpy(), dtype=NUMPY[name]) for t in (x, q))
    add = jnp.mean if reduction == "mean" else jnp.sum
    return jax.grad(lambda z: add(-jnp.sum(q * jax.nn.log_softmax(z, -1), -1)))(z)


class NumberLines(unittest.TestCase):
    def test_one_ulp_is_the_spacing_of_numpy_and_of_ml_dtypes(self):
        rng = np.random.default_rng(1)
        for name, dtype in NUMPY.items():
            bits = np.dtype(dtype).itemsize * 8
            numbers = rng.integers(0, 2**bits, 4000, dtype=f"uint{bits}").view(dtype)
            with np.errstate(invalid="ignore"):  # signalling nans
                numbers = numbers[np.isfinite(numbers)]
            for x in numbers:
                with self.subTest(dtype=name, x=float(x)):
                    beyond = x + np.spacing(x)  # away from zero
                    self.assertEqual(compare(float(beyond), float(x), dtype=name).worst_ulp, 1)

    def test_a_neighbour_of_torch_is_one_ulp_away(self):
        for name, dtype in TORCH.items():
            if name == "float16":  # torch has no nextafter for it: all its numbers are counted in tests/test_closeness
                continue
            size = torch.exp(torch.randn(3000, dtype=torch.float64) * 20)
            x = (torch.randn(3000, dtype=torch.float64) * size).to(dtype)
            x = torch.cat([x, torch.zeros(1, dtype=dtype), torch.tensor([torch.finfo(dtype).max], dtype=dtype)])
            for target in torch.inf, -torch.inf:
                y = torch.nextafter(x, torch.full_like(x, target))
                for a, e in zip(y.tolist(), x.tolist(), strict=True):
                    with self.subTest(dtype=name, a=a, e=e):
                        self.assertEqual(compare(a, e, dtype=name).worst_ulp, 0 if a == e else 1)

    def test_tensors_and_arrays_of_every_kind_are_taken_as_they_are(self):
        numbers = [[1.5, -0.0, 2.0**-9], [3.0, 1e-3, 7.0]]
        for name, dtype in TORCH.items():
            tensor, array = torch.tensor(numbers, dtype=dtype), np.array(numbers, dtype=NUMPY[name])
            with self.subTest(dtype=name):
                self.assertTrue(compare(tensor, array).equal)
                self.assertTrue(compare([tensor, tensor[0, 0]], [list(array), 1.5]).equal)
                with warnings.catch_warnings(action="error"):
                    self.assertTrue(compare(tensor.requires_grad_(), array).equal)
                    self.assertFalse(compare(tensor.sum(), 0.0).equal)
                self.assertTrue(compare(tensor[1, 1], array[1, 1]).equal)
        for name in NARROW:
            self.assertTrue(compare(jnp.array(numbers, dtype=NUMPY[name]), np.array(numbers, dtype=NUMPY[name])).equal)


class HonestRounding(unittest.TestCase):
    def check(self, actual, expected, **options) -> None:
        found = compare(actual, expected, **options)
        self.assertTrue(found.explained, found)
        self.used[options["dtype"]] = max(self.used.get(options["dtype"], 0.0), found.worst_share)

    def setUp(self) -> None:
        self.used: dict[str, float] = {}

    def test_log_softmax_of_torch_and_jax_is_explained(self):
        for seed, (size, kind, name) in enumerate((s, k, n) for s in SIZES for k in KINDS for n in NARROW):
            x = rows_of(kind, size, seed, rows=4).to(TORCH[name])
            want = F.log_softmax(x.double(), -1)
            other = jnp.array(x.double().numpy(), dtype=NUMPY[name])
            with self.subTest(size=size, kind=kind, dtype=name):
                self.check(F.log_softmax(x, -1), want, dtype=name, classes=size)
                self.check(jax.nn.log_softmax(other, -1), want, dtype=name, classes=size)
        print("log_softmax, share of the error allowed:", self.used)

    def test_log_softmax_in_float64_is_explained(self):
        for seed, (size, kind) in enumerate((s, k) for s in (10, 1000) for k in KINDS):
            x = rows_of(kind, size, seed, rows=3)
            with self.subTest(size=size, kind=kind):
                self.check(F.log_softmax(x, -1), [truth(row) for row in x], dtype="float64", classes=size)
        print("log_softmax in float64, share:", self.used)

    def test_a_hundred_and_fifty_thousand_tied_classes_are_explained(self):
        for seed in range(20):
            x = rows_of("tied", 151_936, seed, rows=1).float()
            want = F.log_softmax(x.double(), -1)
            self.check(F.log_softmax(x, -1)[:, :2], want[:, :2], dtype="float32", classes=151_936)
        print("tied, share:", self.used)

    def test_cross_entropy_in_every_reduction_is_explained(self):
        for seed, (size, n, name) in enumerate((s, n, d) for s in SIZES[:3] for n in (1, 7, 64, 1000) for d in NARROW):
            generator = torch.Generator().manual_seed(seed)
            kind = KINDS[seed % len(KINDS)]
            x = rows_of(kind, size, seed, rows=n).to(TORCH[name])
            y = torch.randint(0, size, (n,), generator=generator)
            weight = torch.rand(size, generator=generator, dtype=torch.float64).to(TORCH[name]) + 0.5
            for reduction in "none", "mean", "sum":
                for extra in {}, {"label_smoothing": 0.125}, {"weight": weight}:
                    double = {k: v.double() if k == "weight" else v for k, v in extra.items()}
                    want = F.cross_entropy(x.double(), y, reduction=reduction, **double)
                    got = F.cross_entropy(x, y, reduction=reduction, **extra)
                    if name == "float16" and bool(torch.isinf(got).any()):
                        continue  # a sum beyond 65,504 is an overflow, not a rounding
                    with self.subTest(size=size, n=n, kind=kind, dtype=name, reduction=reduction, extra=list(extra)):
                        self.check(got, want, dtype=name, classes=size, reduction=reduction, targets=n)
        print("cross_entropy, share:", self.used)

    def test_cross_entropy_in_float64_is_explained_against_refcalc(self):
        for seed, (size, kind) in enumerate((s, k) for s in SIZES for k in KINDS):
            x, y = rows_of(kind, size, seed, rows=8), torch.arange(8)
            for reduction in "none", "mean", "sum":
                want = refcalc.cross_entropy(x.tolist(), y.tolist(), reduction=reduction)
                options = {"dtype": "float64", "classes": size, "reduction": reduction, "targets": 8}
                with self.subTest(size=size, kind=kind, reduction=reduction):
                    self.check(F.cross_entropy(x, y, reduction=reduction), want, **options)
        print("cross_entropy in float64, share:", self.used)

    def test_a_mean_in_bfloat16_over_ten_thousand_equal_losses_is_explained(self):
        for name in "bfloat16", "float32":
            for seed in range(10):
                x = rows_of("ordinary", 10, seed, rows=1).to(TORCH[name]).expand(10_000, 10)
                y = torch.zeros(10_000, dtype=torch.long)
                want = F.cross_entropy(x.double(), y)
                got = F.cross_entropy(x, y)
                self.check(got, want, dtype=name, classes=10, reduction="mean", targets=10_000)
        print("10,000 equal losses, share:", self.used)

    def test_logsumexp_minus_the_logit_is_explained_by_its_scale(self):
        for name in NARROW:
            x = rows_of("offset", 1000, 3).to(TORCH[name])
            got = torch.logsumexp(x, -1, keepdim=True) - x
            options = {"dtype": name, "classes": 1000}
            self.check(got, -F.log_softmax(x.double(), -1), scale=float(x.abs().max()), **options)
            self.assertFalse(compare(got, -F.log_softmax(x.double(), -1), **options).explained)

    def test_a_softmax_is_explained(self):
        for seed, (size, kind, name) in enumerate((s, k, d) for s in SIZES for k in KINDS for d in NARROW):
            x = rows_of(kind, size, seed, rows=1).to(TORCH[name])
            other = jnp.array(x.double().numpy(), dtype=NUMPY[name])
            want, options = F.softmax(x.double(), -1), {"dtype": name, "quantity": "probability", "classes": size}
            with self.subTest(size=size, kind=kind, dtype=name):
                self.check(F.softmax(x, -1), want, **options)
                self.check(F.log_softmax(x, -1).exp(), want, **options)
                self.check(jax.nn.softmax(other, -1), want, **options)
                self.check(jnp.exp(jax.nn.log_softmax(other, -1)), want, **options)
        print("softmax, share:", self.used)

    def test_the_gradient_is_explained_for_labels_smoothing_and_soft_targets(self):
        cases = [(s, n, k, d) for s, n in ((10, 8), (100, 5), (1000, 1)) for k in KINDS for d in NARROW]
        for seed, (size, n, kind, name) in enumerate([*cases, (50257, 1, "ordinary", "float16")]):
            generator = torch.Generator().manual_seed(seed)
            x = rows_of(kind, size, seed, rows=n).to(TORCH[name])
            labels = torch.randint(0, size, (n,), generator=generator)
            labels[::3] = 0  # the class of the confident rows
            soft = F.softmax(3.0 * torch.randn(n, size, generator=generator), -1).to(TORCH[name])
            for quantity, y, smoothing in [
                ("gradient", labels, 0.0), ("soft_gradient", labels, 0.125), ("soft_gradient", soft, 0.0)
            ]:
                for reduction in "mean", "sum":
                    wide = y.double() if y is soft else y
                    want = gradient(x.double(), wide, label_smoothing=smoothing, reduction=reduction)
                    options = {"dtype": name, "quantity": quantity, "classes": size}
                    options |= {"reduction": reduction, "targets": n}
                    with self.subTest(size=size, n=n, kind=kind, smoothing=smoothing, soft=y is soft, **options):
                        got = gradient(x, y, label_smoothing=smoothing, reduction=reduction)
                        self.check(got, want, **options)
                        if y is labels and not smoothing:  # the sum of soft targets is not jax's to be relied on
                            got = jax_gradient(x, F.one_hot(y, size), name, reduction)
                            self.check(got, want, **options)
        print("gradient, share:", self.used)

    def test_probabilities_and_gradients_in_float64_are_explained_against_refcalc(self):
        for seed, (size, kind) in enumerate((s, k) for s in SIZES[:3] for k in KINDS):
            x, y = rows_of(kind, size, seed, rows=8), torch.arange(8)
            options = {"dtype": "float64", "classes": size}
            with self.subTest(size=size, kind=kind):
                want = [refcalc.softmax(row) for row in x.tolist()]
                self.check(F.softmax(x, -1), want, quantity="probability", **options)
                want = refcalc.cross_entropy_gradient(x.tolist(), y.tolist())
                self.check(gradient(x, y), want, quantity="gradient", reduction="mean", targets=8, **options)
        print("softmax and gradient in float64, share:", self.used)


class Mistakes(unittest.TestCase):
    """A model that gives its next token two nats more than chance would."""

    def setUp(self) -> None:
        generator = torch.Generator().manual_seed(7)
        self.tokens = torch.randint(0, 50257, (65,), generator=generator)
        self.logits = torch.randn(65, 50257, generator=generator, dtype=torch.float64)
        self.logits[torch.arange(64), self.tokens[1:]] += 7.0

    def verdicts(self, wrong: float, right: float, **options) -> dict[str, bool]:
        options = {"classes": 50257, "reduction": "mean", "targets": 64} | options
        return {name: compare(wrong, right, dtype=name, **options).explained for name in TORCH}

    def test_a_forgotten_shift_is_not_explained_in_any_dtype(self):
        right = F.cross_entropy(self.logits[:-1], self.tokens[1:])
        wrong = F.cross_entropy(self.logits, self.tokens)
        self.assertEqual(self.verdicts(wrong, right), dict.fromkeys(TORCH, False))

    def test_a_mean_of_means_is_not_explained(self):
        losses = F.cross_entropy(self.logits[:-1], self.tokens[1:], reduction="none")
        losses[:4] += 5.0  # a short document that is harder
        wrong = (losses[:4].mean() + losses[4:].mean()) / 2
        self.assertEqual(self.verdicts(wrong, losses.mean()), dict.fromkeys(TORCH, False))

    def test_padding_in_the_mean_is_not_explained(self):
        losses = F.cross_entropy(self.logits[:-1], self.tokens[1:], reduction="none")
        self.assertEqual(self.verdicts(losses[:32].sum() / 64, losses[:32].mean()), dict.fromkeys(TORCH, False))

    def test_one_target_left_out_of_64_shows_in_float32(self):
        losses = F.cross_entropy(self.logits[:-1], self.tokens[1:], reduction="none")
        wrong = self.verdicts(losses[:-1].mean(), losses.mean())
        self.assertEqual((wrong["float64"], wrong["float32"]), (False, False))

    def test_a_dropped_class_shows_where_its_share_is_above_the_roundoff(self):
        for size, share, names in (10, 0.1, TORCH), (1000, 1e-3, ("float64", "float32")), (50257, 2e-5, ("float64",)):
            x = rows_of("flat", size, 1, rows=1)
            right, wrong = F.log_softmax(x, -1)[0, 0], F.log_softmax(x[:, :-1], -1)[0, 0]
            for name in names:
                with self.subTest(size=size, share=share, dtype=name):
                    self.assertFalse(compare(wrong, right, dtype=name, classes=size).explained)


if __name__ == "__main__":
    unittest.main()
