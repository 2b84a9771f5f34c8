"""The result of a comparison: its tables as data, as text and as Markdown."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

# p-values below this are shown as "<.001".
MIN_SHOWN_P = 0.001
# Differences with an adjusted p-value below this are called significant.
LEVEL = 0.05
# Width of a line of text.
WIDTH = 80


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Result of :func:`boostrank.compare`; if it is printed, it shows a table for each measure.

    Columns of the printed tables are the mean over queries, its difference to that of the baseline, the p-value of the
    difference after Holm's correction for the number of rankers ("p (Holm)"), the numbers of queries won, tied and lost
    against the baseline ("w/t/l"), and the mean number of boosting rounds.

    Attributes
    ----------
    table : DataFrame
        One row per ranker and measure, with the columns:

        ranker, metric
            Names of the ranker and of the measure.
        mean
            Mean over the queries of all folds.
        one column per fold, with its name
            Mean over the queries of the fold.
        difference, p_value, wins, ties, losses
            Result of :func:`boostrank.permutation_test` of the ranker against the baseline.
        p_holm
            p-value after the correction :func:`boostrank.significance.holm` for the rankers in this measure.
        low, high
            95% interval of the difference, of :func:`boostrank.significance.bootstrap_interval`.
        effect
            :func:`boostrank.significance.effect_size` of the difference.
        rounds
            Mean over folds of the number of boosting rounds.

        In rows of the baseline `p_value`, `p_holm`, `low`, `high` and `effect` are NaN.
    per_query : DataFrame
        One row per ranker, fold and query, with the number of boosting rounds and a column for each measure.
    baseline : str
        Name of the baseline.
    """

    table: pd.DataFrame
    per_query: pd.DataFrame
    baseline: str

    @property
    def rankers(self) -> list[str]:
        """Names of the rankers."""
        return list(self.table["ranker"].unique())

    @property
    def measures(self) -> list[str]:
        """Names of the measures."""
        return list(self.table["metric"].unique())

    def cells(self, ranker: str, measure: str) -> list[str]:
        """The cells of a row of the printed table of a measure: mean, diff, p (Holm), w/t/l and rounds, as text.

        The cells diff, p (Holm) and w/t/l of the baseline are empty.
        """
        of_ranker, of_measure = self.table["ranker"] == ranker, self.table["metric"] == measure
        row = self.table[of_ranker & of_measure].iloc[0]
        mean, rounds = f"{row['mean']:.4f}", "" if np.isnan(row["rounds"]) else f"{row['rounds']:.0f}"
        if np.isnan(row["p_holm"]):
            return [mean, "", "", "", rounds]
        p_value = "<.001" if row["p_holm"] < MIN_SHOWN_P else f"{row['p_holm']:.3f}"
        wins = f"{row['wins']:.0f}/{row['ties']:.0f}/{row['losses']:.0f}"
        return [mean, f"{row['difference']:+.4f}", p_value, wins, rounds]

    def conclusion(self, measure: str) -> str:
        """Say in words which rankers differ significantly from the baseline in a measure, at the level 0.05.

        The p-values are those after Holm's correction. The text is empty if there is no ranker besides the baseline.
        """
        rows = self.table[(self.table["metric"] == measure) & (self.table["ranker"] != self.baseline)]
        if rows.empty:
            return ""
        significant = rows["p_holm"] < LEVEL
        if not significant.any():
            who = f"{rows['ranker'].iloc[0]} does not differ" if len(rows) == 1 else "No ranker differs"
            return f"{who} significantly from {self.baseline}."
        parts = []
        for word, signed in (("better", rows["difference"] > 0), ("worse", rows["difference"] < 0)):
            names = ", ".join(rows["ranker"][significant & signed])
            if names:
                parts.append(f"Significantly {word} than {self.baseline}: {names}.")
        n_others = int((~significant).sum())
        if n_others:
            others = "The other does" if n_others == 1 else f"The other {n_others} do"
            parts.append(f"{others} not differ significantly.")
        return " ".join(parts)

    def __repr__(self) -> str:
        return "\n\n".join(self._text_table(measure) for measure in self.measures)

    def to_markdown(self) -> str:
        """Return a Markdown table with one row per ranker.

        It has columns for each measure; wins, ties and losses are those of the last measure.
        """
        head = ["ranker"]
        for measure in self.measures:
            head += [measure, "diff", "p (Holm)"]
        head += ["win/tie/loss", "rounds"]
        lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
        for ranker in self.rankers:
            line = [ranker]
            for measure in self.measures:
                line += self.cells(ranker, measure)[:3]
            line += self.cells(ranker, self.measures[-1])[3:]
            lines.append("| " + " | ".join(line) + " |")
        return "\n".join(lines) + "\n"

    def plot(self, measure: str | None = None, ax: Any = None) -> Any:
        """Plot the differences to the baseline with their intervals.

        Parameters
        ----------
        measure : str, optional
            Name of a measure; the last one by default.
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.

        Returns
        -------
        boostrank.displays.ComparisonDisplay
        """
        from boostrank.displays import ComparisonDisplay

        return ComparisonDisplay.from_comparison(self, self.measures[-1] if measure is None else measure, ax)

    def _text_table(self, measure: str) -> str:
        head = ["ranker", "mean", "diff", "p (Holm)", "w/t/l", "rounds"]
        rows = [head, *([ranker, *self.cells(ranker, measure)] for ranker in self.rankers)]
        widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
        lines = [f"{measure}, compared with {self.baseline}"]
        for row in rows:
            cells = [
                row[0].ljust(widths[0]),
                *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)),
            ]
            lines.append("  ".join(cells))
        # Names of rankers have hyphens, and stay whole.
        lines += textwrap.wrap(self.conclusion(measure), WIDTH, break_on_hyphens=False, break_long_words=False)
        return "\n".join(lines)
