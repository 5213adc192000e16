"""Scaled dot-product attention on plain lists, one row of weights at a time.

    T_q, T_k  queries, keys      d  the width of a query and a key      H  heads

    score[i][j]   =  scale (query[i] . key[j])             scale = 1 / sqrt(d), where none is given
    weight[i]     =  softmax of score[i] over the keys that query i may read; exactly 0.0 for the others
    output[i]     =  sum_j weight[i][j] value[j]

What a query may not read is left out of its row, not added as -inf: row i is a function of query i and of the keys and
values that it reads, and of nothing else.  So the run over a whole sequence and the runs that add one query at a time
to a cache of keys and values give the same bits, and keys that nobody reads (padding) may hold nan.

A causal query reads the keys up to its own position.  Where T_q < T_k there are two readings of "its own position":

    the queries are the last T_q of the sequence (a cached step, a chunk after its prefix)     offset = T_k - T_q
    the queries are the first T_q of the sequence (PyTorch's is_causal=True)                   offset = 0

The first is the default here.  With one query and a cache of keys, the second reads nothing but key 0.

Accuracy ("bounded", where no product leaves the normal doubles; u = 2**-53): products are rounded, their sums once.

    score     off by at most e = u |scale| (sum of |q[c] k[c]|, for the products, + 4 |q . k|, for sum, scale, product)
    weight    5 ulp (refcalc.softmax), and a factor between exp(-2 e) and exp(2 e) for the largest e of its row
    output    2 u of its sum of |weight value|, beside what the weights are off by
    sum of a row of weights     1 within 2 ulp: all are divided by one rounded sum (u), each quotient is rounded (u)

Sources: Vaswani et al. (2017), arXiv:1706.03762, section 3.2.1; grouped queries: Ainslie et al. (2023),
arXiv:2305.13245; torch.nn.functional.scaled_dot_product_attention (PyTorch 2.13 documentation).
"""

__all__ = ["multi_head_attention", "scaled_dot_product_attention"]

from collections.abc import Iterable, Sequence
from math import fsum, inf, isfinite, sqrt
from typing import Any

from refcalc import _check
from refcalc._check import Nested
from refcalc.softmax import row_softmax

Matrix = list[list[float]]


def scaled_dot_product_attention(
    query: Nested,
    key: Nested,
    value: Nested,
    *,
    causal: bool = False,
    offset: int | None = None,
    mask: Nested = None,
    scale: float | None = None,
    return_weights: bool = False,
) -> Any:
    """Return softmax(scale query key^T) value of one head: [T_q][d_v]; with return_weights also the weights [T_q][T_k].

    query: [T_q][d].  key: [T_k][d].  value: [T_k][d_v].
    causal: query i reads the keys 0 to offset + i only.
    offset: the position of query 0 among the keys, T_k - T_q where none is given; 0 is PyTorch's is_causal.
    mask: 0/1 or bool, 1 where a key may be read: [T_k], the attention mask of a padded sequence, or [T_q][T_k].  Keys
        and values that no query reads are not looked at.
    scale: what the products are multiplied by, 1 / sqrt(d) where none is given.

    >>> rows = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    >>> output, weights = scaled_dot_product_attention(rows, rows, rows, causal=True, return_weights=True)
    >>> output[0], weights[0]
    ([1.0, 0.0], [1.0, 0.0, 0.0])
    >>> scaled_dot_product_attention(rows[2:], rows, rows, causal=True) == output[2:]     # one step, keys cached
    True
    >>> scaled_dot_product_attention(rows[2:], rows, rows, causal=True, offset=0)         # the first of the sequence
    [[1.0, 0.0]]
    >>> scaled_dot_product_attention([[0.0]], [[1.0], [2.0]], [[3.0], [5.0]], mask=[0, 0])
    Traceback (most recent call last):
    ValueError: scaled_dot_product_attention: query[0] must have a key to read, got []

    Raises ValueError for a query without a key to read, rows of different width, another number of values than of keys,
    numbers that are not finite, scores beyond the doubles, a mask of another size, or an offset without causal;
    TypeError for what is no number.

    Accuracy: the module's docstring; a row of weights sums to 1 within 2 ulp.
    """
    name = "scaled_dot_product_attention"
    sizes = len(_check.items(name, "query", query)), len(_check.items(name, "key", key))
    rule = _Rule(name, _keys_read(name, sizes, causal, offset, mask), scale)
    output, weights = rule.attend(("query", query), ("key", key), ("value", value))
    return (output, weights) if return_weights else output


