"""`refcalc baselines TRAIN EVAL`: what models that anybody has need for a text, in bits per character."""

__all__ = ["add_to", "run"]

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from refcalc import _check, _json
from refcalc.cli import _files, _progress

if TYPE_CHECKING:
    from fractions import Fraction

ORDERS = (4, 7)
COMPRESSORS = ("gzip -9", "xz -9e", "bzip2 -9")
PRIMED = "xz -9e"
SHORT = 10_000  # bytes: in a shorter text the headers of xz, some 60 bytes, are 0.05 bits per byte and more
MOST_EXPONENT = 3  # digits: the power of ten of a longer one may take minutes to write out
BYTE_ORDER_MARK = "\ufeff"

DESCRIPTION = """What models that anybody has need for a text, in bits per character and per
byte: lower is better.

    uniform       every character of the vocabulary alike
    unigram       how frequent each character is in the training text, add-one
                  smoothed
    gzip and co.  the compressed length of the evaluation text alone, headers
                  counted
    primed        how much longer a compressed training text grows with the
                  evaluation text behind it
    Kneser-Ney    interpolated modified Kneser-Ney of each order, fitted on the
                  training text

The vocabulary is every character of both texts.  A byte order mark at the start
of a file is no character of its text and is left out.  The table goes from the
worst to the best: a trained model that does not need less than the last line,
whichever model that is, has not yet earned its training.  Below 10,000 bytes of
evaluation text the headers of the compressors and xz's steps of 4 bytes show in
their lines, and a warning says so.  So does one where the evaluation text
stands in the training text, or where the primed difference is negative, as it
may be for a few bytes.
"""


class Texts(NamedTuple):
    """What the models are fitted on, what they are scored on, and whether the second goes on where the first ends."""

    train: str
    evaluation: str
    runs_on: bool
    warnings: tuple[str, ...]


