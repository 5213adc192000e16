"""Tally, judged by fractions and by the laws of merging."""

import copy
import json
import pickle
import unittest
from fractions import Fraction
from math import inf, nan
from random import Random

from refcalc import units
from refcalc.exact_sum import ExactSum
from refcalc.tally import Tally

METRICS = ["mean_nll", "perplexity", "bits_per_token", "bits_per_byte", "bits_per_char", "byte_perplexity"]
METRICS += ["word_perplexity"]


def documents(seed: int, count: int = 9) -> list[Tally]:
    rng = Random(seed)
    found = []
    for _ in range(count):
        nlls = [30.0 * rng.random() for _ in range(int(rng.random() * 20))]
        found.append(Tally.of(nlls, text="na\u00efve caf\u00e9 \u65e5\u672c"[: int(rng.random() * 14)]))
    return found


class Metrics(unittest.TestCase):
    def test_a_mean_is_the_true_mean_rounded_once(self) -> None:
        for seed in range(200):
            rng = Random(seed)
            nlls = [30.0 * rng.random() for _ in range(1 + seed % 40)]
            want = float(sum(map(Fraction, nlls), Fraction(0)) / len(nlls))
            with self.subTest(seed=seed):
                self.assertEqual(Tally.of(nlls).mean_nll, want)

    def test_every_metric_is_that_of_units(self) -> None:
        tally = Tally(15.0, 6, n_bytes=10, n_chars=8, n_words=3)
        self.assertEqual(tally.mean_nll, 2.5)
        self.assertEqual(tally.perplexity, units.perplexity(2.5))
        self.assertEqual(tally.bits_per_token, units.bits_per_token(2.5))
        self.assertEqual(tally.bits_per_byte, units.bits_per_byte(15.0, 10))
        self.assertEqual(tally.bits_per_char, units.bits_per_char(15.0, 8))
        self.assertEqual(tally.byte_perplexity, units.byte_perplexity(15.0, 10))
        self.assertEqual(tally.word_perplexity, units.word_perplexity(15.0, 3))

    def test_an_infinite_nll_is_an_answer(self) -> None:
        tally = Tally.of([1.0, inf], text="ab") + Tally.of([2.0], text="c")
        self.assertEqual((tally.mean_nll, tally.perplexity, tally.bits_per_byte), (inf, inf, inf))

    def test_a_text_is_counted_in_bytes_characters_and_words(self) -> None:
        for text, counts in [
            ("", (0, 0, 0)),
            ("a b", (3, 3, 2)),
            ("  a\tb\n\nc ", (9, 9, 3)),
            ("caf\u00e9", (5, 4, 1)),
            ("\u65e5\u672c", (6, 2, 1)),
            ("\U0001f600", (4, 1, 1)),
            ("a\u00a0b", (4, 3, 2)),  # a no-break space is white space
        ]:
            with self.subTest(text=text):
                tally = Tally.of([1.0], text=text)
                self.assertEqual((tally.n_bytes, tally.n_chars, tally.n_words), counts)

    def test_a_document_of_no_targets_is_still_a_document(self) -> None:
        self.assertEqual(Tally.of([]).n_documents, 1)
        self.assertEqual(Tally().n_documents, 0)


