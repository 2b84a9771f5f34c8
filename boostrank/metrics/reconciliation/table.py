"""Conventions of the metrics of other libraries, in one table. Tests compare it with the libraries.

The conventions are those of scikit-learn 1.9, LightGBM 4.7, XGBoost 3.2, CatBoost 1.2, pytrec_eval-terrier 0.5, ranx
0.3, ir_measures 0.4, TF-Ranking 0.5 and torchmetrics 1.9. LightGBM and XGBoost have no reciprocal rank and no ERR,
LightGBM has no precision, and scikit-learn has none of the three.

TF-Ranking cannot be imported with TensorFlow 2.16 or later, because it needs `tf.estimator`. Its conventions were read
in its source, and compared with its Keras metrics, which were loaded alone, with TensorFlow 2.21. The tests of
torchmetrics and TF-Ranking run only where these are installed; others hold both to the numbers of their documentation.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from boostrank.metrics.reconciliation.conventions import KINDS, Above, Convention

# Of larger labels, the sum of 2^y - 1 over a query may be infinite, in float64 and in float32.
_MAX_FINITE_LABEL = 1000
_MAX_FINITE_LABEL_FLOAT32 = 100

_ONE_DOCUMENT_ERROR = "an error in scikit-learn; counted as any query here"
_SCIKIT_LEARN: dict[str, Any] = {"library": "scikit-learn", "weights": "queries"}
# scikit-learn's average precision has no cutoff, and takes no labels but 0 and 1.
_SCIKIT_LEARN_MAP: dict[str, Any] = _SCIKIT_LEARN | {
    "measure": "map",
    "ties": "last rank",
    "takes_k": False,
    "threshold": 1.0,
    "denominator": "all",
    "labels": "whole",
    "max_label": 1,
}
# LightGBM's lambdarank takes only labels up to 30 by default. Its metrics are computed for at most 10,000 documents.
_LIGHTGBM: dict[str, Any] = {
    "library": "LightGBM",
    "ties": "stable",
    "empty": "one",
    "labels": "whole",
    "max_label": 30,
    "max_query": 10_000,
}
_XGBOOST: dict[str, Any] = {
    "library": "XGBoost",
    "ties": "stable",
    "scores": "float32",
    "weights": "queries",
    "labels": "whole",
    "max_label": 31,
    "uncut_k": 32,
}
_XGBOOST_BINARY: dict[str, Any] = _XGBOOST | {"max_label": 1, "threshold": 1.0}
_CATBOOST: dict[str, Any] = {"library": "CatBoost", "ties": "worst", "empty": "zero", "threshold": "border"}
_PYTREC_EVAL: dict[str, Any] = {
    "library": "pytrec_eval",
    "ties": "names",
    "empty": "zero",
    "scores": "float32",
    "labels": "whole",
    "level": " (relevance_level={level})",
}
_RANX: dict[str, Any] = {
    "library": "ranx",
    "ties": "stable",
    "empty": "zero",
    "labels": "truncated",
    "unstable_above": 15,
    "level": "-l{level}",
}
# ir_measures calls other programs: trec_eval, gdeval and the script of MS MARCO.
_IR_MEASURES_TREC_EVAL: dict[str, Any] = _PYTREC_EVAL | {"library": "ir_measures", "level": "(rel={level})"}
_IR_MEASURES_GDEVAL: dict[str, Any] = _IR_MEASURES_TREC_EVAL | {"scores": "float64", "max_label": 4, "decimals": 5}
_TF_RANKING: dict[str, Any] = {
    "library": "TF-Ranking",
    "ties": "average",
    "empty": "zero",
    "scores": "float32",
    "weights": "mean for empty queries",
    "threshold": 1.0,
    "unstable_above": 1,
}
_TORCHMETRICS: dict[str, Any] = {
    "library": "torchmetrics",
    "ties": "average",
    "empty": "zero",
    "scores": "float32",
}
_TORCHMETRICS_BINARY: dict[str, Any] = _TORCHMETRICS | {
    "relevant_scores": "above 0",
    "threshold": 1.0,
    "labels": "whole",
    "max_label": 1,
    "unstable_above": 1,
}

_TABLE = (
    Convention(
        **_SCIKIT_LEARN,
        measure="ndcg",
        metric="ndcg_score(k={k})",
        uncut="ndcg_score",
        gain="linear",
        ties="average",
        empty="zero",
        one_document=_ONE_DOCUMENT_ERROR,
    ),
    Convention(
        **_LIGHTGBM,
        measure="ndcg",
        metric="ndcg@{k}",
        uncut="ndcg@{longest}",
        gain="exp2",
        weights="not of empty queries",
    ),
    Convention(
        **_XGBOOST | {"weights": "not of empty queries"},
        measure="ndcg",
        metric="ndcg@{k}",
        uncut="ndcg",
        gain="exp2",
        empty="one",
        max_value=1.0 + 1e-6,
    ),
    Convention(**_XGBOOST, measure="ndcg", metric="ndcg@{k}-", uncut="ndcg-", gain="exp2", empty="zero"),
    Convention(
        **_CATBOOST | {"empty": "one"},
        measure="ndcg",
        metric="NDCG:top={k}",
        uncut="NDCG",
        gain="linear",
        weights="queries",
    ),
    Convention(
        **_CATBOOST | {"empty": "one"},
        measure="ndcg",
        metric="NDCG:top={k};type=Exp",
        uncut="NDCG:type=Exp",
        gain="exp2",
        weights="queries",
        max_label=_MAX_FINITE_LABEL,
    ),
    Convention(**_PYTREC_EVAL, measure="ndcg", metric="ndcg_cut_{k}", uncut="ndcg", gain="linear"),
    Convention(**_RANX, measure="ndcg", metric="ndcg@{k}", uncut="ndcg", gain="linear"),
    Convention(
        **_RANX,
        measure="ndcg",
        metric="ndcg_burges@{k}",
        uncut="ndcg_burges",
        gain="exp2",
        max_label=_MAX_FINITE_LABEL,
    ),
    Convention(**_IR_MEASURES_TREC_EVAL, measure="ndcg", metric="nDCG@{k}", uncut="nDCG", gain="linear"),
    Convention(
        **_IR_MEASURES_GDEVAL,
        measure="ndcg",
        metric="nDCG(dcg='exp-log2')@{k}",
        uncut="nDCG(dcg='exp-log2')@{longest}",
        gain="exp2",
    ),
    Convention(
        **_TF_RANKING,
        measure="ndcg",
        metric="ndcg(topn={k})",
        uncut="ndcg",
        gain="exp2",
        max_label=_MAX_FINITE_LABEL_FLOAT32,
    ),
    Convention(
        **_TORCHMETRICS,
        measure="ndcg",
        metric="RetrievalNormalizedDCG(top_k={k})",
        uncut="RetrievalNormalizedDCG",
        gain="linear",
    ),
    Convention(
        **_SCIKIT_LEARN_MAP,
        metric="label_ranking_average_precision_score",
        uncut="label_ranking_average_precision_score",
        empty="one",
    ),
    Convention(
        **_SCIKIT_LEARN_MAP,
        metric="average_precision_score",
        uncut="average_precision_score",
        empty="zero",
    ),
    Convention(
        **_LIGHTGBM,
        measure="map",
        metric="map@{k}",
        uncut="map@{longest}",
        threshold=Above(0.5),
        denominator="possible",
        weights="queries",
    ),
    Convention(**_XGBOOST_BINARY, measure="map", metric="map@{k}", uncut="map", denominator="possible", empty="one"),
    Convention(**_XGBOOST_BINARY, measure="map", metric="map@{k}-", uncut="map-", denominator="possible", empty="zero"),
    Convention(
        **_CATBOOST,
        measure="map",
        metric="MAP:top={k}{level}",
        uncut="MAP:top=-1{level}",
        level=";border={border}",
        denominator="possible",
    ),
    Convention(**_PYTREC_EVAL, measure="map", metric="map_cut_{k}{level}", uncut="map{level}", denominator="all"),
    Convention(**_RANX, measure="map", metric="map@{k}{level}", uncut="map{level}", denominator="all"),
    Convention(**_IR_MEASURES_TREC_EVAL, measure="map", metric="AP{level}@{k}", uncut="AP{level}", denominator="all"),
    Convention(**_TF_RANKING, measure="map", metric="map(topn={k})", uncut="map", denominator="all"),
    Convention(
        **_TORCHMETRICS_BINARY,
        measure="map",
        metric="RetrievalMAP(top_k={k})",
        uncut="RetrievalMAP",
        denominator="found",
    ),
    Convention(
        **_CATBOOST,
        measure="mrr",
        metric="MRR:top={k}{level}",
        uncut="MRR:top=-1{level}",
        level=";border={border}",
        weights="queries",
    ),
    Convention(**_PYTREC_EVAL, measure="mrr", metric="recip_rank{level}", uncut="recip_rank{level}", takes_k=False),
    Convention(**_RANX, measure="mrr", metric="mrr@{k}{level}", uncut="mrr{level}"),
    Convention(**_IR_MEASURES_TREC_EVAL, measure="mrr", metric="RR{level}", uncut="RR{level}", takes_k=False),
    Convention(
        **_IR_MEASURES_TREC_EVAL | {"ties": "names ascending", "scores": "float64", "labels": "given"},
        measure="mrr",
        metric="RR{level}@{k}",
        uncut="RR{level}@{longest}",
    ),
    Convention(**_TF_RANKING, measure="mrr", metric="mrr(topn={k})", uncut="mrr"),
    Convention(**_TORCHMETRICS_BINARY, measure="mrr", metric="RetrievalMRR(top_k={k})", uncut="RetrievalMRR"),
    Convention(
        **_CATBOOST | {"threshold": "level"},
        measure="err",
        metric="ERR:top={k}",
        uncut="ERR",
        gain="probability",
        max_label=1,
        weights="queries",
    ),
    Convention(**_IR_MEASURES_GDEVAL, measure="err", metric="ERR@{k}", uncut="ERR@{longest}", gain="exp2", max_grade=4),
    Convention(**_XGBOOST_BINARY, measure="precision", metric="pre@{k}", uncut="pre", depth="documents", empty="zero"),
    Convention(
        **_CATBOOST,
        measure="precision",
        metric="PrecisionAt:top={k}{level}",
        uncut="PrecisionAt:top=-1{level}",
        level=";border={border}",
        depth="documents",
    ),
    Convention(**_PYTREC_EVAL, measure="precision", metric="P_{k}{level}", uncut="set_P{level}", depth="cutoff"),
    Convention(**_RANX, measure="precision", metric="precision@{k}{level}", uncut="precision{level}", depth="cutoff"),
    Convention(
        **_IR_MEASURES_TREC_EVAL, measure="precision", metric="P{level}@{k}", uncut="SetP{level}", depth="cutoff"
    ),
    Convention(**_TF_RANKING, measure="precision", metric="precision(topn={k})", uncut="precision", depth="documents"),
    Convention(
        **_TORCHMETRICS_BINARY,
        measure="precision",
        metric="RetrievalPrecision(top_k={k})",
        uncut="RetrievalPrecision",
        depth="cutoff",
    ),
)

#: Conventions by the kind of measure: "ndcg", "map", "mrr", "err" and "precision".
CONVENTIONS: Mapping[str, tuple[Convention, ...]] = MappingProxyType(
    {kind: tuple(each for each in _TABLE if each.measure == kind) for kind in KINDS}
)
