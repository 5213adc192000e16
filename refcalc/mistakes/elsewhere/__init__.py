"""Mistakes in computations other than the five steps: each function makes one, beside the right way to do it."""
