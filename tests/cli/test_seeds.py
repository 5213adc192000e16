"""`refcalc seeds`, run as people run it: arguments in, text and an exit status out."""

import json

from refcalc import seed_noise
from tests.cli.test_bootstrap import CommandCase


class Seeds(CommandCase):
    def test_the_three_seeds_of_the_seed_document(self) -> None:
        numbers = ("1.6757", "1.6792", "1.6856")
        report = self.report("seeds", *numbers)
        self.assertEqual(report, {"runs": seed_noise([1.6757, 1.6792, 1.6856])._asdict()})
        _, out, _ = self.run_on("seeds", *numbers, "--difference", "0.002")
        self.assertIn(
            "\nruns          3        1.68017     0.00502029     0.00289847         1.6677        1.69264\n", out
        )
        self.assertTrue(
            out.endswith(
                "\nwithin the noise: 0.002 is 0.488 standard errors of the difference\n"
                "noise alone gives as much in 67 % of cases\n"
            )
        )

    def test_two_systems_and_their_picture(self) -> None:
        svg = self.folder / "seeds.svg"
        arguments = ("seeds", "1.787", "1.780", "1.794", "--against", "1.678", "1.668", "1.688", "--svg", str(svg))
        report = self.report(*arguments)
        self.assertEqual(report["difference"]["verdict"], "real")
        self.assertTrue(report["difference"]["words"].startswith("real: 0.109 is "))
        self.assertIn("<desc>mean, bars: 95 % t interval. runs, 3 seeds 1.787 ", svg.read_text("utf-8"))

    def test_what_is_refused(self) -> None:
        for arguments, message in [
            (("1.5",), "seed_noise: values must hold at least 2 runs, got 1"),
            (("1.5", "nan"), "seed_noise: values[1] must be a number, got nan"),
            (("-1e308", "-1e308", "--against", "1e308", "1e308"), "seeds: the difference must be finite, got -inf"),
            (
                ("0", "5e-324", "--difference", "1"),
                "materiality: noise.standard_deviation must lie between 1e-150 and 1e+150 (take another unit), "
                "got 5e-324",
            ),
            (("1", "-inf"), "seed_noise: values[1] must be finite, got -inf"),
        ]:
            with self.subTest(message):
                self.assertEqual(self.run_on("seeds", *arguments), (2, "", f"refcalc: {message}\n"))

    def test_a_picture_that_cannot_be_written_is_refused_by_name(self) -> None:
        path, folder = str(self.folder / "none" / "a.svg"), str(self.folder / "none")
        message = f"refcalc: {path}: the picture must go into a folder that exists, got {folder}\n"
        self.assertEqual(self.run_on("seeds", "1", "2", "--svg", path), (2, "", message))
        message = f"refcalc: {self.folder}: the picture must be a file, got a folder\n"
        self.assertEqual(self.run_on("seeds", "1", "2", "--svg", str(self.folder)), (2, "", message))

    def test_negative_numbers_with_an_exponent_are_numbers(self) -> None:
        report = self.report("seeds", "1e-3", "-2e-3", "-.3E-2", "--against", "-1e-3", "-2", "--confidence", "0.9")
        self.assertEqual(report["runs"], seed_noise([1e-3, -2e-3, -3e-3], confidence=0.9)._asdict())
        self.assertEqual(report["against"], seed_noise([-1e-3, -2.0], confidence=0.9)._asdict())
        self.assertEqual(self.report("seeds", "1", "2", "--difference", "-1e-3")["difference"]["difference"], -1e-3)

    def test_runs_that_are_all_alike_have_a_table_and_no_verdict(self) -> None:
        status, out, err = self.run_on("seeds", "2", "2", "2", "--against", "3", "3", "3")
        self.assertEqual((status, err), (1, ""))
        rows = [line.split() for line in out.splitlines()[1:3]]
        self.assertEqual(rows, [["runs", "3", "2", "0", "0", "2", "2"], ["against", "3", "3", "0", "0", "3", "3"]])
        words = "no noise seen: whether -1 is more than noise cannot be said"
        warning = "warning: {}: all are alike; did they differ in their seed?"
        want = [words, "the difference is runs minus against", warning.format("runs"), warning.format("against")]
        self.assertEqual(out.splitlines()[4:], want)
        status, out, _ = self.run_on("seeds", "1", "1", "--difference", "2", "--json")
        difference = json.loads(out)["difference"]
        self.assertEqual((status, difference["verdict"], difference["chance"]), (1, "no noise seen", None))
        status, out, _ = self.run_on("seeds", "1", "1", "--against", "2", "3")
        self.assertEqual((status, out.splitlines()[-1]), (0, warning.format("runs")))

    def test_the_seeds_that_would_help_come_with_their_power(self) -> None:
        _, out, _ = self.run_on("seeds", "1.787", "1.780", "1.794", "--difference", "0.012")
        self.assertRegex(out, r"\n\d+ seeds on each side would find a true one of this size in 80 % of cases\n")
