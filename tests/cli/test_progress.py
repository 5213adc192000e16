"""Progress is shown on a terminal and nowhere else, and a standard error that is closed ends no command."""

import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from refcalc.cli import _progress, main


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Progress(unittest.TestCase):
    def test_a_terminal_sees_one_line_in_place_of_another(self) -> None:
        with mock.patch("sys.stderr", Terminal()) as terminal:
            _progress.say("half")
            _progress.say()
        self.assertEqual(terminal.getvalue(), "\r\x1b[Khalf\r\x1b[K")

    def test_a_file_and_a_closed_one_see_nothing(self) -> None:
        for stream in (io.StringIO(), None):
            with mock.patch("sys.stderr", stream):
                self.assertFalse(_progress.on_terminal())
                self.assertIsNone(_progress.of_draws())
                _progress.say("half")
            if stream is not None:
                self.assertEqual(stream.getvalue(), "")

    def test_commands_that_show_progress_run_with_a_closed_standard_error(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        text, documents, receipts = (folder / name for name in ("text.txt", "test.jsonl", "receipts.jsonl"))
        text.write_text("the cat sat on the mat; " * 20, "utf-8")
        documents.write_text(json.dumps({"id": "a", "text": "the cat"}) + "\n", "utf-8")
        lines = [{"document": i, "nll_sum": 1.0 + i, "n_targets": 2} for i in range(3)]
        receipts.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
        for arguments in (
            ["audit", str(documents)],
            ["bootstrap", str(receipts), "--draws", "10"],
            ["baselines", str(text), "--held-out", "0.5", "--order", "2"],
            ["grade", "examples/grading/loss.py"],
        ):
            with (
                self.subTest(arguments[0]),
                mock.patch("sys.stderr", None),
                contextlib.redirect_stdout(io.StringIO()) as printed,
            ):
                self.assertEqual(main(arguments), 0)
                self.assertTrue(printed.getvalue())


if __name__ == "__main__":
    unittest.main()
