"""Cross-entropy and its gradient, judged by PyTorch's formulas in decimal and by central differences of these."""

import unittest
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import product
from math import inf, log, nan, ulp
from random import Random
from typing import Any

from refcalc.loss import causal_lm_loss, cross_entropy, cross_entropy_gradient, masked_mean
from refcalc.softmax import softmax, token_nll
from refcalc.targets import mask_padding, shift, shift_labels
from refcalc.units import uniform_nll
from tests.rows import Truth, near_gauss, rows
from tests.ulps import assert_ulps, ulps_off, wide_context

X = -100
WIDE = wide_context(60)
ONE = Decimal(1)


def drawn(seed: int, count: int = 6, classes: int = 5) -> list[list[float]]:
    rng = Random(seed)
    return [[near_gauss(rng, 3.0) for _ in range(classes)] for _ in range(count)]


def class_of_each(seed: int, count: int = 6, classes: int = 5) -> list[int]:
    rng = Random(-seed - 1)
    return [X if rng.random() < 0.2 and i else int(rng.random() * classes) for i in range(count)]


def shares_of_each(seed: int, count: int = 6, classes: int = 5) -> list[list[float]]:
    rng = Random(-seed - 1)
    return [[rng.random() for _ in range(classes)] for _ in range(count)]


def weights(seed: int, classes: int = 5) -> list[float]:
    rng = Random(seed + 1000)
    return [int(rng.random() * 4) + 0.25 + rng.random() for _ in range(classes)]


@cache  # a central difference changes one row of several
def minus_log_softmax(row: tuple[Decimal, ...]) -> list[Decimal]:
    """Return -log p of each class, in 60 digits."""
    with localcontext(WIDE):
        total = sum((z.exp() for z in row), Decimal(0)).ln()
        return [total - z for z in row]


class Wide:
    """PyTorch's documented formulas, as they stand there, in 60 digits."""

    def __init__(self, targets: list[Any], weight: list[float] | None, smoothing: float, reduction: str) -> None:
        self.targets, self.weight, self.smoothing, self.reduction = targets, weight, Decimal(smoothing), reduction

    def loss(self, logits: list[list[Decimal]]) -> Any:
        losses, share = [], Decimal(0)
        for row, target in zip(logits, self.targets, strict=True):
            w = [Decimal(v) for v in self.weight or [1.0] * len(row)]
            minus_log_p = minus_log_softmax(tuple(row))
            if target == X:
                losses.append(Decimal(0))
                continue
            if isinstance(target, list):
                nll = sum((wc * Decimal(q) * lp for wc, q, lp in zip(w, target, minus_log_p, strict=True)), Decimal(0))
                share += 1
            else:
                nll = w[target] * minus_log_p[target]
                share += w[target]
            spread = sum((wc * lp for wc, lp in zip(w, minus_log_p, strict=True)), Decimal(0)) / len(row)
            losses.append((1 - self.smoothing) * nll + self.smoothing * spread)
        if self.reduction == "none":
            return losses
        return sum(losses, Decimal(0)) / (share if self.reduction == "mean" else 1)

    def slope(self, logits: list[list[Decimal]], n: int, c: int) -> Decimal:
        """Return the derivative of the loss by one logit: its central difference, whose error is about 1e-40."""
        step = Decimal("1e-20")
        ends = []
        for z in (logits[n][c] + step, logits[n][c] - step):
            ends.append(self.loss([*logits[:n], [*logits[n][:c], z, *logits[n][c + 1 :]], *logits[n + 1 :]]))
        return (ends[0] - ends[1]) / (2 * step)


def variants() -> list[tuple[str, int, Any, dict[str, Any]]]:
    """Return a name, a seed, targets and options for every combination of kinds."""
    found = []
    for seed, (soft, weighted, smoothing, reduction) in enumerate(
        product([False, True], [False, True], [0.0, 0.1, 1.0], ["mean", "sum", "none"])
    ):
        targets = shares_of_each(seed) if soft else class_of_each(seed)
        options = {"weight": weights(seed) if weighted else None, "label_smoothing": smoothing, "reduction": reduction}
        found.append((f"soft={soft} {options}", seed, targets, options))
    return found


