"""A run: the tasks and groups of a results file, each with its samples."""

__all__ = ["examine", "warnings"]

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from refcalc import _check
from refcalc.evaluation.readers.check import Check, judged
from refcalc.evaluation.readers.lm_eval import recognises_sample
from refcalc.evaluation.readers.lm_eval.aggregates import Numbers, group_mean, group_stderr
from refcalc.evaluation.readers.lm_eval.naming import named
from refcalc.evaluation.readers.lm_eval.task import Task
from refcalc.evaluation.readers.log import Findings
from refcalc.evaluation.readers.records import Record, read_records
from refcalc.evaluation.readers.values import table, texts

NO_SAMPLES = "no samples of it were given"
PLAIN = ("name", "alias", "sample_len", "sample_count", "samples")  # what results say beside metrics


def examine(results: Record, sample_paths: list[str], reported: Mapping[str, Any], found: Findings) -> list[Check]:
    """Return the verdict on each number of a results file; what cannot be computed again goes to the findings."""
    run = _Run(results, found)
    for path in sample_paths:
        run.read_file(path)
    for name, samples in run._table("samples").items():
        run.read_embedded(name, samples)
    if not run.tasks:
        rule = f"come with the samples of one of its tasks ({', '.join(run.published)}), as --log_samples writes them"
        results.refuse("", rule, "none")
    checks = run.task_checks() + run.group_checks() + run.reported_checks(reported)
    run.hold_copies()
    return [each if each.agrees else named(each, run.tasks.get(each.place.partition(",")[0])) for each in checks]


def warnings(checks: list[Check]) -> list[str]:
    """Return what is worse than knowing nothing."""
    return [
        f"{check.place}: {check.recomputed:.6g} bits per byte are more than the 8 that a byte has"
        for check in checks
        if check.quantity.partition(",")[0] == "bits_per_byte" and check.recomputed > 8.0
    ]


