"""Peak memory of a fit of our rankers against the library's own fit of equal trees.

Both have the same rows.

python benchmarks/peak_memory.py [--documents 500000] [--runs 3] [--output FOLDER]

Rows are grouped by query and have 136 features, in float32 or float64. The native fit is that of
`lightgbm.LGBMRanker` or `xgboost.XGBRanker` with LambdaMART; ours are the ranker with LambdaMART
and with softmax. Each fit has five rounds and a process of its own.
"""

import numpy as np
import pandas as pd
from reporting import make_parser, publish
from timing import run_in_fresh_process

CODE = """
import resource, numpy as np
random = np.random.default_rng(0)
sizes = random.integers(20, 221, {documents} // 120)
X = random.standard_normal((sizes.sum(), 136), dtype=np.{dtype})
y = np.clip(np.round(X[:, 0] + random.standard_normal(len(X)) - 0.5), 0, 4).astype(int)
qid = np.repeat(np.arange(len(sizes)), sizes)
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
import boostrank as br, lightgbm, xgboost
from sklearn import model_selection
before = peak()
{fit}
print(before, peak())
"""
FITS = {
    "lightgbm": {
        "lightgbm.LGBMRanker, lambdarank": (
            "lightgbm.LGBMRanker(n_estimators=5, verbosity=-1).fit(X, y, group=sizes)"
        ),
        "LightGBMRanker, lambdarank": (
            "br.LightGBMRanker('lambdarank', n_estimators=5).fit(X, y, qid)"
        ),
        "LightGBMRanker, softmax": "br.LightGBMRanker('softmax', n_estimators=5).fit(X, y, qid)",
    },
    "xgboost": {
        "xgboost.XGBRanker, rank:ndcg": "xgboost.XGBRanker(n_estimators=5).fit(X, y, qid=qid)",
        "XGBoostRanker, rank:ndcg": "br.XGBoostRanker('rank:ndcg', n_estimators=5).fit(X, y, qid)",
        "XGBoostRanker, softmax": "br.XGBoostRanker('softmax', n_estimators=5).fit(X, y, qid)",
    },
}


def measure(fit, dtype, documents, runs):
    """Median peak memory before and after the fit in MB, over fresh processes."""
    code = CODE.format(documents=documents, dtype=dtype, fit=fit)
    return np.median([run_in_fresh_process(code) for _ in range(runs)], axis=0)


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--documents", type=int, default=500_000)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    rows = []
    for library, fits in FITS.items():
        for dtype in ("float32", "float64"):
            peaks = [
                measure(fit, dtype, arguments.documents, arguments.runs) for fit in fits.values()
            ]
            native = peaks[0][1]
            for name, (before, peak) in zip(fits, peaks, strict=True):
                rows.append((library, name, dtype, before, peak, peak / native))
    publish(
        pd.DataFrame(
            rows, columns=["library", "fit", "features", "data_mb", "peak_mb", "times_native"]
        ),
        "peak_memory",
        arguments.output,
        title=f"Peak memory of a fit: about {arguments.documents:,} documents x 136 features, five "
        "rounds",
        seeds="0",
    )


if __name__ == "__main__":
    main()
