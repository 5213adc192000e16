"""Two reports side by side: which protocols compare, the numbers, and ablations."""

import json
import math
import unittest
from dataclasses import fields
from fractions import Fraction
from random import Random
from typing import Any

from refcalc import ExactSum, paired_bootstrap
from refcalc._refusal import NoComparison
from refcalc.evaluation.ablation import Arm, trajectory_digest
from refcalc.evaluation.aligned import aligned
from refcalc.evaluation.comparability import terms_of
from refcalc.evaluation.compare_reports import compare_reports
from refcalc.evaluation.comparison import ReportComparison
from refcalc.evaluation.criteria import read_criteria
from refcalc.evaluation.log import Receipts
from refcalc.evaluation.protocol import Protocol
from tests.evaluation.evaluated import protocol, receipt, receipts, twice

UNITS = ("bytes", "chars", "words")
ALL = ("target", "byte", "char", "word")
CRITERIA = read_criteria('["it learns"]\nmetric = "mean_nll"\nbelow = "uniform"')
OFFERED = {  # what is left to compare where this field alone differs
    "vocab_size": (300, ("byte", "char")),
    "tokenizer": ("char", ("byte", "char")),
    "corpus": ("v2", ()),
    "split": ("validation", ()),
    "checkpoint": ("step-40", ALL),
    "window": (48, ()),
    "stride": (12, ()),
    "bos": ("every", ()),
    "bos_id": (3, ()),
    "bos_scored": (True, ()),
    "eos_id": (3, ()),
    "eos_scored": (False, ()),
    "unk_id": (3, ALL),
    "ignore_index": (-1, ALL),
    "units": (("bytes",), ("target", "byte")),
    "text": ("scored", ("target",)),
    "word_rule": ("letters", ("target", "byte", "char")),
    "dtype": ("bfloat16", ALL),
    "log_base": ("2", ALL),
    "looks": (2, ALL),
    "criteria": (CRITERIA, ALL),
}


def scored(seed: int, n: int = 12, shift: float = 0.0, order: int | None = None, **changes: Any) -> Receipts:
    """Return receipts of n documents, whose counts do not depend on the seed."""
    rng = Random(seed)
    lines = [
        receipt(f"d{i}", (2 + shift + rng.random()) * (3 + i), 3 + i, n_bytes=11 + i, n_chars=10 + i, n_words=2 + i % 3)
        for i in range(n)
    ]
    if order is not None:
        Random(order).shuffle(lines)
    return receipts(under(**changes), *lines)


def under(**changes: Any) -> Protocol:
    return protocol(**{"units": UNITS, "stride": 24, **changes})


def pers(result: ReportComparison) -> tuple[str, ...]:
    return tuple(quantity.per for quantity in result.quantities)


