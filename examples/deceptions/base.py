"""A loss in nats is reported as bits: 1.44 times too good."""

import refcalc
from examples.deceptions.page import show

NLLS = [1.2, 0.3, 2.5, 0.9, 1.7]


def main() -> None:
    tally = refcalc.Tally.of(NLLS)
    reported = tally.mean_nll  # the wrong way: nats under the name of bits
    found = refcalc.diagnose(reported, refcalc.Records([NLLS]), quantity="bits_per_token")
    show("base", f"{reported:.4f} bits per token", f"{tally.bits_per_token:.4f} bits per token", found)


if __name__ == "__main__":
    main()
