"""NDCG-consistent ranking losses for LightGBM and XGBoost.

Use
---
>>> import boostrank as br
>>> data = br.make_ranking(n_queries=60, random_state=0)  # or br.read_letor("train.txt")
>>> X, y, qid = data
>>> train, test = br.split_queries(qid, 0.2, random_state=0)
>>> ranker = br.LightGBMRanker().fit(X[train], y[train], qid[train])  # or br.XGBoostRanker
>>> table = br.evaluate(y[test], ranker.predict(X[test]), qid[test], ["ndcg@10", "map"])
>>> rankers = {"default": ranker, "LambdaMART": br.LightGBMRanker("lambdarank")}
>>> comparison = br.compare(rankers, br.query_folds(data, 3))  # paired tests over the queries

Layers
------
The core is what fit, score and search need. These are its packages, from the lowest layer to the
highest:

    inputs                   arrays, DataFrames, settings, random states and files that users give
    queries                  segments, queries, ranked documents, weights, and threads
    kernels                  computations for which NumPy is slow, in C and in NumPy
    text                     lines of LETOR and TREC files, and tables as text and HTML
    ndcg                     gains, discounts, DCG, targets, and labels
    surrogates               surrogate losses of NDCG
    datasets                 data sets, LETOR files, synthetic data (as an extension: feature files)
    metrics                  measures of rankings, and scorers
    backends                 LightGBM and XGBoost: the only modules that import these
    training                 check the data, bind a loss to them, and train one booster
    model_selection          splits by query, cross-validation and grid search of any estimator
    rankers                  estimators in the style of scikit-learn, explanations of scores
    significance             paired tests, intervals, corrections for many tests, power analysis
    comparison               comparison of rankers by paired tests over queries

Extensions plug into the core: they import its names, and it imports none of theirs. Names that they
enter as entry points, such as losses and measures, are imported when they are looked up. A plain
fit loads none of them.

    calibration              probabilities from scores: of the first place, of ranks, of relevance
    preferences              labels that are preferences of documents, and losses of their edges
    correlations             correlations of scores with labels that are real numbers, and spreads
    clicks                   click logs, click models, and what clicks say about relevance
    objectives               several objectives in one model, and the trade-off between them
    theory                   consistency of losses, documents that share scores, long lists
    runs                     TREC files, measures, fusion and comparison of runs, conventions
    serving                  models and requests for search engines, scores there, logged features
    displays                 pictures with matplotlib
    clusters                 training on the workers of Dask, Ray and Spark

The command line stands above all of them:

    cli                      commands, which import extensions when they need them

A module imports only from layers above its own line in these lists. Tests read the lists and hold
the imports to them.
"""

from threading import RLock

import lazy_loader

# The one place of the version: pyproject.toml and the guide read it from here. So it is that of the
# code that is imported, also where another version is installed.
__version__ = "0.1.0"

_attribute, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
# Extras, which "from boostrank import *" does not need.
__all__ = [name for name in __all__ if name not in ("dask", "ray", "spark")]
# Threads that import modules of scikit-learn or NumPy in different sequences may get unfinished
# ones. So only one thread at a time imports what a public name needs. Modules of boostrank import
# no public name from here: a thread that imports such a module would wait for this lock, and the
# owner of the lock for that module.
_public_import = RLock()


def __getattr__(name: str) -> object:
    with _public_import:
        return _attribute(name)
