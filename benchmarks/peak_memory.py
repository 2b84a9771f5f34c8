"""Peak memory of a fit against the native library's fit of the same trees on the same rows, each in a fresh process.

Rows are grouped by query, features float32 or float64, 136 of them. The native fit is `lightgbm.LGBMRanker` or
`xgboost.XGBRanker` with its LambdaMART; ours is the ranker with that objective, and with softmax.

python benchmarks/peak_memory.py [--documents 500000] [--runs 3]
"""

import argparse
import itertools
import subprocess
import sys

import numpy as np
from environment import describe

CODE = """
import resource, numpy as np
rng = np.random.default_rng(0)
sizes = rng.integers(20, 221, {documents} // 120)
X = rng.standard_normal((sizes.sum(), 136), dtype=np.{dtype})
y = np.clip(np.round(X[:, 0] + rng.standard_normal(len(X)) - 0.5), 0, 4).astype(int)
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
        "lightgbm.LGBMRanker, lambdarank": "lightgbm.LGBMRanker(n_estimators=5, verbosity=-1).fit(X, y, group=sizes)",
        "LightGBMRanker, lambdarank": "br.LightGBMRanker('lambdarank', n_estimators=5).fit(X, y, qid)",
        "LightGBMRanker, softmax": "br.LightGBMRanker('softmax', n_estimators=5).fit(X, y, qid)",
    },
    "xgboost": {
        "xgboost.XGBRanker, rank:ndcg": "xgboost.XGBRanker(n_estimators=5).fit(X, y, qid=qid)",
        "XGBoostRanker, rank:ndcg": "br.XGBoostRanker('rank:ndcg', n_estimators=5).fit(X, y, qid)",
        "XGBoostRanker, softmax": "br.XGBoostRanker('softmax', n_estimators=5).fit(X, y, qid)",
    },
}


def measure(fit, dtype, arguments):
    """Median peak memory before and after the fit, MB, over fresh processes."""
    code = CODE.format(documents=arguments.documents, dtype=dtype, fit=fit)
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
        for _ in range(arguments.runs)
    ]
    return np.median(np.array(runs, dtype=float), axis=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=500_000)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    print(describe())
    print("| fit | features | data, MB | peak, MB | times native |\n|---|---|---:|---:|---:|")
    for backend, dtype in itertools.product(FITS, ("float32", "float64")):
        native = None
        for name, fit in FITS[backend].items():
            before, peak = measure(fit, dtype, arguments)
            native = peak if native is None else native
            print(f"| {name} | {dtype} | {before:.0f} | {peak:.0f} | {peak / native:.2f} |", flush=True)


if __name__ == "__main__":
    main()
