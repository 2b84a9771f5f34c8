"""A program of typical use, and errors in it, which mypy reads strictly with the package.

It never runs. An error that mypy does not find is an unused comment "type: ignore".
"""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import boostrank as br

if TYPE_CHECKING:
    X, y, qid = br.make_ranking(n_queries=60, random_state=0)
    train, test = br.split_queries(qid, 0.2, random_state=0)
    ranker = br.LightGBMRanker("softmax", k=10, n_estimators=5)
    ranker = ranker.fit(X[train], y[train], qid=qid[train])
    scores: NDArray[np.float64] = ranker.predict(X[test])
    mean: float = ranker.score(X[test], y[test], qid=qid[test])
    mean = br.ndcg_score(y[test], scores, qid[test], k=10)
    values: NDArray[np.float64] = br.ndcg_score(y[test], scores, qid[test], per_query=True)
    mean = br.evaluate(y[test], scores, qid[test], ["ndcg@10", "map"])["map"]
    table: pd.DataFrame = br.evaluate(y[test], scores, qid[test], "ndcg@10", per_query=True)
    linear: float = br.get_measure("ndcg@10", gain="linear")(y[test], scores, qid[test])
    fitted = br.XGBoostRanker().fit(X, y, group=np.bincount(qid))
    rounds: int = fitted.load_model("model.json").best_iteration_
    rounds = br.load_model("model.txt").best_iteration_
    folds = br.cross_validate(ranker, X, y, qid, cv=3, scoring=br.make_scorer("map"))
    mean = folds["test_score"].mean()
    search = br.grid_search(ranker, {"k": [5, 10]}, X, y, qid, cv=br.QueryKFold(3))
    best: dict[str, object] = search.best_params_
    rankers = {"one": ranker, "bag": br.BaggedRanker(br.LightGBMRanker(), random_state=0)}
    comparison = br.compare(rankers, X, y, qid, cv=3, measures=["ndcg@10"])
    comparison.save_html("report.html")
    of_folds = br.compare(rankers, br.query_folds(br.Dataset(X, y, qid), 3))
    means: pd.Series[float] = of_folds.table["mean"]
    text: str = comparison.to_markdown() + comparison.conclusion("ndcg@10")
    mean = br.permutation_test(values, values).p_value
    qrels, run = br.read_qrels("qrels.txt"), br.read_run("run.txt")
    mean = br.evaluate_run(qrels, run, ["nDCG@10"])["nDCG@10"]
    text = br.compare_runs(qrels, {"one": run}).conclusion("nDCG@10")
    text = br.explain(ranker, X, qid, query=1).head
    log = br.simulate_clicks(y, scores, qid, random_state=0).log
    ranker.fit(X, br.ClickLabels(log, br.clicks.harvest_propensities(log)))
    # Errors.
    comparison.save_htm("report.html")  # type: ignore[attr-defined]
    br.ndcg_score(y, y, qid, kk=1)  # type: ignore[call-arg]
    br.LightGBMRanker().fit()  # type: ignore[call-arg]
