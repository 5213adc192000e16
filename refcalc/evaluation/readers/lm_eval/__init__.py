"""Results of lm-evaluation-harness with `--log_samples`: a results JSON and a samples file a task.

What it does, as of version 0.4.13, and what is done here again:

    loglikelihood_rolling   a document's log-likelihood ll, one pass over all of its tokens, the first one included (its
                            context is the prefix token, EOS or BOS); bytes: UTF-8 of the target; words: the pieces of
                            re.split(r"\\s+", target), of which an outer white space makes an empty one more
                                byte_perplexity  exp(-sum ll / sum bytes)        word_perplexity  the same with words
                                bits_per_byte    -sum ll / sum bytes / log 2
    multiple_choice         acc: the choice of the largest ll, the first of equals; acc_norm: of the largest ll over the
                            characters of the choice, its delimiter not counted; acc_bytes: over its UTF-8 bytes
    loglikelihood           perplexity exp(-mean ll); acc: whether greedy decoding gives the target
    mean                    its standard error is the sample deviation over sqrt n
    group                   the mean of the tasks, weighted with their documents unless weight_by_size is false

Each sample holds the log-likelihood several times (resps, filtered_resps, the metrics) and sha256 hashes of document,
prompt and target; the results hold a hash of these over each task.
"""

__all__ = ["LOOKED_FOR", "recognises", "recognises_results", "recognises_sample"]

from typing import Any

LOOKED_FOR = "results and samples of lm-evaluation-harness (--log_samples)"


def recognises_results(value: Any) -> bool:
    """Return whether a record is the results of a run."""
    return isinstance(value, dict) and isinstance(value.get("results"), dict) and "configs" in value


def recognises_sample(value: Any) -> bool:
    """Return whether a record is one logged sample."""
    return isinstance(value, dict) and {"doc_id", "doc", "resps", "filtered_resps"} <= set(value)


def recognises(value: Any) -> bool:
    """Return whether a record is of this format."""
    return recognises_results(value) or recognises_sample(value)
