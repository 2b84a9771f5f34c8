"""Time and memory of `import boostrank`, of the first objective call and of a warm one, each in fresh processes.

python benchmarks/startup_cost.py [--runs 7]
"""

import argparse
import subprocess
import sys

import numpy as np
from environment import describe

MEASURE = """
import resource, time
start = time.perf_counter()
{statement}
seconds = time.perf_counter() - start
print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
IMPORTS = ("import sklearn.base, sklearn.model_selection", "import boostrank")
CALL = """
import numpy as np, resource, time, boostrank as br
rng = np.random.default_rng(0)
queries = Queries.from_sizes(rng.integers(20, 221, 1000))
y, scores = rng.integers(0, 5, queries.n_documents), rng.normal(size=queries.n_documents)
times = []
def lap(f):
    start = time.perf_counter(); result = f(); times.append(time.perf_counter() - start); return result
objective = lap(lambda: Objective("softmax", y, queries))
for _ in range(20):
    lap(lambda: objective.gradient_hessian(scores))
print(times[0], times[1], np.median(times[2:]), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def run(code, runs):
    """Medians over fresh processes of the numbers that `code` prints."""
    outputs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(runs)
    ]
    return np.median([[float(number) for number in output.stdout.split()] for output in outputs], axis=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=7)
    arguments = parser.parse_args()
    print(describe())
    for statement in IMPORTS:
        seconds, megabytes = run(MEASURE.format(statement=statement), arguments.runs)
        print(f"{statement}: {seconds:.2f} s, peak {megabytes:.0f} MB")
    bind, first, warm, megabytes = run(CALL, arguments.runs)
    print(
        f"softmax on 120,000 documents: bind {bind * 1e3:.1f} ms, first call {first * 1e3:.2f} ms, "
        f"warm call {warm * 1e3:.2f} ms, peak {megabytes:.0f} MB"
    )


if __name__ == "__main__":
    main()
