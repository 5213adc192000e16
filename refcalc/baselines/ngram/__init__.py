"""Models that count: what followed these n-1 tokens before?  The baseline that a neural network has to beat.

    n      the order: a token is predicted from the n-1 tokens before it
    w, h   a token, and its context; h' is h without its first token
    V      the size of the vocabulary, which is declared before anything is counted
    c(hw)  how often w followed h in training        c(h)  the sum of c(hw) over w

Most n-grams of a new text were never seen, so the counts of long contexts are mixed with those of shorter ones.  Three
models are probability models, over any hashable tokens (characters, bytes, ids, words):

    KneserNey    the strongest: discounted counts, and shorter contexts that count neighbours instead of occurrences
    WittenBell   a context that has seen many different tokens trusts itself less
    Additive     one longer context, alpha added to every count

In all of them every token of the vocabulary has a probability above 0 and the probabilities sum to 1 after every
context, seen or not, because all end in the uniform distribution 1 / V.  StupidBackoff gives scores that do not sum to
1, and therefore no perplexity.

Where a text begins.  The context of the first tokens of a training text is filled up with a symbol BOS that is no
target and never predicted.  A token named as `bos` has the same effect wherever it stands: it is not counted or scored,
and the tokens before it are forgotten.  Without `bos` the history runs on through the whole text.

    >>> model = KneserNey.fit("abracadabra", 3, "abcdr")
    >>> model.probability("r", "ab") > model.probability("r", "ac") > 0.0
    True
    >>> model.score("bra", context="a").n_targets
    3

Memory: about 120 bytes for each distinct n-gram of the orders 1 to n, its context included (measured on characters,
n = 4 to 7, tests/bench/ngram.py).
"""

__all__ = ["Additive", "KneserNey", "StupidBackoff", "WittenBell"]

from refcalc.baselines.ngram.additive import Additive
from refcalc.baselines.ngram.kneser_ney import KneserNey
from refcalc.baselines.ngram.stupid_backoff import StupidBackoff
from refcalc.baselines.ngram.witten_bell import WittenBell
