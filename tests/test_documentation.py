"""What the package says of itself: every example runs, every name is listed, and nothing but Python is imported."""

import ast
import doctest
import re
import subprocess
import sys
import tempfile
import unittest
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import walk_packages

import refcalc
import tests.ulps

PACKAGE = Path(refcalc.__file__).parent
README = Path(__file__).parents[1] / "README.md"
MODULES = sorted(m.name for m in walk_packages(refcalc.__path__, "refcalc.") if not m.name.endswith("__main__"))

FLOORS = [
    ["_check", "_json", "_nest", "_refusal"],
    ["_rounding", "arrays", "closeness", "exact_sum", "softmax", "tally", "targets", "units"],
    ["_scored", "attention", "baselines", "decode", "divergence", "evidence", "exact", "loss", "resampling"],
    ["diagnosis", "evidence", "mistakes", "probes"],
    ["evaluation"],
    ["drawing", "grading"],
    ["__main__", "cli"],
]
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}


def load_tests(_loader: unittest.TestLoader, suite: unittest.TestSuite, _pattern: str | None) -> unittest.TestSuite:
    """Add the examples in the docstrings of every module, and those of the README."""
    for name in ["refcalc", *MODULES]:
        suite.addTest(doctest.DocTestSuite(import_module(name)))
    suite.addTest(doctest.DocTestSuite(tests.ulps))
    if README.exists():
        suite.addTest(doctest.DocFileSuite(str(README), module_relative=False, encoding="utf-8"))
    return suite


def by_kind_and_name(name: str) -> tuple[int, list[tuple[int, str]]]:
    """Order CONSTANTS, then Classes, then the rest, numbers in names by their size: as ruff's RUF022 does."""
    parts = re.findall(r"\d+|\D+", name)
    kind = 0 if name.isupper() else 1 if name[0].isupper() else 2
    return kind, [(int(part), "") if part.isdigit() else (-1, part) for part in parts]


class Names(unittest.TestCase):
    def test_every_module_lists_its_public_names_in_order_and_has_them(self) -> None:
        for name in ["refcalc", *MODULES]:
            module = import_module(name)
            listed = getattr(module, "__all__", [])
            with self.subTest(module=name):
                self.assertIn(listed, [sorted(set(listed)), sorted(set(listed), key=by_kind_and_name)])
                self.assertEqual([n for n in listed if not hasattr(module, n)], [])

    def test_every_module_says_what_it_is(self) -> None:
        for name in ["refcalc", *MODULES]:
            with self.subTest(module=name):
                self.assertTrue(import_module(name).__doc__)

    def test_the_package_lists_what_it_imports_and_what_it_loads_on_use(self) -> None:
        tree = ast.parse((PACKAGE / "__init__.py").read_text("utf-8"))
        imported = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
        eager = {a.asname or a.name for node in imported if node.module.startswith("refcalc.") for a in node.names}
        self.assertEqual(set(refcalc.__all__), eager | set(refcalc._LOADED_ON_USE))
        self.assertEqual(eager & set(refcalc._LOADED_ON_USE), set())
        self.assertLessEqual(set(refcalc.__all__), set(dir(refcalc)))

    def test_a_name_it_does_not_have_is_an_attribute_error(self) -> None:
        with self.assertRaises(AttributeError) as caught:
            refcalc.cross_entrophy  # noqa: B018
        self.assertEqual(str(caught.exception), "module 'refcalc' has no attribute 'cross_entrophy'")

    def test_every_public_name_has_an_example(self) -> None:
        for name in refcalc.__all__:
            if name not in {"Comparison", "exact"}:  # what compare returns; a module
                with self.subTest(name=name):
                    self.assertIn(">>>", getattr(refcalc, name).__doc__)


class Figures(unittest.TestCase):
    def test_the_tables_of_the_readme_are_those_that_the_scripts_wrote(self) -> None:
        measured = [path.read_text("utf-8") for path in sorted((README.parent / "tests" / "bench").glob("*.txt"))]
        tables = re.findall(r"(?:^\|.*\n)+", README.read_text("utf-8"), re.MULTILINE)
        kept = [table for table in tables if any(table.splitlines()[0] in text for text in measured)]
        self.assertGreaterEqual(len(kept), 3)  # accuracy here, accuracy elsewhere, speed
        for table in kept:
            with self.subTest(table.splitlines()[0]):
                self.assertTrue(any(table in text for text in measured))


