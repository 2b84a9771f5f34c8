r"""Targets of surrogates from clicks: estimates of the gain, and of the normalized gain of NDCG.

Relevance is binary here: ``r_i`` is 1 if document ``i`` is relevant in a session, and 0 if not. Given the features, the
vector ``r`` of a session is drawn from any distribution. Let ``gamma_i = E[r_i]``. The normalized gains are ``u_i(r) =
r_i h(n_i)``, where ``n_i`` is the number of relevant documents other than ``i``, ``h(n) = 1 / Z(n + 1)``, and ``Z(n) =
d(1) + ... + d(min(n, k))``.

=================== ============================================== ====================================================
normalize           target                                         expectation
=================== ============================================== ====================================================
``"none"``          estimate of ``gamma_i``                        ``gamma_i``, apart from clipping to [0, 1]
``"independent"``   ``E[u_i]`` of independent relevances with the  tends to ``E[u_i]`` with the number of impressions,
                    estimated probabilities                        if relevances of a session are independent
``"sessions"``      mean over sessions of the polynomial below     ``E[u_i]``, for every distribution of ``r``
=================== ============================================== ====================================================

**1. Which targets are consistent.** A surrogate that is consistent, and whose gradient is affine in the targets, has
with unbiased targets the expected gradient at ``E[target]``. So its minimizer sorts like ``E[target]``, and the ranking
is optimal for NDCG if that sorts like ``E[u]`` (Ravikumar, Tewari and Yang, AISTATS 2011, Lemma 4), and for DCG if it
sorts like ``gamma``. The text of :mod:`boostrank.theory.click_feedback` has the details and the exceptions.

**2. Independent relevances.** *If, given the features, the relevances of a session are independent, then* ``E[u]``
*sorts like* ``gamma``, *and the DCG-optimal ranking is NDCG-optimal.* *Proof.* Let ``n`` be the number of relevant
documents other than ``i`` and ``j``. If both are relevant, or none, ``u_i = u_j``. So ``u_i - u_j = (r_i - r_j) h(n)``,
and with independence ``E[u_i] - E[u_j] = (gamma_i - gamma_j) E[h(n)]``, where ``E[h(n)] > 0``. (It is enough that ``n``
is independent of the pair.) So ``"none"`` and ``"independent"`` sort the documents of a query in the same way. They
differ between queries: with ``"independent"``, queries with many relevant documents have smaller targets. That matters
where one model serves all queries. For example labels that are functions of the features are independent.

Without independence both may be wrong: let only document 1 be relevant with probability 0.4, and only documents 2, 3
and 4 with probability 0.6. Then ``gamma = (0.4, 0.6, 0.6, 0.6)``, but ``E[u] = (0.4, 0.28, 0.28, 0.28)``.

**3. The polynomial.** Since ``r_j`` is 0 or 1,

    u_i(r) = sum_{S with i} h(|S| - 1) prod_{j in S} r_j prod_{j not in S} (1 - r_j),

which is a multilinear polynomial of ``r``. Let ``t_j = (click_j - b_j) / a_j`` in the position-based model or with
trust bias. Given ``r`` and the result list, let the examinations of a session, and the clicks on examined documents, be
independent, with probabilities that depend on ``r`` and the list as the model says.
*Then* ``u_i(t)``, *the same polynomial at* ``t``, *has the expectation* ``u_i(r)`` *given* ``r``, *and* ``E[u_i]``
*over all sessions.* *Proof.* Given ``r``, the ``t_j`` are independent with ``E[t_j] = r_j``. So the expectation of a
product of different ``t_j`` is the product of the ``r_j``. A multilinear polynomial is a sum of such products. With
``b_j = 0``, the factor of a document without a click is ``1 - t_j = 1`` if it is not in ``S``, and 0 if it is. So only
documents with a click have a target, and only these count.

It is computed as ``u_i(t) = t_i e_i`` with the ``e_i`` of 7, in O(c^2) operations for c clicks. With one click it is
``t_i / Z(1)``. With clicks on documents 1 and 2 it is ``t_1 [(1 - t_2) h(0) + t_2 h(1)]``: if ``t_2 > 1``, the
correction for the second relevant document is counted more than once, for the sessions in which it was not examined.

**4. Cascade.** Examinations are not independent there. In monomials, ``u_i(r) = sum_{S with i} g_{|S|} prod_{j in S}
r_j``, where ``g_{l + 1} = sum_k (-1)^(l - k) C(l, k) h(k)`` is the l-th difference of ``h`` at 0. Let ``w_j`` be the
probability of going on until ``j`` given the clicks above it (:meth:`boostrank.clicks.Cascade.corrections`). All
documents of ``S`` are examined if its lowest document ``j`` is, and as proved there, ``E[prod_{S} click / w_j | r] =
prod_{S} r``. So each monomial is divided by the ``w_j`` of its lowest document. Let ``k_j`` be the number of clicks
above ``j``. If ``i`` is the lowest document of ``S``, the others are any clicked documents above, and the sum of
``C(k_i, l) g_{l + 1}`` over ``l`` is ``h(k_i)`` (Newton's formula). If ``j`` below ``i`` is the lowest, the others are
any of the ``k_j - 1`` clicked documents above ``j`` other than ``i``, and the sum of ``C(k_j - 1, l) g_{l + 2}`` is
``h(k_j) - h(k_j - 1)``. Hence

    target_i = h(k_i) / w_i + sum_{clicked j below i} (h(k_j) - h(k_j - 1)) / w_j

for clicked documents ``i``, and 0 for others.

**5. Variance.** Given ``r`` with ``n`` relevant documents, let ``sigma_j^2 = 1 / p_j - 1`` and let ``e_l`` be the
elementary symmetric polynomial of the ``sigma_j^2`` of the relevant documents other than ``i``. In the position-based
model, for relevant ``i``,

    Var(u_i(t) | r) = (1 / p_i) sum_{l = 0}^{n - 1} e_l (D^l h(n - 1 - l))^2 - h(n - 1)^2,

where ``D^l h`` is the l-th difference. *Proof.* Write ``t_j = 1 + sigma_j x_j`` with independent ``x_j`` of mean 0 and
variance 1. The coefficient of ``prod_{A} x_j`` is ``prod_{A} sigma_j`` times the derivative of the polynomial with
respect to all ``t_j`` with ``j`` in ``A``, at ``t = r``. For ``|A \ {i}| = l`` this derivative is ``D^l h(n - 1 - l)``,
whether ``A`` contains ``i`` or not. Different products of the ``x_j`` are uncorrelated, so the squares of the
coefficients add up, with the factor ``1 + sigma_i^2 = 1 / p_i`` for ``A`` with and without ``i``. The term of the empty
set is the square of the mean.

The first term is the variance of ``t_i`` times a known ``h(n - 1)``, and the other terms come from the unknown
normalizer. With equal propensities ``p`` and ``sigma^2 = 1 / p - 1``, the last one is ``(1/p) sigma^(2 (n - 1)) (D^(n -
1) h(0))^2``. *So for p < 1/2 the variance grows exponentially with the number n of relevant documents, unless
differences of h decrease as fast.* Those of ``1 / (n + 1)`` do not: ``D^l h(n - 1 - l) = (-1)^l / (n C(n - 1, l))``,
and the sum is ``n^-2 sum_l sigma^(2 l) / C(n - 1, l)``. For ``p >= 1/2`` that is at most 8/3 of its first term for
every ``n``, because ``sum_l 1 / C(n - 1, l) <= 8/3``. The discount ``1 / log2(1 + r)`` behaves alike: with n = 9
relevant documents, the unknown normalizer multiplies the variance by 1.4 for ``p = 1/2``, 144 for ``p = 0.3``, and
9,000 for ``p = 0.2``. With a cutoff ``k``, ``h(n)`` is constant from ``n = k - 1`` on, and all terms with ``1 <= l <= n
- k`` are 0. The others are products of ``sigma^(2 l)`` and of powers of ``n`` with exponents of at most ``3 k``: they
vanish for ``p > 1/2``, and grow exponentially for ``p < 1/2``.

**6. Which one to use.** ``"independent"`` is the default: its variance tends to 0 with the number of impressions of
*each document*, and no product of ``1 / p_j`` occurs. If relevances are independent, then in the first two models so
are the estimates of different documents. Since ``E[u_i]`` is multilinear in the ``gamma_j``, the targets then have no
bias at all, except for that of clipping the estimates to [0, 1], which tends to 0. If relevances depend on each other
given the features, the bias stays. ``"sessions"`` has no bias, and is the only one of the three that is right for users
with different intents. Use it where sessions are many, queries show few relevant documents, and most of the
propensities are above 1/2.

The targets of ``"none"`` are clipped to [0, 1] too, because most surrogates are not bounded below for negative targets,
and some need targets up to 1. :func:`boostrank.clicks.estimate_relevance` with ``bounded=False`` has no such bias. It
is one where a document has few impressions: an estimate above 1 is cut, and one of 0 stays.

Clipping ``p_j`` at ``tau <= 1/2`` (parameter `clip`) replaces the variance ``sigma_j^2`` of ``t_j`` by at most ``1 /
tau - 1``, and ``E[t_j | r]`` by ``x_j r_j`` with ``x_j = min(1, p_j / tau)``. The target then has the expectation
``u_i`` at the independent thinning of ``r``: that of a user for whom a relevant document stays relevant with
probability ``x_j``.
*Propensities that are known only up to a factor* have the same effect. If all are divided by ``p_1``, as the estimates
of :class:`boostrank.clicks.Propensities` are, then ``E[t_j | r] = p_1 r_j``, and the targets of ``"sessions"`` and
``"independent"`` are those of relevances that are thinned with the probability ``p_1``. With ``"none"`` and
``"independent"``, the documents of a query are still sorted as before. With ``"sessions"`` they may not be: in the
example of 2, ``p_1 = 1/2`` gives ``(0.2, 0.202, 0.202, 0.202)``. So ``"sessions"`` needs the assumption that position 1
is always examined, or propensities that are known absolutely, and refuses estimates until one of both is said.

**7. How many other documents are relevant.** Let the documents of a list be relevant independently with the
probabilities ``t_j``. The number of relevant documents other than ``i`` then has a Poisson binomial distribution, and
the expectation of a function ``h`` of it is

    e_i = sum_{S without i} prod_{j in S} t_j prod_{j not in S, j != i} (1 - t_j) h(|S|).

The sum is a multilinear polynomial of the ``t_j``, so that it is defined for all real ``t_j``, also for those outside
of [0, 1]. Let ``P_i[n]`` be the weight of ``n`` relevant documents among those before ``i``, and ``D_i[n]`` the
expectation of ``h(n + N)`` where ``N`` counts those after ``i``. Then

    P_{i+1}[n] = (1 - t_i) P_i[n] + t_i P_i[n - 1],      D_{i-1}[n] = (1 - t_i) D_i[n] + t_i D_i[n + 1],
    e_i = sum_n P_i[n] D_i[n].

Both recursions take O(m) operations for each of the m documents. There are no divisions by ``1 - t_i``, which is 0 for
documents that are relevant for sure, and no differences, so that for probabilities all terms are positive.

**What is known.** The polynomial is the inverse of independent thinning. For multilabel classification with labels that
are missing independently, Schultheis and Babbar ("Unbiased loss functions for multilabel classification with missing
labels", 2021, arXiv:2109.11282) derived the unbiased estimates of losses that do not decompose over labels, among them
targets divided by the number of labels, and discuss their variance. For a single noisy label it is the method of
Natarajan et al. (NeurIPS 2013). Counterfactual learning to rank estimates sums over documents, such as DCG (Agarwal et
al., SIGIR 2019). Jeunen, Potapov and Ustimenko (KDD 2024, arXiv:2307.15053) show that NDCG may sort rankers in another
way than DCG, even where the estimate of DCG is unbiased. We know of no use of the inverse for the normalizer of NDCG,
nor of the formulas 4 and 5 for it, but have searched only briefly.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from boostrank.clicks.log import ClickLog, check_log
from boostrank.clicks.models import Cascade, get_click_model, require_absolute
from boostrank.clicks.relevance import NOT_SHOWN, Method, NotShown, estimate_relevance
from boostrank.inputs.arrays import Floats, Ints
from boostrank.inputs.checks import check_choice, check_number
from boostrank.queries.dcg import DCG
from boostrank.queries.queries import Queries
from boostrank.queries.segments import Segments

ClickNormalize = Literal["none", "independent", "sessions"]
CLICK_NORMALIZATIONS: tuple[str, ...] = get_args(ClickNormalize)
# Largest number of weights in memory at a time; the weights of one list are never divided.
MAX_WEIGHTS = 2_000_000
# Largest rounding error of the targets of a session, relative to the largest target or corrected click of it.
MAX_ROUNDING = 1e-3


def click_targets(
    log: ClickLog,
    model: Any,
    *,
    normalize: ClickNormalize = "independent",
    dcg: DCG | None = None,
    method: Method = "auto",
    clip: float = 0.0,
    not_shown: NotShown = "error",
) -> Floats:
    """Targets of surrogates from clicks, one for each row of `X`, shape (n_documents,).

    The text of the module :mod:`boostrank.clicks.targets` has the definitions and proofs, and says which kind of
    target to use.

    Parameters
    ----------
    log : ClickLog
    model : str, ClickModel, or array-like of propensities
        As in :func:`boostrank.clicks.get_click_model`.
    normalize : {"none", "independent", "sessions"}, default "independent"
        ``"none"``: the estimated probability of relevance. ``"independent"``: its expected normalized gain, if
        relevances are independent. ``"sessions"``: the mean over sessions of unbiased estimates of the normalized gains
        of a session; they may be negative, or above 1, and need propensities that are right absolutely, not only
        relative to position 1.
    dcg : DCG, optional
        Discount and cutoff of the NDCG; its gain does not matter, because relevance is binary. The default is
        ``DCG()``.
    method : {"auto", "expected-clicks", "inverse-propensity"}, default "auto"
        As in :func:`boostrank.clicks.estimate_relevance`; not for ``"sessions"``.
    clip : float in [0, 1), default 0
        Smallest number that divides clicks.
    not_shown : {"error", "irrelevant"}, default "error"
        What to do with rows that were never shown, and for ``"sessions"`` with rows that a session does not show: raise
        an error that names one of them, or assume that they are not relevant.

    Raises
    ------
    ValueError
        If a row has no support and `not_shown` is ``"error"``; for ``"sessions"``, if the log has no sessions, for a
        cascade model in which a click ends the session, or if a session has so many clicks at small propensities that
        its targets have large rounding errors; or if an argument is invalid.

    Examples
    --------
    >>> log = ClickLog([1, 1], row=[0, 1, 0, 1], position=[1, 2, 1, 2], clicks=[1, 1, 1, 0], session=[5, 5, 6, 6])
    >>> click_targets(log, [1.0, 0.5], normalize="none").tolist()
    [1.0, 1.0]
    >>> click_targets(log, [1.0, 0.5]).round(4).tolist()
    [0.6131, 0.6131]
    >>> click_targets(log, [1.0, 0.5], normalize="sessions").round(4).tolist()
    [0.6131, 0.6131]
    """
    check_log(log)
    check_choice("normalize", normalize, CLICK_NORMALIZATIONS)
    dcg, queries = DCG() if dcg is None else dcg, log.queries
    if normalize == "sessions":
        if method != "auto":
            raise ValueError(f"method={method!r} is not used by normalize='sessions'; leave it out")
        per_entry = session_targets(log, model, dcg=dcg, clip=clip, not_shown=not_shown)
        sums = np.bincount(log.row, weights=per_entry, minlength=len(log))
        return sums / np.maximum(1, queries.ungroup(queries.repeat(sessions_of_queries(log))))
    settings: dict[str, Any] = {"method": method, "clip": clip, "not_shown": not_shown}
    relevance = estimate_relevance(log, model, **settings).relevance
    return targets_of_relevance(queries, relevance, normalize, dcg)


def targets_of_relevance(queries: Queries, relevance: Floats, normalize: ClickNormalize, dcg: DCG) -> Floats:
    """The targets of ``"none"`` or ``"independent"`` from probabilities of relevance, shape (n_documents,)."""
    if normalize == "none":
        return relevance
    grouped = queries.group(relevance)
    tables = reciprocal_ideals(dcg, int(queries.sizes.max()), dcg.cutoffs(queries))
    targets: Floats = queries.ungroup(_times_expectation(grouped, tables, queries))
    return targets


def session_targets(
    log: ClickLog, model: Any, *, dcg: DCG | None = None, clip: float = 0.0, not_shown: NotShown = "error"
) -> Floats:
    """Unbiased estimates of the normalized gains of single sessions, one for each entry, shape (n_entries,).

    Their mean over all sessions of a query has the expectation ``E[u]``, for every distribution of the relevances of a
    session. Parameters and errors are those of :func:`click_targets`; the text of its module has the proof.

    Examples
    --------
    >>> log = ClickLog([1, 1], row=[0, 1], position=[1, 2], clicks=[1, 1], session=[5, 5])
    >>> session_targets(log, [1.0, 0.5]).round(4).tolist()
    [0.2263, 1.2263]
    """
    check_log(log)
    check_choice("not_shown", not_shown, NOT_SHOWN)
    check_number("clip", clip, smallest=0, below=1)
    chosen, dcg, sessions = get_click_model(model), DCG() if dcg is None else dcg, log.sessions
    require_absolute(chosen)
    if sessions is None:
        raise ValueError(
            "NDCG, normalize='sessions' and session_targets need a log of sessions: counts do not say which documents "
            "were clicked together"
        )
    if isinstance(chosen, Cascade) and chosen.satisfaction == 1.0:
        raise ValueError(
            f"{chosen!r} shows at most one click of a session, so that the number of relevant documents of a session "
            "cannot be estimated; use normalize='none' or 'independent'"
        )
    if not_shown == "error":
        _require_complete(log, sessions)
    a, b = chosen.corrections(log)
    cutoffs = dcg.cutoffs(log.queries)[log.query[sessions.starts]]
    tables = reciprocal_ideals(dcg, int(sessions.sizes.max()), cutoffs)
    if isinstance(chosen, Cascade):
        return _cascade_targets(log, sessions, np.maximum(a, clip), tables)
    values = (log.clicks - b) / np.maximum(a, clip)
    # An overflow is found afterwards.
    with np.errstate(over="ignore", invalid="ignore"):
        targets = _times_expectation(values, tables, sessions)
        _require_digits(log, sessions, values, targets)
    return targets


def reciprocal_ideals(dcg: DCG, n: int, cutoffs: Ints) -> Floats:
    """``h(0), ..., h(n - 1)`` with ``h(i) = 1 / Z(i + 1)``, for each cutoff, shape (len(cutoffs), n).

    If all cutoffs have the same values, the shape is (1, n).
    """
    ideal = np.cumsum(dcg.discounts(max(n, 1)))
    counted = np.minimum(cutoffs, len(ideal))
    if counted.min() == counted.max():
        counted = counted[:1]
    return 1.0 / ideal[np.minimum(np.arange(max(n, 1)), counted[:, None] - 1)]


def _times_expectation(values: Floats, tables: Floats, lists: Segments) -> Floats:
    """``t_i e_i`` for each document; the arguments are those of :func:`expect_without_each`."""
    # Documents with the value 0 change nothing. Without trust bias these are all documents without a click.
    counted = values != 0.0
    sizes = lists.sum(counted.astype(np.int64))
    result = np.zeros(len(values))
    if not counted.any():
        return result
    own = tables if len(tables) == 1 else tables[sizes > 0]
    result[counted] = values[counted] * expect_without_each(values[counted], own, Segments.from_sizes(sizes[sizes > 0]))
    return result


def sessions_of_queries(log: ClickLog) -> Ints:
    """Number of sessions of each query, shape (n_queries,)."""
    assert log.sessions is not None
    return np.bincount(log.query[log.sessions.starts], minlength=log.queries.n_queries)


def _require_digits(log: ClickLog, sessions: Segments, values: Floats, targets: Floats) -> None:
    """Raise ValueError if the targets of a session have large rounding errors, or overflow.

    The terms of ``e_i`` have both signs, and their absolute values add up to at most the product of ``|1 - t_j| +
    |t_j|``. So the rounding error of a target is about ``t_i`` times this product times the precision of a float.
    """
    size, largest = np.abs(values), sessions.max(np.abs(values))
    error = np.finfo(np.float64).eps * largest * np.multiply.reduceat(np.abs(1.0 - values) + size, sessions.starts)
    bad = ~(error <= MAX_ROUNDING * np.maximum(largest, sessions.max(np.abs(targets))))
    if bad.any():
        assert log.session_ids is not None
        session = int(np.argmax(bad))
        n_clicks = int(sessions.sum(log.clicks)[session])
        raise ValueError(
            f"session {str(log.session_ids[session])!r} has {n_clicks} clicks, and the unbiased targets of so many "
            "clicks at such propensities are lost in rounding errors; their variance would be huge too. Pass clip, or "
            "use normalize='none' or 'independent'"
        )


def _cascade_targets(log: ClickLog, sessions: Segments, w: Floats, tables: Floats) -> Floats:
    """The targets of section 4 of the module's text."""
    above = sessions.sum_before(log.clicks)
    session = sessions.repeat(np.arange(sessions.n_segments)) if len(tables) > 1 else np.zeros_like(above)
    own = tables[session, above]
    change = np.where((log.clicks > 0) & (above > 0), (own - tables[session, np.maximum(above - 1, 0)]) / w, 0.0)
    below = sessions.repeat(sessions.sum(change)) - sessions.sum_before(change) - change
    return np.where(log.clicks > 0, own / w + below, 0.0)


