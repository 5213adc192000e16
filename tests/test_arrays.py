"""Array files, written here byte by byte and read back, and every way in which such a file can lie."""

import gc
import json
import os
import struct
import tempfile
import tracemalloc
import unittest
import warnings
from math import inf, ldexp, nan
from pathlib import Path
from random import Random

from refcalc import _check
from refcalc.arrays import DTYPES, open_array
from refcalc.loss import cross_entropy

SIX = struct.pack("<6f", 0.5, -1.5, 2.5, -inf, 4.5, 5.5)
ROWS = [[0.5, -1.5, 2.5], [-inf, 4.5, 5.5]]
INTEGERS = {f"{sign}int{8 * size}": (sign == "", size) for sign in ("", "u") for size in (1, 2, 4, 8)}


def npy(header: str | bytes, data: bytes = b"", version: tuple[int, int] = (1, 0)) -> bytes:
    text = header if isinstance(header, bytes) else header.encode()
    width = 2 if version == (1, 0) else 4
    return b"\x93NUMPY" + bytes(version) + len(text).to_bytes(width, "little") + text + data


def plain(descr: str = "<f4", shape: object = (2, 3), data: bytes = SIX, fortran: object = False) -> bytes:
    return npy(f"{{'descr': {descr!r}, 'fortran_order': {fortran!r}, 'shape': {shape!r}, }}\n", data)


def tensors(header: object, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def entry(begin: object, end: object, dtype: object = "F32", shape: object = (2, 3)) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def value_of(bits: int, exponent_bits: int, fraction_bits: int) -> float:
    """Return the number that IEEE 754 assigns to a bit pattern, by its definition."""
    fraction = bits & ((1 << fraction_bits) - 1)
    exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1)
    bias = (1 << exponent_bits - 1) - 1
    sign = -1.0 if bits >> fraction_bits + exponent_bits else 1.0
    if exponent == (1 << exponent_bits) - 1:
        return nan if fraction else sign * inf
    if exponent == 0:
        return sign * ldexp(fraction, 1 - bias - fraction_bits)
    return sign * ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits)


