"""The exact tier goes through the same battery as the float tier: see tests/battery.py."""

from refcalc import exact
from tests import test_battery


class ExactBattery(test_battery.Battery):
    tier = exact
    modules = (
        "refcalc.exact.divergence",
        "refcalc.exact.loss",
        "refcalc.exact.normaliser",
        "refcalc.exact.softmax",
        "refcalc.exact.units",
    )
    takes_reals = False
