"""Metrics of rankings over ragged queries, with every convention named, and scorers for scikit-learn."""

from boostrank.metrics.inputs import check_scores, require_qid
from boostrank.metrics.mean import EMPTY, Empty
from boostrank.metrics.ndcg import NDCG, dcg_score, ndcg_score
from boostrank.metrics.scorers import METRICS, RankingScorer, make_ndcg_scorer, make_scorer

__all__ = [
    "EMPTY",
    "METRICS",
    "NDCG",
    "Empty",
    "RankingScorer",
    "check_scores",
    "dcg_score",
    "make_ndcg_scorer",
    "make_scorer",
    "ndcg_score",
    "require_qid",
]