class Merging(unittest.TestCase):
    def test_no_order_or_grouping_shows(self) -> None:
        for seed in range(50):
            parts, rng = documents(seed), Random(seed)
            whole = sum(parts, Tally())
            shuffled = sorted(parts, key=lambda _: rng.random())
            cut = int(rng.random() * len(parts))
            with self.subTest(seed=seed):
                for other in (sum(shuffled), sum(parts[:cut], Tally()) + sum(parts[cut:], Tally())):
                    self.assertEqual(other, whole)
                    self.assertEqual(hash(other), hash(whole))
                    self.assertEqual(other.to_dict(), whole.to_dict())

    def test_a_merged_tally_is_that_of_all_the_nlls_and_all_the_text(self) -> None:
        a, b = [0.1, 0.2, 3.5], [0.7]
        merged = Tally.of(a, text="one ") + Tally.of(b, text="two")
        whole = Tally.of(a + b, text="one two")
        self.assertEqual(merged.to_dict(), {**whole.to_dict(), "n_documents": 2})

    def test_the_empty_tally_changes_nothing(self) -> None:
        for tally in [*documents(3), Tally(), Tally(2.0, 1), Tally(0.0, 0, n_documents=1)]:
            self.assertEqual(tally + Tally(), tally)
            self.assertEqual(Tally() + tally, tally)
            self.assertEqual(sum([tally]), tally)

    def test_merging_leaves_both_as_they_were(self) -> None:
        a, b = documents(1, 2)
        before = a.to_dict(), b.to_dict()
        a + b
        self.assertEqual((a.to_dict(), b.to_dict()), before)

    def test_what_only_one_of_them_counted_cannot_be_merged(self) -> None:
        for name in ("n_bytes", "n_chars", "n_words"):
            counted, not_counted = Tally(6.0, 2, **{name: 3}), Tally(9.0, 4)
            for a, b, got in [(counted, not_counted, "3 and None"), (not_counted, counted, "None and 3")]:
                with self.subTest(name=name):
                    with self.assertRaises(ValueError) as caught:
                        a + b
                    rule = "must be counted in both tallies or in neither"
                    self.assertEqual(str(caught.exception), f"Tally: {name} {rule}, got {got}")

    def test_it_merges_with_tallies_only(self) -> None:
        for other in (1, 0.0, None, "a", ExactSum([1.0])):
            with self.subTest(other=other), self.assertRaises(TypeError):
                Tally(1.0, 1) + other
        with self.assertRaises(TypeError):
            1 + Tally(1.0, 1)


class Records(unittest.TestCase):
    def test_json_and_pickle_and_copies_lose_no_bit(self) -> None:
        for tally in [*documents(5), sum(documents(6), Tally()), Tally(), Tally(inf, 1), Tally(0.1, 3, n_documents=0)]:
            with self.subTest(tally=tally):
                for other in (
                    Tally.from_dict(json.loads(json.dumps(tally.to_dict()))),
                    pickle.loads(pickle.dumps(tally)),
                    copy.copy(tally),
                    copy.deepcopy(tally),
                ):
                    self.assertEqual(other, tally)
                    self.assertEqual(other.nll_sum, tally.nll_sum)

    def test_its_text_shows_the_numbers(self) -> None:
        self.assertEqual(repr(Tally(6.0, 2, n_bytes=3)), "Tally(6.0, 2, n_bytes=3, n_documents=1)")

    def test_equal_numbers_make_equal_tallies(self) -> None:
        self.assertEqual(Tally(ExactSum([0.5, 1.0]), 2), Tally(1.5, 2))
        self.assertNotEqual(Tally(1.5, 2), Tally(1.5, 2, n_bytes=0))
        self.assertFalse(Tally() == 0)

    def test_it_cannot_be_changed(self) -> None:
        with self.assertRaises(AttributeError) as caught:
            Tally(1.0, 1).n_targets = 2
        self.assertEqual(str(caught.exception), "Tally: n_targets cannot be set, a tally does not change; merge with +")


