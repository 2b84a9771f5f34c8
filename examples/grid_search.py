"""Grid search over objectives, LambdaMART included, with folds and scores that know the queries."""

import sklearn
from sklearn.model_selection import GridSearchCV

import boostrank as br

X, y, qid = br.make_ranking(n_queries=150, random_state=0)
grid = {"objective": ["consistent-lambdarank", "softmax", br.surrogates.Cosine(), "lambdarank"], "num_leaves": [7, 31]}

# Each fit stops early on a fifth of its own training queries, and so finds its number of rounds.
ranker = br.LightGBMRanker(
    k=10, n_estimators=200, early_stopping_rounds=10, validation_fraction=0.2, refit=True, random_state=0
)
search = br.grid_search(ranker, grid, X, y, qid, cv=3, scoring=["ndcg@10", "map"])
for parameters, ndcg, rounds in zip(
    search.cv_results_["params"],
    search.cv_results_["mean_test_ndcg@10"],
    search.cv_results_["mean_test_n_estimators"],
    strict=True,
):
    print(f"{ndcg:.4f}  {rounds:4.0f} rounds  {parameters}")
print(f"best: {search.best_params_}; trained again on all queries with {search.best_estimator_.best_iteration_} rounds")

# The same by scikit-learn's own class, once metadata routing is on.
with sklearn.config_context(enable_metadata_routing=True):
    same = GridSearchCV(ranker, grid, cv=br.QueryKFold(3), scoring=br.make_scorer("ndcg@10")).fit(X, y, qid=qid)
assert same.best_params_ == search.best_params_
