"""Grid search over objectives, LambdaMART included, with folds and scores that know the queries."""

import sklearn
from sklearn.model_selection import GridSearchCV

import boostrank as br

sklearn.set_config(enable_metadata_routing=True)  # hands qid to the ranker, the splitter and the scorer

X, y, qid = br.make_ranking(n_queries=150, random_state=0)
grid = {"objective": ["softmax", "logistic", br.surrogates.Cosine(), "lambdarank"], "k": [None, 10]}
search = GridSearchCV(
    br.LightGBMRanker(n_estimators=50, random_state=0), grid, cv=br.QueryKFold(3), scoring=br.make_ndcg_scorer(k=10)
)
search.fit(X, y, qid=qid)
print(search.best_params_, f"{search.best_score_:.4f}")
