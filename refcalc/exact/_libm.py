"""Whether this process may trust its C library's exp.

Surveyed, the worst exp of the libraries in use is off by 1.5 ulp (Gladman, Innocente, Mather, Zimmermann, "Accuracy of
mathematical functions", hal-03141101), glibc's and musl's by 0.51.  Yet 32-bit x86 code with the x87 in 53-bit mode is
off by many.  So: trust 16 ulp, look once, and use no libm at all where a point looked at is off by more than 4.
"""

__all__ = ["TRUST", "exp_is_good", "libm_is_trusted"]

import math
from collections.abc import Callable
from functools import cache

from refcalc.exact import _integer

TRUST = math.ldexp(1.0, -48)  # the relative error that the quick kernel's ledger allows exp: 16 ulp at worst


@cache
def libm_is_trusted() -> bool:
    """Return whether math.exp passes `exp_is_good`, looked at once a process."""
    return exp_is_good(math.exp)


def exp_is_good(exp: Callable[[float], float]) -> bool:
    """Return whether exp is within 2**-50 of the truth at 256 points between -640 and 640, most of them small."""
    return all(_off_by(exp, _point(i)) <= TRUST / 4.0 for i in range(256))


def _point(i: int) -> float:
    """Return the i-th point: both signs, growing to 640, the fraction running through [0, 1) in steps of 1/97."""
    x = i * i * (640.0 / 255.0 / 255.0) - i * i % 97 / 97
    return x if i & 1 else -x


def _off_by(exp: Callable[[float], float], x: float) -> float:
    """Return the relative error of exp(x), itself off by less than 2**-60."""
    w = 64
    (a, b), (n, d) = x.as_integer_ratio(), exp(x).as_integer_ratio()
    m, k = _integer.exp((a << w) // b, w)  # exp(x) = m * 2**(k - w)
    k -= w
    got, want = (n, m * d << k) if k >= 0 else (n << -k, m * d)
    return abs(got - want) / want
