"""The example of a gradient-accumulation loop in torch: the wrong loss is named, the right one agrees.

Run from the root, with the peers installed:  python -m unittest tests/peers/check_gradient_accumulation.py
"""

import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class GradientAccumulation(unittest.TestCase):
    def test_the_mean_of_means_is_named_and_its_gradient_is_wrong(self):
        command = [sys.executable, "-m", "examples.accumulate_gradients"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count("It is what this gives:\n  mean-of-means: "), 1)
        self.assertEqual(len(re.findall(r"^[\d.]+ is the right mean_nll: ", done.stdout, flags=re.MULTILINE)), 1)
        wrong, right = (float(off) for off in re.findall(r"off by (\S+) of its largest", done.stdout))
        self.assertGreater(wrong, 1e-2)
        self.assertLess(right, 1e-5)


if __name__ == "__main__":
    unittest.main()