class CrossEntropy(unittest.TestCase):
    def test_every_variant_is_within_its_bound_of_pytorch_s_formulas_in_decimal(self) -> None:
        for name, seed, targets, options in variants():
            logits = drawn(seed)
            bound = 12 if options["label_smoothing"] or isinstance(targets[0], list) else 7
            with self.subTest(name), localcontext(WIDE):
                want = Wide(targets, *options.values()).loss([[Decimal(z) for z in row] for row in logits])
                got = cross_entropy(logits, targets, **options)
                pairs = zip(got, want, strict=True) if options["reduction"] == "none" else [(got, want)]
                for g, w in pairs:
                    self.assertLessEqual(ulps_off(g, w) if w else abs(g), bound)

    def test_a_hit_and_a_miss_keep_their_digits(self) -> None:
        for family, seed, row in rows(seeds=3):
            y = row.index(max(row))
            with self.subTest(family=family, seed=seed):
                self.assertEqual(cross_entropy([row], [y]), token_nll(row, y))
                self.assertEqual(cross_entropy(row, y, reduction="none"), token_nll(row, y))

    def test_the_mean_of_equal_rows_is_the_uniform_nll_to_the_bit(self) -> None:
        for classes, count in [(2, 3), (7, 10), (1000, 3)]:
            self.assertEqual(cross_entropy([[1.25] * classes] * count, [classes - 1] * count), uniform_nll(classes))

    def test_a_sum_and_a_mean_are_rounded_once(self) -> None:
        for seed in range(50):
            logits, targets = drawn(seed, 20), [abs(y) % 5 for y in class_of_each(seed, 20)]
            losses = cross_entropy(logits, targets, reduction="none")
            total = sum(map(Fraction, losses), Fraction(0))
            with self.subTest(seed=seed):
                self.assertEqual(cross_entropy(logits, targets, reduction="sum"), float(total))
                self.assertEqual(cross_entropy(logits, targets), float(total / 20))

    def test_the_weighted_mean_divides_by_the_weights_of_hard_targets_and_by_n_for_soft_ones(self) -> None:
        rows, weight = [[0.0, 0.0], [0.0, 0.0]], [3.0, 1.0]
        self.assertEqual(cross_entropy(rows, [0, 1], weight=weight), uniform_nll(2))
        assert_ulps(cross_entropy(rows, [[1.0, 0.0], [0.0, 1.0]], weight=weight), 2 * uniform_nll(2), limit=1)

    def test_a_class_of_weight_zero_adds_nothing_even_where_it_is_impossible(self) -> None:
        logits = [[0.0, -inf], [0.0, 0.0]]
        self.assertEqual(cross_entropy(logits, [1, 0], weight=[1.0, 0.0]), uniform_nll(2))
        self.assertEqual(cross_entropy([0.0, -inf], [1.0, 0.0]), 0.0)
        self.assertEqual(cross_entropy([0.0, -inf], 0, label_smoothing=0.1), inf)
        self.assertEqual(cross_entropy([0.0, -inf], 0, label_smoothing=0.1, weight=[1.0, 0.0]), 0.0)

    def test_an_impossible_target_has_an_infinite_loss(self) -> None:
        for reduction, want in [("mean", inf), ("sum", inf), ("none", [inf, 0.0])]:
            self.assertEqual(cross_entropy([[0.0, -inf], [3.0, -inf]], [1, 0], reduction=reduction), want)

    def test_a_loss_beyond_the_largest_double_is_infinite(self) -> None:
        far = [0.0, -1.7e308]
        self.assertEqual(cross_entropy([far] * 4, [1] * 4, reduction="sum"), inf)
        self.assertEqual(cross_entropy([far] * 4, [1] * 4), 1.7e308)
        self.assertEqual(cross_entropy([0.0, -1.7e308], [0.0, 1.0], weight=[1.0, 2.0], reduction="none"), inf)
        self.assertEqual(cross_entropy([far, *[[0.0, 0.0]] * 3], [0] * 4, weight=[2.0**499] * 2), 0.75 * uniform_nll(2))

    def test_the_heaviest_weights_keep_the_gradient_finite(self) -> None:
        heavy = [2.0**499, 2.0**499]
        self.assertEqual(cross_entropy_gradient([[0.0, 0.0]] * 4, [0] * 4, weight=heavy), [[-0.125, 0.125]] * 4)
        soft = cross_entropy_gradient([[0.0, 0.0]], [heavy], weight=heavy)
        self.assertEqual(soft, [[0.0, 0.0]])

    def test_results_nest_like_the_rows(self) -> None:
        ln2 = uniform_nll(2)
        deep = [[[[0.0, 0.0]] * 2, [[0.0, 0.0]]], [[], []]]
        self.assertEqual(
            cross_entropy(deep, [[[0, 1], [X]], [[], []]], reduction="none"), [[[ln2, ln2], [0.0]], [[], []]]
        )
        self.assertEqual(cross_entropy([0.0, 0.0], 1, reduction="none"), ln2)
        self.assertEqual(cross_entropy([], [], reduction="none"), [])

    def test_nothing_scored_sums_to_zero(self) -> None:
        self.assertEqual(cross_entropy([[nan, nan]], [X], reduction="sum"), 0.0)
        self.assertEqual(cross_entropy([], [], reduction="sum"), 0.0)
        self.assertEqual(cross_entropy([[1.0]], [X], reduction="none"), [0.0])

    def test_the_ignore_index_may_be_a_class(self) -> None:
        logits = drawn(5, 3)
        self.assertEqual(cross_entropy(logits, [2, 0, 2], ignore_index=2), token_nll(logits[1], 0))
        self.assertEqual(cross_entropy(logits, [2, 0, 2], ignore_index=2, reduction="none")[::2], [0.0, 0.0])


