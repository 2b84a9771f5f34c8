"""How often tests and intervals by groups of queries are wrong, and those over queries.

python benchmarks/group_level.py [--samples 2000] [--output FOLDER]

A sample is the differences of two rankers on queries in groups, such as those of a user. Half of
the variance is that of the groups: the correlation of two queries of a group is 0.5. Differences
are normal or exponential with the mean 0, so that the rankers are equally good. Groups have five
queries each; or 1 to 9, all alike; or sizes with a heavy tail, ``1 + 2 x`` rounded down for x of
the Lomax distribution with the exponent 1.2, at most 200.

Columns: the share of samples in which `br.permutation_test` rejects at the level 5%, over queries
and with `groups`; and the share of samples whose 95% interval of
`boostrank.significance.confidence_interval` contains 0, over queries and with `groups`.
"""

import warnings

import numpy as np
import pandas as pd
from reporting import make_parser, publish

import boostrank as br
from boostrank.significance import confidence_interval

SEED = 0
LEVEL = 0.05
CORRELATION = 0.5
N_PERMUTATIONS = 999
N_GROUPS = (10, 20, 50, 200)
LARGEST = 200
DRAWS = {
    "normal": lambda random, n: random.normal(size=n),
    "exponential": lambda random, n: random.exponential(size=n) - 1,
}
SIZES = {
    "5": lambda random, n: np.full(n, 5),
    "1 to 9": lambda random, n: random.integers(1, 10, n),
    "heavy tail": lambda random, n: np.minimum(1 + 2 * random.pareto(1.2, n), LARGEST).astype(int),
}


def sample(random, draw, sizes):
    """Differences of queries, and their groups."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    common = draw(random, len(sizes))[groups]
    own = draw(random, len(groups))
    return np.sqrt(CORRELATION) * common + np.sqrt(1 - CORRELATION) * own, groups


def wrong(differences, groups):
    """Whether the test rejects, and whether the interval contains 0."""
    zero = np.zeros(len(differences))
    settings = {"n_permutations": N_PERMUTATIONS, "random_state": SEED}
    test = br.permutation_test(differences, zero, groups=groups, **settings)
    low, high = confidence_interval(differences, zero, groups=groups)
    return test.p_value < LEVEL, low <= 0 <= high


def shares(n_samples, kind, size, n_groups):
    """The row of a distribution, a kind of sizes, and a number of groups."""
    random = np.random.default_rng(SEED)
    found = []
    for _ in range(n_samples):
        sizes = SIZES[size](random, n_groups)
        differences, groups = sample(random, DRAWS[kind], sizes)
        found.append([*wrong(differences, None), *wrong(differences, groups)])
    names = [
        f"share_{what}_{unit}" for unit in ("queries", "groups") for what in ("rejected", "covered")
    ]
    row = {"differences": kind, "queries_of_a_group": size, "groups": n_groups}
    return row | dict(zip(names, np.mean(found, axis=0), strict=True))


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--samples", type=int, default=2000)
    arguments = parser.parse_args()
    # Skewed differences of few groups.
    warnings.simplefilter("ignore")
    rows = [
        shares(arguments.samples, kind, size, n_groups)
        for kind in DRAWS
        for size in SIZES
        for n_groups in N_GROUPS
    ]
    title = (
        f"Share of {arguments.samples:,} samples of equally good rankers that a test at the level "
        "5% rejects, and whose 95% interval contains 0"
    )
    publish(pd.DataFrame(rows), "group_level", arguments.output, title=title, seeds=str(SEED))


if __name__ == "__main__":
    main()
