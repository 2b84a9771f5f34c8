"""The logging policies, the logs and the rankers of clicks.py.

A logging policy is a pair of rankers that serve the users: each session shows the ten best
documents of one of both, drawn at random. So some documents are shown at two positions, and
propensities can be estimated from the log. To add a method, add a row to `METHODS`.
"""

from functools import cached_property, lru_cache, partial

import lightgbm
import numpy as np
import xgboost
from workloads import SYNTHETIC, read_folds, training_queries

import boostrank as br
from boostrank.clicks import Cascade, ClickLog, get_click_model, harvest_propensities
from boostrank.model_selection import with_validation

#: Documents of a result list, and the probability that an irrelevant document is relevant to a
#: user.
DEPTH, NOISE = 10, 0.1
POLICIES = ("weak", "good")
CLICK_MODELS = ("position-based", "cascade", "trust-bias")
SYNTHETIC_QUERIES = 600
#: Rounds of the libraries' own rankers.
ROUNDS = 100


@lru_cache(maxsize=2)
def read_part(data, number):
    """All queries of a fold that are not for testing, and its test queries.

    The labels of the synthetic data are a function of the features, so that the best ranking is
    that of the labels.
    """
    if data == SYNTHETIC:
        queries = br.make_ranking(SYNTHETIC_QUERIES, noise=0.0, random_state=0)
        folds = [
            with_validation(fold, random_state=0)
            for fold in br.query_folds(queries, random_state=0)
        ]
    else:
        folds = read_folds(data)
    return training_queries(folds[number]), folds[number].test


def take(dataset, rows):
    return br.Dataset(dataset.X[rows], dataset.y[rows], dataset.qid[rows])


def ndcg(test, scores):
    """Mean NDCG@10 on true labels; queries without a relevant document are left out."""
    return float(br.ndcg_score(test.y, scores, test.qid, k=10, empty="skip"))


def fit_on_labels(dataset, seed):
    """Our ranker with its default parameters on true labels."""
    return br.LightGBMRanker(random_state=seed, n_jobs=1, verbosity=-1).fit(*dataset)


