"""refcalc: the ground truth for language-model loss arithmetic, in plain Python lists.

Every loss is computed in five steps, and each has its functions:

    score    how improbable is one target?           token_nll, log_softmax, softmax, logsumexp, entropy,
                                                     kl_divergence, z_loss
    align    which row predicts which token?         shift, shift_labels, windows
    select   which targets count?                    mask_padding, mask_prompt, mask_document_starts, pad
    reduce   which sum is divided by which count?    cross_entropy, causal_lm_loss, masked_mean, Tally, ExactSum
    express  in which unit, over which denominator?  perplexity, bits_per_token, bits_per_byte, bits_per_char, ...

    >>> import refcalc
    >>> rows, targets = refcalc.shift([[2.0, 0.0], [0.0, 3.0], [1.0, 1.0]], [0, 0, 1])
    >>> refcalc.cross_entropy(rows, targets) == refcalc.causal_lm_loss([[2.0, 0.0], [0.0, 3.0], [1.0, 1.0]], [0, 0, 1])
    True

All losses are in nats unless the name says otherwise; the ignore index is -100; the class axis is the last.  A function
refuses what has no answer: `function: argument[index] must RULE, got VALUE`.

    refcalc.exact     the same names, each result the double nearest to the true value
    compare           another program's numbers against these, in ulp of their own dtype
    diagnose          which of the known MISTAKES reproduces a wrong number, from a Batch or Records
    probe             a small batch that tells all of them apart
    grade             somebody's module: its functions run, held against these, and what is wrong named
    evaluate          documents scored under a frozen Protocol, a Receipt each, and a Report from the receipts
    verify            a published result, computed again from its log
    audit             what makes a number worthless before it is believed; compare_reports: two runs side by side
    greedy, sample    generation under a Policy, with a receipt that can be run again
    open_array        logits in .npy, .safetensors and raw files, read row by row
    bootstrap, ...    how far a loss would move with other documents, and (seed_noise, materiality) with other seeds
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from refcalc.exact_sum import ExactSum
from refcalc.loss import causal_lm_loss, cross_entropy, cross_entropy_gradient, masked_mean
from refcalc.softmax import entropy, log_softmax, logsumexp, softmax, token_nll
from refcalc.tally import Tally
from refcalc.targets import mask_document_starts, mask_padding, mask_prompt, pad, shift, shift_labels, windows
from refcalc.units import (
    bits_per_byte,
    bits_per_char,
    bits_per_token,
    bits_to_nats,
    byte_perplexity,
    log10_to_nats,
    nats_to_bits,
    nats_to_log10,
    perplexity,
    perplexity_to_nll,
    uniform_nll,
    word_perplexity,
)

if TYPE_CHECKING:
    from refcalc import exact
    from refcalc.arrays import open_array
    from refcalc.attention import multi_head_attention, scaled_dot_product_attention
    from refcalc.baselines.compression import compressed_bits
    from refcalc.baselines.ngram import Additive, KneserNey, StupidBackoff, WittenBell
    from refcalc.baselines.unigram import SmoothedUnigram, UniformBaseline
    from refcalc.closeness import Comparison, assert_close, compare
    from refcalc.decode.generate import greedy, repeatable, sample
    from refcalc.decode.policy import Policy
    from refcalc.decode.receipt import GenerationReceipt
    from refcalc.decode.scoring import constrained_nll, sequence_logprob
    from refcalc.diagnosis import Diagnosis, diagnose
    from refcalc.divergence import kl_divergence, kl_divergence_gradient, z_loss, z_loss_gradient
    from refcalc.evaluation.audit import audit
    from refcalc.evaluation.compare_reports import compare_reports
    from refcalc.evaluation.protocol import Protocol
    from refcalc.evaluation.receipt import Receipt
    from refcalc.evaluation.report import Report
    from refcalc.evaluation.run import evaluate
    from refcalc.evaluation.verify import verify
    from refcalc.evidence import Batch, Records
    from refcalc.grading.grader import grade
    from refcalc.grading.verdict import Verdict
    from refcalc.mistakes import MISTAKES
    from refcalc.probes import probe
    from refcalc.resampling import bootstrap, materiality, paired_bootstrap, pooled_ratio, proportion, seed_noise

__all__ = [
    "MISTAKES",
    "Additive",
    "Batch",
    "Comparison",
    "Diagnosis",
    "ExactSum",
    "GenerationReceipt",
    "KneserNey",
    "Policy",
    "Protocol",
    "Receipt",
    "Records",
    "Report",
    "SmoothedUnigram",
    "StupidBackoff",
    "Tally",
    "UniformBaseline",
    "Verdict",
    "WittenBell",
    "assert_close",
    "audit",
    "bits_per_byte",
    "bits_per_char",
    "bits_per_token",
    "bits_to_nats",
    "bootstrap",
    "byte_perplexity",
    "causal_lm_loss",
    "compare",
    "compare_reports",
    "compressed_bits",
    "constrained_nll",
    "cross_entropy",
    "cross_entropy_gradient",
    "diagnose",
    "entropy",
    "evaluate",
    "exact",
    "grade",
    "greedy",
    "kl_divergence",
    "kl_divergence_gradient",
    "log10_to_nats",
    "log_softmax",
    "logsumexp",
    "mask_document_starts",
    "mask_padding",
    "mask_prompt",
    "masked_mean",
    "materiality",
    "multi_head_attention",
    "nats_to_bits",
    "nats_to_log10",
    "open_array",
    "pad",
    "paired_bootstrap",
    "perplexity",
    "perplexity_to_nll",
    "pooled_ratio",
    "probe",
    "proportion",
    "repeatable",
    "sample",
    "scaled_dot_product_attention",
    "seed_noise",
    "sequence_logprob",
    "shift",
    "shift_labels",
    "softmax",
    "token_nll",
    "uniform_nll",
    "verify",
    "windows",
    "word_perplexity",
    "z_loss",
    "z_loss_gradient",
]

# What is heavy to import is loaded when it is first asked for (PEP 562), so that `import refcalc` stays light.
_LOADED_ON_USE = {
    "MISTAKES": "refcalc.mistakes",
    "Additive": "refcalc.baselines.ngram",
    "Batch": "refcalc.evidence",
    "Comparison": "refcalc.closeness",
    "Diagnosis": "refcalc.diagnosis",
    "GenerationReceipt": "refcalc.decode.receipt",
    "KneserNey": "refcalc.baselines.ngram",
    "Policy": "refcalc.decode.policy",
    "Protocol": "refcalc.evaluation.protocol",
    "Receipt": "refcalc.evaluation.receipt",
    "Records": "refcalc.evidence",
    "Report": "refcalc.evaluation.report",
    "SmoothedUnigram": "refcalc.baselines.unigram",
    "StupidBackoff": "refcalc.baselines.ngram",
    "UniformBaseline": "refcalc.baselines.unigram",
    "Verdict": "refcalc.grading.verdict",
    "WittenBell": "refcalc.baselines.ngram",
    "assert_close": "refcalc.closeness",
    "audit": "refcalc.evaluation.audit",
    "bootstrap": "refcalc.resampling",
    "compare": "refcalc.closeness",
    "compare_reports": "refcalc.evaluation.compare_reports",
    "compressed_bits": "refcalc.baselines.compression",
    "constrained_nll": "refcalc.decode.scoring",
    "diagnose": "refcalc.diagnosis",
    "evaluate": "refcalc.evaluation.run",
    "exact": "refcalc.exact",
    "grade": "refcalc.grading.grader",
    "greedy": "refcalc.decode.generate",
    "kl_divergence": "refcalc.divergence",
    "kl_divergence_gradient": "refcalc.divergence",
    "materiality": "refcalc.resampling",
    "multi_head_attention": "refcalc.attention",
    "open_array": "refcalc.arrays",
    "paired_bootstrap": "refcalc.resampling",
    "pooled_ratio": "refcalc.resampling",
    "probe": "refcalc.probes",
    "proportion": "refcalc.resampling",
    "repeatable": "refcalc.decode.generate",
    "sample": "refcalc.decode.generate",
    "scaled_dot_product_attention": "refcalc.attention",
    "seed_noise": "refcalc.resampling",
    "sequence_logprob": "refcalc.decode.scoring",
    "verify": "refcalc.evaluation.verify",
    "z_loss": "refcalc.divergence",
    "z_loss_gradient": "refcalc.divergence",
}


def __getattr__(name: str) -> Any:
    if name not in _LOADED_ON_USE:
        raise AttributeError(f"module 'refcalc' has no attribute {name!r}")
    module = import_module(_LOADED_ON_USE[name])
    value = module if module.__name__ == f"refcalc.{name}" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
