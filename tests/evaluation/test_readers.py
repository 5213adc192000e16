"""Logs as people have them: what each reader takes from them, and what it refuses, with file and line."""

import json
import tempfile
import unittest
from fractions import Fraction
from math import exp, fsum, inf, log
from pathlib import Path
from typing import Any
from unittest import mock

from refcalc import ExactSum
from refcalc.evaluation.log import ReceiptLog
from refcalc.evaluation.protocol import Protocol
from refcalc.evaluation.readers import records
from refcalc.evaluation.receipt import Receipt
from refcalc.evaluation.verify import Verification, verify

# A response of a server that echoes the prompt; the shape is that of the OpenAI API reference, "completion object".
ECHO: dict[str, Any] = {
    "id": "cmpl-1",
    "object": "text_completion",
    "choices": [
        {
            "text": "Thé cat sat",
            "index": 0,
            "logprobs": {
                "tokens": ["Th", "é", " cat", " sat"],
                "token_logprobs": [None, -2.5, -1.25, -0.5],
                "top_logprobs": [None, {"é": -2.5, "e": -0.125}, {" cat": -1.25}, {" sat": -0.5}],
                "text_offset": [0, 2, 3, 7],
            },
        }
    ],
    "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4},
}
# The same of chat: "chat completion object".
CHAT: dict[str, Any] = {
    "object": "chat.completion",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "é!"},
            "logprobs": {
                "content": [
                    {
                        "token": "é",
                        "logprob": -0.5,
                        "bytes": [195, 169],
                        "top_logprobs": [{"token": "é", "logprob": -0.5, "bytes": [195, 169]}],
                    },
                    {"token": "!", "logprob": -0.25, "bytes": [33], "top_logprobs": []},
                ]
            },
        }
    ],
}
# A server of vLLM: each entry holds the prompt's own token first, and then the likeliest by rank (`vllm.logprobs`).
VLLM: dict[str, Any] = {
    "object": "text_completion",
    "choices": [
        {
            "text": " sat",
            "prompt_logprobs": [
                None,
                {
                    "9": {"logprob": -4.5, "rank": 31, "decoded_token": " cat"},
                    "4": {"logprob": -0.5, "rank": 1, "decoded_token": " dog"},
                    "2": {"logprob": -1.5, "rank": 2, "decoded_token": " cow"},
                },
                {
                    "7": {"logprob": -0.25, "rank": 1, "decoded_token": " sat"},
                    "3": {"logprob": -2.0, "rank": 2, "decoded_token": " ran"},
                },
            ],
        }
    ],
}


