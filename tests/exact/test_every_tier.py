"""The suite of the exact tier once more with each level of work forced: the same results, whoever computes them."""

import unittest
from unittest import mock

from refcalc.exact import _rounding
from tests.exact import test_divergence, test_loss, test_normaliser, test_softmax, test_units, test_value

LEVELS = (1, 2, 3, 4)


def forced(case: type[unittest.TestCase], level: int) -> type[unittest.TestCase]:
    """Return the test case with the levels below `level` left out."""

    def set_up(self: unittest.TestCase) -> None:
        patch = mock.patch.object(_rounding, "FIRST_LEVEL", level)
        patch.start()
        self.addCleanup(patch.stop)

    return type(f"{case.__name__}From{level}", (case,), {"setUp": set_up, "__module__": __name__})


for module in (test_softmax, test_divergence, test_normaliser, test_value, test_loss, test_units):
    for name, case in list(vars(module).items()):
        if isinstance(case, type) and issubclass(case, unittest.TestCase):
            for level in LEVELS:
                globals()[f"{module.__name__.rpartition('.')[2]}_{name}_from_{level}"] = forced(case, level)
del case, module, name, level
