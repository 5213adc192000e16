"""Numbers that look fine and are wrong, each a small program of its own, and what refcalc says of them.

    python -m examples.deceptions

runs all of them, `python -m examples.deceptions.batch_means` one.
"""

from examples.deceptions import (
    base,
    batch_means,
    bytes_for_characters,
    fitting_the_test,
    one_lucky_seed,
    padding,
    shift,
    train_as_test,
    windows_changed,
)

DECEPTIONS = (
    batch_means,
    padding,
    shift,
    base,
    fitting_the_test,
    bytes_for_characters,
    train_as_test,
    one_lucky_seed,
    windows_changed,
)


def main() -> None:
    for deception in DECEPTIONS:
        deception.main()


if __name__ == "__main__":
    main()