def multi_head_attention(
    query: Nested,
    key: Nested,
    value: Nested,
    *,
    causal: bool = False,
    offset: int | None = None,
    mask: Nested = None,
    scale: float | None = None,
    return_weights: bool = False,
) -> Any:
    """Return the attention of each head, [H_q][T_q][d_v]; with return_weights also the weights [H_q][T_q][T_k].

    query: [H_q][T_q][d].  key: [H_kv][T_k][d].  value: [H_kv][T_k][d_v].  H_q is a multiple of H_kv: each head of keys
        and values serves H_q / H_kv heads of queries that follow one another (grouped queries; all of them for one).
    The other arguments are those of scaled_dot_product_attention, the same for every head.  Nothing is projected.

    >>> head = [[1.0, 0.0], [0.0, 1.0]]
    >>> two = multi_head_attention([head, head], [head], [head], causal=True)             # two heads share one
    >>> two == [scaled_dot_product_attention(head, head, head, causal=True)] * 2
    True
    >>> multi_head_attention([head] * 3, [head] * 2, [head] * 2)
    Traceback (most recent call last):
    ValueError: multi_head_attention: query must hold a multiple of key's 2 heads, got 3

    Raises as scaled_dot_product_attention does, and ValueError for heads that do not divide or differ in size.

    Accuracy: each head is that of scaled_dot_product_attention, to the bit.
    """
    name = "multi_head_attention"
    queries, keys, values = (
        _check.items(name, argument, heads) for argument, heads in [("query", query), ("key", key), ("value", value)]
    )
    _check.same_length(name, "value", values, "key", len(keys))
    if not keys or not queries or len(queries) % len(keys):
        _check.refuse(name, "query", f"hold a multiple of key's {len(keys)} heads", len(queries))
    sizes = _length(name, "query", queries), _length(name, "key", keys)
    rule = _Rule(name, _keys_read(name, sizes, causal, offset, mask), scale)
    group = len(queries) // len(keys)
    heads = []
    for h, q in enumerate(queries):
        g = h // group
        heads.append(rule.attend((f"query[{h}]", q), (f"key[{g}]", keys[g]), (f"value[{g}]", values[g])))
    outputs = [output for output, _ in heads]
    return (outputs, [weights for _, weights in heads]) if return_weights else outputs


# --- which keys are read ---------------------------------------------------------------------------------------------


def _length(name: str, argument: str, heads: Sequence[Any]) -> int:
    """Return the length of the first head; all must have it."""
    rows = [_check.items(name, f"{argument}[{h}]", head) for h, head in enumerate(heads)]
    for h, each in enumerate(rows):
        _check.same_length(name, f"{argument}[{h}]", each, f"{argument}[0]", len(rows[0]))
    return len(rows[0])


def _keys_read(name: str, sizes: tuple[int, int], causal: bool, offset: int | None, mask: Nested) -> list[list[int]]:
    """Return the places of the keys that each query reads; sizes: T_q and T_k."""
    n_queries, n_keys = sizes
    if offset is not None and not causal:
        _check.refuse(name, "offset", "be None where attention is not causal", offset)
    first = n_keys - n_queries if offset is None else _check.whole(name, "offset", offset)
    result = []
    for i, kept in enumerate(_mask_rows(name, sizes, mask)):
        end = max(0, first + i + 1) if causal else n_keys
        read = [j for j, keep in enumerate(kept[:end]) if keep]
        if not read:
            _check.refuse(name, f"query[{i}]", "have a key to read", read)
        result.append(read)
    return result


