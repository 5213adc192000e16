"""Time and memory of a report of a million receipts, beside json.loads on the same lines, and of finding a duplicate.

Each measurement is a process of its own, and the two kinds take turns, so that a busy machine is busy for both; the
time is the processor's, the least of the rounds.  json.loads gets each line as text and keeps nothing.

Run from the root:  python -m tests.bench.report_speed [--write]
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from refcalc import ExactSum
from refcalc.evaluation.log import ReceiptLog
from refcalc.evaluation.protocol import Protocol
from refcalc.evaluation.receipt import Receipt
from refcalc.evaluation.report import Report
from tests.bench import report

DOCUMENTS = 1_000_000
ROUNDS = 3
DIGESTS = {"tokenizer": "t", "corpus": "c", "checkpoint": "k", "split": "test"}
UNDER = Protocol(vocab_size=50257, window=1024, bos="first", bos_id=2, eos_id=2, eos_scored=True, unk_id=0, **DIGESTS)


def write(path: Path) -> None:
    """Write a million receipts: sums of 20 to 50 bits more than a double has, as those of hundreds of targets."""
    rng = Random(1)
    with ReceiptLog(str(path), UNDER) as log:
        for i in range(DOCUMENTS):
            n = 1 + int(rng.random() * 900)
            end = ExactSum([rng.random() * 6.0])
            total = ExactSum([rng.random() * 6.0 * n, rng.random() * 1e-3, rng.random()]) + end
            counts = (n, 4 * n, 4 * n, n // 2, None, 1 + n // 1024)
            log.write(Receipt(f"document-{i:07d}", total, *counts, 1, end, 0, ExactSum()))
        log.end()


def of_json(path: str) -> None:
    with open(path, encoding="utf-8") as file:
        for line in file:
            json.loads(line)


def of_report(path: str) -> None:
    Report.of(path).to_dict()


def of_duplicate(path: str) -> None:
    try:
        Report.of(path)
    except ValueError as refusal:
        print(refusal, file=sys.stderr)
    else:
        raise AssertionError("the duplicate was not found")


MEASURED: dict[str, Callable[[str], None]] = {"json": of_json, "report": of_report, "duplicate": of_duplicate}


def measured(name: str, path: Path) -> dict[str, float]:
    """Return the seconds and the megabytes of a process that does it."""
    command = [sys.executable, "-m", "tests.bench.report_speed", "--measure", name, str(path)]
    result: dict[str, float] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return result


def measure(name: str, path: str) -> None:
    start = time.process_time()
    MEASURED[name](path)
    seconds = time.process_time() - start
    # Not resource.getrusage: that counts the memory of the process that started this one, too.
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
    print(json.dumps({"seconds": seconds, "megabytes": peak / 1024}))


def rows(folder: Path) -> list[list[str]]:
    path, twice = folder / "receipts.jsonl", folder / "twice.jsonl"
    write(path)
    with open(path, "rb") as whole, open(twice, "wb") as other:
        tenth = b""
        for number, line in enumerate(whole):
            tenth = line if number == 9 else tenth
            other.write(tenth if number == DOCUMENTS else line)
    found: dict[str, list[dict[str, float]]] = {name: [] for name in MEASURED}
    for _ in range(ROUNDS):
        for name, results in found.items():
            results.append(measured(name, twice if name == "duplicate" else path))
    best = {name: min(each["seconds"] for each in results) for name, results in found.items()}
    most = {name: max(each["megabytes"] for each in results) for name, results in found.items()}
    titles = {
        "json": "json.loads of every line",
        "report": "Report.of, with every check",
        "duplicate": "Report.of, refusing the last document as a duplicate",
    }
    base = best["json"]
    return [[titles[each], f"{best[each]:.2f}", f"{best[each] / base:.2f}", f"{most[each]:.0f}"] for each in MEASURED]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="keep the result beside this script")
    parser.add_argument("--measure", nargs=2, metavar=("NAME", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(*options.measure)
        return
    with tempfile.TemporaryDirectory() as folder:
        lines: list[Any] = [[f"{DOCUMENTS:,} receipts", "seconds", "times json.loads", "peak MB"], *rows(Path(folder))]
    text = "\n".join([report.machine(), "", *report.table(lines)])
    print(text)
    if options.write:
        report.keep(__file__, text)


if __name__ == "__main__":
    main()