class Benchmarks(unittest.TestCase):
    def test_every_script_imports_without_the_frameworks(self) -> None:
        """They stand on private parts of the package, which move; frameworks are imported where they are used."""
        for path in sorted((README.parent / "tests" / "bench").glob("*.py")):
            with self.subTest(path.name):
                import_module(f"tests.bench.{path.stem}")


# --- imports ---------------------------------------------------------------------------------------------------------

WATCH = """
import sys
sys.path.insert(0, {folder!r})
from importlib import import_module
for name in {names!r}:
    import_module(name)
tops = {{name.partition(".")[0] for name, module in sys.modules.items() if module is not None}}
print(*sorted(tops))
"""


@cache
def loaded(folder: Path, *names: str) -> list[str]:
    """Return the top-level modules that a fresh Python has loaded after importing these from the folder."""
    code = WATCH.format(folder=str(folder), names=list(names))
    return subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True).stdout.split()


def strangers(folder: Path, *names: str) -> list[str]:
    """Return which of these are neither Python's own, nor the package, nor loaded by a Python that imports nothing."""
    return sorted({*loaded(folder, *names)} - {*loaded(folder)} - sys.stdlib_module_names - {"refcalc"})


@cache
def imports(path: Path, module: str) -> set[str]:
    """Return the full names of what a source file imports anywhere in it, type-checking blocks left out."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    found: set[str] = set()
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package.rsplit(".", node.level - 1)[0] if node.level > 1 else package if node.level else ""
            source = ".".join(filter(None, [base, node.module]))
            found |= {f"{source}.{a.name}" if is_module(f"{source}.{a.name}") else source for a in node.names}
    return found


def is_module(name: str) -> bool:
    return name.startswith("refcalc") and name in MODULES


@cache
def sources() -> dict[str, Path]:
    """Return the source file of every module of the package, __main__ included."""
    names = [m.name for m in walk_packages(refcalc.__path__, "refcalc.")]
    return {"refcalc": PACKAGE / "__init__.py", **{name: Path(find_spec(name).origin) for name in names}}


def upward(module: str, imported: str) -> bool:
    """Return whether an import goes to a higher floor than that of the module it stands in."""
    return FLOOR_OF[imported.split(".")[1]] > FLOOR_OF[module.split(".")[1]]


class Imports(unittest.TestCase):
    def test_importing_every_module_loads_only_python_s_own(self) -> None:
        self.assertEqual(strangers(PACKAGE.parent, "refcalc", *MODULES), [])

    def test_that_check_can_fail(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "intruder.py").write_text("")
            (folder / "host.py").write_text("import json, intruder\n")
            self.assertEqual(strangers(folder, "host"), ["host", "intruder"])

    def test_no_import_statement_names_anything_else_even_where_it_may_not_run(self) -> None:
        for module, path in sources().items():
            with self.subTest(module=module):
                tops = {name.partition(".")[0] for name in imports(path, module)}
                self.assertEqual(sorted(tops - sys.stdlib_module_names - {"refcalc"}), [])

    def test_the_package_stays_light(self) -> None:
        heavy = {"decimal", "fractions", "dataclasses", "inspect", "json", "mmap", "argparse", "random"}
        self.assertEqual({*loaded(PACKAGE.parent, "refcalc")} & heavy - {*loaded(PACKAGE.parent)}, set())

    def test_imports_go_downwards_only(self) -> None:
        for module, path in sources().items():
            if module == "refcalc":
                continue
            with self.subTest(module=module):
                self.assertIn(module.split(".")[1], FLOOR_OF, "the room has no floor")
                inner = [name for name in imports(path, module) if name.startswith("refcalc.")]
                self.assertEqual([name for name in inner if upward(module, name)], [])
        self.assertTrue(upward("refcalc.softmax", "refcalc.loss"))

    def test_no_two_modules_need_each_other(self) -> None:
        graph = {m: imports(path, m) - {"refcalc", m} for m, path in sources().items() if m != "refcalc"}
        TopologicalSorter(graph).prepare()  # raises CycleError
