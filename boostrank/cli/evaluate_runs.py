"""The part of ``boostrank evaluate`` for runs: measures of one run, or a comparison of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from boostrank.cli import reports
from boostrank.cli.options import console
from boostrank.cli.output_files import OutputFiles
from boostrank.comparison import Comparison, compare_runs
from boostrank.datasets import read_qrels, read_run
from boostrank.datasets.trec_tables import QUERY
from boostrank.metrics import Measure
from boostrank.metrics.query_groups import GROUP
from boostrank.metrics.runs import evaluate_run


def run_names(paths: Sequence[Path], tags: Sequence[str]) -> list[str]:
    """Names of runs: their tags if these are different, else the names of their files without ending, else the paths.

    Examples
    --------
    >>> run_names([Path("a/bm25.run.gz"), Path("b/dense.txt")], ["x", "x"])
    ['bm25', 'dense']
    >>> run_names([Path("a/bm25.run"), Path("b/bm25.run")], ["x", "x"])
    ['a/bm25.run', 'b/bm25.run']
    """
    stems = [path.name.removesuffix(".gz").rpartition(".")[0] or path.name for path in paths]
    candidates = [list(tags), stems, [str(path) for path in paths]]
    return next((names for names in candidates if len(set(names)) == len(names)), candidates[-1])


def evaluate_one(
    qrels: Path,
    run: Path,
    measures: dict[str, Measure],
    settings: dict[str, Any],
    by: pd.Series | None,
    files: OutputFiles,
) -> None:
    """Print measures of a run, and write them to files."""
    judgments, table = read_qrels(qrels), read_run(run)
    result: Any = evaluate_run(judgments, table, measures, **settings, by=by)
    ids, in_run = judgments[QUERY].unique(), table[QUERY].unique()
    if settings["queries"] == "common":
        ids = ids[np.isin(ids, in_run)]
    n_documents = int(table[QUERY].isin(ids).sum())
    console.print(f"{len(ids)} queries, {n_documents} documents retrieved")
    show_values(measures, result, files, {"ties": settings["ties"]})
    if files.per_query is not None:
        # The warning about queries, if there is one, was given above.
        settings = {**settings, "queries": settings["queries"] or "judged"}
        values: Any = evaluate_run(judgments, table, measures, **settings, by=by, per_query=True)
        files.write_per_query(values.reset_index())


def show_values(
    measures: dict[str, Measure], result: Any, files: OutputFiles, changed: Mapping[str, str] | None = None
) -> None:
    """Print a dict of means, or a table of means by group, and write it to a file.

    `changed` are settings that replaced those of the measures.
    """
    n_texts = 1 if isinstance(result, dict) else 2
    if isinstance(result, dict):
        reports.show_table(reports.measure_rows(measures, list(result.values()), changed), last_is_text=True)
        table = pd.DataFrame({"metric": list(result), "value": list(result.values())})
        rows = [["measure", "value"], *([name, f"{value:.6f}"] for name, value in result.items())]
    else:
        table, rows = result, group_rows(result)
        for name in measures:
            console.print(f"{name} by {GROUP}")
            shown = [row[1:] for row in rows if row[0] in (name, rows[0][0])]
            reports.show_table(shown)
            console.print()
        sums = " Counts are sums." if any(getattr(measure, "is_sum", False) for measure in measures.values()) else ""
        reports.show_text(f"95% interval: that of the mean, by Student's t distribution.{sums}")
    files.write_table(table, rows, n_texts)


def group_rows(means: pd.DataFrame) -> list[list[str]]:
    """Rows of text of the means by group that :func:`boostrank.evaluate` returns, below the head."""
    rows = [["measure", GROUP, "queries", "mean", "95% interval"]]
    row: dict[Any, Any]
    for row in means.to_dict("records"):
        interval = "" if np.isnan(row["low"]) else f"{row['low']:.4f} to {row['high']:.4f}"
        rows.append([row["metric"], str(row[GROUP]), str(row["queries"]), f"{row['mean']:.4f}", interval])
    return rows


def compare_several(
    qrels: Path,
    runs: Sequence[Path],
    measures: dict[str, Measure],
    settings: dict[str, Any],
    by: pd.Series | None,
    files: OutputFiles,
    baseline: str | None,
    seed: int,
) -> None:
    """Print a comparison of runs, and write it to files."""
    repeated = [path for i, path in enumerate(runs) if path in runs[:i]]
    if repeated:
        raise ValueError(f"--run {repeated[0]} is given twice")
    judgments, tables = read_qrels(qrels), [read_run(path) for path in runs]
    names = run_names(runs, [table.attrs["tag"] for table in tables])
    if baseline is not None and baseline not in names:
        by_path = dict(zip(map(str, runs), names, strict=True))
        if baseline not in by_path:
            raise ValueError(f"--baseline must be one of the runs {', '.join(names)}; got {baseline!r}")
        baseline = by_path[baseline]
    named = dict(zip(names, tables, strict=True))
    comparison = compare_runs(judgments, named, measures, **settings, by=by, baseline=baseline, random_state=seed)
    n_queries = comparison.per_query["query"].nunique()
    console.print(f"{n_queries} queries, {len(runs)} runs\n")
    _show(comparison, list(measures)[-1], files)


def _show(comparison: Comparison, plotted: str, files: OutputFiles) -> None:
    reports.show_comparison(comparison)
    n_tests = "runs" if comparison.groups is None else "runs, and by group for that of groups and runs"
    reports.show_text(
        "diff: difference to the baseline. p (Holm): p-value of a two-sided paired randomization test over queries, "
        f"adjusted by Holm's method for the number of {n_tests}; significant is below 0.05. w/t/l: queries won, tied "
        "and lost."
    )
    files.write_comparison(comparison, plotted)
