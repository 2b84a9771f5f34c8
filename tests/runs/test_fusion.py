"""Fusion of runs: ranx, an oracle by document, learned weights, and invalid input."""

import numpy as np
import pandas as pd
import pytest
from interpreted_ranx import interpreted_ranx
from scipy.stats import rankdata

import boostrank as br

#: Names of ranx, and ours.
NORMALIZATIONS = {"min-max": "min_max", "zmuv": "z_score", "rank": "rank", None: "none"}
METHODS = {"rrf": "rrf", "sum": "combsum", "mnz": "combmnz"}


def random_runs(seed=0, n_runs=3, n_queries=6, n_documents=12):
    """Runs as dicts, in which each query has 2 to 9 documents, and their scores are all
    different."""
    random = np.random.default_rng(seed)
    runs = []
    for _ in range(n_runs):
        run = {}
        for query in range(n_queries):
            documents = random.choice(n_documents, size=random.integers(2, 10), replace=False)
            scores = random.permutation(len(documents)) * 1.5 + random.random() - 3.0
            run[f"q{query}"] = {
                f"d{i}": float(score) for i, score in zip(documents, scores, strict=True)
            }
        runs.append(run)
    return runs


def as_dicts(fused):
    return {
        query: dict(zip(rows["doc_id"], rows["score"], strict=True))
        for query, rows in fused.groupby("query_id")
    }


def test_scores_are_those_of_ranx():
    runs = random_runs()
    with interpreted_ranx() as ranx:
        for norm, normalize in NORMALIZATIONS.items():
            for theirs, method in METHODS.items():
                expected = ranx.fuse(
                    runs=[ranx.Run(run) for run in runs], norm=norm, method=theirs
                ).to_dict()
                found = as_dicts(br.fuse(runs, method, normalize=normalize))
                assert found.keys() == expected.keys()
                for query, scores in expected.items():
                    assert found[query] == pytest.approx(scores, abs=1e-9), (norm, theirs)


@pytest.mark.parametrize("method", ["rrf", "combsum", "combmnz"])
def test_weights_multiply_the_parts_of_each_run(method):
    runs, weights = random_runs(1), [2.0, 0.0, 0.5]
    found = br.fuse(
        dict(zip("abc", runs, strict=True)), method, weights={"c": 0.5, "b": 0.0, "a": 2.0}, k=10
    )
    pd.testing.assert_frame_equal(found, br.fuse(runs, method, weights=weights, k=10))
    for query, scores in as_dicts(found).items():
        for document, score in scores.items():
            parts = []
            for run, weight in zip(runs, weights, strict=True):
                if document not in run[query]:
                    continue
                own = run[query]
                low, high = min(own.values()), max(own.values())
                rank = 1 + sum(other > own[document] for other in own.values())
                part = 1 / (10 + rank) if method == "rrf" else (own[document] - low) / (high - low)
                parts.append(weight * part)
            assert score == pytest.approx(sum(parts) * (len(parts) if method == "combmnz" else 1))


def test_arrays_are_fused_by_query_in_their_rows():
    random = np.random.default_rng(3)
    qid = random.permutation(np.repeat(["a", "b", "c"], 7))
    scores = random.integers(0, 4, size=(2, len(qid))).astype(float)
    found = br.fuse(list(scores), qid=qid)
    expected = np.zeros(len(qid))
    for query in "abc":
        rows = qid == query
        expected[rows] = sum(1 / (60 + rankdata(-row[rows])) for row in scores)
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    constant = br.fuse([scores[0], np.ones(len(qid))], "combsum", qid=qid)
    np.testing.assert_array_equal(
        constant, br.fuse([scores[0], np.zeros(len(qid))], "combsum", qid=qid)
    )


@pytest.mark.parametrize("normalize", ["min_max", "z_score"])
def test_normalized_scores_are_exact_for_all_sizes(normalize):
    equal, steps = np.full(7, 3e12 + 0.1), np.arange(7.0)
    assert not br.fuse([equal, equal], "combsum", normalize=normalize, qid=np.zeros(7)).any()
    expected = br.fuse([steps, steps], "combsum", normalize=normalize, qid=np.zeros(7))
    for scores in (3e12 + steps * 2**-11, (steps - 3.0) * 5e307, steps * 1e-300):
        fused = br.fuse([scores, scores], "combsum", normalize=normalize, qid=np.zeros(7))
        np.testing.assert_allclose(fused, expected, atol=1e-12)