def _mask_rows(name: str, sizes: tuple[int, int], mask: Nested) -> list[list[bool]]:
    """Return the mask of each query's keys."""
    n_queries, n_keys = sizes
    if mask is None:
        return [[True] * n_keys] * n_queries
    rows = _check.items(name, "mask", mask)
    if not len(rows) or not _check.is_sequence(rows[0]):
        kept = _check.bits(name, "mask", rows)
        _check.same_length(name, "mask", kept, "key", n_keys)
        return [kept] * n_queries
    _check.same_length(name, "mask", rows, "query", n_queries)
    masks = [_check.bits(name, f"mask[{i}]", row) for i, row in enumerate(rows)]
    for i, kept in enumerate(masks):
        _check.same_length(name, f"mask[{i}]", kept, "key", n_keys)
    return masks


# --- one head --------------------------------------------------------------------------------------------------------


class _Rule:
    """What all heads of a call share: the function's name, which keys each query reads, and the scale."""

    def __init__(self, name: str, read: list[list[int]], scale: float | None) -> None:
        self.name = name
        self.read = read
        self.scale = None if scale is None else _check.finite(name, "scale", scale)
        self._widths: dict[str, tuple[str, int]] = {}  # of d and d_v: the row that set it, and what it is

    def attend(self, query: tuple[str, Any], key: tuple[str, Any], value: tuple[str, Any]) -> tuple[Matrix, Matrix]:
        """Return the output and the weights of one head; each argument comes with the name that a refusal gives it."""
        q, k, v = (_check.items(self.name, *each) for each in (query, key, value))
        _check.same_length(self.name, value[0], v, key[0], len(k))
        if not len(q):
            return [], []
        needed = sorted({j for places in self.read for j in places})
        queries = self._vectors("d", query[0], q, range(len(q)))
        keys = self._vectors("d", key[0], k, needed)
        values = self._vectors("d_v", value[0], v, needed)
        scale = 1.0 / sqrt(len(queries[0])) if self.scale is None else self.scale
        output, weights = [], []
        for i, places in enumerate(self.read):
            products = [_product(queries[i], keys[j], scale) for j in places]
            if not all(map(isfinite, products)):
                j = next(j for j, product in zip(places, products, strict=True) if not isfinite(product))
                _check.refuse(self.name, f"{query[0]}[{i}]", f"have a finite product with {key[0]}[{j}]", "overflow")
            p, _ = row_softmax(self.name, query[0], products)
            row = [0.0] * len(k)
            for j, w in zip(places, p, strict=True):
                row[j] = w
            weights.append(row)
            output.append([_average(p, column) for column in zip(*(values[j] for j in places), strict=True)])
        return output, weights

    def _vectors(self, width: str, argument: str, rows: Sequence[Any], wanted: Iterable[int]) -> dict[int, list[float]]:
        """Return the wanted rows as floats, all as wide as the first that was d, or d_v, numbers wide."""
        result: dict[int, list[float]] = {}
        for i in wanted:
            at = f"{argument}[{i}]"
            row = _check.items(self.name, at, rows[i])
            if not len(row):
                _check.refuse(self.name, at, "hold at least one number", 0)
            first, size = self._widths.setdefault(width, (at, len(row)))
            if len(row) != size:
                _check.refuse(self.name, at, f"hold {size} numbers as {first} does", len(row))
            result[i] = [_check.finite(self.name, f"{at}[{c}]", x) for c, x in enumerate(row)]
        return result


def _average(weights: Sequence[float], xs: Sequence[float]) -> float:
    """Return the sum of weight x.  Weights that round to a sum above 1 take it beyond no x, the largest double say."""
    result = _product(weights, xs)
    if isfinite(result):
        return result
    return max(xs) if _product(weights, [0.5 * x for x in xs]) > 0.0 else min(xs)


def _product(xs: Sequence[float], ys: Sequence[float], scale: float = 1.0) -> float:
    """Return scale times the sum of x y, each product rounded and their sum once; inf where one leaves the doubles."""
    try:
        return scale * fsum([x * y for x, y in zip(xs, ys, strict=True)])
    except (OverflowError, ValueError):  # ValueError: inf - inf
        return inf
