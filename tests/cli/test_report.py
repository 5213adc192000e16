"""`refcalc report`, run as people run it: arguments in, text and an exit status out."""

import json
from pathlib import Path

from refcalc.evaluation.criteria import read_criteria
from tests.cli.test_bootstrap import CommandCase as BootstrapCase
from tests.evaluation.small import protocol, receipt, write

LEARNS = read_criteria('["it learns"]\nmetric = "mean_nll"\nbelow = "uniform"\nby = 3')


class CommandCase(BootstrapCase):
    def setUp(self) -> None:
        super().setUp()
        self.ours = self.receipts("ours.jsonl", 1.0)

    def receipts(self, name: str, scale: float, **fields: object) -> str:
        several = [receipt("a", 6.0 * scale, 2, 3), receipt("b", 9.0 * scale, 4, 7)]
        return write(self.folder / name, protocol(**fields), *several)


class Reports(CommandCase):
    def test_the_json_has_the_figures_and_the_table_says_the_same(self) -> None:
        report = self.report("report", self.ours)
        self.assertEqual(report["figures"]["mean_nll"]["value"], 2.5)
        self.assertEqual(report["figures"]["bits_per_byte"]["denominator"], 10)
        self.assertEqual(report["protocol_digest"], protocol().digest)
        self.assertEqual(report["total"]["nll_sum"], "0xfp+0")
        status, out, err = self.run_on("report", self.ours)
        self.assertEqual((status, err), (0, ""))
        self.assertIn("\nnats per target              2.5   15 nats / 6 targets\n", out)

    def test_baselines_and_splits_have_their_names(self) -> None:
        other = self.receipts("other.jsonl", 1.25, checkpoint="unigram")
        split = self.receipts("split.jsonl", 1.1, split="validation")
        arguments = ("report", self.ours, "--baseline", f"unigram={other}", "--split", f"validation={split}")
        report = self.report(*arguments)
        self.assertEqual(list(report["baselines"]), ["uniform", "unigram"])
        self.assertEqual(report["baselines"]["unigram"]["mean_nll"]["value"], 3.125)
        self.assertEqual(report["splits"]["validation"]["mean_nll"]["value"], 2.75)
        _, out, _ = self.run_on(*arguments)
        self.assertIn("\nunigram                       3.125        22.7599", out)

    def test_as_many_of_the_worst_as_asked_for(self) -> None:
        self.assertEqual([w["document"] for w in self.report("report", self.ours)["worst"]], ["a", "b"])
        self.assertEqual([w["document"] for w in self.report("report", self.ours, "--worst", "1")["worst"]], ["a"])
        self.assertEqual(self.report("report", self.ours, "--worst", "0")["worst"], [])

    def test_bootstrap_reads_the_same_receipts(self) -> None:
        self.assertEqual(self.report("bootstrap", self.ours, "--method", "exact")["observed"], 2.5)


    def test_a_name_cannot_steer_the_terminal(self) -> None:
        name = "a\x1b[2J\u202e \u00e9"
        path = write(self.folder / "names.jsonl", protocol(split=name), receipt(name, 6.0, 2, 3))
        _, out, _ = self.run_on("report", path)
        self.assertIn("\nsplit       a\\x1b[2J\\u202e \u00e9, not looked at before\n", out)
        self.assertIn("\na\\x1b[2J\\u202e \u00e9  ", out)
        self.assertEqual(self.report("report", path)["worst"][0]["document"], name)
        self.assertNotIn("\x1b", self.run_on("report", "\x1b[2J")[2])


class Statuses(CommandCase):
    def test_a_criterion_decides_between_0_and_1(self) -> None:
        for by, want in ((3.0, 0), (3.2, 1)):
            criteria = tuple(each._replace(margin=by) for each in LEARNS)
            path = self.receipts(f"{by}.jsonl", 1.0, criteria=criteria)
            status, out, err = self.run_on("report", path)
            self.assertEqual((status, err), (want, ""))
            self.assertIn("holds          it learns" if not want else "DOES NOT HOLD  it learns", out)
            self.assertIn(f" by at least {by:g} ", " ".join(out.split()))
            self.assertEqual(self.run_on("report", path, "--json")[0], want)

    def test_a_criterion_that_cannot_be_judged_does_not_hold(self) -> None:
        unknown = tuple(each._replace(reference="unigram") for each in LEARNS)
        status, out, _ = self.run_on("report", self.receipts("unknown.jsonl", 1.0, criteria=unknown))
        self.assertEqual(status, 1)
        self.assertIn("NOT KNOWN      it learns: nats per target 2.5, below unigram (no receipts of\n", out)

    def test_other_protocols_are_1_and_bad_files_2(self) -> None:
        other = self.receipts("other.jsonl", 1.2, window=12)
        status, out, err = self.run_on("report", self.ours, "--baseline", f"other={other}")
        self.assertEqual((status, out), (1, ""))
        self.assertIn("with window 24, stride 24, got window 12, stride 12", err)
        torn = self.folder / "torn.jsonl"
        torn.write_bytes(Path(self.ours).read_bytes()[:-9])
        for arguments, message in [
            ((str(torn),), f"{torn}: line 4 must be whole, with a newline at its end"),
            ((self.ours, "--baseline", "other"), "report: --baseline must be NAME=RECEIPTS, got 'other'"),
            ((self.ours, "--split", "=x"), "report: --split must be NAME=RECEIPTS, got '=x'"),
            ((self.ours, *["--split", "a=x"] * 2), "report: --split must give each name once, got 'a' again"),
            ((self.ours, "--worst", "-1"), "Report.of: worst must be at least 0, got -1"),
        ]:
            with self.subTest(message):
                status, out, err = self.run_on("report", *arguments)
                self.assertEqual((status, out), (2, ""))
                self.assertTrue(err.startswith(f"refcalc: {message}"), err)
                self.assertEqual(err.count("\n"), 1)

    def test_the_json_of_what_is_infinite_can_be_read_by_anybody(self) -> None:
        path = write(self.folder / "inf.jsonl", protocol(), receipt("a", float("inf"), 2, 3))
        status, out, _ = self.run_on("report", path, "--json")

        def refuse(name: str) -> None:
            raise AssertionError(name)

        self.assertEqual(json.loads(out, parse_constant=refuse)["figures"]["mean_nll"]["value"], "inf")
        self.assertEqual(status, 0)