class _Run:
    """The results, and the tasks whose samples have been read."""

    def __init__(self, results: Record, found: Findings) -> None:
        self.record, self.found = results, found
        self.value: dict[str, Any] = results.printed()
        self.published: dict[str, dict[str, Any]] = self.value["results"]
        groups = self._table("group_subtasks").items()
        listed = {name: texts(results, f"group_subtasks[{name!r}]", children) for name, children in groups}
        self.groups = {name: children for name, children in listed.items() if children}
        self.tasks: dict[str, Task] = {}
        for name, metrics in self.published.items():
            if not isinstance(metrics, dict):
                results.refuse(f"results[{name!r}]", "be an object of metrics", metrics, TypeError)

    def _table(self, key: str) -> dict[str, Any]:
        return table(self.record, key, self.value.get(key))

    def _entry(self, key: str, name: str) -> dict[str, Any]:
        return table(self.record, f"{key}[{name!r}]", self._table(key).get(name))

    # --- samples -----------------------------------------------------------------------------------------------------

    def read_file(self, path: str) -> None:
        """Take in a file of samples: of the task that its name holds, or else of the one whose hash they have."""
        names = [name for name in self.published if name not in self.groups]
        fitting = [name for name in names if f"samples_{name}_" in PurePath(path).name]
        if len(names) == 1:
            fitting = names
        if not fitting:
            probe = Task("", {}, chat=False, found=Findings())
            probe.read(_samples(path))
            hashes = self._table("task_hashes")
            fitting = [name for name in names if probe.digest is not None and hashes.get(name) == probe.digest]
        if not fitting:
            rule = "have the name of a task in its name (samples_TASK_...jsonl), or the hash of one"
            _check.refuse(path, "the file", rule, names)
        self._task(max(fitting, key=len), path).read(_samples(path))

    def read_embedded(self, name: str, samples: Any) -> None:
        """Take in the samples that stand in the results themselves."""
        record, at = self.record, f"samples[{name!r}]"
        lines = enumerate(_check.items(record.path, at, samples))
        self._task(name, at).read(Record(record.path, f"{at}[{i}]", sample, None) for i, sample in lines)

    def _task(self, name: str, source: str) -> Task:
        if name not in self.published:
            self.record.refuse("results", f"have the task {name}, of which there are samples", list(self.published))
        if name in self.tasks:
            _check.refuse(source, "the samples", "be of a task of which no other samples were given", name)
        config = self._entry("configs", name)
        self.tasks[name] = Task(name, config, self.value.get("chat_template") is not None, self.found)
        return self.tasks[name]

    # --- verdicts ----------------------------------------------------------------------------------------------------

    def task_checks(self) -> list[Check]:
        checks: list[Check] = []
        for name, task in self.tasks.items():
            for metric, filter_, published in self._metrics(name):
                verdict = task.check(name, metric, filter_, published)
                self._keep(checks, name, f"{metric},{filter_}", verdict)
            checks += self._sizes(name, task)
            hashed = self._table("task_hashes").get(name)
            if task.digest is not None and hashed is not None and hashed != task.digest:
                self.found.contradict(self.record.place, f"task_hashes[{name!r}] is not the hash of the samples given")
            if task.unscored:
                self.found.unverified[f"{name}: the score of a sample"] = (
                    "the log does not say which choice is right, so acc is taken as logged and only averaged"
                    if not task.custom else "the task scores its samples itself, so they are only averaged"
                )  # fmt: skip
        for name in self.published:
            if name not in self.tasks and name not in self.groups and any(True for _ in self._metrics(name)):
                self.found.unverified[name] = NO_SAMPLES
        return checks

    def group_checks(self) -> list[Check]:
        checks: list[Check] = []
        for name in self.groups:
            for metric, filter_, published in self._metrics(name):
                numbers = self._of_group(name, metric, filter_)
                verdict = numbers if isinstance(numbers, str) else judged(name, metric, published, numbers, exact=True)
                self._keep(checks, name, f"{metric},{filter_}", verdict)
        return checks

    def reported_checks(self, reported: Mapping[str, Any]) -> list[Check]:
        """Return the verdict on numbers that were given beside the files: METRIC or TASK/METRIC."""
        checks = []
        for key, value in reported.items():
            named_task, _, metric = key.rpartition("/")
            metric, _, filter_ = metric.partition(",")
            having = [n for n, task in self.tasks.items() if (metric, filter_ or "none") in task.values]
            tasks = [n for n in having if named_task in ("", n)]
            if len(tasks) != 1:
                rule = f"name a metric of one task, as in {having[0] if having else 'TASK'}/{metric}"
                _check.refuse("verify", f"reported[{key!r}]", rule, having)
            verdict = self.tasks[tasks[0]].check(f"{tasks[0]}, reported", metric, filter_ or "none", value)
            if isinstance(verdict, str):
                _check.refuse("verify", f"reported[{key!r}]", "be a metric that can be computed again", verdict)
            checks.append(verdict)
        return checks

    def hold_copies(self) -> None:
        """Hold the copies of a number inside the results against each other."""
        for name, metrics in self._table("groups").items():
            for key, value in metrics.items() if isinstance(metrics, dict) else ():
                other = self.published.get(name, {}).get(key)
                if other is not None:
                    self.found.same(self.record, (f"groups[{name!r}][{key!r}]", value), ("results", other))
        for name in self.tasks:
            config, sizes = self._entry("configs", name), self._entry("n-samples", name)
            self._same(name, "n-shot", config.get("num_fewshot"), "num_fewshot")
            metadata = table(self.record, f"configs[{name!r}].metadata", config.get("metadata"))
            self._same(name, "versions", metadata.get("version"), "metadata.version")
            original, effective = sizes.get("original"), sizes.get("effective")
            if original == effective:
                continue
            self.found.note(f"{name}: {effective} of its {original} documents were evaluated", self.record)
            if self._table("config").get("limit", 0) is None:
                self.found.contradict(self.record.place, f"n-samples[{name!r}] differ, but config has no limit")

    def _same(self, name: str, table: str, value: Any, key: str) -> None:
        """Hold an entry of a table against the same of a task's configuration."""
        entry = self._table(table).get(name)
        if entry is not None and value is not None:
            self.found.same(self.record, (f"{table}[{name!r}]", entry), (f"configs[{name!r}].{key}", value))

    # --- parts -------------------------------------------------------------------------------------------------------

    def _metrics(self, name: str) -> Iterator[tuple[str, str, Any]]:
        """Yield metric, filter and number of what was published of a task or group."""
        for key, value in self.published.get(name, {}).items():
            metric, comma, filter_ = key.partition(",")
            if key in PLAIN or not comma or value in ("N/A", " ", "", None):
                continue
            if isinstance(value, bool) or not (isinstance(value, (int, float)) or value in ("inf", "-inf")):
                self.record.refuse(f"results[{name!r}][{key!r}]", "be a number", value)
            yield metric, filter_, value

    def _sizes(self, name: str, task: Task) -> list[Check]:
        """Return the verdicts on the number of documents, which is published up to twice."""
        counted = {"sample_len": self.published[name].get("sample_len")}
        counted["n-samples"] = self._entry("n-samples", name).get("effective")
        return [
            judged(name, key, value, (task.size,), exact=True)
            for key, value in counted.items()
            if isinstance(value, int) and not isinstance(value, bool)
        ]

    def _keep(self, checks: list[Check], name: str, key: str, verdict: Check | str) -> None:
        if isinstance(verdict, str):
            self.found.unverified[f"{name}: {key.removesuffix(',none')}"] = verdict
        else:
            checks.append(verdict)

    def _leaves(self, name: str, above: tuple[str, ...] = ()) -> list[str]:
        if name in above:
            self.record.refuse("group_subtasks", "not hold a group within itself", name)
        if name not in self.groups:
            return [name]
        return [leaf for child in self.groups[name] for leaf in self._leaves(child, (*above, name))]

    def _of_group(self, name: str, metric: str, filter_: str) -> Numbers | str:
        """Return a metric of a group, from its tasks that have it: weighted with their documents, and not weighted."""
        key = f"{metric},{filter_}"
        leaves = [leaf for leaf in dict.fromkeys(self._leaves(name)) if key in self.published.get(leaf, {})]
        if not leaves:
            return "none of its tasks has it"
        missing = [leaf for leaf in leaves if leaf not in self.tasks]
        if missing:
            return f"no samples were given of {', '.join(missing[:3])}{' and more' if len(missing) > 3 else ''}"
        is_error = metric.endswith("_stderr")
        values: list[float] = []
        for leaf in leaves:
            task = self.tasks[leaf]
            numbers = (
                task.error_of(metric.removesuffix("_stderr"), filter_) if is_error else task.aggregated(metric, filter_)
            )
            if isinstance(numbers, str):
                return f"{leaf}: {numbers}"
            published = self.published[leaf][key]
            values.append(published if published in numbers else numbers[0])
        sizes = [self.tasks[leaf].size for leaf in leaves]
        if is_error and sum(sizes) <= len(sizes):
            return "its tasks have too few documents"
        mean = group_stderr if is_error else group_mean
        return (*mean(values, sizes), *mean(values, [1] * len(sizes)))


def _samples(path: str) -> Iterator[Record]:
    for record in read_records(path):
        if not recognises_sample(record.value):
            keys = sorted(record.value) if isinstance(record.value, dict) else record.value
            record.refuse("", "be a logged sample (doc_id, doc, resps, filtered_resps), as the first one is", keys)
        yield record

