"""Decoding: what a policy makes of a row, what is generated under it, and a receipt that can be run again.

    shares      which classes hold a share of the probability, decided exactly
    processors  one function a processor: bias, penalties, bans, temperature, top-k, top-p
    policy      Policy: all of them in their order, written down
    pipeline    a row under a policy: process, distribution; the choice from a row: argmax, draw
    receipt     GenerationReceipt: what was generated, how, and how probable each token was
    generate    greedy, sample, repeatable
    scoring     constrained_nll under a policy, sequence_logprob under the model

Logits before the policy are called raw, those after it processed, and so are the log-probabilities made of them.
"""

__all__ = [
    "ORDER",
    "Difference",
    "GenerationReceipt",
    "Policy",
    "Step",
    "add_bias",
    "argmax",
    "ban",
    "constrained_nll",
    "distribution",
    "divide_by_temperature",
    "draw",
    "greedy",
    "keep_top_k",
    "keep_top_p",
    "penalise_frequency",
    "penalise_presence",
    "penalise_repetition",
    "process",
    "repeatable",
    "sample",
    "sequence_logprob",
]

from refcalc.decode.generate import Difference, greedy, repeatable, sample
from refcalc.decode.pipeline import argmax, distribution, draw, process
from refcalc.decode.policy import ORDER, Policy
from refcalc.decode.processors import (
    add_bias,
    ban,
    divide_by_temperature,
    keep_top_k,
    keep_top_p,
    penalise_frequency,
    penalise_presence,
    penalise_repetition,
)
from refcalc.decode.receipt import GenerationReceipt, Step
from refcalc.decode.scoring import constrained_nll, sequence_logprob
