"""Probabilities of the first place and of relevance, on simulated lists.

python benchmarks/calibration.py [--sizes 300 1000] [--tested 2000] [--seeds 1] [--part races]

Races: lists of 6 to 14 documents with 12 features. The utility of a document is a sum of four terms
of the features, and the whole ranking is drawn by the model of Plackett and Luce; the labels of the
training are the winner only. Each method gets the log loss of the winner, its ratio to the smallest
one of the last three methods, the calibration errors by document and by list, and that of the
probability to be among the best three. "conditional logit" knows the four terms, which no other
method does. "truth" are the probabilities of the simulation. CatBoost's QuerySoftMax has a
temperature by CalibratedRanker too, and LGBMClassifier isotonic calibration by scikit-learn; its
probabilities are divided by their sum in the list.

Shifts: lists of 10 to 30 documents whose level depends on features that do not vary in the list,
and on noise. Each method gets AUC and log loss over all documents, the calibration error, and
NDCG@10.

The tables calibration_races.csv and calibration_shifts.csv have means over seeds.
"""

import warnings

import catboost
import lightgbm
import numpy as np
import pandas as pd
from reporting import make_parser, publish
from scipy.optimize import minimize
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import GroupKFold

import boostrank as br

N_FEATURES = 12
K = 3
PLAIN = {"n_jobs": 1, "random_state": 0}
CATBOOST = {"loss_function": "QuerySoftMax", "thread_count": 1, "random_seed": 0}
# With the 1000 rounds of its default the table takes hours on one core.
CATBOOST |= {"iterations": 300, "learning_rate": 0.1}
CATBOOST |= {"allow_writing_files": False, "logging_level": "Silent"}


def terms_of(X):
    """The terms of the utility."""
    return np.column_stack([X[:, 0], np.abs(X[:, 1]), np.sin(2 * X[:, 2]), X[:, 3] * X[:, 4]])


def make_races(n, seed):
    """Features, winners, query ids, ranks and true utilities of `n` races."""
    random = np.random.default_rng(seed)
    queries = br.Queries.from_sizes(random.integers(6, 15, n))
    X = random.standard_normal((queries.n_documents, N_FEATURES))
    utilities = terms_of(X) @ [0.8, 0.8, 0.6, 0.6]
    ranks = queries.ranks(utilities + random.gumbel(size=len(utilities)))
    return X, (ranks == 1).astype(float), queries.qid, ranks, utilities


def conditional_logit(train, test):
    """Probabilities by maximum likelihood of a linear utility of the true terms."""
    X, y, qid, *_ = train
    queries = br.Queries.from_qid(qid)
    terms = terms_of(X)

    def loss(weights):
        scores = terms @ weights
        p = queries.softmax(scores)
        value = queries.logsumexp(scores).sum() - y @ scores
        return value, terms.T @ (p - y)

    weights = minimize(loss, np.zeros(terms.shape[1]), jac=True).x
    return br.Queries.from_qid(test[2]).softmax(terms_of(test[0]) @ weights), None


def calibrated(ranker, method=None):
    """A method: the ranker with the probabilities of CalibratedRanker."""

    def predict(train, test):
        fitted = br.CalibratedRanker(ranker, method=method).fit(*train[:3])
        p = fitted.predict_proba(test[0], qid=test[2])
        ranks = fitted.predict_ranks(test[0], qid=test[2], k=K, random_state=0)
        return p, ranks.among_best[:, K - 1]

    return predict


def classifier(X, y, qid):
    """LGBMClassifier with isotonic calibration on folds of queries."""
    folds = list(GroupKFold(5).split(X, y, qid))
    plain = lightgbm.LGBMClassifier(n_jobs=1, verbose=-1, random_state=0)
    return CalibratedClassifierCV(plain, method="isotonic", cv=folds).fit(X, y)


def classified(train, test):
    """Probabilities of LGBMClassifier, divided by their sum in the list."""
    p = classifier(*train[:3]).predict_proba(test[0])[:, 1] + 1e-6
    queries = br.Queries.from_qid(test[2])
    return p / queries.repeat(queries.sum(p)), None


RACES = {
    "softmax, LightGBM": calibrated(br.LightGBMRanker(**PLAIN)),
    "softmax, XGBoost": calibrated(br.XGBoostRanker(**PLAIN)),
    "softmax, LightGBM, isotonic": calibrated(br.LightGBMRanker(**PLAIN), "isotonic"),
    "LambdaMART of LightGBM": calibrated(br.LightGBMRanker("lambdarank", **PLAIN)),
    "CatBoost QuerySoftMax": calibrated(catboost.CatBoostRanker(**CATBOOST)),
    "LGBMClassifier, isotonic": classified,
    "conditional logit": conditional_logit,
}
OTHERS = ["CatBoost QuerySoftMax", "LGBMClassifier, isotonic", "conditional logit"]


def judge_race(p, among_best, test):
    """What the table has of a method."""
    _, y, qid, ranks, _ = test
    values = {
        "log_loss": br.calibration.log_loss(y, p, qid),
        "error": br.calibration.calibration_error(y, p, qid),
        "error_by_list": br.calibration.calibration_error(y, p, qid, unit="query"),
        "error_best_3": np.nan,
    }
    if among_best is not None:
        is_best = (ranks <= K).astype(float)
        values["error_best_3"] = br.calibration.calibration_error(
            is_best, among_best, qid, threshold=1
        )
    return values


