"""The last batch is short and easy, and its mean counts as much as that of a full one."""

import refcalc
from examples.deceptions.page import show

NLLS = [[0.1], [2.0] * 9]  # nats of each target, in two batches


def main() -> None:
    means = [refcalc.masked_mean(batch, [1] * len(batch)) for batch in NLLS]
    reported = refcalc.masked_mean(means, [1, 1])  # the wrong way: a mean of means
    records = refcalc.Records(NLLS, groups=[[0], [1]])
    right = refcalc.Tally.of([nll for batch in NLLS for nll in batch]).mean_nll
    show("batch means", f"{reported:.4f} nats", f"{right:.4f} nats", refcalc.diagnose(reported, records))


if __name__ == "__main__":
    main()
