"""How uncertain scores are: the spread over the members of a bag."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from boostrank.inputs.arrays import Floats
from boostrank.inputs.table import Table
from boostrank.queries.queries import Queries
from boostrank.rankers import BaggedRanker
from boostrank.training.data import features_and_qid, id_per_row

_LISTS_ADVICE = (
    "Scores are compared within lists: give qid= or group= as in fit, or a column or an index "
    "'qid' of X, or qid=0 if X is one list."
)


def score_spread(
    bag: BaggedRanker,
    X: Any,
    *,
    qid: ArrayLike | None = None,
    group: ArrayLike | None = None,
) -> Floats:
    """The standard deviation of the scores of a document over the members of a bag.

    A constant added to all scores of a list changes no ranking, so the scores of each member are
    first centred in each list. The spread says how much the score of one member depends on which
    queries it drew. The score of the bag is a mean, and depends less on them. It does not say how
    far scores are from the truth: what all members have in common, such as features that are
    missing, labels that are wrong, or lists that are unlike those of the training, moves all of
    them together, and a member may be sure and wrong.

    Parameters
    ----------
    bag : BaggedRanker
        Fitted, with two members or more; a loaded one has none.
    X : features, shape (n_documents, n_features)
        With all documents of each list.
    qid, group : optional
        The lists, as in ``fit``; also one number, ``qid=0``, which makes one list of all rows.

    Returns
    -------
    ndarray, shape (n_documents,)

    Raises
    ------
    ValueError
        If there are no lists, or fewer than two members.

    Examples
    --------
    >>> import boostrank as br
    >>> X, y, qid = br.make_ranking(n_queries=40, random_state=0)
    >>> bag = br.BaggedRanker(br.LightGBMRanker(n_estimators=20), 4, random_state=0).fit(X, y, qid)
    >>> spread = br.calibration.score_spread(bag, X, qid=qid)
    >>> spread.shape == y.shape, bool((spread > 0).all())
    (True, True)
    """
    if not isinstance(bag, BaggedRanker):
        raise TypeError(f"bag must be a BaggedRanker; got {type(bag).__name__}")
    check_is_fitted(bag, "booster_")
    members = getattr(bag, "estimators_", [])
    if len(members) < 2:
        raise ValueError(
            f"a spread needs two members or more; the bag has {len(members)}. A bag from a model "
            "file has none"
        )
    table, ids = features_and_qid(
        Table(X), None, id_per_row(Table(X), qid), group, "score_spread", _LISTS_ADVICE
    )
    queries = Queries.from_qid(ids)
    centred = []
    for member in members:
        scores = queries.group(member.predict(table.given, qid=queries.qid))
        centred.append(scores - queries.repeat(queries.mean(scores)))
    return queries.ungroup(np.std(centred, axis=0, ddof=1))