class Laws(unittest.TestCase):
    def test_padding_rows_change_no_bit_whatever_they_hold(self) -> None:
        for name, seed, targets, options in variants():
            if isinstance(targets[0], list):
                continue
            logits = drawn(seed)
            padded, marked = [*logits, [nan, inf, -inf, 0.0, nan], [None] * 5], [*targets, X, X]
            with self.subTest(name):
                got = cross_entropy(padded, marked, **options)
                want = cross_entropy(logits, targets, **options)
                self.assertEqual(got, [*want, 0.0, 0.0] if options["reduction"] == "none" else want)
                slopes = cross_entropy_gradient(padded, marked, **options)
                self.assertEqual(slopes, [*cross_entropy_gradient(logits, targets, **options), [0.0] * 5, [0.0] * 5])

    def test_the_order_of_the_rows_changes_no_bit_of_a_sum_or_mean(self) -> None:
        for name, seed, targets, options in variants():
            if options["reduction"] != "none":
                logits, rng = drawn(seed), Random(seed)
                order = sorted(range(len(logits)), key=lambda _: rng.random())
                with self.subTest(name):
                    got = cross_entropy([logits[i] for i in order], [targets[i] for i in order], **options)
                    self.assertEqual(got, cross_entropy(logits, targets, **options))

    def test_nesting_the_rows_changes_no_bit(self) -> None:
        for name, seed, targets, options in variants():
            logits = drawn(seed)
            with self.subTest(name):
                got = cross_entropy([logits[:2], logits[2:]], [targets[:2], targets[2:]], **options)
                want = cross_entropy(logits, targets, **options)
                self.assertEqual(got, [want[:2], want[2:]] if options["reduction"] == "none" else want)

    def test_one_hot_probabilities_are_the_hard_targets(self) -> None:
        for name, seed, targets, options in variants():
            if isinstance(targets[0], list) or (options["reduction"] == "mean" and options["weight"]):
                continue
            logits, hard = drawn(seed), [abs(y) % 5 for y in targets]
            soft = [[float(c == y) for c in range(5)] for y in hard]
            with self.subTest(name):
                self.assertEqual(cross_entropy(logits, soft, **options), cross_entropy(logits, hard, **options))
                slopes = cross_entropy_gradient(logits, soft, **options)
                self.assertEqual(slopes, cross_entropy_gradient(logits, hard, **options))

    def test_unit_weights_are_no_weights(self) -> None:
        for name, seed, targets, options in variants():
            if not options["weight"]:
                with self.subTest(name):
                    for function in (cross_entropy, cross_entropy_gradient):
                        got = function(drawn(seed), targets, **{**options, "weight": [1.0] * 5})
                        self.assertEqual(got, function(drawn(seed), targets, **options))


