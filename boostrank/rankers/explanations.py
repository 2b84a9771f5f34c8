"""Why a document is ranked above another one: what features add to the difference of scores."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing

from boostrank.inputs.arrays import Ints, check_lengths
from boostrank.inputs.checks import check_count, did_you_mean, is_count, refuse
from boostrank.inputs.streams import FeatureMatrix
from boostrank.inputs.table import Table, TableLike
from boostrank.queries.queries import Queries, table_and_qid
from boostrank.queries.segments import Values
from boostrank.text.tables import html_table, text_lines
from boostrank.training.data import id_per_row

# Number of significant digits of the largest number of a column of contributions.
DIGITS = 4


@dataclass(frozen=True)
class NumberFormat:
    """Formats numbers with a number of decimals; see :func:`number_format`."""

    decimals: int

    def __call__(self, value: float, sign: str = "") -> str:
        """The number as text, with the sign + if `sign` is "+"."""
        # Without "-0.0000".
        return f"{round(value, self.decimals) + 0.0:{sign}.{self.decimals}f}"


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Contributions of the features to the scores of one or two documents of a query, A and B.

    Made by :func:`explain`; printing it shows the features with the largest differences, and
    :class:`boostrank.displays.ContributionDisplay` draws them.

    Attributes
    ----------
    query : query id
    ranks : tuple of int
        Ranks of A and B by score, from 1; only that of A if one document is explained. Documents of
        equal score are ranked in the sequence of their rows.
    rows : tuple of int
        Their rows in the data, from 0.
    table : DataFrame, shape (n_features, 6)
        A row for each feature, the largest absolute difference first. The columns are feature,
        value_a, value_b, contribution_a, contribution_b, and difference, which is contribution_a
        minus contribution_b. For one document, value_b is missing and contribution_b is 0: its
        contributions are differences to the expected score.
    expected_score : float
        The score that contributions start from: a mean of the scores of training documents, as
        trees store it.
    ranking : DataFrame, shape (n_documents, 3)
        All documents of the query by rank, with the columns rank, row and score.

    Examples
    --------
    >>> import numpy as np
    >>> import boostrank as br
    >>> X, y, qid = br.make_ranking(n_queries=20, random_state=0)
    >>> ranker = br.LightGBMRanker().fit(X, y, qid)
    >>> why = br.explain(ranker, X, qid, query=7, ranks=(1, 2))
    >>> scores = ranker.predict(X)[list(why.rows)]
    >>> bool(np.isclose(why.table["difference"].sum(), scores[0] - scores[1]))
    True
    """

    query: object
    ranks: tuple[int, ...]
    rows: tuple[int, ...]
    table: pd.DataFrame
    expected_score: float
    ranking: pd.DataFrame

    @property
    def scores(self) -> tuple[float, ...]:
        """Sums of the contributions and the expected score: the score of A, and that of B."""
        columns = ["contribution_a", "contribution_b"][: len(self.ranks)]
        return tuple(float(self.table[column].sum()) + self.expected_score for column in columns)

    @property
    def difference(self) -> float:
        """The score of A minus that of B, or minus the expected score."""
        return float(self.table["difference"].sum())

    @property
    def head(self) -> str:
        """A sentence that says which documents are explained, and what their difference is."""
        number = number_format([self.difference, *self.scores])
        first = number(self.scores[0])
        text = f"Query {self.query}: A, the document at rank {self.ranks[0]}, has the score {first}"
        if len(self.ranks) == 1:
            return f"{text}, and the expected score is {number(self.expected_score)}."
        text = f"{text}; B, at rank {self.ranks[1]}, has {number(self.scores[1])}"
        text = f"{text}. The difference is {number(self.difference, '+')}."
        places = [rank - 1 for rank in self.ranks]
        is_tie = self.ranking["score"].iloc[places].nunique() == 1
        if is_tie:
            text = f"{text} Documents of equal score are ranked in the sequence of their rows."
        return text

    def summary(self, n_features: int = 10) -> pd.DataFrame:
        """The features with the largest differences, and the sum of all others as one row.

        Parameters
        ----------
        n_features : int, default 10
            Maximum number of features. Those without a difference are always among the others.

        Returns
        -------
        DataFrame
            The columns of `table`. In the last row, if there are other features, `feature` is such
            as "36 other features" and the values are missing. The sum of its differences is that of
            `table`, up to rounding errors.
        """
        check_count("n_features", n_features)
        n_shown = min(int(n_features), int((self.table["difference"] != 0).sum()))
        shown = self.table[:n_shown]
        others = self.table[n_shown:]
        if others.empty:
            return shown
        numbers = others[["contribution_a", "contribution_b", "difference"]].sum()
        name = f"{len(others)} other features"
        if len(others) == 1:
            name = "1 other feature"
        row = {"feature": name, "value_a": None, "value_b": None, **numbers.to_dict()}
        shown = shown.astype({"value_a": object, "value_b": object})
        return pd.concat([shown, pd.DataFrame([row])], ignore_index=True)

    def text_rows(self, n_features: int = 10) -> list[list[str]]:
        """Rows of text of :meth:`summary`, with names of columns above and scores below."""
        summary = self.summary(n_features)
        number = number_format([*self.scores, self.expected_score, *summary["difference"]])
        expected = number(self.expected_score)
        scores = [number(score) for score in self.scores]
        features: list[Any] = list(summary.itertuples())
        if len(self.ranks) == 1:
            head = ["feature", "value", "contribution"]
            rows = [
                [feature_text(row.feature), value_text(row.value_a), number(row.difference, "+")]
                for row in features
            ]
            return [head, *rows, ["expected score", "", expected], ["score", "", *scores]]
        head = ["feature", "value A", "value B", "adds to A", "adds to B", "difference"]
        rows = [
            [
                feature_text(row.feature),
                value_text(row.value_a),
                value_text(row.value_b),
                number(row.contribution_a),
                number(row.contribution_b),
                number(row.difference, "+"),
            ]
            for row in features
        ]
        last = ["score", "", "", *scores, number(self.difference, "+")]
        return [head, *rows, ["expected score", "", "", expected, expected, ""], last]

    def __repr__(self) -> str:
        return "\n".join([self.head, *text_lines(self.text_rows())])

    def _repr_html_(self) -> str:
        """The printed table as HTML, for notebooks."""
        return html_table(self.text_rows(), self.head)


