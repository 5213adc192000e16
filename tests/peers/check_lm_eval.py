"""verify against lm-evaluation-harness itself: tasks of every kind are run with it, logged, and computed again.

Run from the root:  python -m unittest tests/peers/check_lm_eval.py

The model is a stand-in that makes up log-likelihoods; everything else is the harness.
"""

import contextlib
import io
import json
import logging
import os
import random
import tempfile
import unittest
from pathlib import Path
from typing import Any

os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "DISABLE_MULTIPROC": "1", "TQDM_DISABLE": "1"}

import lm_eval
import numpy
from lm_eval.api.model import LM
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager

from refcalc.evaluation.verify import verify

WORDS = ["Herr", " naïve ", "\n\n", "été", "a", "  two  ", "\u3000", "x\u00a0y", "end."]

TASKS = {
    "rolling": """
        output_type: loglikelihood_rolling
        doc_to_text: ""
        doc_to_target: "{{text}}"
        metric_list: [{metric: word_perplexity}, {metric: byte_perplexity}, {metric: bits_per_byte}]
        """,
    "of_the_page": """
        output_type: loglikelihood_rolling
        doc_to_text: ""
        doc_to_target: "{{question}}"
        process_results: !function scoring.of_the_page
        metric_list: [{metric: word_perplexity}, {metric: byte_perplexity}, {metric: bits_per_byte}]
        """,
    "choice": """
        output_type: multiple_choice
        doc_to_text: "Q: {{question}}"
        doc_to_choice: "{{choices}}"
        doc_to_target: gold
        metric_list: [{metric: acc}, {metric: acc_norm}, {metric: acc_bytes}, {metric: exact_match, aggregation: mean}]
        """,
    "choice_by_text": """
        output_type: multiple_choice
        doc_to_text: "Q: {{question}}"
        doc_to_choice: "{{choices}}"
        doc_to_target: "{{choices[gold]}}"
        target_delimiter: "_"
        metric_list: [{metric: acc}, {metric: acc_norm}]
        """,
    "choice_of_several": """
        output_type: multiple_choice
        doc_to_text: "Q: {{question}}"
        doc_to_choice: "{{choices}}"
        doc_to_target: golds
        metric_list: [{metric: acc}, {metric: acc_norm}]
        """,
    "mutual": """
        output_type: multiple_choice
        doc_to_text: "Q: {{question}}"
        doc_to_choice: "{{choices}}"
        doc_to_target: gold
        metric_list: [{metric: acc}, {metric: acc_mutual_info}]
        """,
    "last_word": """
        output_type: loglikelihood
        doc_to_text: "{{question}}"
        doc_to_target: " {{choices[0]}}"
        metric_list: [{metric: perplexity}, {metric: acc}]
        """,
    "answers": """
        output_type: generate_until
        doc_to_text: "{{question}}"
        doc_to_target: "{{choices[gold]}}"
        generation_kwargs: {until: ["."]}
        metric_list: [{metric: exact_match, aggregation: mean}]
        filter_list:
          - {name: first, filter: [{function: take_first}]}
          - {name: words, filter: [{function: regex, regex_pattern: "(x)"}, {function: take_first}]}
        """,
}
# Some tasks count another text than the one that is scored, as wikitext does.
SCORING = """
def of_the_page(doc, results):
    words, size = len(doc["text"].split(" ")), len(doc["text"].encode())
    ll = results[0]
    return {"word_perplexity": (ll, words), "byte_perplexity": (ll, size), "bits_per_byte": (ll, size)}
"""
GROUP = """
group: both
task: [choice, choice_by_text]
aggregate_metric_list: [{metric: acc, weight_by_size: %s}, {metric: acc_norm, weight_by_size: %s}]
"""


class MadeUp(LM):
    """Log-likelihoods from a generator of random numbers, as the float32 numbers of a model are."""

    def __init__(self) -> None:
        super().__init__()
        self.random = random.Random(5)

    def _nll(self, scale: float) -> float:
        return -float(numpy.float32(self.random.expovariate(1.0 / scale)))

    def loglikelihood(self, requests: Any, disable_tqdm: bool = False) -> list[tuple[float, bool]]:
        return [(self._nll(3.0 + len(r.args[1])), self.random.random() < 0.5) for r in requests]

    def loglikelihood_rolling(self, requests: Any, disable_tqdm: bool = False) -> list[float]:
        return [self._nll(1.0 + len(r.args[0])) for r in requests]

    def generate_until(self, requests: Any, disable_tqdm: bool = False) -> list[str]:
        return [self.random.choice(["a", "x y", "été"]) for _ in requests]


