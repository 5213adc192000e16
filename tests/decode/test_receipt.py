"""GenerationReceipt: what follows from what was kept, JSON both ways, and records that contradict themselves."""

import json
import unittest
from copy import deepcopy
from math import inf, nan
from typing import Any

from refcalc import GenerationReceipt, Policy, greedy
from refcalc.decode import Step

ONE = Policy(temperature=0, max_new=1)


def receipt_of(data: bytes | None) -> GenerationReceipt:
    return GenerationReceipt((0,), ONE, None, (Step(1, -0.5, -0.25),), data)


class Text(unittest.TestCase):
    def test_strict_utf_8(self) -> None:
        for data, text, bad in [
            (b"", "", None),
            ("整禾桥。".encode(), "整禾桥。", None),
            (b"ab\xff", None, 2),
            ("caf\u00e9".encode()[:-1], None, 3),  # cut within a character
            (b"\xed\xa0\x80", None, 0),  # a lone surrogate
            (b"\xc0\x80", None, 0),  # an overlong form
            (b"a\x80b\xff", None, 1),
        ]:
            with self.subTest(data=data):
                receipt = receipt_of(data)
                self.assertEqual((receipt.text, receipt.first_bad_byte), (text, bad))
                self.assertEqual(receipt.to_dict()["valid_utf8"], bad is None)
                self.assertEqual(bytes.fromhex(receipt.to_dict()["data"]), data)  # the evidence is kept
                self.assertEqual(GenerationReceipt.from_dict(receipt.to_dict()), receipt)

    def test_without_decode_there_is_no_verdict(self) -> None:
        receipt = receipt_of(None)
        self.assertIsNone(receipt.text)
        self.assertIsNone(receipt.first_bad_byte)
        self.assertIsNone(receipt.to_dict()["valid_utf8"])
        self.assertEqual(GenerationReceipt.from_dict(receipt.to_dict()), receipt)

    def test_decode_gets_what_was_generated_without_eos(self) -> None:
        given: list[list[int]] = []

        def decode(ids: list[int]) -> bytes:
            given.append(ids)
            return bytes(97 + i for i in ids)

        policy = Policy(eos=2, max_new=3)
        self.assertEqual(greedy(lambda ids: [0.0, 1.0, 2.0], [1], policy, decode=decode).text, "")
        self.assertEqual(greedy(lambda ids: [0.0, 3.0, 2.0], [1], policy, decode=decode).text, "bbb")
        self.assertEqual(given, [[], [1, 1, 1]])


class Json(unittest.TestCase):
    def test_the_words_of_a_record(self) -> None:
        text = json.dumps(receipt_of(b"ok").to_dict(), allow_nan=False)
        record = json.loads(text)
        policy = record.pop("policy")
        self.assertEqual(policy, ONE.to_dict())
        self.assertEqual(
            record,
            {
                "prompt": [0],
                "ids": [1],
                "stop": "max_new",
                "text": "ok",
                "valid_utf8": True,
                "first_bad_byte": None,
                "data": "6f6b",
                "seed": None,
                "steps": [{"token": 1, "raw_logprob": -0.5, "processed_logprob": -0.25}],
            },
        )

    def test_a_log_probability_of_minus_infinity(self) -> None:
        """The token is so far behind that the difference leaves the doubles, but nothing else was left."""
        receipt = greedy(lambda ids: [1.7e308, -1.7e308], [0], Policy(banned=[0], max_new=1))
        self.assertEqual(receipt.steps, ((1, -inf, 0.0),))
        record = json.loads(json.dumps(receipt.to_dict(), allow_nan=False))
        self.assertEqual(record["steps"][0]["raw_logprob"], "-inf")
        self.assertEqual(GenerationReceipt.from_dict(record), receipt)

    def test_every_bit_comes_back(self) -> None:
        steps = (Step(1, -0.1 - 0.2, -5e-324), Step(0, -1e308, -1 / 3))
        receipt = GenerationReceipt((4, 4), Policy(temperature=0, max_new=2), None, steps)
        self.assertEqual(GenerationReceipt.from_dict(json.loads(json.dumps(receipt.to_dict()))).steps, steps)