def explain(
    ranker: Any,
    X: TableLike,
    qid: ArrayLike | None = None,
    *,
    query: object = None,
    ranks: int | Sequence[int] | None = None,
) -> Explanation:
    """Explain why one document of a query is ranked above another.

    It says what each feature adds to the difference of their scores.

    The contributions are the SHAP values of the boosting library, ``predict(X,
    pred_contrib=True)``, which TreeSHAP computes exactly: ``score = expected score + sum of the
    contributions``. The expected score is the same for all documents, so that the difference of two
    scores is the sum of the differences of the contributions. Contributions explain the model, and
    not the relevance: a feature that the model does not use has the contribution 0.

    Parameters
    ----------
    ranker : estimator
        A fitted ranker of boostrank or a LGBMRanker. Of a Pipeline, give the last step and the
        features that it gets.
    X : array-like, sparse matrix or DataFrame, shape (n_documents, n_features)
    qid : array-like, shape (n_documents,), optional
        Query ids; by default the column or the index "qid" of `X`. Without any, all rows belong to
        one query, for which a ranker with `query_features` must get one number, ``qid=0``.
    query : query id, optional
        Required if there are several queries.
    ranks : int or two int, optional
        The ranks by score, from 1, of the documents A and B. The default is (1, 2). A single rank
        explains the difference of one score to the expected score, which is also the default for a
        query of one document: the mean of its query would be the document itself.

    Returns
    -------
    Explanation

    Raises
    ------
    ValueError
        For an unknown query, ranks that the query does not have, and arguments of other lengths
        than `X`; and as `predict` of the ranker.
    TypeError
        If the ranker has no contributions.

    References
    ----------
    Lundberg et al., "From local explanations to global understanding with explainable AI for
    trees", Nature Machine Intelligence 2020.

    Examples
    --------
    >>> import numpy as np
    >>> import boostrank as br
    >>> X, y, qid = br.make_ranking(n_queries=40, random_state=0)
    >>> ranker = br.LightGBMRanker(n_jobs=1).fit(X, y, qid)
    >>> explanation = br.explain(ranker, X, qid, query=7, ranks=(1, 3))
    >>> first, third = ranker.predict(X)[list(explanation.rows)]
    >>> bool(np.isclose(explanation.table["difference"].sum(), first - third))
    True
    >>> explanation.summary(n_features=3).shape
    (4, 6)
    """
    table = Table(X)
    table, qid = table_and_qid(table, id_per_row(table, qid))
    features: Any = table.values
    if qid is None:
        ids: Any = np.zeros(features.shape[0], dtype=int)
    else:
        ids = Queries.from_qid(qid).qid
    check_lengths(X=features.shape[0], qid=len(ids))
    query, rows = _rows_of_query(ids, query)
    features = _safe_indexing(features, rows)
    transformer = getattr(ranker, "query_features_", None)
    lists: dict[str, Any] = {}
    if transformer is not None and qid is not None:
        lists = {"qid": ids[rows]}
    scores = np.asarray(ranker.predict(features, **lists), dtype=np.float64)
    permutation = np.argsort(-scores, kind="stable")
    checked_ranks = _check_ranks(ranks, len(rows), query)
    explained = permutation[np.array(checked_ranks) - 1]
    if transformer is None:
        documents = _safe_indexing(features, explained)
        contributions = _contributions(ranker, documents)
        names = getattr(ranker, "feature_names_in_", range(contributions.shape[1] - 1))
    else:
        documents = _safe_indexing(transformer.transform(features, **lists), explained)
        contributions = _contributions(ranker, features, **lists)[explained]
        names = transformer.get_feature_names_out()
    if isinstance(documents, pd.DataFrame):
        names = documents.columns
    ranking = {
        "rank": np.arange(1, len(rows) + 1),
        "row": rows[permutation],
        "score": scores[permutation],
    }
    return Explanation(
        query,
        checked_ranks,
        tuple(rows[explained].tolist()),
        _table(list(names), documents, contributions[:, :-1]),
        float(contributions[0, -1]),
        pd.DataFrame(ranking),
    )


