"""Clicks that are drawn from a click model, for tests and experiments where the truth is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from boostrank.clicks.log import ClickLog
from boostrank.clicks.models import ClickModelLike, get_click_model
from boostrank.inputs import checks
from boostrank.inputs.arrays import Floats, Ints, as_array, check_lengths, finite_numbers
from boostrank.inputs.checks import Seed, as_generator
from boostrank.ndcg.dcg import DCG
from boostrank.ndcg.gains import check_relevance
from boostrank.queries.queries import Queries
from boostrank.queries.segments import Segments

RelevanceProbability = Literal["exp2", "linear"] | Callable[[Floats], ArrayLike]
Policy = Literal["deterministic"] | tuple[Literal["plackett-luce", "swap"], float]


class SimulatedClicks(NamedTuple):
    """A simulated click log, and what it was drawn from.

    Attributes
    ----------
    log : ClickLog
        A log of sessions.
    relevance : ndarray of float64, shape (n_documents,)
        Probability ``gamma`` that each row of `X` is relevant.

    Examples
    --------
    >>> import boostrank as br
    >>> simulated = br.simulate_clicks(
    ...     [2, 0], scores=[0.9, 0.1], qid=[7, 7], n_sessions=100, random_state=0
    ... )
    >>> simulated.log.n_sessions, simulated.relevance.tolist()
    (100, [1.0, 0.0])
    """

    log: ClickLog
    relevance: Floats


def simulate_clicks(
    y: ArrayLike,
    scores: ArrayLike,
    qid: ArrayLike,
    *,
    model: ClickModelLike = "position-based",
    n_sessions: int | ArrayLike = 10_000,
    depth: int | None = 10,
    policy: Policy = "deterministic",
    relevance: RelevanceProbability = "exp2",
    noise: float = 0.0,
    random_state: Seed = None,
) -> SimulatedClicks:
    """Simulate users who see rankings by `scores` and click according to a click model.

    Parameters
    ----------
    y : array-like, shape (n_documents,)
        Labels, which determine the probability of relevance.
    scores : array-like, shape (n_documents,)
        Finite scores of the ranker that makes the result lists. Tied documents are ranked by row
        number.
    qid : array-like, shape (n_documents,)
        Query id of each row.
    model : {"position-based", "trust-bias", "cascade"}, ClickModel, or array-like of propensities
        As in :func:`boostrank.clicks.get_click_model`.
    n_sessions : int or array-like of int, shape (n_queries,), default 10,000
        Number of sessions; the query of each is drawn uniformly. An array has the number of
        sessions of each query, in the sequence in which the queries first appear.
    depth : int or None, default 10
        Number of documents of a result list; shorter queries show all their documents. None: all
        documents.
    policy : str or tuple, default "deterministic"
        ``"deterministic"``, ``("plackett-luce", temperature)`` or ``("swap", probability)``:
        how result lists follow from the scores. ``"deterministic"`` sorts documents by score.
        ``"plackett-luce"`` draws a ranking for each session, in which each next document is drawn
        with a probability proportional to ``exp(score / temperature)`` from those left. ``"swap"``
        sorts by score, and then, with the given probability, exchanges the document at position 1
        with the one at a position that is drawn uniformly from the others. Swaps are interventions
        from which propensities can be estimated.
    relevance : {"exp2", "linear"} or callable, default "exp2"
        Probability of relevance of a label: ``(2^y - 1) / (2^max - 1)``, ``y / max`` with the
        largest label of `y`, or a vectorized function of labels that returns probabilities.
    noise : float in [0, 1), default 0
        Irrelevant documents become relevant with this probability: ``gamma + noise (1 - gamma)``.
    random_state : int, Generator or None

    Returns
    -------
    SimulatedClicks
        The log, and the probabilities of relevance that it was drawn from.

    Raises
    ------
    ValueError
        If an argument is invalid, or if the model has no propensity for one of the positions.

    References
    ----------
    Joachims, Swaminathan and Schnabel, "Unbiased learning-to-rank with biased feedback", WSDM 2017,
    Section 6.1, for the position-based model with swaps.

    Examples
    --------
    >>> import boostrank as br
    >>> simulated = br.simulate_clicks(
    ...     [2, 0, 1], [0.1, 0.3, 0.2], [5, 5, 5], n_sessions=1000, random_state=0
    ... )
    >>> simulated.log.n_sessions, simulated.log.n_impressions, simulated.log.n_clicks
    (1000, 3000, 494)
    >>> simulated.relevance.round(4).tolist()
    [1.0, 0.0, 0.3333]
    """
    labels = check_relevance(y, "y")
    queries = Queries.from_qid(qid)
    check_lengths(qid=queries.n_documents, y=len(labels))
    values = finite_numbers(scores, "scores", qid=queries.n_documents)
    checks.check_count("depth", depth, optional=True)
    checks.check_number("noise", noise, smallest=0, below=1)
    checked_policy = _checked_policy(policy)
    click_model = get_click_model(model)
    random = as_generator(random_state)
    gamma = _relevance_probability(labels, relevance)
    gamma += noise * (1.0 - gamma)
    query_of_session = _sessions_of_queries(n_sessions, queries, random)
    sizes = queries.sizes
    if depth is not None:
        sizes = np.minimum(sizes, depth)
    sessions = Segments.from_sizes(sizes[query_of_session])
    shown = _result_lists(
        queries.group(values), queries, query_of_session, sessions, checked_policy, random
    )
    row = queries.group(np.arange(len(labels)))[shown]
    clicks = click_model.draw(gamma[row], sessions, random)
    session = sessions.repeat(np.arange(sessions.n_segments))
    log = ClickLog(queries.qid, row, sessions.positions + 1, clicks, session=session)
    return SimulatedClicks(log, gamma)


def _checked_policy(policy: Policy) -> tuple[str, float]:
    """The name of a policy, and its temperature or probability."""
    if policy == "deterministic":
        return policy, 0.0
    is_valid = False
    if isinstance(policy, (tuple, list)) and len(policy) == 2 and checks.is_number(policy[1]):
        name, strength = policy
        if name == "plackett-luce":
            is_valid = strength > 0
        elif name == "swap":
            is_valid = 0 <= strength <= 1
    if not is_valid:
        checks.refuse(
            "policy",
            policy,
            "'deterministic', ('plackett-luce', temperature) with temperature > 0, or "
            "('swap', probability) with a probability in [0, 1]",
        )
    return name, float(strength)


def _relevance_probability(labels: Floats, relevance: RelevanceProbability) -> Floats:
    if not callable(relevance):
        checks.check_choice("relevance", relevance, ("exp2", "linear"))
        gains = DCG(gain=relevance).gains_of(labels)
        return gains / (gains.max() or 1.0)
    gamma: Floats = np.array(relevance(labels), dtype=np.float64)
    check_lengths(y=len(labels), relevance=gamma.size)
    checks.refuse_first(
        ~((gamma >= 0) & (gamma <= 1)),
        lambda row: f"relevance of y[{row}] = {labels[row]:g} is {gamma[row]:g}, not in [0, 1]",
    )
    return gamma


def _sessions_of_queries(
    n_sessions: int | ArrayLike, queries: Queries, random: np.random.Generator
) -> Ints:
    """The query of each session."""
    if isinstance(n_sessions, (int, np.integer)) and checks.is_count(n_sessions):
        checks.check_count("n_sessions", n_sessions)
        return np.asarray(random.integers(0, queries.n_queries, size=int(n_sessions)))
    counts = as_array(n_sessions, "n_sessions")
    if (
        counts.shape != (queries.n_queries,)
        or counts.dtype.kind not in "iu"
        or counts.min() < 0
        or not counts.any()
    ):
        checks.refuse(
            "n_sessions",
            n_sessions,
            f"an integer of at least 1, or {queries.n_queries} integers of at least 0, one for "
            "each query and not all 0",
        )
    return np.repeat(np.arange(queries.n_queries), counts)


def _result_lists(
    scores: Floats,
    queries: Queries,
    query_of_session: Ints,
    sessions: Segments,
    policy: tuple[str, float],
    random: np.random.Generator,
) -> Ints:
    """Grouped document numbers of the entries of all sessions."""
    kind, strength = policy
    if kind == "plackett-luce":
        lists = Segments.from_sizes(queries.sizes[query_of_session])
        document = lists.repeat(queries.starts[query_of_session]) + lists.positions
        # Sorting scores plus independent Gumbel noise draws from the Plackett-Luce model.
        sorting = lists.sort((scores / strength)[document] + random.gumbel(size=lists.n_rows))
        is_shown = lists.positions < lists.repeat(sessions.sizes)
        return document[sorting[is_shown]]
    ranks = sessions.repeat(queries.starts[query_of_session]) + sessions.positions
    shown = queries.sort(scores)[ranks]
    if kind == "swap":
        is_swapped = random.random(sessions.n_segments) < strength
        swapped = np.flatnonzero(is_swapped & (sessions.sizes > 1))
        first = sessions.starts[swapped]
        other = first + random.integers(1, sessions.sizes[swapped])
        shown[first], shown[other] = shown[other], shown[first]
    return shown
