"""Evaluation under a frozen protocol: receipts that anybody can recompute, and the report they give."""