class Protocols(unittest.TestCase):
    def test_every_field_leaves_what_it_does_not_touch(self) -> None:
        self.assertEqual(set(OFFERED), {field.name for field in fields(Protocol)})
        for name, (value, offered) in OFFERED.items():
            with self.subTest(name):
                if offered:
                    terms = terms_of(under(), under(**{name: value}), ())
                    self.assertEqual(terms.offered, offered)
                    self.assertEqual([*terms.differences], [name])
                    lost = [] if name == "units" else [per for per in ALL if per not in offered]
                    self.assertEqual(terms.withheld, dict.fromkeys(lost, (name,)))
                else:
                    with self.assertRaises(NoComparison) as caught:
                        terms_of(under(), under(**{name: value}), ())
                    rule = f"both must have the same {name} (unless despite names what may differ)"
                    got = f"{name} {getattr(under(), name)!r} and {value!r}"
                    self.assertEqual(str(caught.exception), f"compare_reports: {rule}, got {got}")

    def test_despite_gives_back_what_the_field_took_and_is_told(self) -> None:
        for name, (value, offered) in OFFERED.items():
            forbids = name != "units" and offered != ALL
            with self.subTest(name):
                terms = terms_of(under(), under(**{name: value}), (name,))
                self.assertEqual(terms.offered, ("target", "byte") if name == "units" else ALL)
                self.assertEqual(terms.overruled, (name,) if forbids else ())

    def test_ids_of_special_tokens_belong_to_their_tokenizer(self) -> None:
        terms = terms_of(under(), under(tokenizer="char", bos_id=8, eos_id=9, unk_id=7, vocab_size=65), ())
        self.assertEqual(terms.offered, ("byte", "char"))

    def test_all_fields_that_forbid_are_named_and_all_must_be_overruled(self) -> None:
        theirs = under(window=48, corpus="v2", tokenizer="char")
        with self.assertRaises(NoComparison) as caught:
            terms_of(under(), theirs, ("window",))
        rule = "both must have the same tokenizer, corpus (unless despite names what may differ)"
        want = f"compare_reports: {rule}, got tokenizer 'bpe' and 'char', corpus 'v1' and 'v2'"
        self.assertEqual(str(caught.exception), want)
        terms = terms_of(under(), theirs, ("window", "corpus"))
        self.assertEqual((terms.offered, terms.overruled), (("byte", "char"), ("corpus", "window")))

    def test_a_stride_goes_with_its_window_and_an_id_with_its_use(self) -> None:
        for ours, theirs, leader, follower in [
            ({"stride": None}, {"stride": None, "window": 48}, "window", "stride"),
            ({"stride": 20}, {"stride": 44, "window": 48}, "window", "stride"),
            ({}, {"bos": "none", "bos_id": None}, "bos", "bos_id"),
            ({}, {"eos_scored": False, "eos_id": None}, "eos_scored", "eos_id"),
        ]:
            terms = terms_of(under(**ours), under(**theirs), (leader,))
            self.assertEqual((terms.offered, sorted(terms.overruled)), (ALL, sorted((leader, follower))))
        for theirs, leader in [
            ({"stride": 12, "window": 48}, "window"),
            ({"stride": 12}, "window"),
            ({"bos_id": 3}, "bos"),
        ]:
            with self.assertRaises(NoComparison):
                terms_of(under(), under(**theirs), (leader,))

    def test_one_quantity_that_is_asked_for_is_given_or_refused(self) -> None:
        self.assertEqual(terms_of(under(), under(), (), "char").offered, ("char",))
        with self.assertRaises(NoComparison) as caught:
            terms_of(under(), under(tokenizer="char"), (), "target")
        rule = "both must have the same tokenizer (unless despite names what may differ)"
        self.assertEqual(str(caught.exception), f"compare_reports: {rule}, got tokenizer 'bpe' and 'char'")
        with self.assertRaises(NoComparison) as caught:
            terms_of(under(), under(units=("bytes",)), (), "char")
        want = "compare_reports: both must count chars, got protocols whose units are bytes, chars, words and bytes"
        self.assertEqual(str(caught.exception), want)

    def test_what_speaks_against_an_allowed_comparison_is_said(self) -> None:
        for changes, words in [
            (
                {"looks": 1},
                "'test' had been looked at once before theirs: if anything was chosen by it, 'test' has become",
            ),
            (
                {"dtype": "bfloat16"},
                "scored in float32 and bfloat16: a difference as small as their rounding means nothing",
            ),
            ({"tokenizer": "char"}, "a window of as many tokens holds another length of text under another tokenizer"),
        ]:
            with self.subTest(words):
                cautions = terms_of(under(), under(**changes), ()).cautions
                self.assertEqual(len(cautions), 1)
                self.assertTrue(cautions[0].startswith(words))
        without = {"bos": "none", "bos_id": None}
        cautions = terms_of(under(**without), under(**without, tokenizer="char"), ()).cautions
        self.assertIn("without BOS the first token is not scored", cautions[1])
        self.assertEqual(terms_of(under(**without), under(**without, checkpoint="x"), ()).cautions, ())


