"""Protocols and criteria: every field has its part in the digest, and what does not fit is refused."""

import hashlib
import json
import tempfile
import unittest
from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from typing import Any

from refcalc import Protocol
from refcalc.evaluation.criteria import Criterion, read_criteria
from refcalc.evaluation.protocol import file_digest, text_digest
from tests.evaluation.small import FIELDS, protocol

TOML = """
["it learns"]
metric = "mean_nll"
below = "uniform"
by = 1

["it generalises"]
metric = "bits_per_byte"
within = 0.05
of = "validation"

["context helps"]
metric = "bits_per_char"
below = 9.70
"""

OTHER: dict[str, Any] = {
    "vocab_size": 291,
    "tokenizer": "bpe-33",
    "corpus": "v2",
    "split": "validation",
    "checkpoint": "step-81",
    "window": 25,
    "stride": 12,
    "bos": "every",
    "bos_id": 2,
    "bos_scored": True,
    "eos_id": 4,
    "eos_scored": True,
    "unk_id": 1,
    "ignore_index": -1,
    "units": ("bytes", "words"),
    "text": "scored",
    "word_rule": "runs of letters",
    "dtype": "bfloat16",
    "log_base": "2",
    "looks": 1,
    "criteria": read_criteria(TOML),
}
WHOLE = {"bos": "first", "bos_id": 1, "eos_id": 3}


class Fields(unittest.TestCase):
    def test_each_changes_the_digest_and_is_named_as_the_difference(self) -> None:
        self.assertEqual(set(OTHER), {each.name for each in fields(Protocol)})
        base = protocol(**WHOLE, stride=24)
        digests = {base.digest}
        for name, value in OTHER.items():
            with self.subTest(name):
                other = protocol(**{**WHOLE, "stride": 24, name: value})
                self.assertEqual(list(base.differences(other)), [name])
                self.assertNotIn(other.digest, digests)
                self.assertNotEqual(hash(other), hash(base))
                digests.add(other.digest)

    def test_json_gives_the_same_protocol_again(self) -> None:
        given = protocol(**OTHER)
        again = Protocol.from_json(given.to_json())
        self.assertEqual((again, again.digest, hash(again)), (given, given.digest, hash(given)))
        self.assertEqual(json.loads(given.to_json())["criteria"]["it learns"]["by"], 1.0)

    def test_equal_protocols_have_equal_digests_whatever_the_sign_of_a_zero(self) -> None:
        for field in ("reference", "margin"):
            one, other = (Criterion("a", "mean_nll", "below", 1.0, 0.0)._replace(**{field: x}) for x in (0.0, -0.0))
            self.assertEqual(protocol(criteria=(one,)), protocol(criteria=(other,)))
            self.assertEqual(protocol(criteria=(one,)).digest, protocol(criteria=(other,)).digest)

    def test_the_digest_is_the_sha256_of_the_text_and_stays_what_it_was(self) -> None:
        """Files that were written by an earlier version must still be gone on with: the literal is not to move."""
        text = protocol().to_json()
        self.assertEqual(protocol().digest, "sha256:" + hashlib.sha256(text.encode()).hexdigest())
        self.assertEqual(protocol().digest, DIGEST)

    def test_nothing_can_be_changed(self) -> None:
        with self.assertRaises(FrozenInstanceError):
            protocol().window = 25  # type: ignore[misc]

    def test_what_follows_from_the_fields(self) -> None:
        self.assertEqual((protocol().stride, protocol().carried_context), (24, 0))
        self.assertEqual(protocol(stride=8).carried_context, 16)
        self.assertEqual(protocol(units=("words", "bytes")).units, ("bytes", "words"))
        self.assertLess(protocol(dtype="bfloat16").least_nll, protocol(dtype="float32").least_nll)
        self.assertLess(-1e-4, protocol(dtype="float32").least_nll)
        self.assertLess(-1e-12, protocol(dtype="float64").least_nll)


DIGEST = "sha256:89275a70768f0979ea0de82db2c7e4a8bd836b165a9225d5bd138c8ff58d9b69"


class Refusals(unittest.TestCase):
    def assert_refused(self, message: str, **changes: Any) -> None:
        with self.subTest(message), self.assertRaises((ValueError, TypeError)) as caught:
            protocol(**changes)
        self.assertEqual(str(caught.exception), f"Protocol: {message}")

    def test_values_and_kinds(self) -> None:
        self.assert_refused("vocab_size must be at least 1, got 0", vocab_size=0)
        self.assert_refused("window must be a whole number, got 24.0", window=24.0)
        self.assert_refused("looks must be a whole number, got True", looks=True)
        self.assert_refused("stride must be at most window (24), got 25", stride=25)
        self.assert_refused("corpus must not be empty, got ' '", corpus=" ")
        self.assert_refused("tokenizer must be text, got None", tokenizer=None)
        self.assert_refused("bos must be one of 'none', 'first', 'every', got 'last'", bos="last")
        self.assert_refused("bos_id must be given where bos is 'first', got None", bos="first")
        self.assert_refused("eos_id must be given where eos_scored is True, got None", eos_scored=True)
        self.assert_refused("eos_id must lie in [0, 290), got 290", eos_id=290)
        self.assert_refused("eos_scored must be True or False, got 1", eos_scored=1)
        rule = "units[1] must be one of 'bytes', 'chars', 'words', got 'tokens'"
        self.assert_refused(rule, units=("bytes", "tokens"))
        self.assert_refused("log_base must be one of 'e', '2', '10', got 2", log_base=2)
        self.assert_refused(
            "dtype must be one of 'float64', 'float32', 'float16', 'bfloat16', got 'float8'", dtype="float8"
        )
        rule = "criteria must be a tuple of Criterion, as read_criteria gives it, got []"
        self.assert_refused(rule, criteria=[])

    def test_json_must_hold_all_fields_and_no_others(self) -> None:
        record = protocol().to_dict()
        finite = 'must hold numbers that are finite, or the strings "inf" and "-inf"'
        for text, message in [
            (json.dumps({**record, "seed": 1}), "Protocol: seed must be a field of Protocol, which it is not, got 1"),
            (json.dumps({**record, "eos_id": 1.5}), "Protocol: eos_id must be a whole number, got 1.5"),
            (json.dumps({k: v for k, v in record.items() if k != "looks"}), "Protocol: looks must be given, got None"),
            ("[]", "Protocol: record must be a JSON object, got []"),
            ('{"looks": NaN}', f"Protocol.from_json: text {finite}, got NaN at line 1, column 11"),
            ('{"looks": 1, "looks": 2}', "Protocol.from_json: text must not name a key twice, got 'looks' again"),
        ]:
            with self.subTest(message), self.assertRaises((ValueError, TypeError)) as caught:
                Protocol.from_json(text)
            self.assertEqual(str(caught.exception), message)
        with self.assertRaisesRegex(TypeError, "^Protocol.from_json: text must be text, got None$"):
            Protocol.from_json(None)  # type: ignore[arg-type]


