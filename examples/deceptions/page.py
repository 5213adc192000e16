"""How each deception is shown: what was reported, what it is, and what refcalc says of it."""

import textwrap

WIDTH = 100


def show(title: str, reported: str, right: str, found: object) -> None:
    print(f"{title}\n  reported  {reported}\n  right     {right}")
    mark = "refcalc"
    for line in str(found).splitlines():
        indent = " " * (len(line) - len(line.lstrip()))
        first, rest = f"  {mark:<10}{indent}", f"{'':<12}{indent}"
        print(textwrap.fill(line.strip(), WIDTH, initial_indent=first, subsequent_indent=rest))
        mark = ""
    print()
