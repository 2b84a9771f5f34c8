from typing import Literal, TypedDict, Unpack

from numpy.typing import ArrayLike

from boostrank.core.dcg import Discount, Gain, Ties
from boostrank.inputs.arrays import Floats
from boostrank.metrics.average_precision import Denominator
from boostrank.metrics.base import Empty
from boostrank.preferences import PreferenceGraph

class _Common(TypedDict, total=False):
    empty: Empty
    sample_weight: ArrayLike | None
    per_query: bool

class _Ties(_Common, total=False):
    ties: Ties

class _Threshold(_Common, total=False):
    threshold: float

class _Relevant(_Threshold, _Ties): ...

class _Binary(_Relevant, total=False):
    k: float | None

class _AveragePrecision(_Binary, total=False):
    denominator: Denominator

class _InterpolatedPrecision(_Threshold, total=False):
    recall: float | None
    ties: Literal["worst", "best", "stable"]

class _DCG(_Ties, total=False):
    k: float | None
    gain: Gain
    discount: Discount

class _ERR(_Ties, total=False):
    k: float | None
    max_grade: float | None

class _RBP(_Binary, total=False):
    p: float
    gain: Gain | None

def agreement_score(
    y_true: ArrayLike | PreferenceGraph, y_score: ArrayLike, qid: ArrayLike | None = None, **settings: Unpack[_Ties]
) -> float | Floats: ...
def auc_score(
    y_true: ArrayLike, y_score: ArrayLike, qid: ArrayLike | None = None, **settings: Unpack[_Threshold]
) -> float | Floats: ...
def average_precision_score(
    y_true: ArrayLike, y_score: ArrayLike, qid: ArrayLike | None = None, **settings: Unpack[_AveragePrecision]
) -> float | Floats: ...
def bpref_score(
    y_true: ArrayLike, y_score: ArrayLike, qid: ArrayLike | None = None, **settings: Unpack[_Relevant]
) -> float | Floats: ...
def dcg_score(
    y_true: ArrayLike, y_score: ArrayLike, qid: ArrayLike | None = None, **settings: Unpack[_DCG]
) -> float | Floats: ...
def err_score(
    y_true: ArrayLike, y_score: ArrayLike, qid: ArrayLike | None = None, **settings: Unpack[_ERR]
) -> float | Floats: ...
def iprec_score(
    y_true: ArrayLike, y_score: ArrayLike, qid: ArrayLike | None = None, **settings: Unpack[_InterpolatedPrecision]
) -> float | Floats: ...
def kendall_tau_score(
    y_true: ArrayLike, y_score: ArrayLike, qid: ArrayLike | None = None, **settings: Unpack[_Common]
) -> float | Floats: ...
def mean_precision_score(
    y_true: ArrayLike, y_score: ArrayLike, qid: ArrayLike | None = None, **settings: Unpack[_Binary]
) -> float | Floats: ...
def precision_score(
    y_true: ArrayLike, y_score: ArrayLike, qid: ArrayLike | None = None, **settings: Unpack[_Binary]
) -> float | Floats: ...
def rbp_score(
    y_true: ArrayLike, y_score: ArrayLike, qid: ArrayLike | None = None, **settings: Unpack[_RBP]
) -> float | Floats: ...
def recall_score(
    y_true: ArrayLike, y_score: ArrayLike, qid: ArrayLike | None = None, **settings: Unpack[_Binary]
) -> float | Floats: ...
def reciprocal_rank_score(
    y_true: ArrayLike, y_score: ArrayLike, qid: ArrayLike | None = None, **settings: Unpack[_Binary]
) -> float | Floats: ...
def rprec_score(
    y_true: ArrayLike, y_score: ArrayLike, qid: ArrayLike | None = None, **settings: Unpack[_Relevant]
) -> float | Floats: ...
def success_score(
    y_true: ArrayLike, y_score: ArrayLike, qid: ArrayLike | None = None, **settings: Unpack[_Binary]
) -> float | Floats: ...