class Numbers(unittest.TestCase):
    def test_each_quantity_is_the_paired_bootstrap_of_its_ratio(self) -> None:
        result = compare_reports(scored(1), scored(2, order=5, checkpoint="step-40"), draws=50, seed=3)
        self.assertEqual(pers(result), ALL)
        first, second = dict(by_id(scored(1))), dict(by_id(scored(2)))
        for quantity in result.quantities:
            field = {"target": 1, "byte": 2, "char": 3, "word": 4}[quantity.per]
            ours, theirs = ({key: (row[0], row[field]) for key, row in side.items()} for side in (first, second))
            want = paired_bootstrap(ours, theirs, draws=50, seed=3)
            with self.subTest(quantity.per):
                self.assertEqual((quantity.ours, quantity.theirs), (want.ours, want.theirs))
                self.assertEqual((quantity.low, quantity.high), (want.difference.low, want.difference.high))
                self.assertEqual((quantity.ours_lower, quantity.no_interval), (want.ours_lower, ""))
                exact = Fraction(*ratio(ours.values())) - Fraction(*ratio(theirs.values()))
                self.assertEqual(quantity.difference, float(exact))

    def test_bytes_and_characters_are_in_bits(self) -> None:
        result = compare_reports(scored(1), scored(2, checkpoint="step-40"), draws=9)
        for quantity in result.quantities:
            unit = math.log(2) if quantity.per in ("byte", "char") else 1.0
            for name, value in quantity.expressed().items():
                self.assertAlmostEqual(value * unit, getattr(quantity, name), delta=1e-14, msg=f"{quantity.per} {name}")

    def test_the_order_of_receipts_changes_nothing(self) -> None:
        want = compare_reports(scored(1), scored(2), draws=20).to_dict()
        self.assertEqual(compare_reports(scored(1), scored(2, order=9), draws=20).to_dict(), want)
        self.assertEqual(compare_reports(scored(1, order=9), scored(2), draws=20).to_dict(), want)

    def test_documents_stand_in_the_order_of_their_ids_numbers_first(self) -> None:
        keys = ["b", 10, "1", 2, "a", 1]
        sides = [receipts(protocol(), *(receipt(key, 1.0, 2) for key in each)) for each in (keys, keys[::-1])]
        self.assertEqual(aligned(*sides).documents, [1, 2, 10, "1", "a", "b"])

    def test_documents_that_cost_nothing_are_resampled_too(self) -> None:
        sides = [
            receipts(protocol(), *(receipt(i, x, 2) for i, x in enumerate(each))) for each in ((0.0, 4.0), (0.0, 2.0))
        ]
        quantity = compare_reports(*sides, per="target", draws=50).quantities[0]
        self.assertEqual((quantity.ours, quantity.theirs, quantity.low, quantity.high), (1.0, 0.5, 0.0, 1.0))

    def test_no_difference_at_all_is_an_interval_that_holds_0(self) -> None:
        result = compare_reports(scored(1), scored(1), draws=9)
        self.assertEqual({(each.low, each.high) for each in result.quantities}, {(0.0, 0.0)})
        self.assertIn("the interval holds 0: these documents do not tell the two apart", " ".join(str(result).split()))

    def test_documents_without_a_target_are_no_part_of_a_resample(self) -> None:
        empty = receipt("e", 0.0, 0, n_words=0, n_eos=0)
        both = [receipts(under(eos_scored=False), *(line for _, line in scored(i)), empty) for i in (1, 2)]
        result = compare_reports(*both, per="target", draws=20)
        want = compare_reports(scored(1), scored(2), per="target", draws=20)
        self.assertEqual(result.quantities, want.quantities)
        self.assertEqual(result.documents, 13)

    def test_where_nothing_can_be_resampled_the_difference_stands_alone(self) -> None:
        for ours, theirs, words in [
            ([2.0], [3.0], "it takes two documents"),
            ([2.0, math.inf], [3.0, 1.0], "the loss of a document is inf"),
        ]:
            sides = [receipts(protocol(), *(receipt(i, x, 2) for i, x in enumerate(side))) for side in (ours, theirs)]
            quantity = compare_reports(*sides, per="target").quantities[0]
            self.assertEqual((quantity.low, quantity.ours_lower, quantity.no_interval), (None, None, words))
            self.assertEqual(quantity.difference, quantity.ours - quantity.theirs)
        infinite = [receipts(protocol(), receipt("a", math.inf, 2)) for _ in range(2)]
        self.assertIsNone(compare_reports(*infinite, per="target").quantities[0].difference)
        free = [receipts(protocol(), receipt("a", 1.0, 2, n_bytes=0), receipt("b", 1.0, 2)) for _ in range(2)]
        words = "a document has a loss and nothing to divide it by"
        self.assertEqual(compare_reports(*free, per="byte").quantities[0].no_interval, words)


