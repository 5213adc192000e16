"""One task of a run: what was published of it, and the samples that must give the same."""

__all__ = ["Task"]

import hashlib
from collections.abc import Iterator
from typing import Any

from refcalc.evaluation.readers.check import Check, judged
from refcalc.evaluation.readers.lm_eval.aggregates import AGGREGATIONS, DEFAULTS, Numbers, stderr
from refcalc.evaluation.readers.lm_eval.sample import Sample, hashes, read_sample
from refcalc.evaluation.readers.lm_eval.scores import COUNTED, delimiter, own_scores, rolling_counts
from refcalc.evaluation.readers.log import Findings
from refcalc.evaluation.readers.records import Record
from refcalc.evaluation.readers.values import count, log_probability

Key = tuple[str, str]  # metric and filter


class Task:
    """The samples of a task, added up line by line."""

    def __init__(self, name: str, config: dict[str, Any], chat: bool, found: Findings) -> None:
        self.name, self.config, self.found = name, config, found
        self.output_type = str(config.get("output_type", ""))
        self.custom = config.get("process_results") is not None  # the task scores its samples itself
        self.between = delimiter(config, chat)
        self.values: dict[Key, list[Any]] = {}
        self.scores: dict[Key, list[float]] = {}  # computed again, whether they were logged or not
        self.texts: list[tuple[float, dict[str, int]]] = []  # of a rolling likelihood
        self.unscored = 0
        self._digest = hashlib.sha256()
        self._hashed = True
        self._documents: set[tuple[str, Any]] = set()
        self.aggregations: dict[str, str] = {}  # where they were configured by name
        listed = config.get("metric_list")
        for each in listed if isinstance(listed, list) else ():
            metric, how = (each.get("metric"), each.get("aggregation")) if isinstance(each, dict) else (None, None)
            if isinstance(metric, str) and isinstance(how, str):
                self.aggregations[metric] = how

    def read(self, records: Iterator[Record]) -> None:
        """Take in the samples of a file."""
        for record in records:
            sample = read_sample(record, self.output_type, self.found)
            self._hash(sample)
            key = (sample.filter, str(record.value["doc_id"]))
            if key in self._documents:
                self.found.contradict(record.place, f"doc_id {record.value['doc_id']!r} was there before")
            self._documents.add(key)
            own = {} if self.custom else own_scores(sample, self.output_type, self.between)
            if self.output_type == "multiple_choice" and not own:
                self.unscored += 1
            for name, logged in sample.metrics.items():
                if self.output_type == "loglikelihood_rolling" and name in COUNTED:
                    value: Any = self._rolling(sample, name, logged)
                else:
                    value = self._scalar(sample, name, logged, own.get(name))
                self.values.setdefault((name, sample.filter), []).append(value)
            for name, score in own.items():
                self.scores.setdefault((name, sample.filter), []).append(score)
            self._keep_text(sample)

    @property
    def digest(self) -> str | None:
        """The hash over all samples, as the results hold it; None where they do not have hashes."""
        return self._digest.hexdigest() if self._hashed else None

    @property
    def size(self) -> int:
        """The documents of the metric that has most of them."""
        return max(map(len, self.values.values()), default=0)

    def aggregated(self, metric: str, filter_: str) -> Numbers | str:
        """Return a metric of the task, or why it cannot be computed."""
        values = self.values.get((metric, filter_))
        if not values:
            return "no sample has it"
        how = self.aggregation(metric)
        if how not in AGGREGATIONS:
            return f"its aggregation ({how if how.isidentifier() else metric}) is not done here"
        pairs = how in ("weighted_perplexity", "bits_per_byte")
        if any(isinstance(value, tuple) != pairs or value is None for value in values):
            return "its samples are no numbers"
        if pairs and not sum(n for _, n in values):
            return "its counts are 0"
        return AGGREGATIONS[how](values)

    def error_of(self, metric: str, filter_: str) -> Numbers | str:
        """Return the standard error of a metric, or why it cannot be computed."""
        if self.aggregation(metric) != "mean":
            return "it comes from a bootstrap"
        values = self.values.get((metric, filter_), ())
        if len(values) < 2 or any(isinstance(value, tuple) or value is None for value in values):
            return "its samples are no numbers, or fewer than two"
        return stderr(values)

    def aggregation(self, metric: str) -> str:
        return self.aggregations.get(metric, DEFAULTS.get(metric, "mean"))

    def check(self, place: str, metric: str, filter_: str, published: Any) -> Check | str:
        """Return the verdict on a published metric, or why there is none."""
        is_error = metric.endswith("_stderr")
        numbers = (
            self.error_of(metric.removesuffix("_stderr"), filter_) if is_error else self.aggregated(metric, filter_)
        )
        if isinstance(numbers, str):
            return numbers
        name = metric if filter_ == "none" else f"{metric},{filter_}"
        return judged(place, name, published, numbers, exact=not isinstance(published, str))

    # --- one sample --------------------------------------------------------------------------------------------------

    def _hash(self, sample: Sample) -> None:
        text = hashes(sample, self.found)
        self._hashed = self._hashed and bool(text)
        self._digest.update(text.encode())

    def _scalar(self, sample: Sample, name: str, logged: Any, own: Any) -> float | None:
        """Return the metric of a sample, the one that its responses give where they give one."""
        if isinstance(logged, bool):
            logged = int(logged)
        if own is not None:
            shown = "-inf" if own == -float("inf") else own
            self.found.same(sample.record, (name, logged), ("its responses", shown if logged == "-inf" else own))
            return float(own)
        return logged if isinstance(logged, (int, float)) else None

    def _rolling(self, sample: Sample, name: str, logged: Any) -> tuple[float, int]:
        """Return the log-likelihood and the count of a sample, having held them against its response and its text."""
        record = sample.record
        if not isinstance(logged, list) or len(logged) != 2:
            record.refuse(name, "be a log-likelihood and a count", logged)
        ll = -log_probability(record, f"{name}[0]", logged[0])
        n = count(record, f"{name}[1]", logged[1])
        if sample.responses and not self.custom:
            self.found.same(record, (f"{name}[0]", ll), ("its response", sample.responses[0][0]))
        counts, unit = rolling_counts(sample), COUNTED[name]
        texts = counts if self.custom else dict([*counts.items()][:1])
        if any(each[unit] == n for each in texts.values()):
            return ll, n
        if self.custom:
            self.found.note(f"{self.name} counts {unit} by a rule of its own, which was not tried", record)
        elif texts:
            where, has = next(iter(texts.items()))
            why = ", which are its characters" if unit == "bytes" and has["characters"] == n else ""
            self.found.contradict(record.place, f"{name}[1] says {n} {unit}{why}; {where} has {has[unit]}")
            return ll, has[unit]
        return ll, n

    def _keep_text(self, sample: Sample) -> None:
        """Keep what evidence for a diagnosis is made of."""
        pairs = {name: self.values[name, sample.filter][-1] for name in COUNTED if name in sample.metrics}
        if self.output_type == "loglikelihood_rolling" and pairs:
            texts = rolling_counts(sample)
            counts = {COUNTED[name]: n for name, (_, n) in pairs.items()}
            characters = next((each["characters"] for each in texts.values()), 0)
            self.texts.append((next(iter(pairs.values()))[0], {**counts, "characters": characters}))