class Refusals(unittest.TestCase):
    def refused(self, kind: type[Exception], message: str, make: object) -> None:
        with self.subTest(message=message):
            with self.assertRaises(kind) as caught:
                make()
            self.assertEqual(str(caught.exception), message)

    def test_a_sum_is_a_number_that_is_not_negative(self) -> None:
        remedy = "(an nll is minus a log-probability)"
        self.refused(ValueError, f"Tally: nll_sum must not be negative {remedy}, got -1.0", lambda: Tally(-1.0, 1))
        self.refused(ValueError, f"Tally: nll_sum must not be negative {remedy}, got -inf", lambda: Tally(-inf, 1))
        self.refused(ValueError, "Tally: nll_sum must be a number, got nan", lambda: Tally(nan, 1))
        self.refused(TypeError, "Tally: nll_sum must be a number, got '1'", lambda: Tally("1", 1))

    def test_counts_are_whole_numbers_that_are_not_negative(self) -> None:
        for name in ("n_targets", "n_bytes", "n_chars", "n_words", "n_documents"):
            for kind, bad, rule in [
                (ValueError, -1, "be at least 0, got -1"),
                (TypeError, 1.0, "be a whole number, got 1.0"),
                (TypeError, True, "be a whole number, got True"),
                (TypeError, "1", "be a whole number, got '1'"),
            ]:
                counts = {"n_targets": 1, name: bad}
                self.refused(kind, f"Tally: {name} must {rule}", lambda: Tally(1.0, **counts))  # noqa: B023

    def test_a_sum_over_no_targets_is_zero(self) -> None:
        message = "Tally: n_targets must be at least 1 where nll_sum is not 0, got 0"
        self.refused(ValueError, message, lambda: Tally(1.0, 0))

    def test_an_nll_is_named_by_its_place(self) -> None:
        self.refused(ValueError, "Tally.of: nlls[1] must not be negative, got -0.5", lambda: Tally.of([1.0, -0.5]))
        self.refused(ValueError, "Tally.of: nlls[0] must be a number, got nan", lambda: Tally.of([nan]))
        self.refused(TypeError, "Tally.of: nlls[0] must be a number, got None", lambda: Tally.of([None]))

    def test_text_is_text_that_has_utf_8_bytes(self) -> None:
        self.refused(TypeError, "Tally.of: text must be text, got b'ab'", lambda: Tally.of([1.0], text=b"ab"))
        surrogate = "Tally.of: text must be Unicode without lone surrogates, got '\\ud800'"
        self.refused(ValueError, surrogate, lambda: Tally.of([1.0], text="\ud800"))

    def test_a_metric_without_its_denominator_is_refused(self) -> None:
        wants = dict(zip(METRICS, ["n_targets"] * 3 + ["n_bytes", "n_chars", "n_bytes", "n_words"], strict=True))
        for metric, count in wants.items():
            counts = {} if count == "n_targets" else {count: 0}
            zero = f"Tally.{metric}: {count} must be counted and at least 1, got 0"
            denominator = "mean_nll" if count == "n_targets" else metric
            zero = zero.replace(metric, denominator)
            self.refused(ValueError, zero, lambda: getattr(Tally(0.0, 0, **counts), metric))  # noqa: B023
            if counts:
                none = zero.replace("got 0", "got None")
                self.refused(ValueError, none, lambda: getattr(Tally(1.0, 1), metric))  # noqa: B023

    def test_a_record_has_the_keys_of_to_dict(self) -> None:
        good = Tally(1.5, 1).to_dict()
        keys = "have the keys nll_sum, n_targets, n_bytes, n_chars, n_words, n_documents"
        for record, got in [({}, "[]"), ({"a": 1, 2: 3}, "['a', 2]")]:
            self.refused(ValueError, f"Tally.from_dict: record must {keys}, got {got}", lambda: Tally.from_dict(record))  # noqa: B023
        self.refused(TypeError, "Tally.from_dict: record must be a dict, got [1]", lambda: Tally.from_dict([1]))
        wrong = "ExactSum.from_hex: text must be a str, got 1.5"
        self.refused(TypeError, wrong, lambda: Tally.from_dict({**good, "nll_sum": 1.5}))
        negative = "Tally: nll_sum must not be negative (an nll is minus a log-probability), got -1.0"
        self.refused(ValueError, negative, lambda: Tally.from_dict({**good, "nll_sum": "-0x1p+0"}))
        self.refused(
            ValueError, "Tally: n_bytes must be at least 0, got -1", lambda: Tally.from_dict({**good, "n_bytes": -1})
        )
