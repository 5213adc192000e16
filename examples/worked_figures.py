"""Figures worked out in published texts on language-model loss, computed again.

    python -m examples.worked_figures

Each line holds a computed figure against the printed one, which must be the same to all of its digits.  Exit status 1
if one is not.  A figure marked "wrong" is the one that a text prints as a warning.
"""

import sys
from math import exp, inf, log

import refcalc
from refcalc import Tally

Figure = tuple[str, float, str]  # what, computed, as printed


def two_documents() -> list[Figure]:
    """Nll 6 and 9 nats, 2 and 4 targets, 3 and 7 bytes."""
    first, second = Tally(6.0, 2, n_bytes=3), Tally(9.0, 4, n_bytes=7)
    both = first + second
    of_means = refcalc.masked_mean([first.mean_nll, second.mean_nll], [1, 1])
    return [
        ("nats per target", both.mean_nll, "2.5"),
        ("perplexity", both.perplexity, "12.182494"),
        ("bits per byte", both.bits_per_byte, "2.164043"),
        ("mean of the documents' means (wrong)", of_means, "2.625"),
        ("perplexity back to nats", refcalc.perplexity_to_nll(both.perplexity), "2.5"),
        ("bits per byte back to the sum", refcalc.bits_to_nats(both.bits_per_byte) * 10, "15"),
    ]


def frozen_test_set() -> list[Figure]:
    """Four documents of 63 bytes, 119 targets with EOS; a vocabulary of 290."""
    tally = Tally(401.284752, 119, n_bytes=4 * 63, n_documents=4)
    return [
        ("nats per target", tally.mean_nll, "3.372141"),
        ("perplexity", tally.perplexity, "29.140844"),
        ("bits per byte", tally.bits_per_byte, "2.297347"),
        ("uniform over V = 290", refcalc.uniform_nll(290), "5.669881"),
    ]


def toy_unigram() -> list[Figure]:
    """Training targets a, a, b, EOS; test c, EOS; support a, b, c, EOS."""
    training, support, test = ["a", "a", "b", "EOS"], ["a", "b", "c", "EOS"], ["c", "EOS"]
    model = refcalc.SmoothedUnigram.fit(training, support)
    unsmoothed = refcalc.SmoothedUnigram.fit(training, support, alpha=0)
    return [
        ("p(a)", model.probability("a"), "0.375"),
        ("p(b)", model.probability("b"), "0.25"),
        ("p(c), not seen in training", model.probability("c"), "0.125"),
        ("p(EOS)", model.probability("EOS"), "0.25"),
        ("nll of c, EOS = ln 32", float(model.score(test).nll_sum), "3.465736"),
        ("nats per target", model.score(test).mean_nll, "1.732868"),
        ("without smoothing", float(unsmoothed.score(test).nll_sum), "inf"),
    ]


def batches() -> list[Figure]:
    """Two batches, 1 target of 0.1 nats and 9 of 18.0 together."""
    small, large = Tally(0.1, 1), Tally(18.0, 9)
    of_means = refcalc.masked_mean([small.mean_nll, large.mean_nll], [1, 1])
    return [
        ("nats per target", (small + large).mean_nll, "1.81"),
        ("perplexity", (small + large).perplexity, "6.110447"),
        ("mean of the batches' means (wrong)", of_means, "1.05"),
        ("its perplexity (wrong)", refcalc.perplexity(of_means), "2.857651"),
    ]


def another_tokenisation() -> list[Figure]:
    """Two positions of probability 1/4, or one token for both of them."""
    quarter = refcalc.token_nll([0.0] * 4, 0)
    return [
        ("nats per target = ln 4", quarter, "1.386294"),
        ("perplexity, two tokens", Tally.of([quarter, quarter]).perplexity, "4"),
        ("perplexity, one token", Tally.of([2 * quarter]).perplexity, "16"),
    ]


def document_ratio() -> list[Figure]:
    """Three documents, nll and targets (2.0, 2), (18.0, 9), (8.0, 4)."""
    documents = Tally(2.0, 2) + Tally(18.0, 9) + Tally(8.0, 4)
    return [("nats per target = 28/15", documents.mean_nll, "1.866667")]


def characters_and_tokens() -> list[Figure]:
    """A loss of 1.77 per character; one of 3.34 per token of 2.033 characters; 65 different characters."""
    n_tokens, n_chars = 1000, 2033
    runs = [1.6757, 1.6792, 1.6856]
    mean = refcalc.masked_mean(runs, [1, 1, 1])
    return [
        # The text has 2.56, from a loss that had more digits: 1.774 nats would be both.
        ("1.77 nats in bits per character", refcalc.nats_to_bits(1.77), "2.5536"),
        ("3.34 nats in bits per character", refcalc.bits_per_char(3.34 * n_tokens, n_chars), "2.37"),
        ("1.6757 nats in bits", refcalc.nats_to_bits(runs[0]), "2.418"),
        ("1.6792 nats in bits", refcalc.nats_to_bits(runs[1]), "2.423"),
        ("1.6856 nats in bits", refcalc.nats_to_bits(runs[2]), "2.432"),
        ("mean of the three", mean, "1.6802"),
        ("in bits", refcalc.nats_to_bits(mean), "2.424"),
        ("uniform over V = 65", refcalc.uniform_nll(65), "4.174"),
        ("in bits", refcalc.nats_to_bits(refcalc.uniform_nll(65)), "6.022"),
        ("share of it that was learned", 1.0 - mean / refcalc.uniform_nll(65), "0.60"),
    ]


def stability() -> list[Figure]:
    """Logits of 0 and of 1000, and a class that is 800 behind."""
    row = [0.0, -800.0]
    p = refcalc.softmax(row)[1]
    return [
        ("nll of [0, 0], target 1", refcalc.token_nll([0.0, 0.0], 1), "0.693147"),
        ("nll of [1000, 1000], target 1", refcalc.token_nll([1000.0, 1000.0], 1), "0.693147"),
        ("softmax first, log second (wrong)", log(p) if p else -inf, "-inf"),
        ("log-softmax by subtraction", refcalc.log_softmax(row)[1], "-800"),
        ("perplexity of 50 equal logits", refcalc.perplexity(refcalc.token_nll([3.5] * 50, 7)), "50"),
        ("2 ** bits", exp(log(2.0) * refcalc.nats_to_bits(2.5)), "12.182494"),
        ("exp(nats)", refcalc.perplexity(2.5), "12.182494"),
    ]


def rounded(value: float, printed: str) -> str:
    """Return value with as many decimals as the printed figure."""
    decimals = len(printed.partition(".")[2])
    return f"{value:.{decimals}f}"


def main() -> int:
    wrong = 0
    parts = [two_documents, frozen_test_set, toy_unigram, batches, another_tokenisation, document_ratio]
    for part in [*parts, characters_and_tokens, stability]:
        print(part.__doc__)
        for what, computed, printed in part():
            same = rounded(computed, printed) == printed
            wrong += not same
            print(f"  {what:<38}{computed:>22.15g}   printed {printed:>10}{'' if same else '   DIFFERS'}")
    print(f"\n{wrong} figures differ" if wrong else "\nall figures agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