def number_format(values: Sequence[float]) -> NumberFormat:
    """A function that formats numbers with the same number of decimals.

    They are enough for 4 digits of the largest of `values`.

    Examples
    --------
    >>> number = number_format([0.0123456, -0.002])
    >>> number(-0.002), number(0.01, "+")
    ('-0.00200', '+0.01000')
    """
    largest = max((abs(value) for value in values if np.isfinite(value)), default=0.0)
    decimals = DIGITS
    if largest > 0:
        decimals = DIGITS - 1 - int(np.floor(np.log10(largest)))
    return NumberFormat(min(max(decimals, 0), 12))


def value_text(value: Any) -> str:
    """The value of a feature as text, with six digits; empty for None."""
    if value is None:
        return ""
    if isinstance(value, (bool, np.bool_, str)):
        return str(value)
    if pd.isna(value):
        return "missing"
    if isinstance(value, (float, np.floating)):
        return f"{value:.6g}"
    return str(value)


def feature_text(name: object) -> str:
    """Name of a feature; features without names have numbers."""
    if isinstance(name, (int, np.integer)):
        return f"feature {name}"
    return str(name)


def _rows_of_query(ids: Values, query: object) -> tuple[object, Ints]:
    """The id of the query that is explained, and its rows."""
    unique = pd.unique(ids)
    if query is None and len(unique) > 1:
        raise ValueError(
            f"there are {len(unique)} queries; query must be the id of one of them, such as "
            f"{unique[0]!s}"
        )
    if query is None:
        query = unique[0]
    # NumPy would compare the elements of a tuple with the ids.
    wanted = np.empty((), dtype=object)
    wanted[()] = query
    rows = np.flatnonzero(ids == wanted)
    if len(rows) == 0:
        near = did_you_mean(str(query), map(str, unique.tolist()))
        raise ValueError(f"there is no query {query!r} among the {len(unique)} queries{near}")
    return query, rows


def _check_ranks(
    ranks: int | Sequence[int] | None, n_documents: int, query: object
) -> tuple[int, ...]:
    if ranks is None:
        return (1, 2) if n_documents > 1 else (1,)
    checked = tuple(np.atleast_1d(np.asarray(ranks, dtype=object)))
    are_valid = all(is_count(rank) and 1 <= rank <= n_documents for rank in checked)
    if not are_valid or len(checked) not in (1, 2) or len(set(checked)) < len(checked):
        expected = (
            f"one or two different ones, such as (1, 4), of the ranks 1 to {n_documents} of query "
            f"{query}"
        )
        refuse("ranks", ranks, expected)
    return tuple(int(rank) for rank in checked)


def _contributions(ranker: Any, X: FeatureMatrix, **lists: Values) -> NDArray[np.float64]:
    """Contributions and the expected score of the rows, shape (n_rows, n_features + 1)."""
    try:
        values = ranker.predict(X, pred_contrib=True, **lists)
    except TypeError as error:
        name = type(ranker).__name__
        raise TypeError(
            f"{name} has no contributions: predict(X, pred_contrib=True) fails ({error})"
        ) from error
    return np.asarray(_dense(values), dtype=np.float64)


def _dense(values: Any) -> Any:
    """A sparse matrix as an array; an array is returned unchanged."""
    return values.toarray() if hasattr(values, "toarray") else values


def _table(
    names: list[Hashable], X: FeatureMatrix, contributions: NDArray[np.float64]
) -> pd.DataFrame:
    """The attribute `table` of an :class:`Explanation`, from one or two rows of features."""
    if isinstance(X, pd.DataFrame):
        rows = [[X.iloc[i, j] for j in range(X.shape[1])] for i in range(len(X))]
    else:
        rows = _dense(X).tolist()
    # If one document is explained, there is no second row.
    rows.append([None] * len(names))
    a, b, *_ = [*contributions, np.zeros(len(names))]
    table = pd.DataFrame(
        {
            "feature": pd.Series(names, dtype=object),
            "value_a": pd.Series(rows[0], dtype=object),
            "value_b": pd.Series(rows[1], dtype=object),
        }
    )
    table = table.assign(contribution_a=a, contribution_b=b, difference=a - b)
    return table.iloc[np.argsort(-np.abs(a - b), kind="stable")].reset_index(drop=True)
