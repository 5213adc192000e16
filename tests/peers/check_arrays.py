"""Array files as NumPy, safetensors and PyTorch write them, read back by refcalc.

Run from the root, with the peers installed:  python -m unittest tests/peers/check_arrays.py
"""

import os
import tempfile
import unittest

import numpy as np
import safetensors.numpy
import safetensors.torch
import torch

from refcalc.arrays import DTYPES, open_array

NUMPY = [dtype for dtype in DTYPES if dtype != "bfloat16"]  # which NumPy lacks
SHAPES = [(1,), (7,), (3, 5), (2, 3, 5), (2, 1, 3, 4)]


def some(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return an array of random bit patterns: every kind of number occurs, nan and subnormal ones included."""
    rng = np.random.default_rng(len(shape))
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    size = np.dtype(dtype).itemsize
    return rng.integers(0, 256, (*shape[:-1], shape[-1] * size), dtype=np.uint8).view(dtype)


def nested(array) -> list:
    return [nested(a) for a in array] if hasattr(array, "shape") else array


class Files(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def check(self, name: str, want: list, kind: str, axes: tuple[int, ...], **arguments) -> None:
        with open_array(os.path.join(self.folder, name), **arguments) as array:
            self.assertEqual((array.dtype, array.shape), (kind, axes))
            got = list(array) if len(axes) == 1 else nested(array)
            self.assertEqual(repr(got), repr(want))  # kinds, signs of zero and nan included

    def test_npy_of_every_dtype_byte_order_and_memory_order(self):
        for dtype in NUMPY:
            for shape in SHAPES:
                for byte_order in "<>":
                    for order in "CF":
                        values = some(dtype, shape).astype(np.dtype(dtype).newbyteorder(byte_order), order=order)
                        with self.subTest(dtype=dtype, shape=shape, byte_order=byte_order, order=order):
                            np.save(os.path.join(self.folder, "a.npy"), values)
                            self.check("a.npy", values.tolist(), dtype, shape)

    def test_every_version_of_npy(self):
        values = some("float32", (3, 5))
        for version in (1, 0), (2, 0), (3, 0):
            with self.subTest(version=version), open(os.path.join(self.folder, "a.npy"), "wb") as file:
                np.lib.format.write_array(file, values, version)
                file.flush()
                self.check("a.npy", values.tolist(), "float32", (3, 5))

    def test_bare_numbers(self):
        for dtype in NUMPY:
            for shape in SHAPES:
                with self.subTest(dtype=dtype, shape=shape):
                    values = some(dtype, shape)
                    values.tofile(os.path.join(self.folder, "a.bin"))
                    self.check("a.bin", values.tolist(), dtype, shape, dtype=dtype, shape=shape)

    def test_all_dtypes_in_one_safetensors_file(self):
        path = os.path.join(self.folder, "a.safetensors")
        for shape in SHAPES:
            tensors = {dtype: some(dtype, shape) for dtype in NUMPY}
            others = {"empty": np.zeros((0, 3), "f4"), "scalar": np.ones((), "f4"), "complex": np.ones(3, "c8")}
            safetensors.numpy.save_file({**tensors, **others}, path, metadata={"made": "here"})
            for dtype, values in tensors.items():
                with self.subTest(dtype=dtype, shape=shape):
                    self.check("a.safetensors", values.tolist(), dtype, shape, tensor=dtype)

    def test_every_float16_and_bfloat16(self):
        for dtype in torch.float16, torch.bfloat16:
            values = torch.arange(1 << 16, dtype=torch.int32).to(torch.int16).view(dtype).reshape(256, 256)
            name = str(dtype).removeprefix("torch.")
            with self.subTest(dtype=name):
                safetensors.torch.save_file({"x": values}, os.path.join(self.folder, "a.safetensors"))
                self.check("a.safetensors", values.tolist(), name, (256, 256))
                values.view(torch.int16).numpy().tofile(os.path.join(self.folder, "a.bin"))
                self.check("a.bin", values.tolist(), name, (256, 256), dtype=name, shape=(256, 256))

    def test_what_numpy_can_save_and_refcalc_does_not_read_is_refused(self):
        path = os.path.join(self.folder, "a.npy")
        for values in (
            np.array([{}, []], dtype=object), np.zeros(2, [("a", "f4")]), np.zeros(2, "c8"), np.zeros(2, "U3"),
            np.zeros(2, "M8[s]"), np.zeros(2, np.longdouble), np.zeros(2, "V2"),
        ):
            with self.subTest(dtype=values.dtype), self.assertRaisesRegex(ValueError, "^open_array: path must hold "):
                np.save(path, values)
                open_array(path)
        for shape in (), (0,), (2, 0):
            with self.subTest(shape=shape), self.assertRaisesRegex(ValueError, "^open_array: path must state 1 to 64"):
                np.save(path, np.zeros(shape))
                open_array(path)

    def test_numpy_and_safetensors_refuse_no_less_of_a_damaged_header_than_refcalc_reads(self):
        # Whatever refcalc still reads from a damaged header, the format's own reader reads as the same numbers.
        for name, save, load in [
            ("a.npy", np.save, np.load),
            ("a.safetensors", lambda path, x: safetensors.numpy.save_file({"x": x}, path),
             lambda path: safetensors.numpy.load_file(path).popitem()[1]),
        ]:
            path, values, rng = os.path.join(self.folder, name), some("float32", (3, 4)), np.random.default_rng(3)
            save(path, values)
            with open(path, "rb") as file:
                good = file.read()
            read = 0
            for place in list(range(len(good) - values.nbytes)) * 20:
                damaged = bytearray(good)
                damaged[place] ^= 1 << rng.integers(0, 8)
                with open(path, "wb") as file:
                    file.write(damaged)
                try:
                    with open_array(path) as array:
                        got, shape = nested(array) if len(array.shape) > 1 else list(array), array.shape
                except ValueError:
                    continue
                read += 1
                with self.subTest(name=name, place=place, byte=damaged[place]), np.errstate(all="ignore"):
                    self.assertEqual((repr(got), shape), (repr(load(path).tolist()), load(path).shape))
            self.assertGreater(read, 0)


if __name__ == "__main__":
    unittest.main()
