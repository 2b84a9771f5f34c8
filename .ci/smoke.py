"""Use the installed boostrank: models of both libraries, from the fit to the loaded file.

Use: python .ci/smoke.py compiled, or python .ci/smoke.py numpy where the compiled library is not
there or, by BOOSTRANK_COMPILED=0, not used.
"""

import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np

import boostrank as br
from boostrank.kernels import library

ROOT = Path(__file__).parents[1]


def main(kernels):
    """Train, save, load and predict with both libraries."""
    assert kernels in ("compiled", "numpy"), kernels
    assert library.is_available() == (kernels == "compiled"), library.status()
    assert ROOT not in Path(br.__file__).parents, f"{br.__file__} is not an installed file"
    assert version("boostrank") == br.__version__
    X, y, qid = br.make_ranking(n_queries=100, random_state=0)
    for ranker, name in ((br.LightGBMRanker(), "model.txt"), (br.XGBoostRanker(), "model.json")):
        scores = ranker.set_params(n_jobs=1, random_state=0).fit(X, y, qid).predict(X)
        ndcg = br.ndcg_score(y, scores, qid, k=10)
        assert ndcg > 0.8, ndcg
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            ranker.save_model(path)
            np.testing.assert_array_equal(br.load_model(path).predict(X), scores)
    sys.stdout.write(f"boostrank {br.__version__} works: {library.status()}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