def by_id(side: Receipts) -> list[tuple[Any, tuple[float, int, Any, Any, Any]]]:
    """Return what the receipts say, in the order of the ids."""
    rows = [(r.document, (float(r.nll_sum), r.n_targets, r.n_bytes, r.n_chars, r.n_words)) for _, r in side]
    return sorted(rows)


def ratio(pairs: Any) -> tuple[Fraction, Fraction]:
    pairs = list(pairs)
    return sum(Fraction(s) for s, _ in pairs), Fraction(sum(n for _, n in pairs))


class Documents(unittest.TestCase):
    def test_documents_that_one_lacks_are_named_and_only_despite_that_left_out(self) -> None:
        for ours, theirs in ((12, 10), (10, 12)):
            with self.assertRaises(NoComparison) as caught:
                compare_reports(scored(1, ours), scored(2, theirs))
            rule = "the file must hold the documents of the receipts (unless despite names documents)"
            self.assertEqual(str(caught.exception), f"the receipts: {rule}, got none of 'd10', 'd11'")
            result = compare_reports(scored(1, ours), scored(2, theirs), despite=["documents"], draws=20)
            self.assertEqual((result.documents, result.only_ours, result.only_theirs), (10, ours - 10, theirs - 10))
            self.assertEqual(result.despite, ("documents",))
            self.assertEqual(result.quantities, compare_reports(scored(1, 10), scored(2, 10), draws=20).quantities)
            self.assertIn("\nDESPITE     documents: only those that both have are compared\n", str(result))

    def test_despite_what_does_not_differ_is_not_told(self) -> None:
        result = compare_reports(scored(1), scored(2), despite=["documents", "window", "checkpoint"], draws=9)
        self.assertEqual(result.despite, ())

    def test_without_a_common_document_there_is_nothing_to_compare(self) -> None:
        ours, theirs = (receipts(protocol(), receipt(key, 1.0, 2)) for key in (1, "1"))
        with self.assertRaises(NoComparison) as caught:
            compare_reports(ours, theirs, despite="documents")
        self.assertEqual(str(caught.exception), "the receipts: the file must hold a document of the receipts, got none")

    def test_a_document_with_other_counts_is_another_document(self) -> None:
        theirs = [receipt("a", 1.0, 2), receipt("b", 1.0, 3)]
        with self.assertRaises(NoComparison) as caught:
            compare_reports(
                receipts(protocol(), receipt("b", 1.0, 2), receipt("a", 1.0, 2)), receipts(protocol(), *theirs)
            )
        want = "the receipts: document 'b' must have n_targets 2, as in the receipts, got 3"
        self.assertEqual(str(caught.exception), want)
        other = receipts(protocol(tokenizer="char"), receipt("a", 1.0, 2), receipt("b", 1.0, 3, n_bytes=11))
        with self.assertRaises(NoComparison) as caught:
            compare_reports(receipts(protocol(), receipt("a", 1.0, 2), receipt("b", 1.0, 2)), other)
        want = "the receipts: document 'b' must have n_bytes 10, as in the receipts, got 11"
        self.assertEqual(str(caught.exception), want)

    def test_targets_of_two_tokenizers_compare_despite_that_without_an_interval(self) -> None:
        ours = receipts(protocol(), receipt("a", 1.0, 2), receipt("b", 1.0, 2))
        theirs = receipts(protocol(tokenizer="char"), receipt("a", 1.0, 5), receipt("b", 3.0, 5))
        result = compare_reports(ours, theirs, despite=["tokenizer"], draws=9)
        self.assertEqual([quantity.low is None for quantity in result.quantities], [True, False, False])
        self.assertEqual(result.quantities[0][:4], ("target", 0.5, 0.4, 0.5 - 0.4))
        words = "nats per target: no interval, for the two count the same documents differently"
        self.assertIn(f"\n{words}\n", str(result))
        self.assertIn("\nDESPITE     tokenizer: 'bpe' and 'char'\n", str(result))

    def test_unknown_tokens_under_two_tokenizers_are_warned_of(self) -> None:
        lines = [receipt("a", 1.0, 2, n_unk=1, unk_nll=ExactSum([0.5])), receipt("b", 1.0, 2)]
        counts = "ours scored 1 unknown tokens, theirs 0"
        words = f"{counts}: they are cheaper than the text that they stand for, in whatever unit"
        plain = [receipt("a", 1.0, 2), receipt("b", 1.0, 2)]
        result = compare_reports(receipts(protocol(), *lines), receipts(protocol(tokenizer="t"), *plain), draws=9)
        self.assertIn(words, result.warnings)
        result = compare_reports(receipts(protocol(), *lines), receipts(protocol(), *plain), draws=9)
        self.assertNotIn(words, result.warnings)


