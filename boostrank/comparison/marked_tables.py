"""Tables of means for a paper: the best mean is bold, and marks say which differences are significant."""

from __future__ import annotations

from string import ascii_letters
from typing import TYPE_CHECKING

from boostrank.metrics.names import printed_name
from boostrank.significance.paired_tests import LEVEL
from boostrank.tables.text import Marked

if TYPE_CHECKING:
    from boostrank.comparison.comparison import Comparison

LAYOUTS = ("marks", "pairs", "differences")


def marked_rows(comparison: Comparison, layout: str) -> list[list[str | Marked]]:
    """The rows of a table of the layout "marks" or "pairs", below the head."""
    marks = _worse(comparison) if layout == "pairs" else _signs(comparison)
    columns = comparison.table[[comparison.kind, "metric", "mean"]]
    means = {(name, measure): mean for name, measure, mean in columns.itertuples(index=False)}
    best = {measure: max(means[name, measure] for name in comparison.names) for measure in comparison.measures}
    rows: list[list[str | Marked]] = [[comparison.kind, *map(printed_name, comparison.measures)]]
    letters = _letters(comparison) if layout == "pairs" else {}
    for name in comparison.names:
        cells = [
            Marked(f"{means[name, measure]:.4f}", marks[name, measure], means[name, measure] == best[measure])
            for measure in comparison.measures
        ]
        rows.append([Marked(name, letters.get(name, "")), *cells])
    return rows


def _signs(comparison: Comparison) -> dict[tuple[str, str], str]:
    """The sign of each mean that differs significantly from that of the baseline, by name and measure."""
    columns = comparison.table[[comparison.kind, "metric", "difference", "p_holm"]]
    return {
        (name, measure): "" if not p_holm < LEVEL else "+" if difference > 0 else "-"
        for name, measure, difference, p_holm in columns.itertuples(index=False)
    }


def _letters(comparison: Comparison) -> dict[str, str]:
    """A letter for each ranker or run."""
    if len(comparison.names) > len(ascii_letters):
        raise ValueError(
            f"layout='pairs' has letters for at most {len(ascii_letters)} {comparison.kind}s; this comparison has "
            f"{len(comparison.names)}: use layout='marks'"
        )
    return dict(zip(comparison.names, ascii_letters, strict=False))


def _worse(comparison: Comparison) -> dict[tuple[str, str], str]:
    """The letters of the rankers or runs than which each is significantly better, by name and measure."""
    letters = _letters(comparison)
    marks = {(name, measure): "" for name in letters for measure in comparison.measures}
    for measure in comparison.measures:
        tests = comparison.pairwise(measure)
        for first, second, difference in tests[tests["p_holm"] < LEVEL].iloc[:, :3].itertuples(index=False):
            better, worse = (first, second) if difference > 0 else (second, first)
            marks[better, measure] += letters[worse]
    return marks


def table_note(comparison: Comparison, layout: str) -> str:
    """The sentence below a table that says what its marks are: test, correction, level and number of queries."""
    kind, n = comparison.kind, len(comparison.names)
    meaning, n_tests = {
        "marks": (f"+ and -: significantly better and worse than {comparison.baseline}", n - 1),
        "pairs": (f"letters: significantly better than the {kind} with this letter", n * (n - 1) // 2),
        "differences": (f"diff: to {comparison.baseline}; significant if p is below {LEVEL}", n - 1),
    }[layout]
    n_queries = (comparison.per_query[kind] == comparison.baseline).sum()
    best = "" if layout == "differences" else ", the best one bold"
    return (
        f"Means over {n_queries} queries{best}; {meaning}, by the paired randomization test with Holm's correction for "
        f"{n_tests} {'test' if n_tests == 1 else 'tests'} of each measure."
    )
