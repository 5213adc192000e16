"""`python -m refcalc`: the command line."""

import sys

from refcalc.cli import main

if __name__ == "__main__":
    sys.exit(main())
