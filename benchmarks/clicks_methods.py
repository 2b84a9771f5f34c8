"""The logging policies, the logs and the rankers of clicks.py.

A logging policy is a pair of rankers that serve the users: each session shows the ten best documents of one of both,
drawn at random. So some documents are shown at two positions, and propensities can be estimated from the log. To add a
method, add a row to `METHODS`.
"""

from functools import cached_property, lru_cache, partial

import lightgbm
import numpy as np
import xgboost
from workloads import SYNTHETIC, read_folds, training_queries

import boostrank as br
from boostrank.clicks import (
    Cascade,
    ClickLog,
    PositionBased,
    estimate_relevance,
    get_click_model,
    harvest_propensities,
    regression_em_propensities,
)
from boostrank.model_selection import with_validation

#: Documents of a result list, and the probability that an irrelevant document is relevant to a user.
DEPTH, NOISE = 10, 0.1
POLICIES = ("random", "weak", "good")
CLICK_MODELS = ("position-based", "cascade", "trust-bias")
SYNTHETIC_QUERIES = 600
ROUNDS = 100
#: Trees of the classifier of regression EM.
N_TREES = 50


@lru_cache(maxsize=2)
def read_part(data, number):
    """All queries of a fold that are not for testing, and its test queries.

    The labels of the synthetic data are a function of the features, so that the best ranking is that of the labels.
    """
    if data == SYNTHETIC:
        queries = br.make_ranking(SYNTHETIC_QUERIES, noise=0.0, random_state=0)
        folds = [with_validation(fold, random_state=0) for fold in br.query_folds(queries, random_state=0)]
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
    return br.LightGBMRanker(n_estimators=ROUNDS, random_state=seed, n_jobs=1, verbosity=-1).fit(*dataset)


@lru_cache(maxsize=4)
def logging_policy(data, number, policy, seed):
    """Scores of the training queries by both rankers of a policy, and the mean NDCG@10 of both on the test queries.

    The rankers of "weak" learn from the labels of one training query in a hundred. Those of "good" learn from the
    labels of half of the training queries, and rank the other half. "random" is a random ranking for each session.
    """
    train, test = read_part(data, number)
    if policy == "random":
        constant = np.zeros(len(test.y))
        return [np.zeros(len(train.y))] * 2, float(br.ndcg_score(test.y, constant, test.qid, k=10, empty="skip"))
    all_scores, values = [], []
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
            values.append(ndcg(test, ranker.predict(test.X)))
        # Trees give equal scores to many documents, which each ranker sorts at random, the same way in each session.
        all_scores.append(scores + 1e-9 * random.standard_normal(len(scores)))
    return all_scores, float(np.mean(values))


def simulate(data, number, policy, model, n_clicks, seed):
    """A log of sessions with about `n_clicks` clicks, half of the sessions by each ranker of the policy."""
    train, _ = read_part(data, number)
    scores, _ = logging_policy(data, number, policy, seed)
    random = np.random.default_rng([seed, number, n_clicks])
    settings = {"model": model, "depth": DEPTH, "noise": NOISE, "random_state": random}
    settings["policy"] = ("plackett-luce", 1.0) if policy == "random" else "deterministic"

    def draw(n_sessions):
        logs = [br.simulate_clicks(train.y, own, train.qid, n_sessions=n_sessions, **settings).log for own in scores]
        return ClickLog.concatenate(logs)

    trial = draw(10_000)
    return draw(max(1, round(n_clicks * trial.n_sessions / trial.n_clicks / 2)))


class Experiment:
    """A log, and what the methods learn from it."""

    def __init__(self, data, number, policy, model, n_clicks, seed, max_sessions):
        self.max_sessions = max_sessions
        self.train, self.test = read_part(data, number)
        self.log = simulate(data, number, policy, model, n_clicks, seed)
        self.model, self.seed = get_click_model(model), seed

    @cached_property
    def shown_sessions(self):
        """The log of the rows that were shown."""
        return self.log[self.log.shown]

    @cached_property
    def shown_counts(self):
        """The same as counts, from which estimates of relevance take less time."""
        return self.shown_sessions.aggregate()

    @property
    def shown_features(self):
        """The features of the rows that were shown."""
        return self.train.X[self.log.shown]

    def estimated(self, name):
        """A click model that is estimated from the log, by its name in `ESTIMATES`.

        Without evidence in the log it is the model without a correction.
        """
        try:
            return ESTIMATES[name](self)
        except ValueError:
            return PositionBased(1.0)

    @cached_property
    def with_clicks(self):
        """The sessions with clicks, of which some are the same: same documents, positions and clicks."""
        sessions = self.log.sessions
        return np.flatnonzero(sessions.sum(self.log.clicks))

    def some_sessions(self):
        """Rows, positions, clicks and sizes of at most `max_sessions` sessions with clicks, drawn at random."""
        chosen = self.with_clicks
        if len(chosen) > self.max_sessions:
            chosen = np.random.default_rng(self.seed).choice(chosen, self.max_sessions, replace=False)
        return self._entries(np.sort(chosen))

    def different_sessions(self):
        """Rows, positions, clicks, sizes and frequencies of the different sessions with clicks.

        There are at most `max_sessions` of them; further ones are left out at random.
        """
        sessions, log = self.log.sessions, self.log
        random = np.random.default_rng(self.seed)
        # Equal sessions have equal sums of random numbers, and others do not, but for chance in 64 bits.
        codes = random.integers(2**63, size=(2, log.n_documents), dtype=np.uint64)[log.clicks, log.row]
        codes *= random.integers(2**63, size=log.n_positions, dtype=np.uint64)[log.position - 1] | np.uint64(1)
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


