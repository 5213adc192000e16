"""Pictures: well-formed XML that holds every number, in words too, without script, whatever text is put in."""

import re
import unittest
from math import inf, nan
from time import process_time
from typing import Any
from unicodedata import bidirectional
from xml.etree import ElementTree

from refcalc.drawing import error_bars, ladder, token_text
from refcalc.drawing._sheet import short, text
from refcalc.drawing.charts import _ticks

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "<script>alert(1)</script>&\"'\x00\x1b\ud800\uffff ]]> 再"

LADDER = [("uniform", 6.0224), ("4-gram", 2.551), ("gzip -9", 3.191)]
BARS = [("classic", 1.787, 1.78, 1.794), ("SwiGLU", 1.678, 1.668, 1.688)]
TOKENS = [("To", 5.25), (" be", 0.5), ("\n", 3.5), ("x" * 200, 9.0)]


def pictures(title: str, name: str) -> list[str]:
    return [
        ladder([(name, 1.0), *LADDER], title=title, unit=name),
        error_bars([(name, 1.0, 0.5, 2.0), *BARS], title=title, unit=name, bars=name),
        token_text([(name, 1.0), *TOKENS], title=title),
    ]


def texts(svg: str) -> list[str]:
    return [each.text or "" for each in ElementTree.fromstring(svg).iter(f"{SVG}text")]


class Sheet(unittest.TestCase):
    def test_any_text_gives_well_formed_xml_without_script_or_links(self) -> None:
        for svg in pictures(HOSTILE, HOSTILE):
            root = ElementTree.fromstring(svg.encode("utf-8"))
            self.assertEqual([each for each in root.iter() if each.tag == f"{SVG}script"], [])
            names = {name for each in root.iter() for name in each.attrib}
            self.assertEqual({name for name in names if name.startswith("on") or "href" in name}, set())
            self.assertNotIn("url(", svg)
            self.assertNotIn("@import", svg)
            self.assertIn("<script>alert(1)</script>", root.find(f"{SVG}title").text)

    def test_title_and_description_come_first_and_the_picture_is_an_image(self) -> None:
        for svg in pictures("A title", "name"):
            root = ElementTree.fromstring(svg)
            self.assertEqual([each.tag for each in root][:2], [f"{SVG}title", f"{SVG}desc"])
            self.assertEqual((root.get("role"), root[0].text), ("img", "A title"))

    def test_every_colour_has_a_light_and_a_dark_value_and_text_stands_out_from_it(self) -> None:
        light, dark = pictures("t", "n")[0].split("@media (prefers-color-scheme: dark)")
        for scheme in (light, dark):
            colours = dict(re.findall(r"\.refcalc ([.\w]+) \{ (?:fill|stroke): (#\w{6})", scheme))
            self.assertEqual(len(colours), 14)
            for ground in (".paper", ".n0", ".n1", ".n2", ".n3", ".n4"):
                self.assertGreater(contrast(colours["text"], colours[ground]), 4.5, ground)  # WCAG 2, level AA
            self.assertGreater(contrast(colours[".quiet"], colours[".paper"]), 4.5)
            for mark in (".best", ".mean", ".reach"):
                self.assertGreater(contrast(colours[mark], colours[".paper"]), 3.0, mark)

    def test_nothing_is_drawn_beside_the_sheet(self) -> None:
        for svg in pictures("t", "a name that is far too long to stand beside a bar of any length"):
            root = ElementTree.fromstring(svg)
            width, height = float(root.get("width")), float(root.get("height"))
            for each in root.iter(f"{SVG}rect"):
                x, y = float(each.get("x", 0)), float(each.get("y", 0))
                self.assertTrue(x >= 0 and x + float(each.get("width")) <= width)
                self.assertTrue(y >= 0 and y + float(each.get("height")) <= height)
            for each in root.iter(f"{SVG}text"):
                self.assertTrue(0 <= float(each.get("x")) <= width and 0 < float(each.get("y")) < height)


def contrast(a: str, b: str) -> float:
    """Return the contrast ratio of two colours as WCAG 2 defines it."""

    def luminance(colour: str) -> float:
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