def add_to(subparsers: Any) -> None:
    """Add the command to the parser of the command line."""
    parser = subparsers.add_parser(
        "baselines",
        help="what a uniform model, compressors and n-grams need for a text: is the number good?",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("train", help="the training text, UTF-8")
    parser.add_argument("evaluation", metavar="eval", nargs="?", help="the evaluation text, UTF-8")
    parser.add_argument(
        "--held-out", metavar="SHARE", help="instead of EVAL: hold out the end of TRAIN, 0.1 of it, say"
    )
    parser.add_argument(
        "--order", type=int, nargs="+", default=ORDERS, metavar="N", help="orders of the n-grams (default: 4 7)"
    )
    parser.add_argument("--svg", metavar="FILE", help="draw the ladder of the models into this file")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> tuple[str, int]:
    """Return what the command prints, and its exit status."""
    if options.svg is not None:
        _files.check_writable(options.svg, "the picture")
    texts = _texts(options)
    try:
        numbers = _report(texts, options)
    finally:
        _progress.say()
    report = {
        "train": options.train,
        "eval": options.evaluation,
        "held_out": options.held_out,
        **numbers,
    }
    if options.svg is not None:
        _draw(options.svg, report)
    if options.json:
        return json.dumps(_json.plain(report), indent=1, allow_nan=False), 0
    return _table(report), 0


# --- the texts -------------------------------------------------------------------------------------------------------


def _texts(options: argparse.Namespace) -> Texts:
    if (options.evaluation is None) == (options.held_out is None):
        _check.refuse(
            "baselines", "the evaluation text", "be EVAL or --held-out", "both" if options.held_out else "none"
        )
    share = None if options.held_out is None else _share(options.held_out)
    train, warnings = _read(options.train, "the training text")
    if share is None:
        evaluation, more = _read(options.evaluation, "the evaluation text")
        return Texts(train, evaluation, False, warnings + more + _warnings(train, evaluation))
    cut = int((1 - share) * len(train))
    if not cut:
        _check.refuse("baselines", "what --held-out leaves for training", "hold at least one character", 0)
    return Texts(train[:cut], train[cut:], True, warnings + _warnings(train[:cut], train[cut:]))


def _read(path: str, what: str) -> tuple[str, tuple[str, ...]]:
    """Return a text without its byte order mark, and a warning if it had one."""
    text = _files.read_text(path, what)
    marked = text.startswith(BYTE_ORDER_MARK)
    text = text.removeprefix(BYTE_ORDER_MARK)
    if not text:
        _check.refuse("baselines", path, "hold at least one character", 0)
    return text, (f"{path}: the byte order mark at its start is left out",) if marked else ()


def _warnings(train: str, evaluation: str) -> tuple[str, ...]:
    return _seen(train, evaluation) + _too_short(evaluation)


def _seen(train: str, evaluation: str) -> tuple[str, ...]:
    if evaluation not in train:
        return ()
    where = "is" if evaluation == train else "stands in"
    seen = "the fitted and the primed models have seen it, their lines say nothing of new text"
    return (f"the evaluation text {where} the training text: {seen}",)


def _too_short(evaluation: str) -> tuple[str, ...]:
    size = len(evaluation.encode("utf-8"))
    if size >= SHORT:
        return ()
    reason = "headers (up to 70 bytes) and xz's steps of 4 bytes show in their lines"
    return (f"{_number(size, 'byte')} to evaluate: below {SHORT:,} the compressors mean little, {reason}",)


def _share(text: str) -> "Fraction":
    """Return --held-out as the number that was typed, not as the double nearest to it."""
    from fractions import Fraction  # noqa: PLC0415 (--help should not wait for it)

    if len(text.lower().partition("e")[2].lstrip("+-0")) > MOST_EXPONENT:
        _check.refuse("baselines", "--held-out", f"have an exponent of at most {MOST_EXPONENT} digits", text)
    try:
        share = Fraction(text)
    except (ValueError, ZeroDivisionError):
        share = Fraction(0)
    if not 0 < share < 1:
        _check.refuse("baselines", "--held-out", "be a number above 0 and below 1", text)
    return share


# --- the numbers -----------------------------------------------------------------------------------------------------


def _report(texts: Texts, options: argparse.Namespace) -> dict[str, Any]:
    """Return the sizes of the texts, and the models from the worst to the best."""
    from refcalc.tally import text_counts  # noqa: PLC0415

    counts = text_counts("baselines", "eval", texts.evaluation)
    vocabulary = sorted({*texts.train, *texts.evaluation})
    bits = {**_model_bits(texts, vocabulary, options.order), **_compressor_bits(texts)}
    negative = tuple(
        f"{name}: a difference of two lengths, here negative ({total} bits), measures nothing"
        for name, total in bits.items()
        if total < 0
    )
    models = [
        {
            "model": name,
            "bits": total,
            "bits_per_char": total / counts["n_chars"],
            "bits_per_byte": total / counts["n_bytes"],
        }
        for name, total in bits.items()
    ]
    return {
        "n_train_chars": len(texts.train),
        "n_chars": counts["n_chars"],
        "n_bytes": counts["n_bytes"],
        "vocab_size": len(vocabulary),
        "history": "runs on from the training text" if texts.runs_on else "begins with the evaluation text",
        "models": sorted(models, key=lambda row: -row["bits"]),
        "warnings": texts.warnings + negative,
    }


def _model_bits(texts: Texts, vocabulary: list[str], orders: list[int]) -> dict[str, float]:
    from refcalc.baselines.ngram import KneserNey  # noqa: PLC0415
    from refcalc.baselines.unigram import SmoothedUnigram, UniformBaseline  # noqa: PLC0415
    from refcalc.units import nats_to_bits  # noqa: PLC0415

    _progress.say("uniform and unigram ...")
    tallies = {
        "uniform": UniformBaseline(vocabulary).score(texts.evaluation),
        "unigram, add-one": SmoothedUnigram.fit(texts.train, vocabulary).score(texts.evaluation),
    }
    for order in orders:
        name = f"Kneser-Ney, order {order}"
        _progress.say(f"{name}: fitting on {_number(len(texts.train), 'character')} ...")
        model = KneserNey.fit(texts.train, order, vocabulary)
        _progress.say(f"{name}: scoring {_number(len(texts.evaluation), 'character')} ...")
        tallies[name] = model.score(texts.evaluation, texts.train if texts.runs_on else "")
    return {name: nats_to_bits(float(tally.nll_sum)) for name, tally in tallies.items()}


def _compressor_bits(texts: Texts) -> dict[str, int]:
    from refcalc.baselines.compression import compressed_bits  # noqa: PLC0415

    train, evaluation = texts.train.encode("utf-8"), texts.evaluation.encode("utf-8")
    bits = {}
    for method in COMPRESSORS:
        _progress.say(f"{method} ...")
        bits[method] = compressed_bits(evaluation, method)
    _progress.say(f"{PRIMED}, primed ...")
    bits[f"{PRIMED}, primed"] = compressed_bits(evaluation, PRIMED, train)
    return bits


# --- the table and the picture ---------------------------------------------------------------------------------------


def _table(report: dict[str, Any]) -> str:
    source = report["eval"] or f"the last {report['held_out']} of {report['train']}"
    lines = [
        f"train       {report['train']}: {_number(report['n_train_chars'], 'character')}",
        f"evaluate    {source}: {_number(report['n_chars'], 'character')}, {_number(report['n_bytes'], 'byte')}",
        f"vocabulary  {_number(report['vocab_size'], 'character')}, those of both texts",
        f"history     {report['history']}",
        "",
        f"{'':<24}{'bits per character':>20}{'bits per byte':>16}",
    ]
    for row in report["models"]:
        lines.append(f"{row['model']:<24}{row['bits_per_char']:>20.3f}{row['bits_per_byte']:>16.3f}")
    lines += [f"warning: {words}" for words in report["warnings"]]
    return "\n".join(lines)


def _number(n: int, what: str) -> str:
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def _draw(path: str, report: dict[str, Any]) -> None:
    from refcalc.drawing import ladder  # noqa: PLC0415

    rows = [(row["model"], row["bits_per_char"]) for row in report["models"] if row["bits"] >= 0]
    name = Path(report["eval"] or report["train"]).name
    title = f"{name}: {_number(report['n_chars'], 'character')}" + (" held out" if report["held_out"] else "")
    Path(path).write_text(ladder(rows, title=title, unit="bits per character"), encoding="utf-8")