class Refusals(unittest.TestCase):
    def assert_refused(self, message: str, function: Any, *a: Any, kind: type[Exception] = ValueError) -> None:
        with self.subTest(message), self.assertRaises(kind) as caught:
            function(*a)
        self.assertEqual(str(caught.exception), message)

    def test_steps_that_the_policy_cannot_have_generated(self) -> None:
        policy, step, end = Policy(temperature=0, eos=9, max_new=2), Step(1, -1.0, -1.0), Step(9, -1.0, -1.0)
        for message, steps in [
            ("steps must end with an eos or at max_new, got ()", ()),
            ("steps must end with an eos or at max_new, got (1,)", (step,)),
            ("steps must end with an eos or at max_new, got (1, 1, 1)", (step, step, step)),
            ("steps must end with an eos or at max_new, got (1, 1, 9)", (step, step, end)),
            ("steps[0].token must be the last, it is an eos, got (9, 1)", (end, step)),
            (
                "steps[1].raw_logprob must be the logarithm of a probability, at most 0, got 0.5",
                (step, Step(1, 0.5, -1.0)),
            ),
            (
                "steps[0].raw_logprob must be the logarithm of a probability, at most 0, got 5e-324",
                (Step(9, 5e-324, -1.0),),
            ),
            (
                "steps[0].processed_logprob must be the logarithm of a probability, at most 0, got nan",
                (Step(9, -0.5, nan),),
            ),
        ]:
            self.assert_refused(f"GenerationReceipt: {message}", GenerationReceipt, (0,), policy, None, steps)
        policy = Policy(temperature=0, eos=9, min_new=1, max_new=3, banned=[4])
        for message, steps in [
            ("steps must be more than min_new (1), an eos included, got (9,)", (end,)),
            ("steps[1].token must be none of policy.banned, got 4", (step, Step(4, -1.0, -1.0), end)),
        ]:
            self.assert_refused(f"GenerationReceipt: {message}", GenerationReceipt, (0,), policy, None, steps)
        self.assertEqual(GenerationReceipt((0,), policy, None, (step, end)).ids, (1, 9))
        message = "GenerationReceipt: steps must end with an eos or at max_new, got (1,)"
        self.assert_refused(message, GenerationReceipt, (0,), Policy(temperature=0, eos=9), None, (step,))
        message = "GenerationReceipt: seed must be given where the policy is not greedy, got None"
        self.assert_refused(message, GenerationReceipt, (0,), Policy(max_new=1), None, (step,))
        message = "GenerationReceipt: seed must be at least 0, got -1"
        self.assert_refused(message, GenerationReceipt, (0,), ONE, -1, (step,))
        message = "GenerationReceipt: prompt must hold at least one id (a BOS, where there is no text), got 0"
        self.assert_refused(message, GenerationReceipt, (), ONE, None, (step,))

    def test_kinds(self) -> None:
        step = Step(1, -1.0, -1.0)
        for message, arguments in [
            ("policy must be a Policy, got {}", ((0,), {}, None, (step,))),
            ("prompt[0] must be a whole number, got 'a'", (("a",), ONE, None, (step,))),
            ("steps[0].token must be a whole number, got 1.0", ((0,), ONE, None, (Step(1.0, -1.0, -1.0),))),
            ("steps[0].raw_logprob must be a number, got '-1'", ((0,), ONE, None, (Step(1, "-1", -1.0),))),
            ("seed must be a whole number, got 'x'", ((0,), ONE, "x", (step,))),
            ("steps must be a sequence, got 3", ((0,), ONE, None, 3)),
            ("data must be bytes or None, got 'ab'", ((0,), ONE, None, (step,), "ab")),
        ]:
            self.assert_refused(f"GenerationReceipt: {message}", GenerationReceipt, *arguments, kind=TypeError)

    def test_lists_of_plain_values_are_taken(self) -> None:
        receipt = GenerationReceipt([0], ONE, None, [(1, -0.5, -0.25)], b"ok")  # type: ignore[arg-type, list-item]
        self.assertEqual(receipt, receipt_of(b"ok"))

    def test_a_record_that_contradicts_itself(self) -> None:
        for key, value, message in [
            ("ids", [2], "record['ids'] must be [1], by the rest, got [2]"),
            ("stop", "eos", "record['stop'] must be 'max_new', by the rest, got 'eos'"),
            ("text", "ok!", "record['text'] must be 'ok', by the rest, got 'ok!'"),
            ("valid_utf8", False, "record['valid_utf8'] must be True, by the rest, got False"),
            ("first_bad_byte", 0, "record['first_bad_byte'] must be None, by the rest, got 0"),
            ("data", "zz", "record['data'] must be hexadecimal, got 'zz'"),
            (
                "steps",
                [{"token": 1}],
                "record['steps'][0] must have the keys token, raw_logprob, processed_logprob, got {'token': 1}",
            ),
        ]:
            record = deepcopy(receipt_of(b"ok").to_dict())
            record[key] = value
            self.assert_refused(f"GenerationReceipt.from_dict: {message}", GenerationReceipt.from_dict, record)

    def test_records_of_another_form(self) -> None:
        read, record = GenerationReceipt.from_dict, receipt_of(b"ok").to_dict()
        name, keys = "GenerationReceipt.from_dict", ", ".join(record)
        self.assert_refused(f"{name}: record must be a dict, got []", read, [], kind=TypeError)
        for key, value, kind in [
            ("steps", None, "list"),
            ("prompt", "ab", "list"),
            ("policy", None, "dict"),
            ("seed", "3", "int or null"),
            ("data", 5, "str or null"),
        ]:
            message = f"{name}: record['{key}'] must be {kind}, got {value!r}"
            self.assert_refused(message, read, {**record, key: value}, kind=TypeError)
        with self.assertRaisesRegex(ValueError, f"^{name}: record must have the keys {keys}, got "):
            read({**record, "extra": 1})
        with self.assertRaisesRegex(ValueError, f"^{name}: record must have the keys {keys}, got "):
            read({key: value for key, value in record.items() if key != "text"})


if __name__ == "__main__":
    unittest.main()
