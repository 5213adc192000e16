"""`refcalc verify`, run as people run it."""

import json
from typing import Any

from tests.cli.test_diagnose import Commands

LINES = [{"nll_sum": 6.0, "n_targets": 2, "n_bytes": 3}, {"nll_sum": 9.0, "n_targets": 4, "n_bytes": 7}]


class Verify(Commands):
    def verify(self, lines: list[Any], *options: str) -> tuple[int, str, str]:
        with open(self.path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
        return self.run_with("verify", self.path, *options)

    def test_the_status_is_0_where_all_agrees_and_1_where_a_number_or_a_copy_does_not(self) -> None:
        for options, status in (
            ([], 0),
            (["--reported", "mean_nll=2.5", "--reported", "ppl=12.18"], 0),
            (["--reported", "mean_nll=2.5", "--reported", "ppl=12.19"], 1),
        ):
            found, out, err = self.verify(LINES, *options)
            self.assertEqual((found, err), (status, ""), out)
        self.assertEqual(self.verify([{"id": 1, **LINES[0]}, {"id": 1, **LINES[1]}])[0], 1)

    def test_a_table_with_the_mistake_named(self) -> None:
        _, out, _ = self.verify(LINES, "--reported", "mean_nll=2.625")
        self.assertIn("mean_nll     2.625        2.5  off by 0.125, 5 %\n", out)
        self.assertIn("macro-vs-micro: 2.625", out)
        self.assertTrue(out.endswith("Disagrees: 1 of 1 numbers are not what the log gives.\n"))

    def test_bad_input_is_one_line_with_status_2(self) -> None:
        for lines, options, message in (
            ([{"a": 1}], [], f"refcalc: {self.path}: the file must be of a known form"),
            ([*LINES, {"nll_sum": "x", "n_targets": 1}], [], f"refcalc: {self.path}: line 3: nll_sum must be a num"),
            (LINES, ["--reported", "ppl"], "refcalc: verify: --reported must be NAME=VALUE, got 'ppl'"),
            (LINES, ["--reported", "ppl=x"], "refcalc: verify: reported['ppl'] must be a number, got 'x'"),
            (LINES, ["--reported", "ppl=1", "--reported", "ppl=2"], "refcalc: verify: --reported must name each"),
            (LINES, ["--vocab-size", "0"], "refcalc: verify: vocab_size must be at least 1, got 0"),
        ):
            status, out, err = self.verify(lines, *options)
            self.assertEqual((status, out), (2, ""))
            self.assertTrue(err.startswith(message), err)
            self.assertEqual(err.count("\n"), 1)
        status, _, err = self.run_with("verify", self.path + "x")
        message = f"refcalc: {self.path}x: must be a file that can be opened, got No such file or directory\n"
        self.assertEqual((status, err), (2, message))

    def test_json_holds_the_same(self) -> None:
        status, out, _ = self.verify(LINES, "--json", "--vocab-size", "5", "--reported", "mean_nll=2.625")
        record = json.loads(out)
        self.assertEqual((status, record["agrees"]), (1, False))
        self.assertEqual(record["recomputed"]["mean_nll"], 2.5)
        self.assertEqual(record["checks"][0]["mistakes"][0], ["macro-vs-micro"])
        self.assertEqual(record["tally"]["n_targets"], 6)
        self.assertIn("above ln V", record["warnings"][0])
        infinite = json.loads(self.verify([{"logprobs": ["-inf"]}], "--json")[1])
        self.assertEqual(infinite["recomputed"]["mean_nll"], "inf")

    def test_dtype_by_its_short_name(self) -> None:
        lines = [{"nlls": [0.1, 0.2, 0.4]}]
        self.assertEqual(self.verify(lines, "--reported", "mean_nll=0.23333333")[0], 0)
        self.assertEqual(self.verify(lines, "--reported", "mean_nll=0.233333345")[0], 1)
        self.assertEqual(self.verify(lines, "--reported", "mean_nll=0.233333345", "--dtype", "fp32")[0], 0)
