"""From training to serving: a model file that LightGBM reads without boostrank, SHAP values, and ONNX.

The last two parts need shap, onnxmltools and onnxruntime.
"""

import tempfile
from pathlib import Path

import lightgbm as lgb
import numpy as np
import onnxruntime
import pandas as pd
import shap

import boostrank as br

X, y, qid = br.make_ranking(n_queries=200, random_state=0)
features = pd.DataFrame(X.astype(np.float32), columns=[f"feature_{i}" for i in range(X.shape[1])])
ranker = br.LightGBMRanker(
    "softmax", k=10, n_estimators=300, early_stopping_rounds=20, validation_fraction=0.2, refit=True, random_state=0
).fit(features, y, qid)
scores = ranker.predict(features)

with tempfile.TemporaryDirectory() as folder:
    # The file is LightGBM's own format; the server needs lightgbm only.
    path = Path(folder) / "ranker.txt"
    ranker.save_model(path)
    served = lgb.Booster(model_file=path)
    assert np.array_equal(served.predict(features), scores)

    # boostrank reads it too, and refuses a file that was cut off or edited.
    again = br.LightGBMRanker(k=10).load_model(path)
    print(f"NDCG@10 {again.score(features, y, qid):.4f} on its own training data, {again.best_iteration_} rounds")
    path.write_text(path.read_text().replace("leaf_value=", "leaf_value=1", 1))
    try:
        br.LightGBMRanker().load_model(path)
    except ValueError as error:
        print(f"refused: {error}"[:100])

# Why does a document have its score? Its SHAP values and the base value sum to the score.
values = shap.TreeExplainer(ranker.booster_)(features)
assert np.allclose(values.values.sum(axis=1) + values.base_values, scores)
first = int(np.argmax(np.where(qid == qid[0], scores, -np.inf)))
print("best document of the first query, mostly because of", features.columns[values.values[first].argmax()])
print(ranker.get_feature_importances("gain").head(3).round().to_string())

# ONNX, for a server without LightGBM.
session = onnxruntime.InferenceSession(ranker.to_onnx().SerializeToString())
(onnx_scores,) = session.run(None, {"X": features.to_numpy()})
print(f"ONNX differs by at most {np.abs(onnx_scores.ravel() - scores).max():.1e}")
