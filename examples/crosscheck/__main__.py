"""The command line of the cross-check: see the package's docstring.

    python -m examples.crosscheck [NAME...]

asks the frameworks that are installed, or those that are named.
"""

import argparse
import datetime
import json
import platform
import sys
from pathlib import Path

if not __package__:  # python examples/crosscheck: this folder's files must not hide the frameworks they are named after
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from examples import crosscheck
from examples.crosscheck.asking import adapters, edge_results, results
from examples.crosscheck.report import as_json, as_markdown, as_text
from examples.crosscheck.worker import Framework

KEPT = Path(__file__).resolve().parent / "crosscheck.txt"


def main(arguments: list[str] | None = None) -> int:
    """Ask, print, and return 0; 1 where a framework that was named cannot be asked; 2 for a wrong name."""
    options = _parser().parse_args(arguments)
    try:
        chosen = adapters(options.names)
    except ValueError as error:
        print(f"crosscheck: {error}", file=sys.stderr)
        return 2
    found, edges, versions, absent = [], [], {}, []
    for adapter in chosen:
        framework = Framework(adapter)
        if framework.absent:
            absent.append(f"{framework.name}: {framework.absent}")
        else:
            versions[framework.name] = framework.version
            found += results(framework)
            edges += edge_results(framework)
        framework.close()
    for line in absent:
        print(f"not asked: {line}", file=sys.stderr)
    if options.json:
        print(json.dumps(as_json(versions, found, edges), indent=1, allow_nan=False))
    elif found:
        text = as_markdown(found, edges) if options.markdown or options.write else as_text(found, edges)
        text = f"{_heading(versions)}\n\n{text}"
        print(text)
        if options.write:
            KEPT.write_text(text + "\n", encoding="utf-8")
    return 1 if options.names and absent else 0


def _parser() -> argparse.ArgumentParser:
    about = (crosscheck.__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python examples/crosscheck", description=about)
    parser.add_argument("names", nargs="*", metavar="NAME", help="torch, jax, ... or the file of an adapter")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON, with the figures of every family of rows")
    form.add_argument("--markdown", action="store_true", help="print tables of Markdown")
    form.add_argument("--write", action="store_true", help=f"print Markdown and keep it in {KEPT.name}")
    return parser


def _heading(versions: dict[str, str]) -> str:
    named = ", ".join(f"{name} {version}" for name, version in versions.items())
    python = f"{platform.python_implementation()} {platform.python_version()}, {sys.platform} {platform.machine()}"
    return f"{named}\n{python}, {datetime.date.today().isoformat()}"


if __name__ == "__main__":
    sys.exit(main())
