"""One run of the new model beats one run of the old.  Over the seeds there is nothing in it."""

import refcalc
from examples.deceptions.page import show

OLD = [1.6757, 1.6792, 1.6856]  # validation losses in nats, seeds 1337, 42 and 7
NEW = [1.6731, 1.6840, 1.6801]


def main() -> None:
    reported = OLD[0] - NEW[0]  # the wrong way: the seed that was looked at first
    old, new = refcalc.seed_noise(OLD), refcalc.seed_noise(NEW)
    difference = old.mean - new.mean
    found = refcalc.materiality(difference, (old, new))
    show("one lucky seed", f"better by {reported:.4f} nats", f"better by {difference:.4f} nats", found)


if __name__ == "__main__":
    main()
