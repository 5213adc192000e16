"""compressed_bits against files that the standard library's own readers open again."""

import bz2
import gzip
import io
import lzma
import unittest
import zlib
from random import Random
from typing import Any

from refcalc.baselines.compression import METHODS, compressed_bits


def words(seed: int, length: int) -> bytes:
    """Return a text of words, some frequent and some rare."""
    rng = Random(seed)
    made = [bytes(97 + int(26 * rng.random()) for _ in range(2 + int(6 * rng.random()))) for _ in range(200)]
    return b" ".join(made[int(200 * rng.random() * rng.random())] for _ in range(length))


TEXTS = {
    "nothing": b"",
    "a letter": b"a",
    "one word": b"word",
    "words": words(1, 3000),
    "noise": Random(2).randbytes(999),
}


class Lengths(unittest.TestCase):
    def test_they_are_those_of_whole_files(self) -> None:
        for name, text in TEXTS.items():
            with self.subTest(text=name):
                stored = io.BytesIO()
                with gzip.GzipFile(fileobj=stored, mode="wb", compresslevel=9, mtime=0, filename="") as file:
                    file.write(text)
                self.assertEqual(gzip.decompress(stored.getvalue()), text)
                self.assertEqual(compressed_bits(text, "gzip -9"), 8 * len(stored.getvalue()))
                self.assertEqual(compressed_bits(text, "zlib -9"), 8 * len(zlib.compress(text, 9)))
                self.assertEqual(compressed_bits(text, "bzip2 -9"), 8 * len(bz2.compress(text, 9)))
                self.assertEqual(compressed_bits(text, "xz -6"), 8 * len(lzma.compress(text)))
                for level in (3, 9) if name == "words" else (0,):  # xz -9 clears 64 MiB, whatever the text
                    extreme = lzma.compress(text, preset=level | lzma.PRESET_EXTREME)
                    self.assertEqual(compressed_bits(text, f"xz -{level}e"), 8 * len(extreme))

    def test_without_headers_it_is_the_bare_stream(self) -> None:
        for name, text in TEXTS.items():
            with self.subTest(text=name):
                raw = zlib.compressobj(9, zlib.DEFLATED, -15)
                bare = 8 * len(raw.compress(text) + raw.flush())
                self.assertEqual(compressed_bits(text, "zlib -9", headers=False), bare)
                self.assertEqual(compressed_bits(text, "gzip -9", headers=False), bare)
                raw = zlib.compressobj(9, zlib.DEFLATED, -15, zdict=b"a word before")
                bare = 8 * len(raw.compress(text) + raw.flush())
                self.assertEqual(compressed_bits(text, "zlib -9", b"a word before", headers=False), bare)
                self.assertEqual(compressed_bits(text, "bzip2", headers=False), 8 * (len(bz2.compress(text)) - 14))
                self.assertLess(compressed_bits(text, "xz", headers=False), compressed_bits(text, "xz"))
        self.assertEqual(compressed_bits(b"", "bzip2", headers=False), 0)  # the file of nothing is all header
        self.assertEqual(compressed_bits(b"", "xz", headers=False), 8)  # LZMA2's end mark

    def test_every_method_is_one_and_has_its_level(self) -> None:
        self.assertEqual(len(METHODS), 10 + 10 + 9 + 20)
        for method in METHODS:
            self.assertGreater(compressed_bits(b"abc" * 9, method), 0)
        text = TEXTS["words"]
        self.assertGreater(compressed_bits(text, "gzip -0"), 8 * len(text))
        self.assertGreater(compressed_bits(text, "gzip -1"), compressed_bits(text, "gzip -9"))
        for name, default in {"zlib": "zlib -6", "gzip": "gzip -6", "bzip2": "bzip2 -9", "xz": "xz -6"}.items():
            self.assertEqual(compressed_bits(text, name), compressed_bits(text, default))


class Primers(unittest.TestCase):
    def test_what_was_read_before_helps(self) -> None:
        before, text = words(3, 3000), words(3, 3500)[-2500:]
        for method in ("zlib -9", "gzip -9", "xz -6e"):
            with self.subTest(method=method):
                primed, alone = compressed_bits(text, method, before), compressed_bits(text, method)
                self.assertLess(primed, 0.95 * alone)
                self.assertGreater(primed, 0)

    def test_a_primer_is_a_dictionary_or_a_difference(self) -> None:
        before, text = words(4, 400), words(5, 300)
        compressor = zlib.compressobj(9, zdict=before)
        self.assertEqual(
            compressed_bits(text, "zlib -9", before), 8 * len(compressor.compress(text) + compressor.flush())
        )
        for headers in (True, False):
            for method, compress in {"bzip2": bz2.compress, "xz": lzma.compress}.items():
                difference = len(compress(before + text)) - len(compress(before))
                self.assertEqual(compressed_bits(text, method, before, headers=headers), 8 * difference)

    def test_any_bytes_are_bytes(self) -> None:
        text = TEXTS["one word"]
        for other in (bytearray(text), memoryview(text)):
            self.assertEqual(compressed_bits(other, "xz", other), compressed_bits(text, "xz", text))


class Refusals(unittest.TestCase):
    def assert_refused(self, message: str, kind: type[Exception], *arguments: Any) -> None:
        with self.assertRaises(kind) as caught:
            compressed_bits(*arguments)
        self.assertEqual(str(caught.exception), f"compressed_bits: {message}")

    def test_text_is_no_bytes(self) -> None:
        self.assert_refused("data must be bytes (encode the text), got 'abc'", TypeError, "abc", "gzip")
        self.assert_refused("primer must be bytes (encode the text), got 'abc'", TypeError, b"abc", "gzip", "abc")
        self.assert_refused("data must be bytes (encode the text), got 3", TypeError, 3, "gzip")

    def test_an_unknown_method_is_named_beside_all_there_are(self) -> None:
        known = ", ".join(map(repr, METHODS))
        for method in ("lzw", "gzip -10", "bzip2 -0", "xz -e", "gzip -9e", "gzip-9", "", ["gzip"], None):
            self.assert_refused(f"method must be one of {known}, got {method!r}", ValueError, b"abc", method)
