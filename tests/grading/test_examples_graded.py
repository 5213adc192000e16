"""The files of examples/grading, graded: the right answers are right, and what is wrong has the name in this table."""

import ast
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

from refcalc.grading import Exercise, grade
from refcalc.grading.exercises import EXERCISES
from tests.grading.answers import EXAMPLES

WIDE = 1_000  # classes; a row of more takes as long as all the rest, and is asked of the right answer only

WRONG = {  # by file: by function, the status and the first mistake named
    "loss": {
        "log_of_softmax": {"log_softmax": ("wrong", "log-of-softmax-underflow")},
        "no_maximum": {"log_softmax": ("raises", "naive-logsumexp")},
        "base_two": {"perplexity": ("wrong", "two-to-the-nats")},
        "no_shift": {"shifted_loss": ("wrong", "no-shift-last-dropped")},
        "double_shift": {"shifted_loss": ("wrong", "double-shift")},
        "mask_ignored": {"masked_loss": ("wrong", "padding-scored")},
        "mask_numerator_only": {"masked_loss": ("wrong", "padded-denominator")},
        "several_losses": {
            "token_loss": ("wrong", "epsilon-clipped-log"),
            "shifted_loss": ("wrong", "no-shift"),
            "perplexity": ("wrong", "two-to-the-nats"),
            "masked_loss": ("wrong", "padding-scored"),
        },
    },
    "evaluation": {
        "batch_means": {"token_mean": ("wrong", "mean-of-means")},
        "nats_per_byte": {"bits_per_byte": ("wrong", "bits-without-ln2")},
        "document_means": {"document_report": ("wrong", "macro-vs-micro")},
        "mean_perplexity": {"document_report": ("wrong", "mean-of-perplexities")},
        "separate_chunks": {"windows": ("wrong", "window-start-unscored")},
        "tail_dropped": {"windows": ("wrong", "tail-dropped")},
        "tokens_resampled": {"bootstrap_range": ("wrong", "token-level-bootstrap")},
        "reseeded": {"bootstrap_range": ("wrong", "reseeded-resamples")},
        "banned_zero": {"greedy": ("wrong", "banned-score-zero")},
        "eos_dropped": {"greedy": ("wrong", "eos-dropped")},
        "several_evaluations": {
            "token_mean": ("wrong", "mean-of-means"),
            "bits_per_byte": ("wrong", "bits-without-ln2"),
            "windows": ("wrong", "tail-dropped"),
            "greedy": ("wrong", "top1-is-not-argmax"),
        },
    },
    "baselines": {
        "seen_types": {"add_alpha_unigram": ("wrong", "laplace-wrong-v")},
        "bits_per_token": {"bits_per_char": ("wrong", "token-vs-word-unit")},
        "population_deviation": {"mean_and_std": ("wrong", "population-deviation")},
        "cancelling_variance": {"mean_and_std": ("wrong", "cancelling-variance")},
    },
}


def narrow(exercise: Exercise) -> Exercise:
    """Return an exercise without its wide rows."""

    def few(draw):
        return lambda rng: [each for each in draw(rng) if not isinstance(each[0], list) or len(each[0]) < WIDE]

    return Exercise(exercise.name, tuple(replace(each, draw=few(each.draw)) for each in exercise.functions))


class Examples(unittest.TestCase):
    def test_right_answers_are_right(self):
        for name, exercise in EXERCISES.items():
            verdict = grade(EXAMPLES / f"{name}.py", exercise)
            self.assertTrue(verdict.right, str(verdict))

    def test_what_is_wrong_has_its_name_and_the_rest_is_right(self):
        for name, files in WRONG.items():
            exercise = narrow(EXERCISES[name])
            for file, expected in files.items():
                with self.subTest(file):
                    verdict = grade(EXAMPLES / f"{file}.py", exercise)
                    found = {
                        function: (graded.status, graded.mistakes[0][0] if graded.mistakes else None)
                        for function, graded in verdict.functions.items()
                        if graded.status != "right"
                    }
                    self.assertEqual(found, expected, str(verdict))
                    self.assertTrue(all(len(graded.mistakes) <= 3 for graded in verdict.functions.values()))

    def test_every_file_is_in_the_table_and_says_which_function_is_wrong(self):
        table = {file: expected for files in WRONG.values() for file, expected in files.items()}
        self.assertEqual({path.stem for path in EXAMPLES.glob("*.py")}, {*table, *EXERCISES})
        for file, expected in table.items():
            told = (EXAMPLES / f"{file}.py").read_text("utf-8").split('"""')[1]
            for function in expected:
                self.assertIn(function, told, file)

    def test_a_file_holds_what_is_wrong_and_imports_the_rest(self):
        for name, files in WRONG.items():
            asked = {function.name for function in EXERCISES[name].functions}
            for file, expected in files.items():
                nodes = ast.parse((EXAMPLES / f"{file}.py").read_text("utf-8")).body
                written = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
                imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
                self.assertEqual(written & asked, {*expected}, file)
                self.assertEqual([node.module for node in imports], [name], file)
                self.assertEqual({each.name for each in imports[0].names}, asked - {*expected}, file)

    def test_without_the_file_that_it_imports_each_function_has_the_reason(self):
        with tempfile.TemporaryDirectory() as folder:
            alone = Path(folder) / "no_shift.py"
            alone.write_bytes((EXAMPLES / "no_shift.py").read_bytes())
            verdict = grade(alone, "loss")
        reasons = {(each.status, each.reason.partition(" (line ")[0]) for each in verdict.functions.values()}
        self.assertEqual(reasons, {("raises", "at import: ModuleNotFoundError: No module named 'loss'")})
        self.assertEqual(len(verdict.functions), 9)


if __name__ == "__main__":
    unittest.main()
