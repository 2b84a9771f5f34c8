"""The counterparts of objectives of other libraries, for messages."""

from __future__ import annotations

from collections.abc import Mapping

from boostrank.inputs.checks import did_you_mean

_XENDCG = ("rank_xendcg", "xendcg", "xe_ndcg", "xe_ndcg_mart", "xendcg_mart")
#: Objectives of CatBoost, and of papers.
_OF_OTHERS: Mapping[str, str] = {
    **dict.fromkeys(("YetiRank", "YetiRankPairwise", "StochasticRank", "QuerySoftMax"), "softmax"),
    **dict.fromkeys(("PairLogit", "PairLogitPairwise", "RankNet"), "pairwise-logistic"),
    "QueryRMSE": "pairwise-squared",
}
#: What objectives are on each library, by their names elsewhere.
COUNTERPARTS: Mapping[str, Mapping[str, str]] = {
    "LightGBM": {
        **_OF_OTHERS,
        **dict.fromkeys(("rank:ndcg", "rank:map", "LambdaMART"), "lambdarank"),
        "rank:pairwise": "pairwise-logistic",
    },
    "XGBoost": {
        **_OF_OTHERS,
        **dict.fromkeys(("lambdarank", "LambdaMART"), "rank:ndcg"),
        # It is a cross-entropy of the softmax of the scores too.
        **dict.fromkeys(_XENDCG, "softmax"),
    },
}


def question(library: str, objective: object, names: list[str]) -> str:
    """The question whether another objective is meant; empty if none is similar.

    Parameters
    ----------
    library : str
        The library of the ranker.
    objective : object
        What the user gave.
    names : list of str
        The objectives of the ranker.

    Examples
    --------
    >>> question("LightGBM", "rank:ndcg", ["lambdarank", "rank_xendcg"])
    " (did you mean 'lambdarank', its counterpart here?)"
    """
    counterparts = COUNTERPARTS[library]
    if isinstance(objective, str):
        in_lower_case = {name.lower(): counterpart for name, counterpart in counterparts.items()}
        counterpart = in_lower_case.get(objective.lower())
        if counterpart is not None:
            return f" (did you mean {counterpart!r}, its counterpart here?)"
    # A misspelt name of another library is nearer to that than to ours.
    return did_you_mean(objective, [*names, *counterparts], counterparts)