def arm(name: str = "control", kind: str = "paired-retraining", **changes: Any) -> Arm:
    given = {"base_digest": "sha256:1", "trajectory_digest": "sha256:2", "updates": 40, "targets": 4676}
    more = {"parameters": 1000, "trainable_parameters": 1000, "seconds": 3.5}
    return Arm(**{"name": name, "kind": kind, **given, **more, **changes})


class Ablations(unittest.TestCase):
    def compare(self, ours: Arm, theirs: Arm, kind: str = "paired-retraining") -> ReportComparison:
        return compare_reports(scored(1), scored(2, checkpoint="b"), kind=kind, arms=(ours, theirs), draws=9)

    def test_a_paired_retraining_says_how_its_arms_differ(self) -> None:
        """The figures of seed document 001: 40 updates, 4676 targets, a position table frozen at zero in one arm."""
        result = self.compare(arm(), arm("positions zeroed", trainable_parameters=900, seconds=3.25))
        self.assertEqual((result.kind, len(result.arms or ())), ("paired-retraining", 2))
        self.assertEqual(
            result.warnings[:2],
            (
                "one training an arm: what another seed would change is not known (refcalc seeds)",
                "the arms differ in trainable parameters: 1,000 and 900",
            ),
        )
        table = str(result)
        for line in (
            "paired-retraining                                ours                     theirs",
            "  name                                        control           positions zeroed",
            "  targets                                       4,676                      4,676",
            "  trainable parameters                          1,000                        900",
            "  both      from the weights sha256:1,",
            "            over the windows sha256:2",
        ):
            self.assertIn(f"\n{line}\n", table)

    def test_two_trainings_with_one_checkpoint_are_doubted(self) -> None:
        words = "both were scored on the checkpoint 'step-80': two trainings end in different weights"
        same = compare_reports(scored(1), scored(2), kind="paired-retraining", arms=(arm(), arm()), draws=9)
        self.assertIn(words, same.warnings)
        self.assertNotIn(words, self.compare(arm(), arm()).warnings)

    def test_an_intervention_says_what_it_does_not_show(self) -> None:
        arms = (arm(kind="intervention", updates=0), arm("off", "intervention", updates=0))
        words = "an intervention shows what this checkpoint leans on, not what training without the part would reach"
        self.assertEqual(self.compare(*arms, kind="intervention").warnings, (words,))

    def test_kinds_windows_weights_and_targets_must_be_the_same(self) -> None:
        for theirs, words in [
            (
                arm(kind="intervention", updates=0),
                "kind must be 'paired-retraining', the kind of this ablation, got 'intervention'",
            ),
            (
                arm(base_digest="sha256:9"),
                "base_digest must be 'sha256:1', as in arms[0]: both arms start from the same weights, got 'sha256:9'",
            ),
            (
                arm(trajectory_digest="x"),
                "trajectory_digest must be 'sha256:2', as in arms[0]: arms on different windows are not compared, "
                "got 'x'",
            ),
            (
                arm(targets=4675),
                "targets must be 4676, as in arms[0]: the same windows hold the same targets, got 4675",
            ),
        ]:
            with self.subTest(words), self.assertRaises(NoComparison) as caught:
                self.compare(arm(), theirs)
            self.assertEqual(str(caught.exception), f"compare_reports: arms[1].{words}")
        with self.assertRaises(NoComparison) as caught:
            self.compare(arm(), arm(), kind="intervention")
        want = (
            "compare_reports: arms[0].kind must be 'intervention', the kind of this ablation, got 'paired-retraining'"
        )
        self.assertEqual(str(caught.exception), want)

    def test_a_kind_comes_with_two_arms(self) -> None:
        for kind, arms, error, words in [
            ("intervention", None, TypeError, "arms must hold the Arm of ours and that of theirs, got None"),
            ("intervention", (arm(),), TypeError, "arms must hold the Arm of ours and that of theirs, got (Arm("),
            (None, (arm(), arm()), ValueError, "kind must be one of 'intervention', 'paired-retraining', got None"),
            ("both", (arm(), arm()), ValueError, "kind must be one of 'intervention', 'paired-retraining', got 'both'"),
        ]:
            with self.subTest(words), self.assertRaises(error) as caught:
                compare_reports(scored(1), scored(2), kind=kind, arms=arms)  # type: ignore[arg-type]
            self.assertTrue(str(caught.exception).startswith(f"compare_reports: {words}"), caught.exception)

    def test_an_arm_goes_through_json_and_refuses_what_it_is_not(self) -> None:
        self.assertEqual(Arm.from_dict(json.loads(json.dumps(arm().to_dict()))), arm())
        keys = ", ".join(field.name for field in fields(Arm))
        for changes, error, message in [
            ({"kind": "x"}, ValueError, "Arm: kind must be one of 'intervention', 'paired-retraining', got 'x'"),
            ({"updates": -1}, ValueError, "Arm: updates must be at least 0, got -1"),
            ({"updates": 4.0}, TypeError, "Arm: updates must be a whole number, got 4.0"),
            ({"seconds": math.inf}, ValueError, "Arm: seconds must be finite, got inf"),
            ({"name": " "}, ValueError, "Arm: name must not be empty, got ' '"),
            ({"base_digest": 7}, TypeError, "Arm: base_digest must be text, got 7"),
            (
                {"trainable_parameters": 1001},
                ValueError,
                "Arm: trainable_parameters must be at most parameters (1000), got 1001",
            ),
            (
                {"kind": "intervention"},
                ValueError,
                "Arm: updates must be 0 in an intervention (after updates it is a retraining), got 40",
            ),
        ]:
            with self.subTest(message), self.assertRaises(error) as caught:
                Arm.from_dict({**arm().to_dict(), **changes})
            self.assertEqual(str(caught.exception), message)
        for record, message in [
            ([1], "Arm.from_dict: record must be a dict, got [1]"),
            ({"name": "a"}, f"Arm.from_dict: record must have the keys {keys}, got ['name']"),
        ]:
            with self.subTest(message), self.assertRaises((ValueError, TypeError)) as caught:
                Arm.from_dict(record)  # type: ignore[arg-type]
            self.assertEqual(str(caught.exception), message)

    def test_a_trajectory_is_its_windows_in_their_order(self) -> None:
        windows = [["a", 0], ["a", 8], ["b", 0]]
        same = trajectory_digest(iter([("a", 0), ("a", 8), ("b", 0)]))
        self.assertEqual(trajectory_digest(windows), same)
        others = [
            windows[::-1],
            windows[:2],
            [*windows, ["b", 0]],
            [["a", 0, "a", 8], ["b", 0]],
            [["a", 0], ["a", 80], ["b", 0]],
        ]
        self.assertEqual(len({same, *map(trajectory_digest, others)}), 6)
        self.assertNotEqual(trajectory_digest([1, 23]), trajectory_digest([12, 3]))
        with self.assertRaises(TypeError) as caught:
            trajectory_digest([[1], [math.nan]])
        self.assertEqual(str(caught.exception), "trajectory_digest: windows[1] must be what JSON holds, got [nan]")


