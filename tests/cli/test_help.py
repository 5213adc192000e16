"""The help of every command, as a terminal of 80 columns shows it."""

import contextlib
import io
import os
import unittest
from unittest import mock

from refcalc.cli import COMMANDS, main


def shown(*arguments: str) -> list[str]:
    """Return the lines that a command prints before it leaves."""
    out = io.StringIO()
    columns = mock.patch.dict(os.environ, COLUMNS="80")
    with columns, contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        main(arguments)
    return out.getvalue().splitlines()


class Help(unittest.TestCase):
    def test_it_fits_and_says_what_the_command_does_before_anything_else(self) -> None:
        for module in COMMANDS:
            command = module.__name__.rpartition(".")[2]
            with self.subTest(command):
                lines = shown(command, "--help")
                self.assertEqual([line for line in lines if len(line) > 80], [])
                first = lines[lines.index("") + 1]
                self.assertRegex(first, "^[A-Z`]")
                self.assertNotRegex(first, "^The (file|receipts|batch) ")

    def test_the_catalogue_fits_too(self) -> None:
        for arguments in (["mistakes"], ["mistakes", "double-shift"], ["grade", "--exercise", "evaluation"]):
            lines = shown(*arguments)
            self.assertGreater(len(lines), 9)
            self.assertEqual([line for line in lines if len(line) > 80], [])


if __name__ == "__main__":
    unittest.main()