class LongNames(unittest.TestCase):
    def test_long_names_and_tokens_are_cut_in_no_time(self) -> None:
        name, began = "再x" * 50_000, process_time()
        self.assertEqual(short(name), "再x" * 11 + "再…")
        ladder([(name, 1.0)], title="t", unit="u")
        svg = token_text([("y" * 30_000, 1.0)], title="t")
        self.assertLess(process_time() - began, 2.0)  # cutting letter by letter took minutes
        self.assertLess(len(svg), 200_000)
        self.assertIn(f"<title>{'y' * 79}… 1.000</title>", svg)
        self.assertIn(f"Most surprising: {'y' * 79}… 1.000.", svg)

    def test_what_turns_text_around_is_replaced(self) -> None:
        turning = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
        for c in [c for c in map(chr, range(0x110000)) if bidirectional(c) in turning]:
            self.assertEqual(text(f"a{c}b"), "a\ufffdb", hex(ord(c)))
        self.assertEqual(text("\u200e\u200f\u061c"), "\ufffd" * 3)
        for svg in pictures("a\u202eb", "c\u2066d"):
            self.assertNotRegex(svg, "[\u202e\u2066]")


class Extremes(unittest.TestCase):
    def assert_drawn(self, svg: str) -> None:
        for each in ElementTree.fromstring(svg).iter():
            numbers = [each.get(name, "") for name in ("x", "y", "x1", "x2", "width", "cx", "d")]
            self.assertNotRegex(" ".join(numbers), "nan|inf|e[+-]")
            if each.get("width"):
                self.assertTrue(0.0 <= float(each.get("width")) <= 720.0)
        self.assertTrue(all(len(each) < 120 for each in texts(svg)))

    def test_tiny_and_huge_values_are_drawn_on_the_sheet(self) -> None:
        for values in ((5e-324, 0.0), (1.7e308, 1.0), (0.0, 0.0), (1e308, 5e-324)):
            self.assert_drawn(ladder([("a", values[0]), ("b", values[1])], title="t", unit="u"))
        for low, high in (
            (0.0, 5e-324),
            (-5e-324, 1e-310),
            (1.0, 1.0 + 2.0**-52),
            (1e12 - 2.0**-13, 1e12),
            (-1e12, 1e12),
            (5e-324, 5e-324),
        ):
            self.assert_drawn(error_bars([("a", low, low, high)], title="t", unit="u", bars="b"))
        self.assert_drawn(token_text([("a", 1.7e308), ("b", 1.7e308), ("c", 5e-324)], title="t"))


class Ladder(unittest.TestCase):
    def test_the_worst_is_on_top_and_every_value_is_printed(self) -> None:
        shown = texts(ladder(LADDER, title="t", unit="bits per character"))
        self.assertEqual(shown[1:], ["bits per character, lower is better", *WORST_FIRST])
        self.assertEqual(WORST_FIRST[::2], ["uniform", "gzip -9", "4-gram"])

    def test_bars_start_at_zero_and_are_as_long_as_their_values(self) -> None:
        root = ElementTree.fromstring(ladder(LADDER, title="t", unit="u"))
        widths = [float(each.get("width")) for each in root.iter(f"{SVG}rect")][1:]
        for width, value in zip(widths, (6.0224, 3.191, 2.551), strict=True):
            self.assertAlmostEqual(width / widths[0], value / 6.0224, delta=0.001)

    def test_what_is_refused(self) -> None:
        for rows, kind, message in [
            ([], ValueError, "rows must hold at least one model, got 0"),
            ([("a", -1.0)], ValueError, "rows[0][1] must not be negative, got -1.0"),
            ([("a", 1.0), ("b", inf)], ValueError, "rows[1][1] must be finite, got inf"),
            ([("a", "1")], TypeError, "rows[0][1] must be a number, got '1'"),
            ([3], TypeError, "rows[0] must be a sequence, got 3"),
            ([("a",)], ValueError, "rows[0] must hold a name and a loss, got ('a',)"),
            (5, TypeError, "rows must be a sequence, got 5"),
        ]:
            with self.subTest(message), self.assertRaises(kind) as caught:
                ladder(rows, title="t", unit="u")
            self.assertEqual(str(caught.exception), f"ladder: {message}")


WORST_FIRST = ["uniform", "6.022", "gzip -9", "3.191", "4-gram", "2.551"]