class Options(unittest.TestCase):
    def test_unknown_options_and_receipts_without_a_protocol_are_refused(self) -> None:
        names = ", ".join(repr(name) for name in (*(field.name for field in fields(Protocol)), "documents"))
        for options, message in [
            ({"despite": ["windows"]}, f"compare_reports: despite[0] must be one of {names}, got 'windows'"),
            ({"per": "token"}, "compare_reports: per must be one of 'target', 'byte', 'char', 'word', got 'token'"),
            ({"draws": 1}, "paired_bootstrap: draws must be at least 2, got 1"),
        ]:
            with self.subTest(message), self.assertRaises(ValueError) as caught:
                compare_reports(scored(1), scored(2), **options)
            self.assertEqual(str(caught.exception), message)
            self.assertNotIsInstance(caught.exception, NoComparison)

    def test_a_document_with_two_receipts_is_refused(self) -> None:
        with self.assertRaises(ValueError) as caught:
            compare_reports(twice(protocol(), receipt("c", 1.0, 2)), receipts(protocol(), receipt("c", 1.0, 2)))
        want = "the receipts: each document must have one receipt, got 'c'"
        self.assertEqual(str(caught.exception), want)

    def test_the_table_has_80_columns_and_the_json_its_numbers(self) -> None:
        long = {"checkpoint": "sha256:" + "7" * 64, "looks": 3}
        arms = [arm(name, base_digest="sha256:" + "8" * 64, trajectory_digest="9" * 64) for name in ("x" * 99, "y")]
        result = compare_reports(
            scored(1), scored(2, **long), draws=20, kind="paired-retraining", arms=(arms[0], arms[1])
        )
        self.assertLessEqual(max(map(len, str(result).splitlines())), 80)
        self.assertIn("\nlooked at   before ours never, before theirs 3 times\n", str(result))
        sure = [receipts(under(), *(receipt(i, x * (i + 1), 9000, n_words=5) for i in range(9))) for x in (0.9, 0.95)]
        table = str(compare_reports(*sure, draws=20)).splitlines()
        rows = [line.split() for line in table if line.startswith(("bits", "nats"))][:4]
        self.assertEqual([len(row) for row in rows], [10] * 4, rows)  # three words, five numbers, 100 %
        record = json.loads(json.dumps(result.to_dict(), allow_nan=False))
        self.assertEqual(record["quantities"][1]["difference"], result.quantities[1].expressed()["difference"])
        self.assertEqual(record["differences"]["looks"], [0, 3])
        self.assertEqual([Arm.from_dict(each) for each in record["arms"]], arms)
        self.assertEqual((record["looks"], record["draws"], record["despite"]), ([0, 3], 20, []))


if __name__ == "__main__":
    unittest.main()
