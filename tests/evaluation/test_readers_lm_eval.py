"""Results of lm-evaluation-harness, computed again; `data/lm_eval` was written by version 0.4.13 with a model that
makes up log-likelihoods, on tasks of a few documents (tests/peers/check_lm_eval.py has the tasks)."""

import json
import os
import re
import tempfile
import unittest
from math import exp, log, nextafter, sqrt
from pathlib import Path
from typing import Any

from refcalc.evaluation.readers.lm_eval import aggregates
from refcalc.evaluation.verify import Verification, verify
from tests.evaluation.test_readers import at, changed, numbers

FOLDER = Path(__file__).with_name("data") / "lm_eval"
TASKS = ("rolling", "choice", "choice_by_text", "last_word")
SHARED = Path(os.environ.get("REFCALC_DATA", Path(__file__).parents[3] / "shared" / "data"))
RESULTS: dict[str, Any] = json.loads((FOLDER / "results.json").read_text("utf-8"))
SAMPLES = {
    name: [json.loads(line) for line in (FOLDER / f"samples_{name}_.jsonl").read_text("utf-8").splitlines()]
    for name in TASKS
}


class Harness(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def files(self, results: dict[str, Any], samples: dict[str, list[Any]]) -> list[str]:
        paths = [self.folder / "results.json", *(self.folder / f"samples_{name}_.jsonl" for name in samples)]
        paths[0].write_text(json.dumps(results), encoding="utf-8")
        for path, lines in zip(paths[1:], samples.values(), strict=True):
            path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return [str(path) for path in paths]

    def verify(self, results: dict[str, Any], samples: dict[str, list[Any]], **options: Any) -> Verification:
        return verify(self.files(results, samples), **options)

    def with_sample(self, name: str, i: int, change: Any) -> Verification:
        """Verify the run with a change made to one sample."""
        return self.verify(RESULTS, {**SAMPLES, name: changed(SAMPLES[name], lambda lines: change(lines[i]))})

    def refused(self, results: dict[str, Any], samples: dict[str, list[Any]]) -> str:
        with self.assertRaises((ValueError, TypeError)) as caught:
            self.verify(results, samples)
        return str(caught.exception).replace(f"{self.folder}{os.sep}", "")


class Agreement(Harness):
    def test_every_number_of_the_run_agrees_to_its_last_digit(self) -> None:
        found = verify([FOLDER / "results.json", *(FOLDER / f"samples_{name}_.jsonl" for name in TASKS)])
        self.assertTrue(found.agrees, str(found))
        self.assertEqual(len(found.checks), 30)
        self.assertEqual({check.verdict for check in found.checks}, {"all printed digits agree"})
        self.assertEqual(found.unverified, {"last_word: perplexity_stderr": "it comes from a bootstrap"})

    def test_the_rules_by_hand(self) -> None:
        lls = [float(line["filtered_resps"][0]) for line in SAMPLES["rolling"]]
        texts = [line["doc"]["text"] for line in SAMPLES["rolling"]]
        n_bytes, n_words = sum(len(t.encode()) for t in texts), sum(len(re.split(r"\s+", t)) for t in texts)
        checks = self.verify(RESULTS, SAMPLES).checks
        own = {check.quantity: check.recomputed for check in checks if check.place == "rolling"}
        self.assertAlmostEqual(own["bits_per_byte"], -sum(lls) / n_bytes / log(2), places=12)
        self.assertAlmostEqual(own["word_perplexity"] / exp(-sum(lls) / n_words), 1.0, places=12)
        self.assertAlmostEqual(own["byte_perplexity"], exp(-sum(lls) / n_bytes), places=12)
        self.assertNotEqual(n_words, sum(len(t.split()) for t in texts))  # outer white space makes empty words

    def test_the_shared_run_of_a_real_model(self) -> None:
        files = [SHARED / "lm_eval_results.json", SHARED / "lm_eval_samples_shake.jsonl"]
        if not all(file.exists() for file in files):
            self.skipTest("the shared run is not here")
        found = verify(files)
        self.assertTrue(found.agrees)
        own = {check.quantity: check.recomputed for check in found.checks}
        self.assertEqual(own["bits_per_byte"], 1.8019273634773094)
        self.assertEqual(own["byte_perplexity"], 3.486857398126677)
        self.assertEqual(own["word_perplexity"], 945.2508067252521)

    def test_samples_within_the_results_and_samples_found_by_their_hash(self) -> None:
        within = {**RESULTS, "samples": SAMPLES}
        self.assertTrue(self.verify(within, {}).agrees)
        paths = self.files(RESULTS, SAMPLES)
        for i, path in enumerate(paths[1:]):
            paths[i + 1] = str(self.folder / f"{i}.jsonl")
            os.rename(path, paths[i + 1])
        found = verify(paths)
        self.assertTrue(found.agrees)
        self.assertEqual(len(found.checks), 30)

    def test_older_logs_have_numbers_and_lists_where_newer_ones_have_text_and_objects(self) -> None:
        def older(line: dict[str, Any]) -> dict[str, Any]:
            arguments = [list(each.values()) for each in line["arguments"].values()]
            resps = json.loads(re.sub(r'"(-[\d.e-]+)"', r"\1", json.dumps(line["filtered_resps"])))
            return {**line, "arguments": arguments, "filtered_resps": resps}

        found = self.verify(RESULTS, {name: [older(line) for line in lines] for name, lines in SAMPLES.items()})
        self.assertTrue(found.agrees, str(found))


class Changes(Harness):
    def test_each_published_number_is_found_when_its_last_bit_is_changed(self) -> None:
        tried = 0
        for table in ("results", "groups", "n-samples", "n-shot", "versions"):
            for path in numbers(RESULTS[table]):
                if "sample_count" in path or path[-1] == "perplexity_stderr,none":
                    continue
                value = at(RESULTS[table], path)
                other = value + 1 if isinstance(value, int) else nextafter(value, 2.0)
                wrong = changed(RESULTS, lambda r: at(r[table], path[:-1]).__setitem__(path[-1], other))  # noqa: B023
                if path[0] != "both" or table != "n-shot":
                    tried += 1
                    with self.subTest(table, path=path):
                        found = self.verify(wrong, SAMPLES)
                        limited = path[-1] == "original"  # more documents than were evaluated
                        self.assertTrue(found.warnings if limited else not found.agrees)
        self.assertGreater(tried, 40)

    def test_each_number_of_a_sample_is_found_when_it_is_changed(self) -> None:
        tried = 0
        for name in TASKS:
            line = SAMPLES[name][1]
            for key in ("resps", "filtered_resps", *line["metrics"]):
                for path in numbers_and_digits(line[key], (key,)):
                    value = at(line, path)
                    other = repr(nextafter(float(value), -1e9)) if isinstance(value, str) else nudged(value)
                    found = self.with_sample(name, 1, lambda each: at(each, path[:-1]).__setitem__(path[-1], other))  # noqa: B023
                    with self.subTest(name, path=path):
                        self.assertFalse(found.agrees)
                    tried += 1
        self.assertGreater(tried, 30)

    def test_all_copies_changed_alike_show_in_the_result(self) -> None:
        line = SAMPLES["rolling"][2]
        ll = float(line["filtered_resps"][0])
        alike = json.loads(json.dumps(line).replace(repr(ll), repr(ll * (1.0 + 1e-12))))
        found = self.verify(RESULTS, {**SAMPLES, "rolling": [*SAMPLES["rolling"][:2], alike, *SAMPLES["rolling"][3:]]})
        self.assertEqual(found.n_contradictions, 0)
        self.assertEqual([check.agrees for check in found.checks if check.place == "rolling"], [False] * 3 + [True] * 2)

    def test_a_changed_text_is_found_by_its_hash_and_its_counts(self) -> None:
        def longer(line: dict[str, Any]) -> None:
            line["arguments"]["gen_args_0"]["arg_0"] = line["target"] = line["doc"]["text"] = line["target"] + "x"

        found = self.with_sample("rolling", 0, longer)
        for words in ("doc_hash is not the hash of the doc", "prompt_hash", "target_hash", "bits_per_byte[1] says"):
            self.assertIn(words, " ".join(found.contradictions))

    def test_a_sample_that_is_missing_or_there_twice_is_found(self) -> None:
        for lines in (SAMPLES["choice"][1:], [*SAMPLES["choice"], SAMPLES["choice"][0]]):
            found = self.verify(RESULTS, {**SAMPLES, "choice": lines})
            self.assertFalse(found.agrees)
            wrong = {check.quantity for check in found.checks if not check.agrees and check.place == "choice"}
            self.assertLessEqual({"sample_len", "n-samples"}, wrong)
        self.assertIn("line 7: doc_id 0 was there before", " ".join(found.contradictions))

    def test_samples_in_another_order_do_not_have_the_hash_of_the_task(self) -> None:
        found = self.verify(RESULTS, {**SAMPLES, "choice": SAMPLES["choice"][::-1]})
        self.assertEqual(found.n_contradictions, 1)
        self.assertIn("task_hashes['choice'] is not the hash of the samples given", found.contradictions[0])

    def test_counts_of_characters_for_bytes_are_named(self) -> None:
        line = SAMPLES["rolling"][0]
        n = len(line["doc"]["text"])
        found = self.with_sample("rolling", 0, lambda each: each["bits_per_byte"].__setitem__(1, n))
        self.assertIn(f"bits_per_byte[1] says {n} bytes, which are its characters", found.contradictions[0])

    def test_a_limit_is_warned_of(self) -> None:
        wrong = changed(RESULTS, lambda r: r["n-samples"]["rolling"].__setitem__("original", 900))
        self.assertIn("rolling: 6 of its 900 documents were evaluated", self.verify(wrong, SAMPLES).warnings[0])


class Naming(Harness):
    def with_result(self, name: str, key: str, value: float) -> tuple[Any, ...]:
        wrong = changed(RESULTS, lambda r: r["results"][name].__setitem__(key, value))
        found = [check for check in self.verify(wrong, SAMPLES).checks if not check.agrees and check.place == name]
        self.assertEqual([check.quantity for check in found], [key.removesuffix(",none")])
        return found[0].mistakes, found[0].diagnosis or ""

    def test_a_mean_of_the_documents_rates_is_named(self) -> None:
        rates = [-ll / n / log(2) for ll, n in (line["bits_per_byte"] for line in SAMPLES["rolling"])]
        mistakes, _ = self.with_result("rolling", "bits_per_byte,none", sum(rates) / 6)
        self.assertEqual(mistakes[0], ("macro-bits-per-byte",))

    def test_nats_for_bits_are_named(self) -> None:
        nats = RESULTS["results"]["rolling"]["bits_per_byte,none"] * log(2)
        self.assertEqual(self.with_result("rolling", "bits_per_byte,none", nats)[0][0], ("bits-without-ln2",))

    def test_another_normalisation_of_the_choices_is_named(self) -> None:
        _, words = self.with_result("choice", "acc,none", RESULTS["results"]["choice"]["acc_norm,none"])
        self.assertIn("is what acc_norm or acc_bytes of these samples is", words)


class Scores(Harness):
    def choice(self, lls: list[float], target: str, choices: list[str], metrics: dict[str, float]) -> Verification:
        """Verify a run of one sample of one task."""
        conditions = ["Q"] * len(choices) + [""] * (len(lls) - len(choices))
        pairs = zip(conditions, [*choices, *choices], strict=False)
        arguments = {f"gen_args_{i}": {"arg_0": q, "arg_1": f" {c}"} for i, (q, c) in enumerate(pairs)}
        resps = [[repr(ll), "False"] for ll in lls]
        line = {
            "doc_id": 0, "doc": {}, "target": target, "arguments": arguments, "resps": [[each] for each in resps],
            "filtered_resps": resps, "filter": "none", "metrics": list(metrics), **metrics,
        }  # fmt: skip
        results = {"t": {f"{name},none": value for name, value in metrics.items()}}
        return self.verify({"results": results, "configs": {"t": {"output_type": "multiple_choice"}}}, {"t": [line]})

    def test_the_largest_wins_the_first_of_equals_and_lengths_are_characters_or_bytes(self) -> None:
        for lls, target, choices, right in (
            ([-1.0, -1.0], "0", ["a", "b"], {"acc": 1.0, "acc_norm": 1.0}),
            ([-1.0, -1.0], "1", ["a", "b"], {"acc": 0.0, "acc_norm": 0.0}),
            ([-3.0, -4.0], "1", ["ab", "abcd"], {"acc": 0.0, "acc_norm": 1.0, "acc_bytes": 1.0}),
            ([-3.0, -4.0], "0", ["éé", "abc"], {"acc": 1.0, "acc_norm": 0.0, "acc_bytes": 1.0}),
            ([-3.0, -4.0], "ab", ["xy", "ab"], {"acc": 0.0}),
            ([-3.0, -4.0, -9.0], "[2, 0]", ["x", "y", "z"], {"acc": 1.0}),
            ([-3.0, -4.0, -9.0], "['z', 'y']", ["x", "y", "z"], {"acc": 0.0}),
            ([-3.0, float("-inf")], "1", ["x", "y"], {"acc": 0.0}),
        ):
            with self.subTest(lls=lls, target=target, choices=choices):
                self.assertTrue(self.choice(lls, target, choices, right).agrees)
                for name, value in right.items():
                    wrong = self.choice(lls, target, choices, {**right, name: 1.0 - value})
                    self.assertEqual(wrong.n_contradictions, 1, name)

    def test_mutual_information_is_what_the_question_adds(self) -> None:
        right = {"acc": 1.0, "acc_mutual_info": 0.0}
        self.assertTrue(self.choice([-3.0, -4.0, -1.0, -3.0], "0", ["x", "y"], right).agrees)
        wrong = self.choice([-3.0, -4.0, -1.0, -3.0], "0", ["x", "y"], {"acc": 1.0, "acc_mutual_info": 1.0})
        self.assertEqual(wrong.n_contradictions, 1)

    def test_the_samples_of_the_only_task_need_no_name_and_no_hash(self) -> None:
        results = {"results": {"t": {"acc,none": 1.0}}, "configs": {"t": {"output_type": "loglikelihood"}}}
        resps = [["-1.5", "True"]]
        line = {"doc_id": 0, "doc": {}, "resps": [resps], "filtered_resps": resps, "acc": True}
        paths = self.files(results, {"t": [line]})
        os.rename(paths[1], self.folder / "x")
        self.assertTrue(verify([paths[0], self.folder / "x"]).agrees)

    def test_a_target_that_is_no_choice_leaves_the_scores_as_logged(self) -> None:
        found = self.choice([-3.0, -4.0], "else", ["x", "y"], {"acc": 1.0})
        self.assertTrue(found.agrees)
        self.assertIn("does not say which choice is right", found.unverified["t: the score of a sample"])


class Refusals(Harness):
    def test_files_that_are_no_run(self) -> None:
        rule = "verify: paths must hold one results file beside the samples of its tasks, got"
        self.assertIn(f"{rule} 0", self.error([self.sample_file()]))
        twice = self.folder / "again.json"
        paths = self.files(RESULTS, {})
        twice.write_text(json.dumps(RESULTS))
        self.assertIn(f"{rule} 2", self.error([*paths, str(twice)]))
        other = self.folder / "log.jsonl"
        other.write_text('{"nlls": [1.5]}')
        self.assertIn("must be of lm-evaluation-harness, as another one is", self.error([*paths, str(other)]))
        message = "results.json: line 1 must come with the samples of one of its tasks ("
        self.assertIn(message, self.error(paths))

    def test_tasks_without_samples_are_not_judged(self) -> None:
        found = self.verify(RESULTS, {"last_word": SAMPLES["last_word"]})
        self.assertEqual(found.unverified["rolling"], "no samples of it were given")
        self.assertEqual(found.unverified["both: acc"], "no samples were given of choice, choice_by_text")
        self.assertTrue(str(found).endswith("\nAgrees, as far as it was computed again."))

    def sample_file(self) -> str:
        return self.files(RESULTS, {"rolling": SAMPLES["rolling"]})[1]

    def error(self, paths: list[str]) -> str:
        with self.assertRaises(ValueError) as caught:
            verify(paths)
        return str(caught.exception)

    def test_samples_of_no_task(self) -> None:
        paths = self.files(RESULTS, {"rolling": SAMPLES["rolling"][:3]})
        os.rename(paths[1], other := str(self.folder / "x.jsonl"))
        self.assertIn("must have the name of a task in its name (samples_TASK_...jsonl)", self.error([paths[0], other]))

    def test_a_line_that_is_no_sample_or_holds_what_is_no_number(self) -> None:
        line = SAMPLES["rolling"][1]
        for key, value, message in (
            ("filtered_resps", ["nan"], "line 2: filtered_resps[0] must be a number, got 'nan'"),
            ("filtered_resps", ["-12,5"], "line 2: filtered_resps[0] must be a number, got '-12,5'"),
            ("filtered_resps", ["12.5"], "line 2: filtered_resps[0] must be a log-probability, at most 0"),
            ("bits_per_byte", [-12.5], "line 2: bits_per_byte must be a log-likelihood and a count, got [-12.5]"),
            ("bits_per_byte", [-12.5, 3.0], "line 2: bits_per_byte[1] must be a whole number, got 3.0"),
            ("bits_per_byte", [-12.5, -3], "line 2: bits_per_byte[1] must be at least 0, got -3"),
            ("metrics", ["f"], "line 2 must have the key f, which metrics lists"),
        ):
            lines = [SAMPLES["rolling"][0], {**line, key: value}]
            with self.subTest(key, value=value):
                refusal = self.refused(RESULTS, {"rolling": lines})
                self.assertTrue(refusal.startswith(f"samples_rolling_.jsonl: {message}"), refusal)
        message = self.refused(RESULTS, {"rolling": [SAMPLES["rolling"][0], {"x": 1}]})
        self.assertIn("samples_rolling_.jsonl: line 2 must be a logged sample", message)
        wrong = changed(RESULTS, lambda r: r["results"]["rolling"].__setitem__("bits_per_byte,none", "1.5"))
        message = self.refused(wrong, SAMPLES)
        self.assertIn("results['rolling']['bits_per_byte,none'] must be a number, got '1.5'", message)


class Sums(unittest.TestCase):
    def test_the_sum_of_this_python_is_among_them(self) -> None:
        values = [0.1 * i * (-1) ** i + 1e9 / (i + 1) for i in range(200)]
        self.assertIn(sum(values), aggregates.sums(values))
        self.assertEqual(len(set(aggregates.sums(values))), 2)  # else this would not tell them apart
        self.assertEqual(aggregates.compensated([1.0, 1e100, 1.0, -1e100]), 2.0)
        self.assertEqual(aggregates.plain([1.0, 1e100, 1.0, -1e100]), 0.0)

    def test_standard_errors(self) -> None:
        self.assertEqual(aggregates.stderr([0.0, 1.0])[0], 0.5)
        pooled = sqrt((3 * 0.1**2 * 4 + 1 * 0.2**2 * 2) / (6 - 2) / 6)
        self.assertAlmostEqual(aggregates.group_stderr([0.1, 0.2], [4, 2])[0], pooled, places=15)
        self.assertAlmostEqual(aggregates.group_stderr([0.3, 0.4], [1, 1])[0], 0.25, places=15)


def numbers_and_digits(value: Any, path: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """Return the paths of all numbers, those written as text among them."""
    if isinstance(value, list):
        return [found for i, each in enumerate(value) for found in numbers_and_digits(each, (*path, i))]
    text = isinstance(value, str) and value.startswith("-")
    return [path] if text or isinstance(value, (int, float)) else []


def nudged(value: float) -> float:
    return 1 - value if value in (0, 1) else value + 1 if isinstance(value, int) else nextafter(value, -1e9)


if __name__ == "__main__":
    unittest.main()