def run_races(n, n_tested, seed):
    """Rows of the table of races."""
    train = make_races(n, seed)
    test = make_races(n_tested, 1000 + seed)
    queries = br.Queries.from_qid(test[2])
    rows = [{"method": "truth", **judge_race(queries.softmax(test[4]), None, test)}]
    for name, method in RACES.items():
        rows.append({"method": name, **judge_race(*method(train, test), test)})
        print(n, rows[-1], flush=True)
    best = min(row["log_loss"] for row in rows if row["method"] in OTHERS)
    return [{"lists": n, **row, "log_loss_ratio": row["log_loss"] / best} for row in rows]


def make_shifts(n, seed):
    """Features, labels and query ids of `n` lists whose level differs."""
    random = np.random.default_rng(seed)
    queries = br.Queries.from_sizes(random.integers(10, 31, n))
    X = random.standard_normal((queries.n_documents, N_FEATURES))
    of_lists = random.standard_normal((n, 4))
    X[:, -4:] = np.repeat(of_lists, queries.sizes, axis=0)
    level = 1.5 * (of_lists[:, 0] + 0.5 * np.abs(of_lists[:, 1])) + 0.7 * random.standard_normal(n)
    logits = 1.2 * terms_of(X).sum(axis=1) + queries.repeat(level) - 3.0
    return X, (random.random(len(X)) < 1 / (1 + np.exp(-logits))).astype(float), queries.qid


def relevant(ranker, method):
    """A method: the probability to be relevant by CalibratedRanker, and its scores."""

    def predict(train, test):
        fitted = br.CalibratedRanker(ranker, "relevance", method=method).fit(*train)
        return fitted.predict_proba(test[0], qid=test[2])[:, 0], fitted.predict(test[0])

    return predict


def separable(train, test):
    """Isotonic calibration of the scores of a loss with a term for each document."""
    from sklearn.isotonic import IsotonicRegression

    X, y, qid = train
    make = br.LightGBMRanker("logistic", normalize="none", **PLAIN)
    scores = np.empty(len(y))
    for rows, held_out in br.QueryKFold(5).split(X, groups=qid):
        scores[held_out] = make.fit(X[rows], y[rows], qid[rows]).predict(X[held_out])
    curve = IsotonicRegression(out_of_bounds="clip", y_min=1e-4, y_max=1 - 1e-4).fit(scores, y)
    scores = make.fit(X, y, qid).predict(test[0])
    return curve.predict(scores), scores


def classified_shifts(train, test):
    """Probabilities of LGBMClassifier, which are its scores too."""
    p = classifier(*train).predict_proba(test[0])[:, 1].clip(1e-4, 1 - 1e-4)
    return p, p


def plain_classifier(train, test):
    """Probabilities of LGBMClassifier alone."""
    model = lightgbm.LGBMClassifier(n_jobs=1, verbose=-1, random_state=0).fit(*train[:2])
    p = model.predict_proba(test[0])[:, 1]
    return p, p


LOGISTIC = br.LightGBMRanker("logistic", normalize="none", **PLAIN)
SHIFTS = {
    "softmax and level, isotonic": relevant(br.LightGBMRanker(**PLAIN), "isotonic"),
    "softmax and level, sigmoid": relevant(br.LightGBMRanker(**PLAIN), "sigmoid"),
    "softmax of XGBoost and level, isotonic": relevant(br.XGBoostRanker(**PLAIN), "isotonic"),
    "logistic and level, isotonic": relevant(LOGISTIC, "isotonic"),
    "logistic, isotonic": separable,
    "LGBMClassifier": plain_classifier,
    "LGBMClassifier, isotonic": classified_shifts,
}


def run_shifts(n, n_tested, seed):
    """Rows of the table of shifts."""
    train = make_shifts(n, seed)
    test = make_shifts(n_tested, 1000 + seed)
    _, y, qid = test
    rows = []
    for name, method in SHIFTS.items():
        p, scores = method(train, test)
        row = {
            "lists": n,
            "method": name,
            "auc": roc_auc_score(y, p),
            "log_loss": log_loss(y, p),
            "error": br.calibration.calibration_error(y, p, qid, threshold=1),
            "ndcg@10": br.ndcg_score(y, scores, qid, k=10, empty="skip"),
        }
        rows.append(row)
        print(row, flush=True)
    return rows


PARTS = {
    "races": (run_races, "Probabilities of the winner of simulated races"),
    "shifts": (run_shifts, "Probabilities of relevance in simulated lists of shifted levels"),
}


def main():
    """Measure all cells, and write the tables."""
    parser = make_parser(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[300, 1000])
    parser.add_argument("--tested", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--part", choices=PARTS, nargs="+", default=list(PARTS))
    arguments = parser.parse_args()
    for name in arguments.part:
        run, title = PARTS[name]
        rows = []
        for n in arguments.sizes:
            for seed in range(arguments.seeds):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    rows += run(n, arguments.tested, seed)
        table = pd.DataFrame(rows).groupby(["lists", "method"], sort=False).mean().reset_index()
        numbers = dict.fromkeys(table.columns[2:], ".4f")
        publish(
            table,
            f"calibration_{name}",
            arguments.output,
            title=title,
            seeds=", ".join(map(str, range(arguments.seeds))),
            formats=numbers,
            notes=[f"tested on {arguments.tested} other lists"],
        )


if __name__ == "__main__":
    main()