@lru_cache(maxsize=4)
def logging_policy(data, number, policy, seed):
    """Both rankers of a policy: scores of the training queries, and results on the test queries.

    The latter are their mean NDCG@10 and their mean scores.

    The rankers of "weak" learn from the labels of one training query in a hundred. Those of "good"
    learn from the labels of half of the training queries, and rank the other half.
    """
    train, test = read_part(data, number)
    all_scores, values, of_test = [], [], []
    for one in range(2):
        random = np.random.default_rng([seed, number, one])
        queries = random.permutation(np.unique(train.qid[train.y > 0]))
        if policy == "weak":
            few = queries[: max(1, len(np.unique(train.qid)) // 100)]
            parts = [(np.isin(train.qid, few), slice(None))]
        else:
            half = np.isin(train.qid, queries[: len(queries) // 2])
            parts = [(half, ~half), (~half, half)]
        scores = np.empty(len(train.y))
        for learned, ranked in parts:
            ranker = fit_on_labels(take(train, learned), seed)
            scores[ranked] = ranker.predict(train.X[ranked])
            of_test.append(ranker.predict(test.X))
            values.append(ndcg(test, of_test[-1]))
        # Trees give equal scores to many documents, which each ranker sorts at random, the same way
        # in each session.
        all_scores.append(scores + 1e-9 * random.standard_normal(len(scores)))
    return all_scores, float(np.mean(values)), np.mean(of_test, axis=0)


def simulate(data, number, policy, model, n_sessions, seed):
    """A log of sessions, half of them by each ranker of the policy."""
    train, _ = read_part(data, number)
    random = np.random.default_rng([seed, number, n_sessions])
    settings = {
        "model": model,
        "depth": DEPTH,
        "noise": NOISE,
        "n_sessions": n_sessions // 2,
        "random_state": random,
    }
    logs = [
        br.simulate_clicks(train.y, own, train.qid, **settings).log
        for own in logging_policy(data, number, policy, seed)[0]
    ]
    return ClickLog.concatenate(logs)


class Experiment:
    """A log, and what the methods learn from it."""

    def __init__(self, data, number, policy, model, n_sessions, seed, max_sessions):
        self.max_sessions = max_sessions
        self.train, self.test = read_part(data, number)
        self.log = simulate(data, number, policy, model, n_sessions, seed)
        self.logger = logging_policy(data, number, policy, seed)
        self.model, self.seed = get_click_model(model), seed

    @cached_property
    def counts(self):
        """The log as counts, from which estimates of relevance take less time."""
        return self.log.aggregate()

    @cached_property
    def with_clicks(self):
        """The sessions with clicks, of which some have the same documents, positions and clicks."""
        sessions = self.log.sessions
        return np.flatnonzero(sessions.sum(self.log.clicks))

    def some_sessions(self):
        """Rows, positions, clicks and sizes of sessions with clicks.

        At most `max_sessions` are drawn at random.
        """
        chosen = self.with_clicks
        if len(chosen) > self.max_sessions:
            chosen = np.random.default_rng(self.seed).choice(
                chosen, self.max_sessions, replace=False
            )
        return self._entries(np.sort(chosen))

    def different_sessions(self):
        """Rows, positions, clicks, sizes and frequencies of the different sessions with clicks.

        There are at most `max_sessions` of them; further ones are left out at random.
        """
        sessions, log = self.log.sessions, self.log
        random = np.random.default_rng(self.seed)
        # Equal sessions have equal sums of random numbers, and others do not, but for chance in 64
        # bits.
        codes = random.integers(2**63, size=(2, log.n_documents), dtype=np.uint64)[
            log.clicks, log.row
        ]
        codes *= random.integers(2**63, size=log.n_positions, dtype=np.uint64)[
            log.position - 1
        ] | np.uint64(1)
        keys = np.add.reduceat(codes, sessions.starts)[self.with_clicks]
        _, first, counts = np.unique(keys, return_index=True, return_counts=True)
        if len(first) > self.max_sessions:
            kept = random.choice(len(first), self.max_sessions, replace=False)
            first, counts = first[kept], counts[kept]
        order = np.argsort(first)
        return *self._entries(self.with_clicks[first[order]]), counts[order]

    def _entries(self, chosen):
        sessions, log = self.log.sessions, self.log
        mask = np.zeros(sessions.n_segments, dtype=bool)
        mask[chosen] = True
        entries = sessions.repeat(mask)
        return log.row[entries], log.position[entries], log.clicks[entries], sessions.sizes[mask]


def dense(X):
    return X.toarray() if hasattr(X, "toarray") else X


def labels_of(experiment, model, **settings):
    """ClickLabels with the "true" click model, with that which is "estimated", or another."""
    if model == "estimated":
        try:
            model = harvest_propensities(experiment.counts).extended(DEPTH)
        except ValueError:
            # Without evidence in the log, positions are not corrected.
            model = 1.0
    model = get_click_model(experiment.model if model == "true" else model)
    return br.ClickLabels(
        experiment.log if isinstance(model, Cascade) else experiment.counts, model, **settings
    )


def make(experiment, **settings):
    return br.LightGBMRanker(random_state=experiment.seed, n_jobs=1, verbosity=-1, **settings)


def ours(experiment, model, shrink="auto", not_shown="predict", use=None):
    """Our ranker, with the arguments of ClickLabels.

    `use` says what the scores of the logging rankers are: a "feature", the scores where boosting
    starts ("start"), or None.
    """
    labels = labels_of(experiment, model, shrink=shrink, not_shown=not_shown)
    X, X_test, start = dense(experiment.train.X), dense(experiment.test.X), None
    own = np.mean(experiment.logger[0], axis=0)
    if use == "feature":
        X, X_test = np.column_stack([X, own]), np.column_stack([X_test, experiment.logger[2]])
    if use == "start":
        start = own
    rows = labels.log.shown if not_shown == "error" else np.full(len(labels), True)
    start = None if start is None else start[rows]
    scores = make(experiment).fit(X[rows], labels[rows], init_score=start).predict(X_test)
    return scores + experiment.logger[2] if use == "start" else scores


def for_dcg(experiment, doubly_robust):
    """Targets for DCG, with the same prior.

    They are shrunk as ClickLabels do it, or the doubly robust ones of Oosterhuis.
    """
    log, X = experiment.counts, dense(experiment.train.X)
    labels = labels_of(experiment, "true", normalize="none", shrink="auto", not_shown="predict")
    relevance, weights, logs = (
        np.maximum(labels.relevance, 0.0),
        labels.evidence,
        np.empty(len(labels)),
    )
    for fit_on, predict_for in br.QueryKFold(3, shuffle=True, random_state=0).split(
        X, groups=labels.qid
    ):
        targets = {"objective": "poisson", "normalize": "none", "gain": "linear"}
        trees = make(experiment, **targets, reg_lambda=1.0, n_estimators=100, learning_rate=0.1)
        trees.fit(X[fit_on], relevance[fit_on], labels.qid[fit_on], sample_weight=weights[fit_on])
        logs[predict_for] = trees.predict(X[predict_for])
    shrunk = labels.with_prediction(logs)
    targets, prior = shrunk.targets(), shrunk.shrink
    if doubly_robust:
        queries, sessions = labels.queries, experiment.log.sessions
        of_query = np.bincount(experiment.log.query[sessions.starts], minlength=queries.n_queries)
        propensity = experiment.model.affine(DEPTH)[0][log.position - 1]
        examined = np.bincount(log.row, weights=propensity * log.impressions, minlength=len(log))
        least = np.minimum(1.0, 10.0 / np.sqrt(sessions.n_segments)) * queries.ungroup(
            queries.repeat(of_query)
        )
        correction = (
            examined * (labels.relevance - prior) / np.maximum(1.0, np.maximum(examined, least))
        )
        targets = np.clip(prior + correction, 0.0, 1.0)
    ranker = make(experiment, normalize="none", gain="linear")
    return ranker.fit(X, targets, labels.qid, sample_weight=labels.query_weights).predict(
        dense(experiment.test.X)
    )


def lightgbm_lambdarank(experiment, *, with_positions):
    """LightGBM's lambdarank on the different sessions, with its argument `position` or without.

    A session that occurs n times has the weight n, which gives the same gradients, Hessians and
    position biases as n copies. Copies would count n times for `min_data_in_leaf`, so its default
    of 20 is divided by the mean weight.
    """
    row, position, clicks, sizes, counts = experiment.different_sessions()
    given = {"position": position - 1} if with_positions else {}
    settings = {"weight": np.repeat(counts, sizes), "group": sizes, "params": {"verbosity": -1}}
    data = lightgbm.Dataset(experiment.train.X[row], clicks, **settings, **given)
    settings = {
        "objective": "lambdarank",
        "num_threads": 1,
        "verbosity": -1,
        "seed": experiment.seed,
    }
    settings["min_data_in_leaf"] = max(1, round(20 / counts.mean()))
    return lightgbm.train(settings, data, ROUNDS).predict(experiment.test.X)


def xgboost_unbiased(experiment):
    """XGBoost's rank:ndcg with `lambdarank_unbiased` on single sessions.

    The learning rate is that of the others.

    Its estimate of position biases ignores weights, so that equal sessions cannot be replaced by
    one with a weight.
    """
    row, _, clicks, sizes = experiment.some_sessions()
    settings = {"lambdarank_unbiased": True, "learning_rate": 0.1, "n_estimators": ROUNDS}
    ranker = xgboost.XGBRanker(
        objective="rank:ndcg", n_jobs=1, random_state=experiment.seed, **settings
    )
    ranker.fit(experiment.train.X[row], clicks, qid=np.repeat(np.arange(len(sizes)), sizes))
    return ranker.predict(experiment.test.X)


#: Settings of unbiased estimates, and of click rates, for the rows that were shown.
RATES = {"shrink": None, "not_shown": "error"}
#: Functions of an experiment that return scores of the test queries, by group: each group of a log
#: is one job.
METHODS = {
    "ours": {
        "click rates": partial(ours, model=1.0, **RATES),
        "click rates, others irrelevant": partial(
            ours, model=1.0, shrink=None, not_shown="irrelevant"
        ),
        "no shrinkage": partial(ours, model="true", **RATES),
        "no shrinkage, others irrelevant": partial(
            ours, model="true", shrink=None, not_shown="irrelevant"
        ),
        "ours": partial(ours, model="true"),
        "ours, estimated propensities": partial(ours, model="estimated"),
        "ours, logger as feature": partial(ours, model="true", use="feature"),
        "ours, starting at the logger": partial(ours, model="true", use="start"),
    },
    "for DCG": {
        "ours, for DCG": partial(for_dcg, doubly_robust=False),
        "doubly robust, for DCG": partial(for_dcg, doubly_robust=True),
    },
    "models": {
        "click rates": partial(ours, model=1.0, **RATES),
        "ours, by position": partial(ours, model="position-based"),
        "ours": partial(ours, model="true"),
    },
    "libraries": {
        "LightGBM position": partial(lightgbm_lambdarank, with_positions=True),
        "XGBoost unbiased": xgboost_unbiased,
    },
}
