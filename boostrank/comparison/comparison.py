"""The result of a comparison: paired tests of differences to a baseline, and tables of them."""

from __future__ import annotations

import importlib.metadata
import os
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, combinations
from string import ascii_letters
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from boostrank.comparison.differences import (
    GROUP,
    difference_table,
    groups_of,
    paired_test,
    rows_by_name,
)
from boostrank.inputs.checks import check_choice
from boostrank.inputs.files import write_lines
from boostrank.metrics.names import printed_name
from boostrank.significance import holm
from boostrank.significance.paired_tests import DOUBT, LEVEL, PairedTest, shown_p
from boostrank.text.tables import (
    Marked,
    escape_latex,
    html_table,
    latex_table,
    markdown_table,
    text_lines,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from boostrank.displays import ComparisonDisplay, QueryDifferencesDisplay
    from boostrank.metrics import Measure

LAYOUTS = ("marks", "pairs", "differences")
# Width of a line of text.
WIDTH = 80


class TextTable(NamedTuple):
    """The printed table of a measure; the first row is the head, and the first column has names."""

    title: str
    rows: list[list[str]]
    conclusions: list[str]


@dataclass(eq=False, repr=False)
class Comparison:
    """Result of :func:`boostrank.compare` and :func:`boostrank.compare_runs`.

    Printed, it shows a table per measure.

    The tests are over queries, and take the trained rankers as they are: another training may give
    another result. Printed tables say so where a difference is significant, and where
    :func:`boostrank.permutation_test` would warn. If queries have groups, the tests are over these.
    With repeated folds, the tests are over the folds, and count the training: printed tables say
    that.

    Columns of the printed tables are the mean over queries, its difference to that of the baseline,
    the p-value of the difference after Holm's correction for the number of rankers or runs ("p
    (Holm)", ">0.5" where it is larger), the numbers of queries, or of groups or repeated folds,
    won, tied and lost against the baseline ("w/t/l"), and the mean number of boosting rounds, where
    rankers were trained. :meth:`to_text` adds how long trainings take.

    Parameters
    ----------
    per_query : DataFrame
        One row per ranker, fold and query, with the number of boosting rounds and the seconds of
        the training, "relevant", the number of documents with a label above 0 if the labels are
        relevance, and a column for each measure; if folds are repeated, a row for each repetition,
        with its number as "repetition"; or one row per run and query, with the columns "run",
        "query" and "relevant", and a column for each measure. The queries of all rankers or runs
        are in the same sequence. If queries belong together, the column "group" has the group of
        each.
    measures : list of str
        Names of the measures.
    baseline : str
        Name of the baseline.
    kind : {"ranker", "run"}, default "ranker"
        Kind of the things that are compared, and name of their column.
    n_permutations : int, default 10_000
    random_state : int or None, default 0
        Those of the permutation tests.
    settings : dict of str to str
        Parameters of the rankers, seeds, and versions, as text.

    Attributes
    ----------
    table : DataFrame
        One row per ranker or run and measure, with the columns:

        ranker or run, metric
            Names of the ranker or the run, and of the measure.
        mean
            Mean over the queries, for rankers those of all folds; or mean over repeated folds.
        one column per fold, with its name (only for rankers)
            Mean over the queries of the fold.
        difference, p_value, wins, ties, losses, skewness
            Result of :func:`boostrank.permutation_test` against the baseline, by groups if queries
            have groups; for repeated folds, of
            :func:`boostrank.significance.corrected_resampled_t_test` on the means of the folds.
        p_holm
            p-value after the correction :func:`boostrank.significance.holm` for the rankers or runs
            in this measure.
        low, high
            95% interval of the difference, of :func:`boostrank.significance.confidence_interval`.
        effect
            :func:`boostrank.significance.effect_size` of the difference, over queries, also by
            groups, or over repeated folds.
        rounds (only for rankers)
            Mean over folds of the number of boosting rounds.
        seconds (only for rankers)
            Median over folds of the time of a training.

        In rows of the baseline `p_value`, `skewness`, `p_holm`, `low`, `high` and `effect` are NaN.

    Examples
    --------
    >>> import boostrank as br
    >>> X, y, qid = br.make_ranking(n_queries=30, random_state=0)
    >>> rankers = {"LambdaMART": br.LightGBMRanker("lambdarank"), "default": br.LightGBMRanker()}
    >>> result = br.compare(rankers, X, y, qid, cv=3, measures=["ndcg@5", "map"])
    >>> result.names, result.measures, result.baseline, len(result.per_query)
    (['LambdaMART', 'default'], ['ndcg@5', 'map'], 'LambdaMART', 60)
    >>> ours = result.table.set_index(["ranker", "metric"]).loc[("default", "ndcg@5")]
    >>> bool(ours["low"] < ours["difference"] < ours["high"])
    True
    """

    per_query: pd.DataFrame
    measures: list[str]
    baseline: str
    kind: str = "ranker"
    n_permutations: int = 10_000
    random_state: int | None = 0
    settings: Mapping[str, str] = field(default_factory=dict)
    table: pd.DataFrame = field(init=False)

    def __post_init__(self) -> None:
        self.table = difference_table(
            self.per_query, self.measures, self.kind, self.baseline, **self._test_settings
        )

    @property
    def names(self) -> list[str]:
        """Names of the rankers or runs."""
        return list(self.table[self.kind].unique())

    @property
    def repeats(self) -> int:
        """How often folds were drawn, for tests over folds; 0 if tests are over queries."""
        if "repetition" not in self.per_query:
            return 0
        return self.per_query["repetition"].nunique()

    @property
    def test(self) -> tuple[str, str]:
        """Name of the test, and what it is over."""
        if self.repeats:
            return "corrected resampled t-test", "folds"
        return "paired randomization test", "groups" if GROUP in self.per_query else "queries"

    @property
    def _test_settings(self) -> dict[str, Any]:
        """The arguments of :func:`paired_test`."""
        return {
            "n_permutations": self.n_permutations,
            "random_state": self.random_state,
            "repeats": self.repeats,
        }

    @property
    def counts(self) -> str:
        """The number of queries, and of their groups if they have some, in words."""
        n_queries = len(rows_by_name(self.per_query, self.kind, "query")[self.baseline])
        if GROUP not in self.per_query:
            return f"{n_queries:,} queries"
        return f"{n_queries:,} queries in {self.per_query[GROUP].nunique():,} groups"

    @property
    def heads(self) -> list[str]:
        """Names of the columns of the printed table of a measure; rankers or runs are its rows."""
        heads = ["mean", "diff", "p (Holm)", "w/t/l"]
        if "rounds" in self.table:
            heads.append("rounds")
        return heads

    def cells(self, name: str, measure: str) -> list[str]:
        """The texts of mean, diff, p (Holm), w/t/l and rounds in the printed table of a measure.

        The cells diff, p (Holm) and w/t/l of the baseline are empty. Runs have no cell for rounds.
        """
        row: Any = self.rows_of(measure).loc[name]
        cells = [f"{row['mean']:.4f}", "", "", ""]
        if not np.isnan(row["p_holm"]):
            wins = f"{row['wins']:.0f}/{row['ties']:.0f}/{row['losses']:.0f}"
            cells[1:] = [f"{row['difference']:+.4f}", shown_p(row["p_holm"]), wins]
        if "rounds" in row:
            cells.append("" if np.isnan(row["rounds"]) else f"{row['rounds']:.0f}")
        return cells

    def find_measure(self, measure: str | Measure | None = None) -> str:
        """Name of a measure of the comparison, by default the last one.

        Raises ValueError if there is no such measure.
        """
        name = self.measures[-1] if measure is None else str(measure)
        check_choice("measure", name, self.measures)
        return name

    def rows_of(self, measure: str) -> pd.DataFrame:
        """The rows of `table` of a measure, by the names of the rankers or runs."""
        return self.table[self.table["metric"] == measure].set_index(self.kind)

    def conclusion(self, measure: str) -> str:
        """Say in words which rankers or runs differ significantly from the baseline in a measure.

        The level is 0.05, and the p-values are those after Holm's correction. The text is empty if
        there is only the baseline.
        """
        rows = self.rows_of(measure).drop(self.baseline)
        others = rows.index
        if others.empty:
            return ""
        rows = rows[rows["p_holm"] < LEVEL]
        words = {"better": rows["difference"] > 0, "worse": rows["difference"] < 0}
        sentences = []
        for word, signed in words.items():
            if signed.any():
                names = ", ".join(rows.index[signed])
                sentences.append(f"Significantly {word} than {self.baseline}: {names}.")
        if sentences:
            return " ".join(sentences)
        if len(others) == 1:
            return f"{others[0]} does not differ significantly from {self.baseline}."
        return f"No {self.kind} differs significantly from {self.baseline}."

    def best(self, measure: str) -> str:
        """Say in words which ranker is the best in a measure, by how much, and in what time."""
        rows = self.rows_of(measure)
        name = str(rows["mean"].idxmax())
        if name == self.baseline:
            return f"Best: {name}."
        gain = f"{printed_name(measure)} {rows['difference'][name]:+.4f} to {self.baseline}"
        factor = rows["seconds"][name] / rows["seconds"][self.baseline]
        return f"Best: {name}, {gain}, in {factor:.1f} times its time."

    def __repr__(self) -> str:
        return self.to_text()

    def to_text(self, *, times: bool = False) -> str:
        """Return the printed tables as text.

        Parameters
        ----------
        times : bool, default False
            True adds a column "time", that of a training as a multiple of the baseline's, and a
            line that says which ranker has the best mean. Only for rankers.
        """
        # Names of rankers have hyphens, and stay whole.
        lines = partial(textwrap.wrap, width=WIDTH, break_on_hyphens=False, break_long_words=False)
        texts = []
        for table in self.text_tables(times):
            conclusions = chain.from_iterable(map(lines, table.conclusions))
            texts.append("\n".join([table.title, *text_lines(table.rows), *conclusions]))
        return "\n".join(["\n\n".join(texts), *lines(self.caveats())])

    def _repr_html_(self) -> str:
        """The printed tables as HTML, for notebooks."""
        parts = [
            html_table(table.rows, table.title, notes=table.conclusions)
            for table in self.text_tables()
        ]
        if caveats := self.caveats():
            parts.append(f"<p>{caveats}</p>")
        return "\n".join(parts)

    def caveats(self) -> str:
        """The sentences on tests: what they take as given, and whether there are too few queries.

        Those of tests over queries or groups are only for a significant difference.
        """
        if self.repeats:
            return (
                f"Corrected resampled t-tests over folds drawn {self.repeats} times: they count "
                "training on other queries with other seeds; tests over queries do not."
            )
        sentences = []
        if (self.table["p_holm"] < LEVEL).any():
            sentences.append(f"The tests are over {self.test[1]}, not over trainings.")
        tests = self.table.assign(p_value=self.table["p_holm"])[[*PairedTest._fields]]
        if any(PairedTest(*row).is_doubtful for row in tests.itertuples(index=False)):
            sentences.append(DOUBT.format(self.test[1]))
        return " ".join(sentences)

    def text_tables(self, times: bool = False) -> Iterator[TextTable]:
        """The printed table of each measure; `times` is that of :meth:`to_text`."""
        for measure in self.measures:
            rows = [row[1:] for row in self._difference_rows([measure])]
            conclusions = [self.conclusion(measure)]
            if times:
                seconds = self.rows_of(measure)["seconds"]
                factors = map("{:.1f}".format, seconds / seconds[self.baseline])
                rows = [[*row, cell] for row, cell in zip(rows, ["time", *factors], strict=True)]
                conclusions.append(self.best(measure))
            title = f"{printed_name(measure)}, compared with {self.baseline}"
            yield TextTable(title, rows, conclusions)

    def to_markdown(self, layout: str = "marks") -> str:
        """Return a Markdown table of the means of rankers or runs, and a note below it.

        Parameters
        ----------
        layout : {"marks", "pairs", "differences"}, default "marks"
            "marks": means, the best in bold, with the sign + or - where they differ significantly
            from the baseline. "pairs": the same with letters for the rankers or runs than which
            they are significantly better. "differences": one row per measure and ranker or run,
            with the columns of the printed tables.

        Raises
        ------
        ValueError
            If the layout is unknown.
        """
        rows, n_texts, note = self._note_table(layout)
        return f"{markdown_table(rows, n_texts)}\n{note}\n"

    def to_latex(self, layout: str = "marks") -> str:
        """Return the table of :meth:`to_markdown` for LaTeX; its caption is the note.

        It needs the package booktabs.
        """
        rows, n_texts, note = self._note_table(layout)
        parts = [
            r"\begin{table}",
            r"\centering\small",
            rf"\caption{{{escape_latex(note)}}}",
            r"\medskip",
            latex_table(rows, n_texts) + r"\end{table}",
        ]
        return "\n".join(parts) + "\n"

    def pairwise(self, measure: str | Measure | None = None) -> pd.DataFrame:
        """Test the differences of all pairs of rankers or runs in a measure.

        The test is that of the comparison.

        Parameters
        ----------
        measure : str or Measure, optional
            A measure of the comparison, such as "ndcg@10"; the last one by default.

        Returns
        -------
        DataFrame
            One row per pair: the names, the results of the test as in `table`, where the first of
            the two has the larger value in `wins`, and "p_holm", the p-value after Holm's
            correction for the number of pairs.

        Raises
        ------
        ValueError
            If the comparison has no such measure.

        Examples
        --------
        >>> import boostrank as br
        >>> qrels = {str(i): {"a": 1, "b": 0} for i in range(8)}
        >>> good, bad = ({query: {"a": score, "b": 0.5} for query in qrels} for score in (1.0, 0.0))
        >>> comparison = br.compare_runs(qrels, {"good": good, "same": good, "bad": bad}, "RR")
        >>> comparison.pairwise()[["run", "other_run", "difference", "p_holm"]].round(3)
            run other_run  difference  p_holm
        0  good      same         0.0   1.000
        1  good       bad         0.5   0.023
        2  same       bad         0.5   0.023
        """
        column = self.find_measure(measure)
        rows_of = rows_by_name(self.per_query, self.kind)
        values = {name: rows[column].to_numpy() for name, rows in rows_of.items()}
        settings = {"groups": groups_of(rows_of[self.baseline]), **self._test_settings}
        tests = []
        for first, second in combinations(values, 2):
            test = paired_test(values[first], values[second], **settings)
            tests.append((first, second, *test))
        columns = [self.kind, f"other_{self.kind}", *PairedTest._fields]
        table = pd.DataFrame(tests, columns=columns)
        return table.assign(p_holm=holm(table["p_value"]))

    def plot(
        self, measure: str | Measure | None = None, ax: Axes | None = None
    ) -> ComparisonDisplay:
        """Plot the differences to the baseline with their intervals.

        The parameters are those of :meth:`boostrank.displays.ComparisonDisplay.from_comparison`,
        which makes the display that is returned.
        """
        return _extension("comparison")(self, measure, ax)

    def plot_queries(
        self,
        name: str | None = None,
        measure: str | Measure | None = None,
        ax: Axes | None = None,
    ) -> QueryDifferencesDisplay:
        """Plot the differences of each query.

        The parameters are those of
        :meth:`boostrank.displays.QueryDifferencesDisplay.from_comparison`, which makes the display
        that is returned.
        """
        return _extension("queries")(self, name, measure, ax)

    def save_html(self, path: str | os.PathLike[str], measure: str | Measure | None = None) -> None:
        """Write a report as one HTML file, for a browser, a phone and paper.

        The file needs no other files. It has the printed tables; for one measure a plot of the
        differences, and the queries on which the best ranker or run loses most against the
        baseline; and the settings. This method needs matplotlib.

        Parameters
        ----------
        path : str or os.PathLike
        measure : str or Measure, optional
            A measure of the comparison, such as "ndcg@10"; the last one by default.

        Raises
        ------
        ValueError
            If the comparison has no such measure.
        """
        report = _extension("report")(self, self.find_measure(measure))
        write_lines(path, [report])

    def _note_table(self, layout: str) -> tuple[list[list[Any]], int, str]:
        """The rows of a table with the head, its number of columns of texts, and its note."""
        check_choice("layout", layout, LAYOUTS)
        if layout == "differences":
            return self._difference_rows(self.measures), 2, self._note(layout)
        # Means with marks are aligned left, so that their digits are below each other.
        return self._marked_rows(layout), 1 + len(self.measures), self._note(layout)

    def _difference_rows(self, measures: list[str]) -> list[list[str]]:
        """Rows of text, a row per measure and ranker or run, below the head."""
        rows = [["measure", self.kind, *self.heads]]
        for measure in measures:
            titles = [printed_name(measure), *[""] * (len(self.names) - 1)]
            rows += [
                [title, name, *self.cells(name, measure)]
                for title, name in zip(titles, self.names, strict=True)
            ]
        return rows

    def _marked_rows(self, layout: str) -> list[list[str | Marked]]:
        """Rows of means with marks, a row per ranker or run, below the head."""
        letters: dict[str, str] = {}
        if layout == "pairs":
            letters = dict(zip(self.names, ascii_letters[: len(self.names)], strict=True))
        columns = [[Marked(name, letters.get(name, "")) for name in self.names]]
        for measure in self.measures:
            marks = self._worse(measure, letters) if letters else self._signs(measure)
            means = self.rows_of(measure)["mean"]
            best = means.max()
            columns.append(
                [
                    Marked(f"{mean:.4f}", marks.get(name, ""), mean == best)
                    for name, mean in means.items()
                ]
            )
        head = [self.kind, *map(printed_name, self.measures)]
        return [head, *map(list, zip(*columns, strict=True))]

    def _signs(self, measure: str) -> dict[Any, str]:
        """The sign of each mean that differs significantly from that of the baseline, by name."""
        rows = self.rows_of(measure)
        differences = rows["difference"][rows["p_holm"] < LEVEL]
        return {name: "+" if value > 0 else "-" for name, value in differences.items()}

    def _worse(self, measure: str, letters: Mapping[str, str]) -> dict[Any, str]:
        """The letters of the rankers or runs than which each is significantly better, by name."""
        marks = dict.fromkeys(letters, "")
        tests = self.pairwise(measure)
        significant = tests[tests["p_holm"] < LEVEL]
        pairs = significant[[self.kind, f"other_{self.kind}", "difference"]]
        for better, worse, difference in pairs.itertuples(index=False):
            if difference <= 0:
                better, worse = worse, better
            marks[better] += letters[worse]
        return marks

    def _note(self, layout: str) -> str:
        """The sentences below a table: its marks, the tests, their level and number of queries."""
        n = len(self.names)
        n_tests = n - 1
        best = ", the best one bold"
        if layout == "marks":
            meaning = f"+ and -: significantly better and worse than {self.baseline}"
        elif layout == "pairs":
            meaning = f"letters: significantly better than the {self.kind} with this letter"
            n_tests = n * (n - 1) // 2
        else:
            meaning = f"diff: to {self.baseline}; significant if p is below {LEVEL}"
            best = ""
        tests = "test" if n_tests == 1 else "tests"
        note = (
            f"Means over {self.counts}{best}; {meaning}, by the {self.test[0]} with Holm's "
            f"correction for {n_tests} {tests} of each measure. {self.caveats()}"
        )
        return note.rstrip()


def check_named(kind: str, named: object, baseline: str | None) -> str:
    """The name of the baseline, by default the first.

    Raises TypeError unless `named` is a dict by names that can be printed.

    Examples
    --------
    >>> check_named("run", {"a": 1, "b": 2}, None)
    'a'
    """
    names = list(named) if isinstance(named, Mapping) else []
    if not names or not all(map(_is_name, names)):
        raise TypeError(
            f"{kind}s must be a dict of one or more {kind}s by name, a printable text; got "
            f"{named!r:.100}"
        )
    if baseline is None:
        baseline = names[0]
    check_choice("baseline", baseline, names)
    return baseline


def _is_name(name: object) -> bool:
    """Whether a name is a text that can be printed, with line ends or without."""
    return isinstance(name, str) and name.replace("\n", "a").isprintable()


def _extension(name: str) -> Any:
    """The function of an entry point, which draws or reports a comparison."""
    for entry_point in importlib.metadata.entry_points(group="boostrank.displays", name=name):
        return entry_point.load()
    raise ImportError(
        f"no installed package has the entry point {name!r} of boostrank.displays: pip install "
        f"boostrank"
    )
