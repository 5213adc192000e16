"""Nats, bits and base 10 taken for each other, and functions of the loss that are no perplexity.

Each function gives the quantity from the mean, the sum and the count.
"""

__all__ = [
    "bits_reported_as_nats",
    "bits_without_ln2",
    "e_to_the_bits",
    "log10_as_natural",
    "misnamed_transform",
    "nll_as_perplexity",
    "perplexity_as_nll",
    "perplexity_halved",
    "product_underflow",
    "two_to_the_nats",
]

from math import inf, sqrt

from refcalc.evidence import Batch, Records
from refcalc.mistakes.arithmetic import exponential, rounded
from refcalc.mistakes.kind import ALL, LOSSES, MEANS, PERPLEXITIES, DoesNotApply, entered
from refcalc.mistakes.pipeline import Reduced, Run, rate, restated, witness
from refcalc.units import LOG_2, LOG_10

_EXAMPLES = Batch, Records, witness  # the names that the examples use
BITS = ("bits_per_token", "bits_per_byte", "bits_per_char")


@entered(
    "two-to-the-nats",
    "express",
    "The perplexity is off by the power log 2, far too low.",
    hidden_if="the loss is 0",
    remedy="exp for nats, 2 to the power for bits.",
    reports="facebookresearch/fairseq#182, facebookresearch/fairseq#5464",
    quantities=PERPLEXITIES,
)
def two_to_the_nats(run: Run, reduced: Reduced) -> float:
    """2 is raised to a loss in nats.

    >>> witness(two_to_the_nats, Records([3.0]), "perplexity")
    'right 20.08553692, wrong 8'
    """
    return exponential(rate(run, reduced) * LOG_2)


@entered(
    "e-to-the-bits",
    "express",
    "The perplexity is off by the power 1 / log 2, far too high.",
    hidden_if="the loss is 0",
    remedy="exp for nats, 2 to the power for bits.",
    quantities=PERPLEXITIES,
)
def e_to_the_bits(run: Run, reduced: Reduced) -> float:
    """exp is taken of a loss in bits.

    >>> witness(e_to_the_bits, Records([1.3862943611198906]), "perplexity")
    'right 4, wrong 7.389056099'
    """
    return exponential(rate(run, reduced) / LOG_2)


@entered(
    "bits-without-ln2",
    "express",
    "2 to the power of the bits is not the perplexity.",
    hidden_if="the loss is 0",
    remedy="Divide nats by log 2.",
    reports="EleutherAI/lm-evaluation-harness#242",
    aliases=("nats-reported-as-bits",),
    quantities=BITS,
)
def bits_without_ln2(run: Run, reduced: Reduced) -> float:
    """Nats are reported as bits.

    >>> witness(bits_without_ln2, Records([6.0], n_bytes=4), "bits_per_byte")
    'right 2.164042561, wrong 1.5'
    """
    return rate(run, reduced)


@entered(
    "bits-reported-as-nats",
    "express",
    "exp of the loss is not the perplexity.",
    hidden_if="the loss is 0",
    remedy="Multiply bits by log 2, and print the unit beside the number.",
    quantities=LOSSES,
)
def bits_reported_as_nats(run: Run, reduced: Reduced) -> float:
    """Bits are reported as nats.

    >>> witness(bits_reported_as_nats, Records([0.6931471805599453]))
    'right 0.6931471806, wrong 1'
    """
    return rate(run, reduced) / LOG_2


@entered(
    "log10-as-natural",
    "express",
    "The loss is too small by log 10, the perplexity off by that power.",
    hidden_if="the loss is 0",
    remedy="Scores of ARPA files, KenLM and SRILM are in base 10: raise 10, not e.",
    reports="kpu/kenlm#165, kpu/kenlm#181, kpu/kenlm#370",
    quantities=ALL,
)
def log10_as_natural(run: Run, reduced: Reduced) -> float:
    """Logarithms to base 10 are taken for natural ones.

    >>> witness(log10_as_natural, Records([2.302585092994046]), "perplexity")
    'right 10, wrong 2.718281828'
    """
    return restated(run, reduced, lambda nats: nats / LOG_10)


@entered(
    "misnamed-transform",
    "express",
    "A perplexity below 10 for a model that is near chance.",
    hidden_if="the two functions happen to agree, near a loss of 0",
    remedy="Perplexity is exp of the mean nll in nats, and nothing else.",
    reports="SocialComplexityLab/life2vec#8",
    quantities=("perplexity",),
)
def misnamed_transform(run: Run, reduced: Reduced) -> float:
    """The square root of the mean nll is reported as perplexity.

    >>> witness(misnamed_transform, Records([4.0]), "perplexity")
    'right 54.59815003, wrong 2'
    """
    if not reduced.mean >= 0.0:
        raise DoesNotApply("a mean that is not negative")
    return sqrt(reduced.mean)


@entered(
    "perplexity-halved",
    "express",
    "The perplexity is exactly half the right one.",
    hidden_if="never",
    remedy="Find why two tools differ; do not scale one to match.",
    reports="dphnAI/sonar#313",
    quantities=("perplexity",),
)
def perplexity_halved(run: Run, reduced: Reduced) -> float:
    """The perplexity is halved to match another tool.

    >>> witness(perplexity_halved, Records([4.0]), "perplexity")
    'right 54.59815003, wrong 27.29907502'
    """
    return exponential(reduced.mean) / 2.0


@entered(
    "nll-as-perplexity",
    "express",
    "A perplexity that may lie below 1.",
    hidden_if="never",
    remedy="Take exp of the mean nll.",
    quantities=PERPLEXITIES,
)
def nll_as_perplexity(run: Run, reduced: Reduced) -> float:
    """The nll itself is reported as perplexity.

    >>> witness(nll_as_perplexity, Records([2.0]), "perplexity")
    'right 7.389056099, wrong 2'
    """
    return rate(run, reduced)


@entered(
    "perplexity-as-nll",
    "express",
    "A loss far above log V.",
    hidden_if="never",
    remedy="Report the mean nll before exp.",
    quantities=("mean_nll",),
)
def perplexity_as_nll(run: Run, reduced: Reduced) -> float:
    """The perplexity is reported as the mean nll.

    >>> witness(perplexity_as_nll, Records([2.0]))
    'right 2, wrong 7.389056099'
    """
    return exponential(reduced.mean)


@entered(
    "product-underflow",
    "express",
    "inf for any long text.",
    hidden_if="the probability of the whole text is within the dtype",
    remedy="Add logarithms; do not multiply probabilities.",
    reports="artefactory/artefactual#225, fxsjy/jieba#19",
    quantities=(*MEANS, "nll_sum"),
)
def product_underflow(run: Run, reduced: Reduced) -> float:
    """The probabilities of all targets are multiplied, so that the product becomes 0.

    >>> witness(product_underflow, Records([0.6931471805599453] * 2000), "perplexity")
    'right 2, wrong inf'
    """
    product = rounded(exponential(-reduced.total), run.dtype)
    return restated(run, reduced, lambda nats: nats if product else inf)