@pytest.mark.parametrize("method", ["combsum", "rrf"])
def test_learned_weights_minimize_the_loss_and_help(method):
    random = np.random.default_rng(4)
    y, qid = random.integers(0, 3, size=900).astype(float), np.repeat(np.arange(60), 15)
    runs = {
        "noise": random.normal(size=900),
        "good": y + random.normal(size=900),
        "weak": y + 3 * random.normal(size=900),
    }
    train = qid < 30
    weights = br.fusion_weights(
        y[train], {name: run[train] for name, run in runs.items()}, method, qid=qid[train]
    )
    assert sum(weights.values()) == pytest.approx(1.0)
    assert weights["good"] > weights["weak"] > weights["noise"] >= 0.0
    test = {name: run[~train] for name, run in runs.items()}
    y, qid = y[~train], qid[~train]
    value = br.ndcg_score(y, br.fuse(test, method, weights=weights, qid=qid), qid, k=10)
    assert value > br.ndcg_score(y, br.fuse(test, method, qid=qid), qid, k=10) + 0.02
    assert value > br.ndcg_score(y, runs["good"][~train], qid, k=10)


def test_weights_of_runs_are_those_of_their_documents_as_rows():
    runs = random_runs(5, n_queries=20)
    random = np.random.default_rng(5)
    qrels = {query: {f"d{i}": int(random.integers(-1, 3)) for i in range(9)} for query in runs[0]}
    weights = br.fusion_weights(qrels, runs)
    rows = [
        (query, document)
        for query in runs[0]
        for document in sorted(set().union(*(run[query] for run in runs)))
    ]
    qid = [query for query, _ in rows]
    y = [max(qrels[query].get(document, 0), 0) for query, document in rows]
    scores = []
    for run in runs:
        low = {query: min(own.values()) for query, own in run.items()}
        # Documents that were not retrieved have the lowest normalized score, 0.
        scores.append([run[query].get(document, low[query]) for query, document in rows])
    assert weights == pytest.approx(br.fusion_weights(y, scores, qid=qid), abs=1e-4)


RUN = {"q": {"a": 1.0, "b": 2.0}}


@pytest.mark.parametrize(
    ("arguments", "settings", "fault"),
    [
        (([RUN],), {}, "number of runs must be .* of at least 2; got 1"),
        (([RUN, RUN], "borda"), {}, "method must be.*got 'borda'"),
        (([RUN, RUN],), {"normalize": "max", "method": "combsum"}, "normalize must be"),
        (([RUN, RUN],), {"k": -1}, "k must be a finite number of at least 0"),
        (([RUN, RUN],), {"weights": [1.0]}, "weights has 1 values for the 2 rows of runs"),
        (([RUN, RUN],), {"weights": [0.0, 0.0]}, "not all 0"),
        (([RUN, RUN],), {"weights": [1.0, -1.0]}, "at least 0"),
        (
            ({"a": RUN, "b": RUN},),
            {"weights": {"a": 1.0, "c": 1.0}},
            "names of the runs, a, b; got a, c",
        ),
        (([[1.0, 2.0], [1.0]],), {"qid": [1, 1]}, "run 1 has 1 values"),
        (([[1.0, np.nan], [1.0, 2.0]],), {"qid": [1, 1]}, r"run 0.*\[1\] is nan"),
        (
            ([RUN, pd.DataFrame({"query_id": ["q"] * 2, "doc_id": ["a"] * 2, "score": [1, 2]})],),
            {},
            "run 1.*twice",
        ),
    ],
)
def test_invalid_input_is_refused(arguments, settings, fault):
    with pytest.raises(ValueError, match=fault):
        br.fuse(*arguments, **settings)


@pytest.mark.parametrize(
    ("labels", "settings", "fault"),
    [
        ({"q": {"a": 0}}, {}, "labels must have a relevant document"),
        ({"q": {"a": 1}}, {"method": "combmnz"}, "method must be"),
        ({"q": {"a": 1}}, {"loss": "cosine"}, "convex surrogate"),
    ],
)
def test_weights_need_relevant_documents_and_a_convex_loss(labels, settings, fault):
    with pytest.raises(ValueError, match=fault):
        br.fusion_weights(labels, [RUN, RUN], **settings)