def _require_complete(log: ClickLog, sessions: Segments) -> None:
    """Raise ValueError if a session does not show all rows of its query."""
    query = log.query[sessions.starts]
    missing = log.queries.sizes[query] - sessions.sizes
    if missing.any():
        session = int(np.argmax(missing > 0))
        size, name = log.queries.sizes[query[session]], str(log.queries.ids[query[session]])
        assert log.session_ids is not None
        raise ValueError(
            f"session {str(log.session_ids[session])!r} shows {sessions.sizes[session]} of the {size} documents of "
            f"query {name!r}: the others have no support, and the ideal DCG depends on them. Pass "
            "not_shown='irrelevant' to assume that they are not relevant, or use normalize='none' or 'independent'"
        )


def expect_without_each(values: Floats, tables: Floats, lists: Segments) -> Floats:
    """``e_i`` of section 7 of the module's text for each document of several lists, shape (n_rows,).

    Parameters
    ----------
    values : ndarray, shape (n_rows,)
        The numbers ``t_i``, list after list.
    tables : ndarray, shape (n_lists, n) or (1, n)
        The numbers ``h(0), h(1), ...`` of each list, or of all lists; ``n`` is at least the size of the largest list.
    lists : Segments

    Examples
    --------
    >>> values, tables = np.array([0.5, 0.2]), np.array([[1.0, 0.6]])
    >>> expect_without_each(values, tables, Segments.from_sizes([2])).round(4).tolist()
    [0.92, 0.8]
    """
    result = np.empty(len(values))
    # Rows beyond the end of a list have the value 0, and do not change the number of relevant documents.
    padded = np.append(values, 0.0)
    largest = max(size_class.rows.shape[1] for size_class in lists.size_classes)
    tables = np.pad(tables, ((0, 0), (0, max(0, largest - tables.shape[1]))))
    for size_class in lists.size_classes:
        n_columns = size_class.rows.shape[1]
        step = max(1, MAX_WEIGHTS // (n_columns * n_columns))
        for first in range(0, len(size_class.segments), step):
            rows = size_class.rows[first : first + step]
            chosen = size_class.segments[first : first + step] if len(tables) > 1 else slice(None)
            inside = rows < lists.n_rows
            result[rows[inside]] = _without_each(padded[rows], tables[chosen, :n_columns])[inside]
    return result


def _without_each(values: Floats, tables: Floats) -> Floats:
    """The expectations for lists of the same size: the rows of `values`, shape (n_lists, n_documents)."""
    n_lists, m = values.shape
    before = np.zeros((m, n_lists, m))
    before[0, :, 0] = 1.0
    for i in range(m - 1):
        t = values[:, i, None]
        np.multiply(before[i], 1.0 - t, out=before[i + 1])
        before[i + 1, :, 1:] += t * before[i, :, :-1]
    result = np.empty_like(values)
    after = np.broadcast_to(tables, (n_lists, tables.shape[1])).copy()
    for i in range(m - 1, -1, -1):
        # There are at most i relevant documents before document i.
        result[:, i] = (before[i, :, : i + 1] * after[:, : i + 1]).sum(axis=1)
        t = values[:, i, None]
        after = (1.0 - t) * after[:, :i] + t * after[:, 1 : i + 1]
    return result
