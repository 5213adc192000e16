"""What the tests of the exact tier share: rows of every kind, and a judge that uses no logarithm.

    judge.nll(xs, y, got)   got is the double nearest to the nll, decided in decimal arithmetic by comparing sums of exp
"""
