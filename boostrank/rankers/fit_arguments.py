"""Arguments that ``fit`` of LGBMRanker or XGBRanker takes, and ``fit`` of a ranker does not: what to use instead."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches

#: What to use instead of an argument, by its name.
_INSTEAD = {
    "eval_at": 'give the cutoffs in eval_metric, such as eval_metric=["ndcg@5", "ndcg@10"]',
    "feature_name": "give X as a DataFrame whose columns have these names",
    "categorical_feature": "give X as a DataFrame with columns of a categorical type, or set the parameter "
    "categorical_feature of LightGBMRanker or feature_types of XGBoostRanker",
    "feature_weights": "set the parameter feature_weights of XGBoostRanker",
    "xgb_model": "give init_model",
    "base_margin": "give init_score",
    "base_margin_eval_set": "give eval_init_score",
    "sample_weight_eval_set": "give eval_sample_weight",
    "evals": "give eval_set",
    "verbose_eval": "give verbose",
}


# What `fit` of a ranker takes and that of a BaggedRanker does not.
_ONLY_IN_RANKERS = "only fit of LightGBMRanker and XGBoostRanker has it"
_OUT_OF_BAG = (
    "members stop early on their out-of-bag queries if the ranker has early_stopping_rounds. For other queries use "
    "score or staged_predict of ranker_ after fit"
)
_INSTEAD_IN_BAGS = {
    **dict.fromkeys(("init_score", "init_model", "callbacks", "verbose"), _ONLY_IN_RANKERS),
    **dict.fromkeys(("base_margin", "xgb_model", "verbose_eval"), _ONLY_IN_RANKERS),
    **dict.fromkeys(("eval_set", "eval_X", "eval_y", "eval_group", "eval_qid", "eval_names", "evals"), _OUT_OF_BAG),
}


def refuse_bag_arguments(given: Iterable[str], known: Collection[str]) -> None:
    """Raise TypeError for the first argument of ``BaggedRanker.fit`` that is not known.

    Examples
    --------
    >>> refuse_bag_arguments(["callbacks"], [])
    Traceback (most recent call last):
    ...
    TypeError: BaggedRanker.fit has no argument 'callbacks': only fit of LightGBMRanker and XGBoostRanker has it
    """
    for name in given:
        if name in _INSTEAD_IN_BAGS:
            raise TypeError(f"BaggedRanker.fit has no argument {name!r}: {_INSTEAD_IN_BAGS[name]}")
        refuse_arguments("BaggedRanker.fit", [name], known, [])


def refuse_arguments(receiver: str, given: Iterable[str], known: Collection[str], parameters: Collection[str]) -> None:
    """Raise TypeError for the first argument that was given and is not known.

    Parameters
    ----------
    receiver : str
        Name of the method, for the message.
    given : iterable of str
        Names of the arguments that the method does not have.
    known : collection of str
        Names of the arguments that it has.
    parameters : collection of str
        Names of the parameters of the ranker.

    Examples
    --------
    >>> refuse_arguments("XGBoostRanker.fit", ["xgb_model"], ["init_model"], [])
    Traceback (most recent call last):
    ...
    TypeError: XGBoostRanker.fit has no argument 'xgb_model': give init_model
    """
    for name in given:
        near = get_close_matches(name, known, n=1)
        advice = f"did you mean {near[0]!r}?" if near else "its help lists those that it has"
        if name in parameters:
            advice = f"it is a parameter of the ranker, {receiver.partition('.')[0]}({name}=...)"
        raise TypeError(f"{receiver} has no argument {name!r}: {_INSTEAD.get(name, advice)}")