class Digests(unittest.TestCase):
    def test_they_are_the_sha256_of_the_bytes(self) -> None:
        want = "sha256:" + hashlib.sha256("naïve\n".encode()).hexdigest()
        self.assertEqual(text_digest("naïve\n"), want)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "text"
            path.write_bytes("naïve\n".encode())
            self.assertEqual(file_digest(str(path)), want)
            with self.assertRaises(ValueError) as caught:
                file_digest(folder)
        self.assertEqual(str(caught.exception), f"file_digest: path must be a regular file, got {folder!r}")

    def test_lone_surrogates_have_no_bytes(self) -> None:
        with self.assertRaises(ValueError) as caught:
            text_digest("\ud800")
        message = r"text_digest: text must be Unicode without lone surrogates, got '\ud800'"
        self.assertEqual(str(caught.exception), message)


class Criteria(unittest.TestCase):
    def test_toml_is_read_in_its_order_and_comes_back(self) -> None:
        criteria = read_criteria(TOML)
        self.assertEqual(criteria[0], Criterion("it learns", "mean_nll", "below", "uniform", 1.0))
        self.assertEqual(criteria[1], Criterion("it generalises", "bits_per_byte", "within", "validation", 0.05))
        self.assertEqual(criteria[2], Criterion("context helps", "bits_per_char", "below", 9.7, 0.0))
        self.assertEqual(Protocol(**{**FIELDS, "criteria": criteria}).to_dict()["criteria"]["context helps"],
                         {"metric": "bits_per_char", "below": 9.7, "by": 0.0})  # fmt: skip

    def test_the_bounds_themselves(self) -> None:
        below = Criterion("", "mean_nll", "below", 9.0, 2.0)
        self.assertEqual([below.holds(x, 9.0) for x in (6.0, 7.0, 7.5, 9.0, 11.0)], [True, True, False, False, False])
        self.assertFalse(below._replace(margin=0.0).holds(9.0, 9.0))
        within = Criterion("", "mean_nll", "within", 9.0, 2.0)
        self.assertEqual([within.holds(x, 9.0) for x in (6.0, 7.0, 9.0, 11.0, 11.5)], [False, True, True, True, False])

    def test_what_says_nothing_is_refused(self) -> None:
        keys = "have a name and the keys metric, below, by or metric, within, of"
        for text, message in [
            ("[a", "text must be TOML, got "),
            (f"a = {'[' * 10_000}", "text must not nest so deeply, got too many levels of [ or {"),
            (f"a = 1{'0' * 5000}", "text must hold numbers of at most 4,300 digits, got a longer one"),
            ("a = 1", "text['a'] must be a table, got 1"),
            ("[a]\nmetric = 'mean_nll'", f"text['a'] must {keys}, got ['metric']"),
            ("[a]\nmetric = 'mean_nll'\nwithin = 1", f"text['a'] must {keys}, got ['metric', 'within']"),
            ("['']\nmetric = 'mean_nll'\nbelow = 1", f"text[''] must {keys}, got ['metric', 'below']"),
            ("[a]\nmetric = 'loss'\nbelow = 1", "text['a'].metric must be one of 'mean_nll', 'perplexity', "
             "'bits_per_token', 'bits_per_byte', 'bits_per_char', 'byte_perplexity', 'word_perplexity', got 'loss'"),
            ("[a]\nmetric = 'mean_nll'\nbelow = 1\nby = -1", "text['a'].by must not be negative, got -1.0"),
            ("[a]\nmetric = 'mean_nll'\nbelow = 1\nby = inf", "text['a'].by must be finite, got inf"),
            ("[a]\nmetric = 'mean_nll'\nbelow = nan", "text['a'].below must be a number, got nan"),
            ("[a]\nmetric = 'mean_nll'\nbelow = true", "text['a'].below must be a number or a name, got True"),
            ("[a]\nmetric = 'mean_nll'\nbelow = ''", "text['a'].below must be a number or a name, got ''"),
        ]:  # fmt: skip
            with self.subTest(text[:60]), self.assertRaises((ValueError, TypeError)) as caught:
                read_criteria(text)
            self.assertTrue(str(caught.exception).startswith(f"read_criteria: {message}"), caught.exception)


if __name__ == "__main__":
    unittest.main()
