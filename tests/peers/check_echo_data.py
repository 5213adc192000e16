"""The echo of a real server on whole rows of logits, where a folder with them is given; the recorded case without one.

Run from the root:  REFCALC_DATA=FOLDER python -m unittest tests/peers/check_echo_data.py

FOLDER holds llama_cpp_logits.f32 and smollm2_logits.json.
"""

import os
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = os.environ.get("REFCALC_DATA")


class Echo(unittest.TestCase):
    def test_the_mean_of_the_echoed_log_probabilities_is_named(self):
        command = [sys.executable, "-m", "examples.name_the_echo", *([FOLDER] if FOLDER else [])]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("mean nll 10.716204", done.stdout)
        self.assertIn("which is 4.481960546.\nIt is what this gives:\n  no-shift-first-dropped: ", done.stdout)
        self.assertIn(f"V = {49152 if FOLDER else 19}\n", done.stdout)


if __name__ == "__main__":
    unittest.main()
