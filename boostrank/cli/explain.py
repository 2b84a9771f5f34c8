"""``boostrank explain``: why one document of a query is ranked above another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from boostrank.cli import reports
from boostrank.cli.documents import ModelFeatures, read_documents
from boostrank.cli.options import (
    OUTPUT,
    DataPath,
    DropOption,
    FeaturesOption,
    LabelOption,
    ModelPath,
    OutputOption,
    QidOption,
    console,
    option,
    refuse_unused,
)
from boostrank.cli.predict import ranker_of_file
from boostrank.cli.reports import OutputFiles
from boostrank.cli.tables import ColumnOptions
from boostrank.displays import ContributionDisplay
from boostrank.inspection.explanations import Explanation, number_format
from boostrank.inspection.explanations import explain as explain_ranking

# Number of documents of the printed ranking, besides those that are explained.
N_RANKED = 10
SHOWN = "What is explained"


def explain(
    model: ModelPath,
    data: DataPath,
    query: Annotated[str | None, option(SHOWN, "ID", "Query; needed if DATA has several.")] = None,
    documents: Annotated[
        str | None,
        option(SHOWN, "A,B", "Ranks of two documents by their scores (by default 1,2), or of one: its score."),
    ] = None,
    top: Annotated[int, option(SHOWN, "N", "Number of features to show; one row sums up the others.", min=1)] = 10,
    qid: QidOption = None,
    label: LabelOption = None,
    features: FeaturesOption = None,
    drop: DropOption = None,
    output: OutputOption = None,
    plot: Annotated[Path | None, option(OUTPUT, "FILE", "Image file for a plot of the contributions.")] = None,
) -> None:
    """Explain why one document of a query is ranked above another.

    The difference of their scores is the sum of contributions of the
    features, which are the SHAP values that LightGBM and XGBoost compute. A
    query of one document has no other: its score is explained, from the
    expected score on. Features of a LETOR file have its numbers.
    """
    ranks = None if documents is None else parse_ranks(documents)
    files = OutputFiles(output, plot)
    files.check()
    ranker = ranker_of_file(model).load_model(model)
    known = ModelFeatures.of(ranker)
    if known.names is not None:
        refuse_unused("a model without names of features", features=features, drop=drop)
    found = read_documents(data, ColumnOptions(qid, label, features, drop), model=known, needs_label=False)
    assert found.qid is not None
    # The option is a text, and ids may be numbers.
    same = found.qid[found.qid.astype(str) == query]
    chosen = same[0] if len(same) else query
    # The numbers of features in LETOR files begin with 1.
    unnamed = range(1, found.X.shape[1] + 1) if found.feature_names is None else None
    names = unnamed if getattr(ranker, "feature_names_in_", None) is None else ranker.feature_names_in_
    explanation = explain_ranking(ranker, found.X, found.qid, query=chosen, ranks=ranks, y=found.y, feature_names=names)
    _show(explanation, data, top)
    files.write_table(explanation.table, explanation.text_rows(top), 2 if len(explanation.ranks) == 1 else 3)
    files.write_plot(lambda: ContributionDisplay(explanation, top).plot().figure_)


def parse_ranks(text: str) -> list[int]:
    """The ranks of ``--documents``, one or two.

    Examples
    --------
    >>> parse_ranks("1, 4")
    [1, 4]
    """
    parts = [part.strip() for part in text.split(",")]
    if len(parts) > 2 or not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise ValueError(f"--documents must be one rank or two, counted from 1, such as 1,4; got {text!r}")
    return [int(part) for part in parts]


def _show(explanation: Explanation, data: Path, top: int) -> None:
    """Print the ranking, the sentence and the table of contributions."""
    n_documents = len(explanation.ranking)
    ranked = ", ranked by score" if n_documents > 1 else ""
    console.print(f"query {explanation.query}: {reports.counted(n_documents, 'document')}{ranked}", soft_wrap=True)
    reports.show_table(ranking_rows(explanation))
    console.print()
    reports.show_text(explanation.head)
    reports.show_table(explanation.text_rows(top), 1)
    adds = "what the value of the feature adds to the score, its SHAP value."
    if len(explanation.ranks) == 2:
        adds = f"adds to A, adds to B: {adds} difference: of these two; all of them add up to that of the scores."
    else:
        adds = f"contribution: {adds}"
    reports.show_text(
        f"{adds} expected score: a mean of the scores of training documents, which the model stores. row: number of "
        f"the document in {data.name}."
    )


def ranking_rows(explanation: Explanation) -> list[list[str]]:
    """Rows of text of the first documents of the query, and of those that are explained, below the head."""
    table = explanation.ranking
    number = number_format(table["score"].tolist())
    names = dict(zip(explanation.ranks, "AB", strict=False))
    has_labels = "label" in table
    rows = [["", "rank", "row", *(["label"] if has_labels else []), "score"]]
    before = 0
    row: Any
    for row in table[(table["rank"] <= N_RANKED) | table["rank"].isin(names)].itertuples():
        if row.rank > before + 1:
            rows.append(["...", *[""] * (len(rows[0]) - 1)])
        before = row.rank
        label = [f"{row.label:g}"] if has_labels else []
        rows.append([names.get(row.rank, ""), str(row.rank), str(row.row + 1), *label, number(row.score)])
    if before < len(table):
        rows.append(["...", *[""] * (len(rows[0]) - 1)])
    return rows