class Files(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = str(Path(folder.name) / "run.log")

    def write(self, *lines: Any) -> str:
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        Path(self.path).write_text("\n".join(texts), encoding="utf-8")
        return self.path

    def verify(self, *lines: Any, **options: Any) -> Verification:
        return verify(self.write(*lines), **options)

    def refused(self, *lines: Any) -> str:
        with self.assertRaises((ValueError, TypeError)) as caught:
            self.verify(*lines)
        return str(caught.exception).replace(self.path, "FILE")


def changed(value: Any, change: Any) -> Any:
    """Return a copy of a JSON value to which a change was made."""
    copy = json.loads(json.dumps(value))
    change(copy)
    return copy


class Records(Files):
    def test_lines_a_value_over_many_lines_and_an_array_hold_the_same_records(self) -> None:
        one, two = {"nlls": [1.5]}, {"nlls": [2.5, 3.0]}
        lines = self.verify(one, "", two, "").tally
        for text in (json.dumps([one, two]), json.dumps([one, two], indent=2), "\n\n" + json.dumps([one, two])):
            with self.subTest(text):
                self.assertEqual(self.verify(text).tally, lines)
        self.assertEqual(self.verify(json.dumps(two, indent=1)).tally, self.verify(two).tally)

    def test_line_ends_of_windows_and_separators_within_text_are_no_new_lines(self) -> None:
        found = self.verify('{"nlls": [1.5], "text": "a\u2028b"}\r\n{"nlls": [2.5], "text": "\x85"}\r\n')
        assert found.tally is not None
        self.assertEqual((found.tally.n_targets, found.tally.n_bytes), (2, 7))

    def test_what_is_no_json_is_refused_by_line(self) -> None:
        good = {"nlls": [1.5]}
        for lines, message in (
            ([""], "the file must hold at least one JSON record, got 'nothing'"),
            (["[]"], "the file must hold at least one JSON record, got []"),
            ([good, '{"nlls": [1'], "line 2 must be JSON, got Expecting ',' delimiter at column 12"),
            (['{"nlls": [1'], "the file must be JSON, got Expecting ',' delimiter at line 1, column 12"),
            (["", "{", "3"], "the file must be JSON, got Expecting property name enclosed in double quotes at line 3"),
            ([good, '{"nlls": [NaN]}'], "line 2 must hold numbers that are finite, or the strings"),
            (['{"nlls": [1, -Infinity]}'], "line 1 must hold numbers that are finite, or the strings"),
            (["[", "Infinity]"], "the file must hold numbers that are finite, or the strings"),
            (['{"nlls": [1], "nlls": [2]}'], "line 1 must not name a key twice, got 'nlls' again"),
            (['{"nlls":' + "[" * 99_999], "line 1 must not nest so deeply, got too many levels of [ or {"),
        ):
            with self.subTest(lines=[str(line)[:40] for line in lines]):
                self.assertTrue(self.refused(*lines).startswith(f"FILE: {message}"), self.refused(*lines))

    def test_bytes_that_are_no_utf8_are_refused_by_line(self) -> None:
        for text, place in ((b'{"nlls": [1]}\n{"nlls": [1], "x": "\xff"}', "line 2"), (b'{"x": "\xff"}\n', "line 1")):
            Path(self.path).write_bytes(text)
            with self.assertRaisesRegex(ValueError, f"{place} must be UTF-8, got a bad byte at offset"):
                verify(self.path)

    def test_a_line_or_a_file_that_is_too_long_to_be_one_value_is_refused(self) -> None:
        with mock.patch.object(records, "LONGEST", 40):
            self.assertEqual(
                self.refused({"nlls": [1.5]}, {"nlls": [1.5] * 20}),
                "FILE: line 2 must be at most 40 bytes long, got 'a longer one'",
            )
            self.assertEqual(
                self.refused("[", *["1,"] * 20),
                "FILE: the file must be at most 40 bytes long, or JSON lines, got 'a longer one'",
            )
            self.assertTrue(self.verify(*[{"nlls": [1.5]}] * 9).agrees)  # longer as a file, but not as a line

    def test_folders_are_refused_and_what_is_not_there_is_an_oserror(self) -> None:
        folder = str(Path(self.path).parent)
        with self.assertRaisesRegex(ValueError, "verify: path must be a regular file"):
            verify(folder)
        with self.assertRaises(FileNotFoundError):
            verify(self.path)


class Recognition(Files):
    def test_a_file_of_no_known_form_is_refused_with_what_was_looked_for(self) -> None:
        for value, seen in (({"a": 1, "b": 2}, "'an object with a, b'"), ({}, "'an object with no keys'"), (3, "'3'")):
            message = self.refused(value)
            self.assertTrue(message.startswith("FILE: the file must be of a known form (refcalc receipts"), message)
            self.assertTrue(message.endswith(f", got {seen}"), message)
            for looked_for in ("--log_samples", "prompt_logprobs", "token_logprobs", "logprobs.content", "nll_sum"):
                self.assertIn(looked_for, message)

    def test_a_text_is_of_no_known_form_either(self) -> None:
        message = self.refused("First Citizen:", "Before we proceed")
        self.assertTrue(message.startswith("FILE: the file must be of a known form (refcalc receipts"), message)
        self.assertTrue(message.endswith(", got 'First Citizen:'"), message)

    def test_the_format_is_that_of_the_content_whatever_the_name(self) -> None:
        for value, name in (
            (ECHO, "completions"),
            (CHAT, "chat completions"),
            (VLLM, "vLLM prompt_logprobs"),
            ({"logprobs": [-1.0]}, "JSON lines"),
            ({"nll_sum": 3.0, "n_tokens": 2}, "JSON lines"),
        ):
            self.assertEqual(self.verify(value).format, name)

    def test_records_of_two_formats_in_a_file_are_refused_at_the_first_that_differs(self) -> None:
        for lines in ((ECHO, CHAT), ({"nlls": [1.0]}, {"x": 1})):
            self.assertTrue(self.refused(*lines).startswith("FILE: line 2 must be as the records before it are ("))


class JsonLines(Files):
    def test_lists_of_log_probabilities_and_of_nlls_give_the_sum_of_the_scored_tokens(self) -> None:
        for name in ("token_logprobs", "logprobs", "log_probs"):
            found = self.verify({name: [None, -0.1, -0.2]}, {name: [-0.7]}).tally
            assert found is not None
            self.assertEqual((found.nll_sum, found.n_targets, found.n_documents), (ExactSum([0.1, 0.2, 0.7]), 3, 2))
        for name in ("nlls", "token_nlls", "losses", "nll"):
            found = self.verify({name: [0.1, 0.2], "mask": [0, 1]}, {name: [0.7, "inf"], "loss_mask": [1, 0]}).tally
            assert found is not None
            self.assertEqual((found.nll_sum, found.n_targets), (ExactSum([0.2, 0.7]), 2))
        found = self.verify({"logprobs": [None, -0.1, -0.2], "mask": [1, 1, 0]}).tally
        assert found is not None
        self.assertEqual(found.nll_sum, ExactSum([0.1]))

    def test_a_published_zero_is_a_number_too(self) -> None:
        self.assertFalse(self.verify({"nlls": [1.5], "mean_nll": 0.0}).agrees)
        self.assertTrue(self.verify({"nlls": [0.0], "mean_nll": 0}).agrees)

    def test_a_line_may_be_a_single_token(self) -> None:
        tokens = [{"token": "a", "logprob": -0.5}, {"token": "b", "logprob": -1.5}]
        found = self.verify(*tokens, {"summary": {"loss": 1.0}})
        assert found.tally is not None
        self.assertEqual((found.tally.n_targets, found.tally.n_documents, found.agrees), (2, 0, True))
        message = "FILE: line 1: logprob must be a log-probability, at most 0 but for rounding, got 0.5"
        self.assertEqual(self.refused({"logprob": 0.5}), message)

    def test_sums_and_counts_are_taken_as_they_are_where_no_token_was_logged(self) -> None:
        exact = ExactSum([0.1, 0.2])
        for first in (
            {"nll_sum": exact.to_hex(), "n_targets": 2, "n_bytes": 5},
            {"nll": 0.30000000000000004, "n_tokens": 2, "num_bytes": 5},
            {"loglikelihood": -0.3, "num_tokens": 2, "n_bytes": 5},
        ):
            found = self.verify(first, {"nll_sum": 0, "n_targets": 1, "n_bytes": 0}).tally
            assert found is not None
            self.assertAlmostEqual(float(found.nll_sum), 0.3, places=15)
            self.assertEqual((found.n_targets, found.n_bytes), (3, 5))
        self.assertEqual(self.verify({"nll_sum": exact.to_hex(), "n_targets": 2}).tally.nll_sum, exact)  # type: ignore[union-attr]

    def test_what_is_no_log_probability_is_refused_by_its_place(self) -> None:
        for line, message in (
            ({"logprobs": [-1, 1.5]}, "logprobs[1] must be a log-probability, at most 0 but for rounding, got 1.5"),
            ({"logprobs": [-1, "-1.5"]}, "logprobs[1] must be a number, got '-1.5'"),
            ({"logprobs": [None, None]}, "logprobs[1] must be a number, got None"),
            ({"logprobs": ["inf"]}, "logprobs[0] must be a number, got 'inf'"),
            ({"logprobs": [True]}, "logprobs[0] must be a number, got True"),
            ({"nlls": [-0.5]}, "nlls[0] must be an nll, at least 0 but for rounding, got -0.5"),
            ({"nlls": ["nan"]}, "nlls[0] must be a number, got 'nan'"),
            ('{"nlls": [1e999]}', "nlls[0] must be finite, got inf"),
            ({"nlls": [1, 2], "mask": [1]}, "mask must be as long as nlls (2), got 1"),
            ({"nlls": [1, 2], "mask": [1, 2]}, "mask[1] must be 0 or 1, got 2"),
            ({"nll_sum": -3, "n_targets": 2}, "nll_sum must be an nll, at least 0 but for rounding, got -3"),
            (
                {"nll_sum": "3.5", "n_targets": 2},
                "nll_sum must be a number, \"inf\" or an exact sum in hexadecimal, got '3.5'",
            ),
            ({"nll_sum": 3, "n_targets": 2.0}, "n_targets must be a whole number, got 2.0"),
            ({"nll_sum": 3, "n_targets": 2, "n_bytes": -1}, "n_bytes must be at least 0, got -1"),
            ({"nll_sum": 3, "n_targets": 0}, "Tally: n_targets must be at least 1 where nll_sum is not 0, got 0"),
            ({"nlls": [1], "ppl": "2.718"}, "ppl must be a number, or \"inf\", got '2.718'"),
            (
                {"nlls": [1], "ppl": 2.7, "perplexity": 2.8},
                "perplexity must be the perplexity that the record gives under another name (2.7), got 2.8",
            ),
            ({"nlls": [1], "text": 3}, "text must be text, got 3"),
        ):
            with self.subTest(line):
                self.assertEqual(self.refused(line), f"FILE: line 1: {message}")

    def test_documents_of_which_some_were_counted_and_some_not_are_refused(self) -> None:
        message = "Tally: n_bytes must be counted in both tallies or in neither, got None and 3"
        self.assertEqual(self.refused({"nlls": [1]}, {"nlls": [1], "n_bytes": 3}), f"FILE: line 2: {message}")

    def test_nothing_scored_is_refused(self) -> None:
        for line in ({"nlls": []}, {"logprobs": [None]}, {"nlls": [1], "mask": [0]}, {"summary": {"ppl": 1.0}}):
            self.assertEqual(self.refused(line), "FILE: the file must hold a scored target, got 0")

    def test_counts_are_those_of_the_text_where_all_of_it_was_scored(self) -> None:
        found = self.verify({"nlls": [1], "text": "é a"}).tally
        assert found is not None
        self.assertEqual((found.n_bytes, found.n_chars), (4, 3))
        found = self.verify({"logprobs": [None, -1], "text": "é a"}).tally
        assert found is not None
        self.assertIsNone(found.n_bytes)

    def test_a_byte_count_that_is_the_count_of_characters_is_named(self) -> None:
        whole = self.verify({"nlls": [1], "text": "é a", "n_bytes": 3})
        self.assertEqual(whole.contradictions, (f"{self.path}: line 1: n_bytes says 3, the text has 4",))
        part = self.verify({"logprobs": [None, -1], "text": "é a", "n_bytes": 3})
        self.assertIn("which are the characters of the text; it has 4 bytes", part.contradictions[0])
        self.assertFalse(part.agrees)

    def test_a_document_that_is_there_twice_is_a_contradiction(self) -> None:
        found = self.verify({"id": "a", "nlls": [1.5]}, {"id": "b", "nlls": [1.5]}, {"id": "a", "nlls": [1.5]})
        self.assertEqual(found.contradictions, (f"{self.path}: line 3: id names 'a', as a line before it does",))


class Completions(Files):
    def test_the_echoed_prompt_is_scored_but_for_its_first_token_and_what_was_generated(self) -> None:
        found = self.verify(ECHO)
        assert found.tally is not None
        self.assertEqual((found.tally.nll_sum, found.tally.n_targets), (ExactSum([2.5, 1.25]), 2))
        self.assertEqual((found.tally.n_bytes, found.tally.n_chars), (6, 5))
        self.assertEqual(len(found.warnings), 1)
        self.assertIn("generated tokens follow the echoed prompt, and are left out", found.warnings[0])

    def test_without_usage_all_tokens_are_scored(self) -> None:
        found = self.verify(changed(ECHO, lambda r: r.pop("usage")))
        assert found.tally is not None
        self.assertEqual(found.tally.n_targets, 3)
        self.assertIn("what was generated behind an echoed prompt is scored too", found.warnings[0])

    def test_tokens_that_the_model_made_are_scored_with_a_warning(self) -> None:
        def generated(response: dict[str, Any]) -> None:
            response["choices"][0]["logprobs"] = {"tokens": [" sat"], "token_logprobs": [-0.5]}
            response["choices"][0]["text"] = " sat"

        found = self.verify(changed(ECHO, generated))
        self.assertEqual(found.tally.n_targets, 1)  # type: ignore[union-attr]
        self.assertIn("the tokens were generated by the model itself", found.warnings[0])

    def test_a_response_that_is_the_whole_file_has_no_place_in_it(self) -> None:
        def generated(response: dict[str, Any]) -> None:
            response["choices"][0]["logprobs"] = {"tokens": [" sat"], "token_logprobs": [-0.5]}
            response["choices"][0]["text"] = " sat"

        def positive(response: dict[str, Any]) -> None:
            response["choices"][0]["logprobs"]["token_logprobs"][1] = 0.5

        (warning,) = self.verify(json.dumps(changed(ECHO, generated), indent=1)).warnings
        self.assertTrue(warning.endswith(f"its perplexity on a given text ({self.path})"), warning)
        refusal = self.refused(json.dumps(changed(ECHO, positive), indent=1))
        self.assertTrue(refusal.startswith("FILE: choices[0].logprobs.token_logprobs[1] must be"), refusal)

    def test_bytes_are_not_counted_where_a_token_is_a_part_of_a_character(self) -> None:
        for token in ("\ufffd", "bytes:\\xc3"):
            found = self.verify(changed(ECHO, lambda r: r["choices"][0]["logprobs"]["tokens"].__setitem__(1, token)))  # noqa: B023
            self.assertIsNone(found.tally.n_bytes)  # type: ignore[union-attr]
            self.assertTrue(found.agrees)

    def test_a_changed_number_differs_from_its_copy(self) -> None:
        logprobs = ("choices", 0, "logprobs")
        for t in (1, 2, 3):
            found = self.verify(changed(ECHO, lambda r: at(r, logprobs)["token_logprobs"].__setitem__(t, -1.3)))  # noqa: B023
            self.assertEqual(found.n_contradictions, 1)
            self.assertIn(f"token_logprobs[{t}] says -1.3, top_logprobs[{t}] says", found.contradictions[0])

    def test_offsets_that_do_not_count_the_text_are_warned_of(self) -> None:
        found = self.verify(changed(ECHO, lambda r: at(r, ("choices", 0, "logprobs", "text_offset")).__setitem__(2, 4)))
        self.assertIn("text_offset does not count the characters of the tokens", " ".join(found.warnings))

    def test_a_cut_echo_contradicts_the_usage(self) -> None:
        found = self.verify(changed(ECHO, lambda r: r["usage"].__setitem__("prompt_tokens", 5)))
        self.assertIn("usage.prompt_tokens says 5, the echo holds 4 tokens", found.contradictions[0])

    def test_what_is_no_log_probability_is_refused_by_its_place(self) -> None:
        for value, got in (("-2.5", "be a number, got '-2.5'"), (None, "be a number, got None"), (0.5, "be a log-")):
            line = changed(ECHO, lambda r: at(r, ("choices", 0, "logprobs", "token_logprobs")).__setitem__(1, value))  # noqa: B023
            self.assertIn(f"FILE: line 1: choices[0].logprobs.token_logprobs[1] must {got}", self.refused(line))
        line = changed(ECHO, lambda r: at(r, ("choices", 0, "logprobs", "tokens")).pop())
        self.assertIn("choices[0].logprobs.token_logprobs must be as long as tokens (3), got 4", self.refused(line))
        line = changed(ECHO, lambda r: r["choices"].append({"logprobs": None}))
        self.assertIn("choices[1].logprobs must be an object (ask the server for logprobs)", self.refused(line))
        for choice in ({"text": "a", "logprobs": None}, {"message": {"content": "a"}}):
            self.assertEqual(
                self.refused(json.dumps({"choices": [choice]})),
                "FILE: line 1: choices[0].logprobs must be an object (ask the server for logprobs), got None",
            )
        line = changed(ECHO, lambda r: r["usage"].__setitem__("prompt_tokens", 3.0))
        self.assertIn("usage.prompt_tokens must be a whole number, got 3.0", self.refused(line))


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


class Chat(Files):
    def test_all_tokens_of_the_answer_are_scored_with_a_warning(self) -> None:
        found = self.verify(CHAT)
        assert found.tally is not None
        self.assertEqual((found.tally.nll_sum, found.tally.n_targets, found.tally.n_bytes), (ExactSum([0.75]), 2, 3))
        self.assertIn("the tokens were generated by the model itself", found.warnings[0])

    def test_a_changed_number_differs_from_its_copy(self) -> None:
        content = ("choices", 0, "logprobs", "content", 0)
        found = self.verify(changed(CHAT, lambda r: at(r, content).__setitem__("logprob", -0.25)))
        self.assertIn("content[0].logprob says -0.25, top_logprobs says -0.5", found.contradictions[0])

    def test_bytes_and_content_that_are_not_the_tokens_are_warned_of(self) -> None:
        content = ("choices", 0, "logprobs", "content", 1)
        found = self.verify(changed(CHAT, lambda r: at(r, content).__setitem__("bytes", [34])))
        self.assertIn("the bytes of a token are not those of its text", " ".join(found.warnings))
        found = self.verify(changed(CHAT, lambda r: at(r, ("choices", 0, "message")).__setitem__("content", "e!")))
        self.assertIn("the tokens put together are not the content of the message", " ".join(found.warnings))

    def test_a_token_without_a_log_probability_is_refused(self) -> None:
        line = changed(CHAT, lambda r: at(r, ("choices", 0, "logprobs", "content", 1)).pop("logprob"))
        message = "FILE: line 1: choices[0].logprobs.content[1].logprob must be a number, got None"
        self.assertEqual(self.refused(line), message)


class Vllm(Files):
    ENTRIES = ("choices", 0, "prompt_logprobs")

    def test_the_prompt_s_own_tokens_are_scored_wherever_they_rank(self) -> None:
        tally = self.verify(VLLM).tally
        assert tally is not None
        self.assertEqual((tally.nll_sum, tally.n_targets, tally.n_bytes), (ExactSum([4.5, 0.25]), 2, 8))

    def test_ids_decide_where_they_are_given(self) -> None:
        line = changed(VLLM, lambda r: r.__setitem__("prompt_token_ids", [1, 2, 3]))
        self.assertEqual(self.verify(line).tally.nll_sum, ExactSum([1.5, 2.0]))  # type: ignore[union-attr]
        line = changed(VLLM, lambda r: r.__setitem__("prompt_token_ids", [1, 2, 8]))
        message = "FILE: line 1: choices[0].prompt_logprobs[2] must hold the prompt's token 8, got ['7', '3']"
        self.assertEqual(self.refused(line), message)

    def test_sorted_keys_are_refused_for_the_prompt_s_token_cannot_be_told(self) -> None:
        def by_id(response: dict[str, Any]) -> None:
            entries = at(response, self.ENTRIES)
            entries[1] = dict(sorted(entries[1].items()))

        self.assertIn("must keep the order of the server", self.refused(changed(VLLM, by_id)))

    def test_numbers_alone_and_the_list_in_the_response_itself_are_read_too(self) -> None:
        found = self.verify({"prompt_logprobs": [None, {"5": -1.5, "2": -0.5}, {"6": "-inf"}]})
        self.assertEqual((found.tally.nll_sum, found.tally.n_targets), (ExactSum([inf]), 2))  # type: ignore[union-attr]

    def test_ranks_that_contradict_the_log_probabilities_are_found(self) -> None:
        entry = (*self.ENTRIES, 1, "9")
        found = self.verify(changed(VLLM, lambda r: at(r, entry).__setitem__("logprob", -1.0)))
        self.assertIn("rank 2 has -1.5, rank 31 has -1.0, which is more", found.contradictions[0])

    def test_an_entry_that_is_missing_is_refused(self) -> None:
        for entry in (None, {}, 3):
            line = changed(VLLM, lambda r: at(r, self.ENTRIES).__setitem__(2, entry))  # noqa: B023
            self.assertIn("prompt_logprobs[2] must be an object of log-probabilities by token id", self.refused(line))


class Receipts(Files):
    PROTOCOL = Protocol(
        vocab_size=7, tokenizer="t", corpus="c", checkpoint="k", split="test", window=8, units=("bytes",)
    )

    def log(self) -> None:
        with ReceiptLog(self.path, self.PROTOCOL) as log:
            log.write(Receipt("a", ExactSum([0.1, 0.2]), 2, n_bytes=3, n_windows=1))
            log.write(Receipt("b", ExactSum([9.0]), 4, n_bytes=7, n_windows=1))
            log.end()

    def test_receipts_are_added_up_and_the_uniform_guess_is_that_of_their_protocol(self) -> None:
        self.log()
        found = verify(self.path, reported={"mean_nll": "1.55", "n_bytes": 10})
        assert found.tally is not None
        self.assertEqual((found.tally.nll_sum, found.tally.n_targets), (ExactSum([0.1, 0.2, 9.0]), 6))
        self.assertTrue(found.agrees)
        self.assertEqual(found.warnings, ("1 of 2 documents have a mean nll above ln V = 1.94591",))

    def test_a_line_that_was_changed_or_cut_is_refused(self) -> None:
        self.log()
        text = Path(self.path).read_text("utf-8")
        for wrong in (text.replace('"n_bytes":7', '"n_bytes":8'), text[:-30], text.rsplit("\n", 2)[0] + "\n"):
            Path(self.path).write_text(wrong, encoding="utf-8")
            with self.assertRaisesRegex(ValueError, "line|the file"):
                verify(self.path)


class Signs(Files):
    """What a person should look at, for every format alike."""

    def test_positive_log_probabilities(self) -> None:
        found = self.verify({"logprobs": [-1.25, 1e-4, 2e-4]})
        self.assertIn("2 of 3 log-probabilities are positive, up to 0.0002", found.warnings[0])
        self.assertEqual(found.tally.nll_sum, ExactSum([1.25, -1e-4, -2e-4]))  # type: ignore[union-attr]
        self.assertEqual(self.verify({"logprobs": [1e-4]}).tally.nll_sum, ExactSum())  # type: ignore[union-attr]

    def test_rounded_log_probabilities_widen_what_agrees(self) -> None:
        exact = [0.1 + 0.37 * i / 7 for i in range(40)]
        mean = fsum(exact) / 40
        found = self.verify({"nlls": [round(x, 2) for x in exact]}, reported={"mean_nll": mean})
        self.assertIn("the log-probabilities have 2 decimals", found.warnings[0])
        self.assertEqual([check.verdict for check in found.checks], ["agrees within the log's 2 decimals"])
        far = self.verify({"nlls": [round(x, 2) for x in exact]}, reported={"mean_nll": mean + 0.006})
        self.assertFalse(far.agrees)
        bits = self.verify({"nlls": [round(x, 2) for x in exact]}, reported={"bits_per_token": mean / log(2) + 0.007})
        self.assertTrue(bits.agrees)  # 0.005 nats are more bits than that
        for values in ([round(x, 2) for x in exact[:19]], [1.0] * 40):  # so few, or whole, may be made by hand
            self.assertEqual(self.verify({"nlls": values}).warnings, ())

    def test_placeholders_and_impossible_tokens(self) -> None:
        found = self.verify({"logprobs": [-9999.0, -1.5]})
        self.assertIn("1 of 2 log-probabilities are -9999.0", found.warnings[0])
        found = self.verify({"logprobs": ["-inf", -1.5]})
        self.assertIn("1 of 2 scored tokens have probability zero", found.warnings[0])

    def test_worse_than_a_uniform_guess(self) -> None:
        line = {"logprobs": [-2.5, -2.0], "n_bytes": 1}
        self.assertEqual(self.verify(line, vocab_size=10).warnings, ())
        found = self.verify(line, vocab_size=9)
        self.assertIn("the mean nll 2.25 is above ln V = 2.19722, that of a uniform guess (were", found.warnings[0])
        found = self.verify({"logprobs": [-3.0, -3.0], "n_bytes": 1})
        self.assertIn("8.65617 bits per byte are more than the 8 that a byte has", found.warnings[0])


class EveryNumber(Files):
    """Published numbers and copies of the data: changed one by one, each change is found."""

    NLLS = (0.75, 1.5, 2.25, 0.125)

    def lines(self) -> list[dict[str, Any]]:
        total = float(sum(map(Fraction, self.NLLS)))
        first = {
            "nlls": list(self.NLLS[:3]), "nll_sum": fsum(self.NLLS[:3]), "n_targets": 3, "mean_nll": 1.5,
            "perplexity": exp(1.5), "text": "déjà", "n_bytes": 6, "n_chars": 4,
        }  # fmt: skip
        second = {"nlls": [0.125], "text": "x", "n_bytes": 1, "n_chars": 1, "ppl": exp(0.125)}
        summary = {
            "mean_nll": total / 4, "nll_sum": total, "perplexity": exp(total / 4), "n_targets": 4, "n_bytes": 7,
            "n_documents": 2, "bits_per_byte": total / 7 / 0.6931471805599453, "bpc": total / 5 / 0.6931471805599453,
            "byte_perplexity": exp(total / 7),
        }  # fmt: skip
        return [first, second, {"summary": summary}]

    def test_each_change_is_found(self) -> None:
        lines = self.lines()
        self.assertTrue(self.verify(*lines).agrees, str(self.verify(*lines)))
        tried = 0
        for i, line in enumerate(lines):
            for path in numbers(line):
                value = at(line, path)
                other = value + 1 if isinstance(value, int) else value * (1.0 + 1e-6)
                wrong = changed(lines, lambda each: at(each[i], path[:-1]).__setitem__(path[-1], other))  # noqa: B023
                with self.subTest(i, path=path):
                    self.assertFalse(self.verify(*wrong).agrees)
                tried += 1
        self.assertEqual(tried, 22)


class Junk(Files):
    def test_a_value_of_another_kind_is_read_or_refused_by_file_wherever_it_stands(self) -> None:
        lines = {"id": 1, "nlls": [1.5, 2.5], "mask": [1, 1], "text": "ab", "n_bytes": 2, "ppl": 2.0, "nll_sum": 4.0}
        for value in (ECHO, CHAT, VLLM, lines):
            for path in nodes(value)[1:]:
                for junk in (None, -1, 3.5, "x", [], {}, [{}], True):
                    wrong = changed(value, lambda v: at(v, path[:-1]).__setitem__(path[-1], junk))  # noqa: B023
                    try:
                        str(self.verify(wrong))
                    except (ValueError, TypeError) as refusal:
                        self.assertTrue(str(refusal).startswith(f"{self.path}: "), refusal)


def nodes(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all values within a JSON value, its own first."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, each in inner for found in nodes(each, (*path, key)))]


def numbers(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all numbers in a JSON value."""
    if isinstance(value, dict):
        return [found for key, each in value.items() for found in numbers(each, (*path, key))]
    if isinstance(value, list):
        return [found for i, each in enumerate(value) for found in numbers(each, (*path, i))]
    return [path] if isinstance(value, (int, float)) else []


if __name__ == "__main__":
    unittest.main()
