"""Classes of measures by name, whose modules are imported when they are looked up."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from boostrank.metrics.base import QueryMeasure
    from boostrank.metrics.click_dcg import ClickDCG

# Module and class of each measure. Most programs need few of the measures, and importing all of them takes a third of
# the time that the first use of a ranker takes.
_PLACES = {
    "ndcg": ("ndcg", "NDCG"),
    "dcg": ("ndcg", "DiscountedCumulativeGain"),
    "precision": ("precision", "Precision"),
    "recall": ("recall", "Recall"),
    "map": ("average_precision", "AveragePrecision"),
    "mean_precision": ("mean_precision", "MeanPrecision"),
    "mrr": ("reciprocal_rank", "ReciprocalRank"),
    "err": ("err", "ExpectedReciprocalRank"),
    "rbp": ("rbp", "RankBiasedPrecision"),
    "success": ("success", "Success"),
    "rprec": ("r_precision", "RPrecision"),
    "iprec": ("interpolated_precision", "InterpolatedPrecision"),
    "bpref": ("bpref", "BinaryPreference"),
    "kendall_tau": ("kendall_tau", "KendallTau"),
    "auc": ("auc", "AUC"),
    "agreement": ("agreement", "Agreement"),
    "judged": ("judged", "Judged"),
    "infap": ("inferred_ap", "InferredAP"),
    "accuracy": ("pair_accuracy", "PairAccuracy"),
    "setp": ("set_measures", "SetPrecision"),
    "setr": ("set_measures", "SetRecall"),
    "setf": ("set_measures", "SetF"),
    "setap": ("set_measures", "SetAveragePrecision"),
    "numq": ("counts", "NumberOfQueries"),
    "numrel": ("counts", "NumberOfRelevant"),
    "numret": ("counts", "NumberOfRetrieved"),
    "compat": ("compatibility", "Compatibility"),
    "inst": ("user_models", "INST"),
    "insq": ("user_models", "INSQ"),
    "bpm": ("user_models", "BejeweledPlayer"),
    "sdcg": ("user_models", "ScaledDCG"),
    "nerr8": ("user_models", "NERR8"),
    "nerr9": ("user_models", "NERR9"),
    "nerr10": ("user_models", "NERR10"),
    "nerr11": ("user_models", "NERR11"),
    "alpha_dcg": ("novelty", "AlphaDCG"),
    "alpha_ndcg": ("novelty", "AlphaNDCG"),
    "err_ia": ("novelty", "IntentAwareERR"),
    "nerr_ia": ("novelty", "NormalizedIntentAwareERR"),
    "nrbp": ("novelty", "NoveltyRBP"),
    "nnrbp": ("novelty", "NormalizedNoveltyRBP"),
    "subtopic_recall": ("novelty", "SubtopicRecall"),
    "precision_ia": ("novelty", "IntentAwarePrecision"),
    "map_ia": ("novelty", "IntentAwareMAP"),
}


class _Classes(Mapping[str, type[Any]]):
    """Classes by name; the names are known without importing the classes."""

    def __init__(self, places: Mapping[str, tuple[str, str]]) -> None:
        self._places = places

    def __getitem__(self, name: str) -> type[Any]:
        module, measure = self._places[name]
        return cast("type[Any]", getattr(importlib.import_module(f"boostrank.metrics.{module}"), measure))

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        return f"<classes of the measures {', '.join(self)}>"


#: Classes of measures by the name that :func:`boostrank.metrics.get_measure` takes.
MEASURES: Mapping[str, type[QueryMeasure]] = _Classes(_PLACES)
#: The same with the measure of clicks, which is no mean of values of queries, but has a name too.
ALL_MEASURES: Mapping[str, type[QueryMeasure | ClickDCG]] = _Classes(
    {**_PLACES, "click-dcg": ("click_dcg", "ClickDCG")}
)