def documents(n: int) -> list[dict[str, Any]]:
    rng = random.Random(7)
    rows = []
    for i in range(n):
        choices = rng.sample(WORDS, 4)
        text = "".join(rng.choice([*WORDS, " "]) for _ in range(40))
        golds = rng.sample(range(4), 2)
        rows.append({"question": f"{i}?", "choices": choices, "gold": golds[0], "golds": golds, "text": text})
    return rows


def run(folder: Path, weighted: bool) -> Path:
    """Run all tasks with the harness, and return the folder with its logs."""
    for name, text in TASKS.items():
        n = 23 if name == "choice_by_text" else 150
        data = folder / f"{name}.jsonl"
        data.write_text("".join(json.dumps(row) + "\n" for row in documents(n)), encoding="utf-8")
        files = f"dataset_kwargs: {{data_files: {{test: '{data}'}}}}\n"
        head = f"task: {name}\ndataset_path: json\ntest_split: test\n{files}"
        body = "".join(line[8:] + "\n" for line in text.strip("\n").split("\n"))
        (folder / f"{name}.yaml").write_text(head + body, encoding="utf-8")
    (folder / "scoring.py").write_text(SCORING, encoding="utf-8")
    (folder / "both.yaml").write_text(GROUP % (weighted, weighted), encoding="utf-8")
    logging.disable(logging.CRITICAL)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            tasks = ["both", *(name for name in TASKS if name not in ("choice", "choice_by_text"))]
            manager = TaskManager(include_path=str(folder), include_defaults=False)
            found = lm_eval.simple_evaluate(
                MadeUp(), tasks=tasks, task_manager=manager, log_samples=True, bootstrap_iters=10, verbosity="ERROR"
            )
            tracker = EvaluationTracker(output_path=str(folder / "out"))
            samples = found.pop("samples")
            tracker.save_results_aggregated(results=found, samples=samples)
            for name, each in samples.items():
                tracker.save_results_samples(task_name=name, samples=each)
    finally:
        logging.disable(logging.NOTSET)
    return next((folder / "out").rglob("results_*.json")).parent


class Harness(unittest.TestCase):
    logs: Path

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.logs = run(Path(folder.name), weighted=True)

    def files(self) -> list[str]:
        return [str(path) for path in sorted(self.logs.iterdir())]

    def test_every_number_that_can_be_computed_agrees_to_its_last_digit(self) -> None:
        found = verify(self.files())
        self.assertTrue(found.agrees, str(found))
        self.assertEqual({check.verdict for check in found.checks}, {"all printed digits agree"})
        seen = {(check.place, check.quantity) for check in found.checks}
        for name, metrics in {
            "rolling": ["word_perplexity", "byte_perplexity", "bits_per_byte"],
            "of_the_page": ["byte_perplexity", "bits_per_byte"],
            "choice": ["acc", "acc_norm", "acc_bytes", "exact_match", "acc_stderr", "acc_norm_stderr"],
            "choice_by_text": ["acc", "acc_norm", "acc_norm_stderr"],
            "choice_of_several": ["acc", "acc_norm"],
            "mutual": ["acc", "acc_mutual_info"],
            "last_word": ["perplexity", "acc", "acc_stderr"],
            "answers": ["exact_match,first", "exact_match,words"],
            "both": ["acc", "acc_norm", "acc_stderr", "acc_norm_stderr"],
        }.items():
            for metric in metrics:
                self.assertIn((name, metric), seen)
        self.assertEqual(found.unverified, {"last_word: perplexity_stderr": "it comes from a bootstrap"})

    def test_a_group_that_is_not_weighted_agrees_too(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            found = verify([str(path) for path in run(Path(folder), weighted=False).iterdir()])
        self.assertTrue(found.agrees, str(found))

    def test_every_likelihood_and_score_of_a_sample_is_found_when_it_is_changed(self) -> None:
        results = next(self.logs.glob("results_*"))
        for path in sorted(self.logs.glob("samples_*")):
            lines = path.read_text("utf-8").splitlines()
            sample = json.loads(lines[3])
            for key in ("resps", "filtered_resps", *sample["metrics"]):
                with self.subTest(path.name, key=key), tempfile.TemporaryDirectory() as folder:
                    changed = Path(folder, path.name)
                    each = {**sample, key: other(sample[key])}
                    changed.write_text("\n".join([*lines[:3], json.dumps(each), *lines[4:]]) + "\n", encoding="utf-8")
                    if each[key] != sample[key]:
                        self.assertFalse(verify([results, changed]).agrees)


def other(value: Any) -> Any:
    """Return a value with its first number another one; text that is none stays."""
    if isinstance(value, list):
        return [other(value[0]), *value[1:]]
    if isinstance(value, str):
        return repr(float(value) - 1e-4) if value.startswith("-") else value
    return 1 - value if value in (0, 1) else value - 1e-4


if __name__ == "__main__":
    unittest.main()
