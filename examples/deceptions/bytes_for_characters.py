"""Bits "per character" of a Chinese text, over its bytes: three for each character, so three times too good."""

import refcalc
from examples.deceptions.page import show

TEXT = "困惑度是平均要在几条岔路之间犹豫"
NLLS = [2.1 + 0.1 * (k % 5) for k in range(len(TEXT))]  # nats of each character


def main() -> None:
    n_bytes, n_chars = len(TEXT.encode()), len(TEXT)
    nll_sum = refcalc.Tally.of(NLLS).nll_sum
    reported = refcalc.bits_per_char(nll_sum, n_bytes)  # the wrong way
    right = refcalc.bits_per_char(nll_sum, n_chars)
    records = refcalc.Records([NLLS], n_bytes=[n_bytes], n_chars=[n_chars])
    found = refcalc.diagnose(reported, records, quantity="bits_per_char")
    show("bytes for characters", f"{reported:.4f} bits per character", f"{right:.4f} bits per character", found)


if __name__ == "__main__":
    main()
