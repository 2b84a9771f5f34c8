"""Click logs from which propensities are estimated, and their counts as plain dictionaries."""

import numpy as np

from boostrank.clicks import ClickLog, PositionBased, simulate_clicks

P = np.array([1.0, 0.6, 0.45, 0.3])


def several_rankers(n_sessions, seed, *, n_queries=60, eta=1.0, n_rankers=3, relevance=(0.05, 0.2, 0.5), depth=8):
    """The lists of several rankers whose scores differ by noise; the true propensities are position^-eta."""
    data = np.random.default_rng(7)
    qid = np.repeat(np.arange(n_queries), data.integers(5, 12, n_queries))
    y = data.integers(0, 3, len(qid)).astype(float)
    base, noise = y + data.normal(size=len(qid)), data.normal(size=(n_rankers, len(qid)))
    random = np.random.default_rng(seed)
    settings = {"model": PositionBased(("power", eta)), "depth": depth, "random_state": random}
    settings["relevance"] = lambda labels: np.take(relevance, labels.astype(int))
    logs = [simulate_clicks(y, base + own, qid, n_sessions=n_sessions // n_rankers, **settings).log for own in noise]
    return ClickLog.concatenate(logs)


def exact_log(scale=1):
    """Counts that are exactly the expectations of the position-based model with the propensities P, and relevances."""
    # Query, row, relevance, and impressions by position.
    rows = [
        (0, 0, 0.5, {1: 400, 2: 200}),
        (0, 1, 0.2, {1: 200, 2: 400, 3: 200}),
        (1, 2, 0.8, {1: 100, 3: 300, 4: 500}),
        (1, 3, 0.4, {2: 300, 4: 200}),
        (2, 4, 0.6, {1: 100, 2: 200, 3: 200, 4: 400}),
        (2, 5, 0.3, {4: 100}),
    ]
    entries = [(d, k, round(scale * n * P[k - 1] * g), scale * n) for _, d, g, shown in rows for k, n in shown.items()]
    for (_, k, c, n), g in zip(entries, [g for _, _, g, shown in rows for _ in shown], strict=True):
        assert abs(c - n * P[k - 1] * g) < 1e-6
    row, position, clicks, impressions = map(list, zip(*entries, strict=True))
    return ClickLog([q for q, *_ in rows], row, position, clicks, impressions)


def counts_of(log):
    """Clicks and impressions by row and position: {row: {position: (clicks, impressions)}}."""
    counts = {}
    for row, position, clicks, impressions in zip(log.row, log.position, log.clicks, log.impressions, strict=True):
        c, n = counts.setdefault(int(row), {}).get(int(position), (0, 0))
        counts[int(row)][int(position)] = (c + int(clicks), n + int(impressions))
    return counts


def influences(estimate, log):
    """Derivatives of the logarithms of propensities by the clicks of each entry, by differences."""

    def logarithms(clicks):
        return np.log(estimate(ClickLog(log.qid, log.row, log.position, clicks, log.impressions)).values)

    steps = np.eye(log.n_entries, dtype=log.clicks.dtype)
    return np.array([(logarithms(log.clicks + step) - logarithms(log.clicks - step)) / 2 for step in steps])


def jackknife_errors(estimate, log):
    """Standard errors of the logarithms of propensities, by leaving out one query at a time."""
    queries = log.queries.ids
    logs = np.array([np.log(estimate(log[log.qid != query]).values) for query in queries])
    return np.sqrt((len(queries) - 1) * logs.var(axis=0))