class ErrorBars(unittest.TestCase):
    def test_the_description_has_every_number(self) -> None:
        root = ElementTree.fromstring(error_bars(BARS, title="t", unit="nats", bars="s of 3 seeds"))
        words = "nats, bars: s of 3 seeds. classic 1.787 (1.780 to 1.794); SwiGLU 1.678 (1.668 to 1.688)."
        self.assertEqual(root.find(f"{SVG}desc").text, words)

    def test_ticks_are_round_and_hold_every_range(self) -> None:
        for low, high, want in [
            (1.62, 1.79, [1.6, 1.65, 1.7, 1.75, 1.8]),
            (0.0, 1.0, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
            (-3.0, 4.0, [-4.0, -2.0, 0.0, 2.0, 4.0]),
            (12_345.0, 99_999.0, [0.0, 20_000.0, 40_000.0, 60_000.0, 80_000.0, 100_000.0]),
        ]:
            ticks, digits = _ticks(low, high)
            self.assertEqual([round(tick, digits) for tick in ticks], want)
        for low, high in [(2.0, 2.0), (0.0, 0.0), (-5.0, -5.0), (1e-300, 3e-300), (1.0, 1.0000001), (-1e300, 1e300)]:
            ticks, _ = _ticks(low, high)
            self.assertTrue(ticks[0] <= low <= high <= ticks[-1], (low, high))
            self.assertTrue(2 <= len(ticks) <= 9, (low, high))

    def test_what_is_refused(self) -> None:
        for rows, kind, message in [
            ([], ValueError, "rows must hold at least one mean, got 0"),
            ([("a", 1.0)], ValueError, "rows[0] must hold a name, mean, low and high, got ('a', 1.0)"),
            ([("a", 1, 2, 3)], ValueError, "rows[0] must have low <= mean <= high, got ('a', 1, 2, 3)"),
            ([("a", 1, nan, 3)], ValueError, "rows[0][2] must be a number, got nan"),
            ([("a", 1, 0, 1e308)], ValueError, "rows[0][3] must lie within 1e12 of 0 (take another unit), got 1e+308"),
            ([("a", 1, 0, inf)], ValueError, "rows[0][3] must be finite, got inf"),
        ]:
            with self.subTest(message), self.assertRaises(kind) as caught:
                error_bars(rows, title="t", unit="u", bars="b")
            self.assertEqual(str(caught.exception), f"error_bars: {message}")


class TokenText(unittest.TestCase):
    def classes(self, nlls: list[float]) -> list[str]:
        root = ElementTree.fromstring(token_text([("a", nll) for nll in nlls], title="t"))
        return [group.find(f"{SVG}rect").get("class") for group in root.iter(f"{SVG}g")]

    def test_the_colour_is_that_of_the_nll(self) -> None:
        got = self.classes([0.0, 0.999, 1.0, 2.0, 3.999, 4.0, 8.0, 1e9, inf])
        self.assertEqual(got, ["n0", "n0", "n1", "n2", "n2", "n3", "n4", "n4", "n4"])

    def test_the_text_is_all_there_and_each_token_tells_its_nll(self) -> None:
        root = ElementTree.fromstring(token_text(TOKENS, title="t"))
        groups = list(root.iter(f"{SVG}g"))
        self.assertEqual("".join(g.find(f"{SVG}text").text for g in groups), "To be⏎" + "x" * 200)
        self.assertEqual([g.find(f"{SVG}title").text for g in groups][:3], ["To 5.250", "be 0.500", "⏎ 3.500"])
        self.assertEqual(len({g.find(f"{SVG}rect").get("y") for g in groups}), 4)  # one line, and three of x

    def test_the_description_sums_it_up(self) -> None:
        root = ElementTree.fromstring(token_text([(" ", 2.0), ("a", inf)], title="t"))
        words = "2 tokens, inf nats each on average. Most surprising: a inf, white space 2.000."
        self.assertEqual(root.find(f"{SVG}desc").text, words)

    def test_what_is_refused(self) -> None:
        cases: list[tuple[Any, type[Exception], str]] = [
            ([], ValueError, "tokens must hold at least one token, got 0"),
            ([("a",)], ValueError, "tokens[0] must hold a text and an nll, got ('a',)"),
            ([(7, 1.0)], TypeError, "tokens[0][0] must be text, got 7"),
            ([("a", -0.5)], ValueError, "tokens[0][1] must not be negative, got -0.5"),
            ([("a", nan)], ValueError, "tokens[0][1] must be a number, got nan"),
        ]
        for tokens, kind, message in cases:
            with self.subTest(message), self.assertRaises(kind) as caught:
                token_text(tokens, title="t")
            self.assertEqual(str(caught.exception), f"token_text: {message}")