def ours(experiment, model, targets="independent", make=br.LightGBMRanker):
    """Our ranker on the rows that were shown; about others, the log says nothing.

    A row that was shown only where the cascade model knows that it was not examined counts as irrelevant.

    `targets` is the parameter `normalize` of :class:`boostrank.ClickLabels`; or "grades" for NDCG in which the
    estimated relevance of a document is its grade: gains are divided by the ideal DCG of the estimates.
    """
    if model == "true":
        model = experiment.model
    elif model in ESTIMATES:
        model = experiment.estimated(model)
    else:
        model = PositionBased(model)
    log = experiment.shown_sessions if isinstance(model, Cascade) else experiment.shown_counts
    X = experiment.shown_features
    settings = {"n_estimators": ROUNDS, "random_state": experiment.seed, "n_jobs": 1}
    if make is br.LightGBMRanker:
        settings["verbosity"] = -1
    if targets == "grades":
        relevance = estimate_relevance(log, model, not_shown="irrelevant").relevance
        return make(gain="linear", **settings).fit(X, relevance, log.qid).predict(experiment.test.X)
    return (
        make(**settings).fit(X, br.ClickLabels(log, model, targets, not_shown="irrelevant")).predict(experiment.test.X)
    )


def lightgbm_lambdarank(experiment, *, with_positions):
    """LightGBM's lambdarank on the different sessions, with its argument `position` or without.

    A session that occurs n times has the weight n, which gives the same gradients, Hessians and position biases as n
    copies. Copies would count n times for `min_data_in_leaf`, so its default of 20 is divided by the mean weight.
    """
    row, position, clicks, sizes, counts = experiment.different_sessions()
    given = {"position": position - 1} if with_positions else {}
    settings = {"weight": np.repeat(counts, sizes), "group": sizes, "params": {"verbosity": -1}}
    data = lightgbm.Dataset(experiment.train.X[row], clicks, **settings, **given)
    settings = {"objective": "lambdarank", "num_threads": 1, "verbosity": -1, "seed": experiment.seed}
    settings["min_data_in_leaf"] = max(1, round(20 / counts.mean()))
    return lightgbm.train(settings, data, ROUNDS).predict(experiment.test.X)


def xgboost_unbiased(experiment):
    """XGBoost's rank:ndcg with `lambdarank_unbiased` on single sessions, at the learning rate of the others.

    Its estimate of position biases ignores weights, so that equal sessions cannot be replaced by one with a weight.
    """
    row, _, clicks, sizes = experiment.some_sessions()
    settings = {"lambdarank_unbiased": True, "learning_rate": 0.1, "n_estimators": ROUNDS}
    ranker = xgboost.XGBRanker(objective="rank:ndcg", n_jobs=1, random_state=experiment.seed, **settings)
    ranker.fit(experiment.train.X[row], clicks, qid=np.repeat(np.arange(len(sizes)), sizes))
    return ranker.predict(experiment.test.X)


def regression_em(experiment):
    """The propensities of regression EM with small trees."""
    trees = lightgbm.LGBMClassifier(n_estimators=N_TREES, num_leaves=8, n_jobs=1, random_state=0, verbosity=-1)
    log, X = experiment.shown_counts, experiment.shown_features
    return regression_em_propensities(log, X, trees, tolerance=0.01, random_state=0)


#: Functions of an experiment that estimate a click model.
ESTIMATES = {
    "harvested": lambda experiment: harvest_propensities(experiment.shown_counts).extended(DEPTH).click_model(),
    "regression EM": lambda experiment: regression_em(experiment).extended(DEPTH).click_model(),
}
#: Functions of an experiment that return scores of the test queries, by group: each group of a log is one job.
METHODS = {
    "ours": {
        "naive clicks": partial(ours, model=1.0),
        "ours, true": partial(ours, model="true"),
        "ours, estimated": partial(ours, model="harvested"),
        "ours, exponent 0.5": partial(ours, model=("power", 0.5)),
        "ours, exponent 2": partial(ours, model=("power", 2.0)),
        "ours, true, for DCG": partial(ours, model="true", targets="none"),
        "ours, true, for NDCG of grades": partial(ours, model="true", targets="grades"),
        "ours, estimated, on XGBoost": partial(ours, model="harvested", make=br.XGBoostRanker),
    },
    "estimates": {
        "ours, regression EM": partial(ours, model="regression EM"),
    },
    "libraries": {
        "LightGBM lambdarank": partial(lightgbm_lambdarank, with_positions=False),
        "LightGBM position": partial(lightgbm_lambdarank, with_positions=True),
        "XGBoost unbiased": xgboost_unbiased,
    },
}