class InAFolder(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def file(self, name: str, content: bytes) -> str:
        path = os.path.join(self.folder, name)
        Path(path).write_bytes(content)
        return path

    def read(self, name: str, content: bytes, **arguments) -> list:
        """Return all numbers of a file, nested."""
        with open_array(self.file(name, content), **arguments) as array:
            return [list(row) for row in array] if len(array.shape) > 1 else list(array)

    def assert_same(self, got: list, want: list) -> None:
        """The same numbers of the same kinds, signs of zero included; any nan is as good as another."""
        self.assertEqual(len(got), len(want))
        for i, (x, y) in enumerate(zip(got, want, strict=True)):  # assertEqual takes minutes to tell long lists apart
            if type(x) is not type(y) or ((x != y or not x) and repr(x) != repr(y)):
                self.fail(f"[{i}]: got {x!r}, want {y!r}")


class Reading(InAFolder):
    def test_the_three_kinds_of_file_give_the_same_rows(self):
        self.assertEqual(self.read("a.bin", SIX, dtype="float32", shape=(2, 3)), ROWS)
        self.assertEqual(self.read("a.npy", plain()), ROWS)
        self.assertEqual(self.read("a.safetensors", tensors({"x": entry(0, 24)}, SIX)), ROWS)
        self.assertEqual(self.read("A.NPY", plain()), ROWS)

    def test_every_integer_dtype_gives_its_extremes_as_ints(self):
        for dtype, (signed, size) in INTEGERS.items():
            least = -(1 << 8 * size - 1) if signed else 0
            values = [least, least + 1, 0, 1, 2, least + (1 << 8 * size) - 1]
            for order, mark in ("little", "<"), ("big", ">"):
                data = b"".join(v.to_bytes(size, order, signed=signed) for v in values)
                code = ("i" if signed else "u") + str(size)
                with self.subTest(dtype=dtype, order=order):
                    self.assert_same(self.read("a.npy", plain(("|" if size == 1 else mark) + code, (6,), data)), values)
                    if order == "little":
                        self.assert_same(self.read("a.raw", data, dtype=dtype, shape=[6]), values)
                        one = {"x": entry(0, len(data), f"{code[0].upper()}{8 * size}", [6])}
                        self.assert_same(self.read("a.safetensors", tensors(one, data)), values)

    def test_every_float16_and_bfloat16_has_the_value_that_its_bits_define(self):
        little = b"".join(bits.to_bytes(2, "little") for bits in range(1 << 16))
        big = b"".join(bits.to_bytes(2, "big") for bits in range(1 << 16))
        halves = [value_of(bits, 5, 10) for bits in range(1 << 16)]
        brains = [value_of(bits, 8, 7) for bits in range(1 << 16)]
        shape, size = (1 << 16,), 1 << 17
        self.assert_same(self.read("a.bin", little, dtype="float16", shape=shape), halves)
        self.assert_same(self.read("a.npy", plain("<f2", shape, little)), halves)
        self.assert_same(self.read("a.npy", plain(">f2", shape, big)), halves)
        self.assert_same(self.read("h.safetensors", tensors({"x": entry(0, size, "F16", shape)}, little)), halves)
        self.assert_same(self.read("a.bin", little, dtype="bfloat16", shape=shape), brains)
        self.assert_same(self.read("b.safetensors", tensors({"x": entry(0, size, "BF16", shape)}, little)), brains)

    def test_float32_and_float64_have_the_values_that_their_bits_define(self):
        rng = Random(2)
        for dtype, descr, name, size, exponent_bits in ("float32", "f4", "F32", 4, 8), ("float64", "f8", "F64", 8, 11):
            fraction_bits = 8 * size - 1 - exponent_bits
            top = ((1 << exponent_bits) - 1) << fraction_bits
            edges = [0, 1, (1 << fraction_bits) - 1, 1 << fraction_bits, top - 1, top, top + 1]
            patterns = edges + [bits | 1 << 8 * size - 1 for bits in edges]
            patterns += [int(rng.random() * (1 << 53)) % (1 << 8 * size) for _ in range(500)]
            patterns += [bits << 8 * size - 53 & (1 << 8 * size) - 1 for bits in patterns[14:] if size == 8]
            want, shape = [value_of(bits, exponent_bits, fraction_bits) for bits in patterns], (len(patterns),)
            little = b"".join(bits.to_bytes(size, "little") for bits in patterns)
            big = b"".join(bits.to_bytes(size, "big") for bits in patterns)
            with self.subTest(dtype=dtype):
                self.assert_same(self.read("a.bin", little, dtype=dtype, shape=shape), want)
                self.assert_same(self.read("a.npy", plain("<" + descr, shape, little)), want)
                self.assert_same(self.read("a.npy", plain(">" + descr, shape, big)), want)
                one = {"x": entry(0, len(little), name, shape)}
                self.assert_same(self.read("a.safetensors", tensors(one, little)), want)

    def test_a_bool_is_a_bool(self):
        self.assert_same(self.read("a.npy", plain("|b1", (3,), b"\0\1\1")), [False, True, True])
        self.assert_same(self.read("a.raw", b"\0\1\1", dtype="bool", shape=(3,)), [False, True, True])
        one = {"x": entry(0, 3, "BOOL", [3])}
        self.assert_same(self.read("a.safetensors", tensors(one, b"\0\1\1")), [False, True, True])

    def test_fortran_order_changes_where_numbers_lie_and_not_where_they_are_found(self):
        # element [i][j][k] of shape (2, 3, 4) is 100 i + 10 j + k; in Fortran order i is the fastest
        data = b"".join((100 * i + 10 * j + k).to_bytes(2, "big") for k in range(4) for j in range(3) for i in range(2))
        with open_array(self.file("a.npy", plain(">i2", (2, 3, 4), data, fortran=True))) as array:
            for i in range(2):
                for j in range(3):
                    self.assertEqual(array[i][j], [100 * i + 10 * j + k for k in range(4)])
        self.assertEqual(self.read("a.npy", plain("|u1", (3,), b"\5\6\7", fortran=True)), [5, 6, 7])

    def test_the_versions_of_npy_differ_only_in_the_width_of_a_length(self):
        header = "{'shape': (2, 3), 'fortran_order': False, 'descr': '<f4'}"  # in any order, with or without padding
        for version in (1, 0), (2, 0), (3, 0):
            with self.subTest(version=version):
                self.assertEqual(self.read("a.npy", npy(header, SIX, version)), ROWS)
                self.assertEqual(self.read("a.npy", npy(header + " " * 4000 + "\n", SIX, version)), ROWS)

    def test_a_tensor_is_found_among_others_that_may_be_empty_or_of_unknown_dtype(self):
        header = {
            "__metadata__": {"format": "pt"},
            "last": entry(28, 30, "F8_E4M3", [2]),
            "none": entry(4, 4, "F32", [0]),
            "x": entry(4, 28),
            "first": entry(0, 4, "I32", []),
        }
        path = self.file("a.safetensors", tensors(header, b"\1\2\3\4" + SIX + b"\7\7"))
        with open_array(path, tensor="x") as array:
            self.assertEqual([list(row) for row in array], ROWS)

    def test_dtype_and_shape_may_be_given_where_the_file_states_the_same(self):
        self.assertEqual(self.read("a.npy", plain(), dtype="float32", shape=[2, 3]), ROWS)
        one = tensors({"x": entry(0, 24)}, SIX)
        self.assertEqual(self.read("a.safetensors", one, tensor="x", dtype="float32", shape=(2, 3)), ROWS)

    def test_a_path_may_be_a_path_object_or_a_link(self):
        path = self.file("a.npy", plain())
        with open_array(Path(path)) as array:
            self.assertEqual(array[0], ROWS[0])
        link = os.path.join(self.folder, "link.npy")
        try:
            os.symlink(path, link)
        except (OSError, NotImplementedError):
            self.skipTest("no links here")
        with open_array(link) as array:
            self.assertEqual(array[1], ROWS[1])


class Walking(InAFolder):
    def setUp(self) -> None:
        super().setUp()
        data = b"".join(n.to_bytes(2, "little") for n in range(24))
        self.path = self.file("a.bin", data)
        self.array = open_array(self.path, dtype="int16", shape=(2, 3, 4))
        self.addCleanup(self.array.close)
        self.lists = [[[12 * i + 4 * j + k for k in range(4)] for j in range(3)] for i in range(2)]

    def nested(self, array) -> list:
        return [self.nested(a) for a in array] if hasattr(array, "shape") else array

    def test_it_nests_like_lists_and_its_rows_are_lists(self):
        self.assertEqual(self.nested(self.array), self.lists)
        self.assertEqual((self.array.shape, self.array[0].shape, len(self.array[1])), ((2, 3, 4), (3, 4), 3))
        self.assertIs(type(self.array[0][0]), list)
        self.assertEqual((self.array.dtype, self.array[1].dtype), ("int16", "int16"))

    def test_indices_and_slices_mean_what_they_mean_for_lists(self):
        for i in range(-2, 2):
            for j in range(-3, 3):
                self.assertEqual(self.array[i][j], self.lists[i][j])
        ends = [None, -5, -2, -1, 0, 1, 2, 5]
        for cut in (slice(a, b, c) for a in ends for b in ends for c in (None, -2, -1, 1, 2)):
            with self.subTest(cut=cut):
                self.assertEqual(self.nested(self.array[cut]), self.lists[cut])
                self.assertEqual(self.nested(self.array[1][cut]), self.lists[1][cut])
                self.assertEqual(self.nested(self.array[1][cut][::-1]), self.lists[1][cut][::-1])
        self.assertEqual(list(reversed(self.array[1])), self.lists[1][::-1])

    def test_one_axis_is_a_sequence_of_numbers(self):
        with open_array(self.path, dtype="int16", shape=(24,)) as flat:
            self.assertEqual(list(flat), list(range(24)))
            self.assertEqual((flat[0], flat[-1], flat[5:2:-1], flat.index(7), 99 in flat), (0, 23, [5, 4, 3], 7, False))

    def test_the_package_takes_it_for_a_batch_and_does_not_convert_it(self):
        self.assertIs(_check.items("f", "logits", self.array), self.array)
        self.assertFalse(hasattr(self.array, "tolist"))
        self.assertTrue(_check.is_sequence(self.array))

    def test_a_loss_walks_it_as_it_walks_lists(self):
        targets = [[0, 3, 2], [1, -100, 0]]
        self.assertEqual(cross_entropy(self.array, targets), cross_entropy(self.lists, targets))
        with self.assertRaises(ValueError) as caught:
            cross_entropy(self.array, [[0, 3, 2], [1, 4, 0]])
        with self.assertRaises(ValueError) as on_lists:
            cross_entropy(self.lists, [[0, 3, 2], [1, 4, 0]])
        self.assertEqual(str(caught.exception), str(on_lists.exception))

    def test_an_index_beyond_the_end_is_an_index_error(self):
        for index, message in [
            (2, "Array: index must lie in [-2, 2), got 2"),
            (-3, "Array: index must lie in [-2, 2), got -3"),
        ]:
            with self.subTest(index=index), self.assertRaises(IndexError) as caught:
                self.array[index]
            self.assertEqual(str(caught.exception), message)
        for index in (True, 1.0, "1", None):
            with self.subTest(index=index), self.assertRaises(TypeError) as caught:
                self.array[index]
            self.assertEqual(str(caught.exception), f"Array: index must be a whole number, got {index!r}")

    def test_a_bool_that_is_neither_0_nor_1_is_refused_when_its_row_is_read(self):
        with open_array(self.file("m", b"\0\1\2\0"), dtype="bool", shape=(2, 2)) as mask:
            self.assertEqual(mask[0], [False, True])
            with self.assertRaises(ValueError) as caught:
                mask[1]
        self.assertEqual(str(caught.exception), "Array: bool must be stored as 0 or 1, got 2")

    def test_what_was_read_outlives_the_file_and_the_rest_is_refused(self):
        part = self.array[1]
        row = part[0]
        self.array.close()
        self.array.close()
        self.assertEqual((row, part.shape), ([12, 13, 14, 15], (3, 4)))
        with self.assertRaises(ValueError) as caught:
            part[0]
        self.assertEqual(str(caught.exception), "Array: file must be open, got a closed one")

    def test_its_repr_is_short(self):
        self.assertEqual(repr(self.array), "<Array of int16, shape (2, 3, 4)>")

    def test_an_array_that_is_dropped_unclosed_leaves_no_warning(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            rows = list(open_array(self.path, dtype="int16", shape=(6, 4)))
            gc.collect()
        self.assertEqual((len(rows), caught), (6, []))

    def test_a_walk_needs_the_memory_of_a_few_rows(self):
        rows, classes = 20, 5000  # as Python floats: 160 kB a row, 3 MB in all
        path = self.file("big.bin", b"\0\0\x80\x3f" * (rows * classes))
        total = 0.0
        with open_array(path, dtype="float32", shape=(rows, classes)) as array:
            tracemalloc.start()
            for row in array:
                total += row[-1]
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        self.assertEqual(total, 20.0)
        self.assertLess(peak, 4 * classes * 32)


class Refusals(InAFolder):
    def refused(self, path: object, message: str, kind: type[Exception] = ValueError, **arguments) -> None:
        with self.assertRaises(kind) as caught:
            open_array(path, **arguments).close()
        self.assertEqual(str(caught.exception), f"open_array: {message}")

    def test_what_is_no_regular_file_is_refused(self):
        with self.assertRaises(FileNotFoundError):
            open_array(os.path.join(self.folder, "none.npy"))
        self.refused(self.folder, f"path must be a regular file, got {_check.shown(self.folder)}")
        self.refused(os.devnull, f"path must be a regular file, got {os.devnull!r}")
        for path in (3, None, b"a.npy", ["a.npy"]):
            self.refused(path, f"path must be the path of a file, got {path!r}", TypeError)

    def test_bare_numbers_need_dtype_and_shape(self):
        path = self.file("a.bin", SIX)
        rule = "must be given where path is neither .npy nor .safetensors, got None"
        self.refused(path, f"dtype {rule}", shape=(6,))
        self.refused(path, f"shape {rule}", dtype="float32")
        listed = ", ".join(map(repr, DTYPES))
        for dtype in ("f4", "float", "", 4, ["float32"]):
            self.refused(path, f"dtype must be one of {listed}, got {dtype!r}", dtype=dtype, shape=(6,))
        self.refused(path, "tensor must be left out where path is not a .safetensors file, got 'x'", tensor="x")
        self.refused(self.file("a.npy", plain()),
                     "tensor must be left out where path is not a .safetensors file, got 'x'", tensor="x")

    def test_a_shape_is_made_of_whole_numbers(self):
        path = self.file("a.bin", SIX)
        rule = "shape must hold 1 to 64 axes, each a whole number in [1, 2**63), got"
        for shape in ([], [0], [2, 0], [-2, -3], [1 << 63]):
            self.refused(path, f"{rule} {shape!r}", dtype="float32", shape=tuple(shape))
        self.refused(path, f"{rule} [1, 1, 1, 1, 1, 1, ...]", dtype="float32", shape=[1] * 65)
        for bad in (True, 2.0, "3", None):
            message = f"shape[1] must be a whole number, got {bad!r}"
            self.refused(path, message, TypeError, dtype="float32", shape=(2, bad))
        self.refused(path, "shape must be a sequence, got 6", TypeError, dtype="float32", shape=6)

    def test_a_file_shorter_or_longer_than_its_shape_is_refused(self):
        rule = "path must hold exactly 24 bytes for float32 of shape (2, 3), got"
        for data, got in (SIX[:-1], 23), (SIX + b"\0", 25), (b"", 0):
            with self.subTest(got=got):
                self.refused(self.file("a.bin", data), f"{rule} {got}", dtype="float32", shape=(2, 3))
                self.refused(self.file("a.npy", plain(data=data)), f"{rule} {got}")
                self.refused(self.file("a.safetensors", tensors({"x": entry(0, got)}, data)), f"{rule} {got}")
        huge = (1 << 62, 1 << 62)
        bytes_taken = 4 << 124
        message = f"path must hold exactly {bytes_taken} bytes for float32 of shape {huge}, got 0"
        self.refused(self.file("a.npy", plain(shape=huge, data=b"")), message)
        self.refused(self.file("a.safetensors", tensors({"x": entry(0, 0, shape=huge)})), message)

    def test_what_a_file_states_must_agree_with_what_is_given(self):
        for name, content in ("a.npy", plain()), ("a.safetensors", tensors({"x": entry(0, 24)}, SIX)):
            path = self.file(name, content)
            self.refused(path, "dtype must agree with the file ('float32'), got 'int32'", dtype="int32")
            self.refused(path, "shape must agree with the file ((2, 3)), got (3, 2)", shape=[3, 2])

    def test_an_npy_file_begins_as_one(self):
        for content in (b"", b"\x93NUMP", b"PK\3\4archive"):
            message = rf"path must begin with b'\x93NUMPY', as every .npy file does, got {content[:6]!r}"
            self.refused(self.file("a.npy", content), message)
        for version in (0, 0), (1, 1), (4, 0), (255, 255):
            content = b"\x93NUMPY" + bytes(version) + plain()[8:]
            message = f"path must be of .npy version (1, 0), (2, 0) or (3, 0), got {version}"
            self.refused(self.file("a.npy", content), message)
        message = "path must be of .npy version (1, 0), (2, 0) or (3, 0), got (1,)"
        self.refused(self.file("a.npy", b"\x93NUMPY\1"), message)

    def test_an_npy_header_lies_within_the_file_and_is_short(self):
        rule = "path must have a header of at most 10000 bytes, all of them in the file, got"
        for content, got in [
            (plain()[:40], len(plain()) - 24 - 10),
            (npy(" " * 10_001), 10_001),
            (b"\x93NUMPY\2\0" + b"\xff" * 4 + b"{}", (1 << 32) - 1),
        ]:
            with self.subTest(got=got):
                self.refused(self.file("a.npy", content), f"{rule} {got}")

    def test_an_npy_header_is_a_literal_and_nothing_of_it_is_run(self):
        good = "'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)"
        flag = os.path.join(self.folder, "flag")
        for header in [
            "", "{", "[]", "None", "{}", f"[{good}]", "\0",
            f"{{{good}", f"{{{good}, 'more': 1}}", "{'descr': '<f4', 'shape': (2, 3)}",
            f"{{{good}}}; 1", f"dict({good})", f"__import__('os').mkdir({flag!r})",
            f"{{'descr': open({flag!r}, 'w'), 'fortran_order': False, 'shape': (1,)}}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3*1,)}",
            "{[]: 1}", "'" + good, "{'descr': '<f4', 'fortran_order': False, 'shape': (" + "9" * 5000 + ",)}",
            "{'descr': 'é', 'fortran_order': False, 'shape': (2, 3)}".encode("latin-1"), b"\xff\xfe",
        ]:
            text = header if isinstance(header, bytes) else header.encode()
            message = f"path's header must give descr, fortran_order and shape, got {_check.shown(text)}"
            with self.subTest(header=text):
                self.refused(self.file("a.npy", npy(text, SIX)), message)
        self.assertFalse(os.path.exists(flag))

    def test_no_nesting_of_an_npy_header_brings_the_process_down(self):
        for piece in ["(", "[", "{", "-", "~", "not ", "{1:", "1+", "1,", "(1,", "f(", "a.", "lambda:", "'' ",
                      "x if x else "]:
            for text in (piece * 10_000)[:9_990].encode(), (piece * 3_000)[:9_990].encode() + b"1":
                shown = _check.shown(text)
                with self.subTest(piece=piece):
                    message = f"path's header must give descr, fortran_order and shape, got {shown}"
                    self.refused(self.file("a.npy", npy(text)), message)

    def test_an_npy_file_of_anything_but_plain_numbers_is_refused(self):
        rule = f"path must hold numbers of a dtype in {', '.join(DTYPES)}, got"
        for descr in ("|O", "O", "<V2", "|V2", "<c8", "<U3", "|S3", "<M8[s]", "=f4", "f4", "<f16", "|f4", "<b1", "",
                      [("a", "<f4")], ("<f4", (2,)), None, 4, {}):
            with self.subTest(descr=descr):
                self.refused(self.file("a.npy", plain(descr)), f"{rule} {_check.shown(descr)}")

    def test_an_npy_header_gives_its_order_as_a_bool(self):
        for fortran in (0, 1, None, "C"):
            message = f"path must have True or False for fortran_order, got {fortran!r}"
            self.refused(self.file("a.npy", plain(fortran=fortran)), message)

    def test_a_stated_shape_is_made_of_whole_numbers(self):
        rule = "path must state 1 to 64 axes, each a whole number in [1, 2**63), got"
        for shape in ([], [0], [2, 0, 3], [-2, -3], [2.0, 3], [True, 6], [None], ["6"], [[2, 3]], [1 << 63], [1] * 65,
                      [int("9" * 4000)]):
            with self.subTest(shape=shape):
                as_tuple = _check.shown(tuple(shape))
                self.refused(self.file("a.npy", plain(shape=tuple(shape))), f"{rule} {as_tuple}")
                path = self.file("a.safetensors", tensors({"x": entry(0, 24, shape=shape)}, SIX))
                self.refused(path, f"{rule} {_check.shown(shape)}")
        for shape in (6, None, "(2, 3)", {2: 3}):
            with self.subTest(shape=shape):
                self.refused(self.file("a.npy", plain(shape=shape)), f"{rule} {shape!r}")

    def test_a_safetensors_header_lies_within_the_file_and_below_the_limit_of_the_format(self):
        rule = "path must have a header of at most 100000000 bytes, all of them in the file, got"
        for content, got in [
            (b"\1\0\0", 1),
            (b"\3" + b"\0" * 7 + b"{}", 3),
            (b"\xff" * 8 + b"{}", (1 << 64) - 1),
        ]:
            with self.subTest(got=got):
                self.refused(self.file("a.safetensors", content), f"{rule} {got}")
        path = os.path.join(self.folder, "sparse.safetensors")
        with open(path, "wb") as file:
            file.write((100_000_001).to_bytes(8, "little"))
            file.truncate(100_000_100)
        self.refused(path, f"{rule} 100000001")

    def test_a_safetensors_header_is_strict_json(self):
        one = '"dtype": "U8", "shape": [1], "data_offsets": [0, 1]'
        finite = 'must hold numbers that are finite, or the strings "inf" and "-inf"'
        for header, problem in [
            ("", "must be JSON, got Expecting value at line 1, column 1"),
            ("[]", "must be a JSON object, got []"),
            ("7", "must be a JSON object, got 7"),
            ("{'x': 1}", "must be JSON, got Expecting property name enclosed in double quotes at line 1, column 2"),
            (b'{"\xff": 1}', "must be UTF-8, got a bad byte at offset 2"),
            (f'{{"x": {{{one}}}, "x": {{{one}}}}}', "must not name a key twice, got 'x' again"),
            (f'{{"x": {{{one}, "shape": [1]}}}}', "must not name a key twice, got 'shape' again"),
            ('{"__metadata__": {"a": "b", "a": "b"}}', "must not name a key twice, got 'a' again"),
            ('{"x": {"shape": [NaN]}}', f"{finite}, got NaN at line 1, column 18"),
            ('{"x": -Infinity}', f"{finite}, got -Infinity at line 1, column 7"),
            ("[" * 1_000_000, "must not nest so deeply, got too many levels of [ or {"),
            ('{"x":' * 1_000_000, "must not nest so deeply, got too many levels of [ or {"),
        ]:
            text = header if isinstance(header, bytes) else header.encode()
            with self.subTest(header=text[:60]):
                self.refused(self.file("a.safetensors", tensors(text, b"\1")), f"path's header {problem}")
        message = "path's header must be JSON, got Expecting value at line 1, column 1"
        self.refused(self.file("a.safetensors", b""), message)
        path = self.file("a.safetensors", tensors(b'{"x": ' + b"9" * 5000 + b"}"))
        with self.assertRaisesRegex(ValueError, "^open_array: path's header "):
            open_array(path)

    def test_a_safetensors_header_describes_each_tensor(self):
        one = entry(0, 24)
        for bad in (1, None, [], {}, {**one, "more": 1}, {"dtype": "F32", "shape": [2, 3]}):
            with self.subTest(bad=bad):
                got = _check.shown({"x": json.loads(json.dumps(bad))})
                message = f"path must give dtype, shape and data_offsets of a tensor, got {got}"
                self.refused(self.file("a.safetensors", tensors({"x": bad}, SIX)), message)
        for bad in (1, None, [], {"a": 1}, {"a": None}):
            with self.subTest(metadata=bad):
                message = f"path must have text by name for __metadata__, got {bad!r}"
                self.refused(self.file("a.safetensors", tensors({"__metadata__": bad, "x": one}, SIX)), message)
        rule = f"path must hold numbers of a dtype in {', '.join(DTYPES)}, got"
        for dtype in ("F8_E4M3", "C64", "f32", "float32", "", None, 1, ["F32"]):
            with self.subTest(dtype=dtype):
                path = self.file("a.safetensors", tensors({"x": entry(0, 24, dtype)}, SIX))
                self.refused(path, f"{rule} {dtype!r}")

    def test_safetensors_offsets_cover_the_data_once(self):
        within = "path must have a [begin, end] within its 24 bytes of data for data_offsets, got"
        for pair in ([0, 25], [-1, 24], [24, 0], [0], [0, 24, 24], [0.0, 24], [False, 24], [0, None], [0, 10**4000],
                     24, None):
            with self.subTest(pair=pair):
                bad = {"x": {"dtype": "F32", "shape": [2, 3], "data_offsets": pair}}
                self.refused(self.file("a.safetensors", tensors(bad, SIX)), f"{within} {_check.shown({'x': pair})}")
        for first, second, message in [
            ([0, 12], [8, 24], "path must hold tensors one after another, the next from byte 12, got {'b': [8, 24]}"),
            ([0, 12], [0, 24], "path must hold tensors one after another, the next from byte 12, got {'b': [0, 24]}"),
            ([0, 8], [12, 24], "path must hold tensors one after another, the next from byte 8, got {'b': [12, 24]}"),
            ([4, 8], [8, 24], "path must hold tensors one after another, the next from byte 0, got {'a': [4, 8]}"),
            ([0, 8], [8, 20], "path must hold exactly 20 bytes of tensors, got 24"),
        ]:
            with self.subTest(first=first, second=second):
                both = {"b": entry(*second), "a": entry(*first)}
                self.refused(self.file("a.safetensors", tensors(both, SIX)), message, tensor="a")

    def test_a_tensor_is_named_where_there_is_a_choice(self):
        path = self.file("a.safetensors", tensors({"b": entry(0, 12), "a": entry(12, 24)}, SIX))
        self.refused(path, "tensor must be one of 'a', 'b', got None")
        self.refused(path, "tensor must be one of 'a', 'b', got '__metadata__'", tensor="__metadata__")
        self.refused(self.file("b.safetensors", tensors({})), "path must hold at least one tensor, got 0")
        many = {f"t{i:02}": entry(i, i + 1, "U8", [1]) for i in range(23)}
        listed = ", ".join(f"'t{i:02}'" for i in range(20))
        self.refused(self.file("c.safetensors", tensors(many, b"\0" * 23)),
                     f"tensor must be one of {listed} and 3 more, got 'x'", tensor="x")

    def test_no_single_damaged_byte_of_a_header_gives_a_wrong_array_or_another_error(self):
        one = tensors({"x": entry(0, 24)}, SIX)
        for name, good, ends in ("a.npy", plain(), len(plain()) - 24), ("a.safetensors", one, len(one) - 24):
            rng = Random(name)
            for place in range(ends):
                damaged = bytearray(good)
                damaged[place] ^= 1 + int(rng.random() * 255)
                with self.subTest(name=name, place=place), warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # Python's parser may warn of what it then reads
                    try:
                        rows = self.read(name, bytes(damaged))
                    except ValueError as error:
                        self.assertRegex(str(error), "^open_array: path('s header)? must ")
                    else:  # the damage gave another true header: of the same size, the data all there
                        self.assertEqual(sum(map(len, rows)), 6)


if __name__ == "__main__":
    unittest.main()