class Gradient(unittest.TestCase):
    def test_every_variant_is_the_central_difference_of_the_decimal_loss(self) -> None:
        for name, seed, targets, options in variants():
            logits = drawn(seed, 4)
            wide = [[Decimal(z) for z in row] for row in logits]
            loss = Wide(targets[:4], options["weight"], options["label_smoothing"], options["reduction"])
            if loss.reduction == "none":
                loss.reduction = "sum"
            hard = not isinstance(targets[0], list) and not options["label_smoothing"]
            with localcontext(WIDE):
                scored = [y for y in targets[:4] if y != X]
                weight = options["weight"] or [1.0] * 5
                mean = options["reduction"] == "mean"
                share = sum(weight[y] if isinstance(y, int) else 1.0 for y in scored) if mean else 1.0
                got = cross_entropy_gradient(logits, targets[:4], **options)
                for n, c in product(range(4), range(5)):
                    want = loss.slope(wide, n, c)
                    with self.subTest(name, n=n, c=c):
                        if hard:
                            self.assertLessEqual(ulps_off(got[n][c], want) if got[n][c] else abs(want), 16)
                        else:
                            p = softmax(logits[n])[c]
                            q = (
                                targets[n]
                                if isinstance(targets[n], list)
                                else [float(k == targets[n]) for k in range(5)]
                            )
                            e = options["label_smoothing"]
                            a = [w * ((1 - e) * qk + e / 5) for w, qk in zip(weight, q, strict=True)]
                            scale = (sum(a) * p + a[c]) / share
                            self.assertLessEqual(abs(Decimal(got[n][c]) - want), 16 * Decimal(ulp(scale)))

    def test_a_confident_hit_keeps_its_digits(self) -> None:
        for family, seed, row in rows(seeds=4):
            truth, y = Truth(row), row.index(max(row))
            (got,) = cross_entropy_gradient([row], [y])
            with self.subTest(family=family, seed=seed), localcontext(truth.context):
                want = truth.rest / (1 + truth.rest)  # 1 - p of the target, if it is the only maximum
                self.assertLessEqual(ulps_off(-got[y], want), 16)
                for c in range(0, len(row), 1 + len(row) // 10):
                    if c != y:
                        self.assertLessEqual(ulps_off(got[c], truth.probability(c)), 16)

    def test_what_little_smoothing_leaves_to_a_certain_class_keeps_its_digits(self) -> None:
        e = 2.0**-40
        self.assertEqual(cross_entropy_gradient([2000.0, 0.0, 0.0, 0.0], 0, label_smoothing=e)[0], 0.75 * e)

    def test_a_row_sums_to_zero(self) -> None:
        for name, seed, targets, options in variants():
            for row in cross_entropy_gradient(drawn(seed), targets, **options):
                with self.subTest(name):
                    self.assertLess(abs(sum(map(Fraction, row))), 40 * ulp(max(map(abs, row)) or 1.0))

    def test_it_does_not_change_with_a_constant(self) -> None:
        row = [0.5, -1.25, 3.0]
        for got, want in zip(
            cross_entropy_gradient([z + 64.0 for z in row], 1), cross_entropy_gradient(row, 1), strict=True
        ):
            assert_ulps(got, want, limit=32)

    def test_a_mean_of_nothing_is_refused_and_a_sum_is_flat(self) -> None:
        self.assertEqual(cross_entropy_gradient([[nan, 1.0]], [X], reduction="sum"), [[0.0, 0.0]])
        with self.assertRaises(ValueError) as caught:
            cross_entropy_gradient([[nan, 1.0]], [X])
        message = "cross_entropy_gradient: targets must hold a target that counts (nothing to average), got [-100]"
        self.assertEqual(str(caught.exception), message)


class CausalLoss(unittest.TestCase):
    def test_it_is_the_cross_entropy_of_the_shifted_pairs(self) -> None:
        for seed in range(20):
            logits, labels = drawn(seed, 8), class_of_each(seed, 8)
            for reduction in ("mean", "sum", "none"):
                with self.subTest(seed=seed, reduction=reduction):
                    want = cross_entropy(*shift(logits, labels), reduction=reduction)
                    self.assertEqual(causal_lm_loss(logits, labels, reduction=reduction), want)
                    as_rows = cross_entropy(logits, shift_labels(labels), reduction=reduction)
                    self.assertEqual(as_rows[:-1] if reduction == "none" else as_rows, want)

    def test_a_pair_counts_if_both_of_its_places_are_unmasked(self) -> None:
        logits, labels = drawn(3, 5), [0, 1, 2, 3, 4]
        for mask in product([0, 1], repeat=5):
            pairs = [(t, t + 1) for t in range(4) if mask[t] and mask[t + 1]]
            losses = [token_nll(logits[t], labels[u]) for t, u in pairs]
            with self.subTest(mask=mask):
                total = float(sum(map(Fraction, losses), Fraction(0)))
                self.assertEqual(causal_lm_loss(logits, labels, attention_mask=mask, reduction="sum"), total)
                none = causal_lm_loss(logits, labels, attention_mask=mask, reduction="none")
                self.assertEqual([x for x in none if x], losses)
                self.assertEqual(len(none), 4)

    def test_padding_on_either_side_changes_no_bit(self) -> None:
        logits, labels = drawn(4, 5), [0, 1, 2, 3, 4]
        want = causal_lm_loss(logits, labels)
        padding = [[nan] * 5, [nan] * 5]
        for padded, ids, mask in [
            (logits + padding, [*labels, 0, 0], [1] * 5 + [0] * 2),
            (padding + logits, [0, 0, *labels], [0] * 2 + [1] * 5),
        ]:
            self.assertEqual(causal_lm_loss(padded, ids, attention_mask=mask), want)
        self.assertEqual(causal_lm_loss(logits + padding, mask_padding([*labels, 0, 0], [1] * 5 + [0] * 2)), want)

    def test_micro_batches_divided_by_all_items_add_up_to_the_whole(self) -> None:
        logits, labels = [drawn(7, 5), drawn(8, 3)], [[0, 1, 2, 3, 4], [0, X, 2]]
        whole = causal_lm_loss(logits, labels)
        parts = [causal_lm_loss(z, y, num_items=5) for z, y in zip(logits, labels, strict=True)]
        assert_ulps(parts[0] + parts[1], whole, limit=2)
        self.assertEqual(causal_lm_loss([[0.0, 0.0]] * 2, [0, X], num_items=5), 0.0)

    def test_the_first_label_and_the_last_row_are_not_read(self) -> None:
        self.assertEqual(causal_lm_loss([[0.0, 0.0], [nan, nan]], [77, 1]), uniform_nll(2))

    def test_losses_of_each_pair_nest_like_the_batch(self) -> None:
        ln2 = uniform_nll(2)
        self.assertEqual(
            causal_lm_loss([[[0.0, 0.0]] * 3, [[0.0, 0.0]]], [[0, 1, X], [1]], reduction="none"), [[ln2, 0.0], []]
        )


class MaskedMean(unittest.TestCase):
    def test_a_mask_of_bits_gives_the_true_mean_rounded_once(self) -> None:
        for seed in range(100):
            rng = Random(seed)
            values, mask = [rng.random() - 0.5 for _ in range(20)], [1, *(int(rng.random() < 0.5) for _ in range(19))]
            kept = [Fraction(v) for v, m in zip(values, mask, strict=True) if m]
            with self.subTest(seed=seed):
                self.assertEqual(masked_mean(values, mask), float(sum(kept) / len(kept)))
                self.assertEqual(masked_mean([values[:7], values[7:]], [mask[:7], mask[7:]]), masked_mean(values, mask))
                self.assertEqual(masked_mean(values, list(map(bool, mask))), masked_mean(values, mask))

    def test_both_infinities_have_no_mean(self) -> None:
        with self.assertRaises(ValueError) as caught:
            masked_mean([inf, -inf, 1.0], [1, 1, 1])
        message = "masked_mean: values must not hold both inf and -inf where the mask counts, got [inf, -inf, 1.0]"
        self.assertEqual(str(caught.exception), message)
        self.assertEqual(masked_mean([inf, -inf, 1.0], [1, 0, 1]), inf)

    def test_weights_are_within_2_ulp_of_the_scale_of_the_addends(self) -> None:
        for seed in range(100):
            rng = Random(seed)
            values, weight = [rng.random() - 0.5 for _ in range(20)], [rng.random() for _ in range(20)]
            products = [Fraction(v) * Fraction(w) for v, w in zip(values, weight, strict=True)]
            total = sum(map(Fraction, weight))
            with self.subTest(seed=seed):
                off = abs(Fraction(masked_mean(values, weight)) - sum(products) / total)
                self.assertLessEqual(off, 2 * ulp(float(sum(map(abs, products)) / total)))

    def test_values_that_do_not_count_are_not_read(self) -> None:
        self.assertEqual(masked_mean([nan, 2.0, None], [0, 1, 0]), 2.0)
        self.assertEqual(masked_mean([inf, 2.0], [1, 1]), inf)


class Refusals(unittest.TestCase):
    def refused(self, kind: type[Exception], message: str, function: Any, *args: Any, **named: Any) -> None:
        with self.subTest(function=function.__name__, args=args, **named):
            with self.assertRaises(kind) as caught:
                function(*args, **named)
            self.assertEqual(str(caught.exception), f"{function.__name__}: {message}")

    def test_what_both_cross_entropy_and_its_gradient_refuse(self) -> None:
        two = [[0.0, 0.0], [0.0, 0.0]]
        value, kind = ValueError, TypeError
        for f in (cross_entropy, cross_entropy_gradient):
            self.refused(value, "targets[1] must lie in [0, 2), got 2", f, two, [0, 2])
            self.refused(value, "targets[0] must lie in [0, 2), got -1", f, two, [-1, 0])
            mixed = "targets[1] must be of one kind in all rows, a class or probabilities"
            self.refused(value, f"{mixed}, got 0", f, two, [[0.5, 0.5], 0])
            self.refused(value, f"{mixed}, got [0.5, 0.5]", f, two, [0, [0.5, 0.5]])
            large = 2.0**500
            self.refused(value, f"weight[1] must be below 2**500, got {large!r}", f, two, [0, 1], weight=[1, large])
            self.refused(value, "targets must be as long as logits (2), got 1", f, two, [0])
            self.refused(value, "targets[0] must be as long as logits[0] (2), got 1", f, [two, two], [[0], [0, 0]])
            self.refused(
                value,
                "logits[1] must hold V = 2 scores as the first row does, got 3",
                f,
                [[0.0] * 2, [0.0] * 3],
                [0, 0],
            )
            self.refused(
                value, "logits[1] must hold V = 2 scores as the first row does, got 1", f, [[0.0] * 2, [nan]], [0, X]
            )
            self.refused(value, "logits[0] must hold at least one score, got 0", f, [[]], [0])
            self.refused(value, "logits[1][0] must be finite or -inf, got nan", f, [[0.0], [nan]], [0, 0])
            self.refused(value, "logits[1][1] must be finite or -inf, got inf", f, [[0.0] * 2, [0.0, inf]], [0, 0])
            self.refused(value, "logits[0] must hold a score above -inf, got [-inf]", f, [[-inf]], [0])
            self.refused(value, "weight must be as long as a row of logits (2), got 1", f, two, [0, 0], weight=[1.0])
            self.refused(value, "weight[1] must not be negative, got -1.0", f, two, [0, 0], weight=[1.0, -1.0])
            self.refused(value, "weight[0] must be finite, got inf", f, two, [0, 0], weight=[inf, 1.0])
            self.refused(value, "weight[0] must be a number, got nan", f, two, [0, 0], weight=[nan, 1.0])
            self.refused(
                value, "weight must not be 0 for every scored target, got [0.0, 1.0]", f, two, [0, 0], weight=[0, 1]
            )
            for e in (-0.1, 1.1, nan):
                self.refused(value, f"label_smoothing must lie in [0, 1], got {e}", f, two, [0, 0], label_smoothing=e)
            self.refused(
                value, "reduction must be one of 'mean', 'none', 'sum', got 'avg'", f, two, [0, 0], reduction="avg"
            )
            nothing = "targets must hold a target that counts (nothing to average), got"
            self.refused(value, f"{nothing} [-100, -100]", f, two, [X, X])
            self.refused(value, f"{nothing} []", f, [], [])
            soft = [[0.5, 0.5], [0.5, 0.5]]
            rule = "ignore_index must be negative with probability targets, got 1"
            self.refused(value, rule, f, two, soft, ignore_index=1)
            self.refused(value, "targets[1][0] must not be negative, got -0.5", f, two, [[1.0, 0.0], [-0.5, 1.5]])
            self.refused(
                value, "targets[1] must be as long as its row of logits (2), got 1", f, two, [[1.0, 0.0], [1.0]]
            )
            for bad in (1.0, True, "1", None):
                self.refused(kind, f"targets[1] must be a whole number, got {bad!r}", f, two, [0, bad])
            self.refused(kind, "logits[0][1] must be a number, got 'a'", f, [[0.0, "a"]], [0])
            self.refused(kind, "logits[1] must be a sequence, got 0.0", f, [[0.0], 0.0], [0, 0])
            self.refused(kind, "logits must be a sequence, got 'ab'", f, "ab", 0)
            self.refused(kind, "label_smoothing must be a number, got '0'", f, two, [0, 0], label_smoothing="0")
            self.refused(kind, "ignore_index must be a whole number, got None", f, two, [0, 0], ignore_index=None)

    def test_a_causal_loss_names_labels_where_they_were_given(self) -> None:
        two, f = [[0.0, 0.0], [0.0, 0.0]], causal_lm_loss
        self.refused(ValueError, "labels[1] must lie in [0, 2), got 2", f, two, [0, 2])
        self.refused(ValueError, "labels[1][1] must lie in [0, 2), got -3", f, [two, two], [[0, 1], [0, -3]])
        self.refused(ValueError, "labels must be as long as logits (2), got 3", f, two, [0, 1, 1])
        self.refused(ValueError, "labels must nest one level less than logits, got [1, -100]", f, [0.0, 0.0], [0, 1])
        self.refused(
            ValueError, "attention_mask must be as long as labels (2), got 1", f, two, [0, 1], attention_mask=[1]
        )
        self.refused(ValueError, "attention_mask[0] must be 0 or 1, got 3", f, two, [0, 1], attention_mask=[3, 1])
        self.refused(TypeError, "labels[0] must be a whole number, got 1.0", f, two, [1.0, 1])
        nothing = "labels must hold a target that counts (nothing to average), got"
        self.refused(ValueError, f"{nothing} [1]", f, [[0.0, 0.0]], [1])
        self.refused(ValueError, f"{nothing} [1, 1]", f, two, [1, 1], attention_mask=[1, 0])
        self.refused(ValueError, "num_items must be at least 1, got 0", f, two, [0, 1], num_items=0)
        self.refused(TypeError, "num_items must be a whole number, got 2.0", f, two, [0, 1], num_items=2.0)
        rule = "num_items must be None with reduction 'sum', got 2"
        self.refused(ValueError, rule, f, two, [0, 1], num_items=2, reduction="sum")
        self.refused(
            ValueError, "reduction must be one of 'mean', 'none', 'sum', got None", f, two, [0, 1], reduction=None
        )
        self.refused(ValueError, "logits[0][0] must be finite or -inf, got nan", f, [[nan, 0.0], [0.0, 0.0]], [0, 1])

    def test_masked_mean(self) -> None:
        f = masked_mean
        self.refused(ValueError, "mask must be as long as values (2), got 1", f, [1.0, 2.0], [1])
        self.refused(ValueError, "mask[1] must be as long as values[1] (1), got 2", f, [[1.0], [2.0]], [[1], [1, 1]])
        self.refused(ValueError, "mask[0] must not be negative, got -1.0", f, [1.0], [-1])
        self.refused(ValueError, "mask[0] must be finite, got inf", f, [1.0], [inf])
        self.refused(ValueError, "mask must have a sum above 0 (nothing to average), got [0]", f, [1.0], [0])
        self.refused(ValueError, "mask must have a sum above 0 (nothing to average), got []", f, [], [])
        self.refused(ValueError, "values[1] must be a number, got nan", f, [1.0, nan], [1, 1])
        self.refused(TypeError, "values[0] must be a number, got '1'", f, ["1"], [1])
        self.refused(TypeError, "mask[0] must be a number, got None", f, [1.0], [None])
        self.refused(TypeError, "mask[1] must be a sequence, got 1", f, [[1.0], [2.0]], [[1], 1])


class Scale(unittest.TestCase):
    def test_a_long_batch_of_equal_rows_loses_nothing(self) -> None:
        self.assertEqual(cross_entropy([[0.0, log(3.0)]] * 5000, [0] * 5000), token_nll([0.0, log(3.0)], 0))
