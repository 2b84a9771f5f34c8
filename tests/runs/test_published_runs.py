"""Numbers that other libraries and papers publish, of runs: examples, and what their tests expect.

Each case names its source. The tolerance is half a unit of the last published decimal, or a unit where the source
truncates.
"""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from cases import for_each

from boostrank import evaluate_run

EXACT = 1e-12


class Run(NamedTuple):
    """Published values of a run, by query, or means over queries ("all")."""

    source: str
    qrels: Any
    run: dict[str, dict[str, float]]
    values: dict[str, dict[str, float]]
    tolerance: float


def ranked(documents):
    """A run of one query whose documents are in this sequence."""
    return {document: -float(rank) for rank, document in enumerate(documents)}


def qrels_of(text):
    """Lines "QUERY ITERATION DOCUMENT RELEVANCE"."""
    rows = [line.split() for line in text.strip().splitlines()]
    table = pd.DataFrame(rows, columns=["query_id", "iteration", "doc_id", "relevance"])
    return table.assign(relevance=table["relevance"].astype(float))


# ranx 0.3, README.
RANX = (
    {"q_1": {"d_12": 5, "d_25": 3}, "q_2": {"d_11": 6, "d_22": 1}},
    {
        "q_1": ranked(["d_12", "d_23", "d_25", "d_36", "d_32", "d_35"]),
        "q_2": ranked(["d_12", "d_11", "d_25", "d_36", "d_22", "d_35"]),
    },
)
# ir_measures 0.4, tests of its providers: the same run in most of them.
IR_RUN = {
    "0": {"D0": 0.8, "D2": 0.7, "D1": 0.3, "D3": 0.4, "D4": 0.1},
    "1": {"D1": 0.8, "D3": 0.7, "D4": 0.3, "D2": 0.4},
}
IR_RUN_2 = {"0": IR_RUN["0"], "1": {"D1": 0.8, "D4": 0.7, "D3": 0.3, "D2": 0.4}}
IR_QRELS = {"0": {"D0": 0, "D1": 1, "D2": 1, "D3": 2, "D4": 0}, "1": {"D0": 1, "D3": 2, "D5": 2}}
IR_INFAP = {"0": {"D0": 1, "D1": -1, "D2": 0, "D3": 2, "D4": 0}, "1": {"D0": 1, "D3": 2, "D4": -1, "D5": 0}}
# ir_measures 0.4, test/cwl.qrels and test/cwl.run.
CWL_QRELS = {
    "T1": {"D1": 1, "D2": 0, "D3": 1, "D4": 1, "D7": 1, "D8": 0, "D9": 1, "D10": 0},
    "T2": {"D1": 1, "D2": 1, "D5": 1, "D6": 0, "D7": 1, "D8": 1, "D9": 1, "D10": 0},
    "T3": {"D4": 0, "D5": 0, "D6": 1, "D7": 1, "D8": 1, "D9": 0, "D10": 1},
}
CWL_RUN = {topic: ranked([f"D{i}" for i in range(1, 11)]) for topic in CWL_QRELS}
CWL_VALUES = {
    "AP": (0.7087, 0.7438, 0.3068),
    "BPM(T=1.0, max_rel=1)@20": (1.0000, 1.0000, 0.1667),
    "BPM(T=2.0, max_rel=1)@10": (0.6667, 1.0000, 0.2857),
    "INSQ(T=1.0, max_rel=1)": (0.5872, 0.6629, 0.0880),
    "INSQ(T=2.0, max_rel=1)": (0.4513, 0.5068, 0.1292),
    "INST(T=1.0, max_rel=1)": (0.7934, 0.9226, 0.0888),
    "INST(T=2.0, max_rel=1)": (0.5994, 0.6924, 0.1397),
    "SDCG(max_rel=1)@10": (0.5645, 0.6531, 0.2848),
    "NERR8(max_rel=1)@10": (1.0000, 1.0000, 0.1667),
    "NERR9(max_rel=1)@10": (1.0000, 1.0000, 0.0680),
    "NERR10(p=0.8, max_rel=1)": (1.0000, 1.0000, 0.0888),
    "NERR11(T=2.0, max_rel=1)": (1.0000, 1.0000, 0.0691),
    "P@1": (1.0000, 1.0000, 0.0000),
    "P@10": (0.5000, 0.6000, 0.4000),
    "P@20": (0.2500, 0.3000, 0.2000),
    "P@5": (0.6000, 0.6000, 0.0000),
    "RBP(p=0.9, rel=1)": (0.3501, 0.3996, 0.1988),
    "RR": (1.0000, 1.0000, 0.1667),
}
# ir_measures 0.4, test/test_pyndeval.py.
IR_SUBTOPICS = qrels_of("""
0 0 D0 0
0 0 D1 1
0 0 D2 1
0 1 D2 1
0 1 D3 2
0 0 D4 0
1 0 D0 1
1 0 D3 2
1 1 D5 2
""")
# pyndeval 0.0.8, README.
NDEVAL_VALUES = {
    "ERR_IA@5": 0.3933,
    "ERR_IA@10": 0.3907,
    "ERR_IA@20": 0.3907,
    "nERR_IA@5": 0.8297,
    "nERR_IA@10": 0.8297,
    "nERR_IA@20": 0.8297,
    "alpha_DCG@5": 0.4052,
    "alpha_DCG@10": 0.3998,
    "alpha_DCG@20": 0.3997,
    "alpha_nDCG@5": 0.7868,
    "alpha_nDCG@10": 0.7868,
    "alpha_nDCG@20": 0.7868,
    "NRBP": 0.3906,
    "nNRBP": 0.8620,
    "AP_IA": 0.5000,
    "P_IA@5": 0.2000,
    "P_IA@10": 0.1000,
    "P_IA@20": 0.0500,
    "StRecall@5": 0.6666,
    "StRecall@10": 0.6666,
    "StRecall@20": 0.6666,
}
IR_DIVERSITY = qrels_of("q0 0 d0 1\nq0 1 d0 1\nq0 0 d1 1")
RBP_DOCUMENTS = [f"d{i}" for i in range(1, 21)]

RUNS = [
    Run("ranx README", *RANX, {"all": {"nDCG@5": 0.7861, "AP@5": 0.6416, "RR": 0.75}}, 1e-4),
    Run(
        "ranx rank_biased_precision_test.py; the ranking $$---$----$-----$--- of Moffat and Zobel (TOIS 2008)",
        {"q": {"d1": 1, "d2": 1, "d6": 1, "d11": 1, "d17": 1}},
        {"q": ranked(RBP_DOCUMENTS)},
        {"q": {"RBP(p=0.5, rel=1)": 0.7661, "RBP(p=0.8, rel=1)": 0.4526, "RBP(p=0.95, rel=1)": 0.1881}},
        5e-5,
    ),
    Run(
        "gdeval, in ir_measures test_gdeval.py",
        IR_QRELS,
        IR_RUN,
        {
            "0": {
                "nDCG(dcg='exp-log2')@20": 0.6201,
                "nDCG(dcg='exp-log2')@2": 0.17377,
                "ERR@20": 0.10175,
                "ERR@2": 0.03125,
            },
            "1": {
                "nDCG(dcg='exp-log2')@20": 0.35099,
                "nDCG(dcg='exp-log2')@2": 0.38685,
                "ERR@20": 0.09375,
                "ERR@2": 0.09375,
            },
            "all": {"nDCG(dcg='exp-log2')@20": 0.485545, "ERR@20": 0.09775},
        },
        5.1e-6,
    ),
    Run(
        "trec_eval, in ir_measures test_pytrec_eval.py: test_infAP",
        IR_INFAP,
        IR_RUN_2,
        {
            "0": {"AP": 0.8333, "infAP": 0.8333, "AP(rel=2)": 0.33333, "infAP(rel=2)": 0.33333},
            "1": {"AP": 0.125, "infAP": 0.1875, "AP(rel=2)": 0.25, "infAP(rel=2)": 0.375},
            "all": {"AP": 0.479167, "infAP": 0.510416, "infAP(rel=2)": 0.3542},
        },
        5e-5,
    ),
    Run(
        "cwl_eval, in ir_measures test_cwl_eval.py",
        CWL_QRELS,
        CWL_RUN,
        {topic: {name: values[i] for name, values in CWL_VALUES.items()} for i, topic in enumerate(("T1", "T2", "T3"))},
        5e-5,
    ),
    Run(
        "ndeval, in the README of pyndeval",
        qrels_of("0 a A 1\n0 b B 1\n0 b D 1\n0 c C 1"),
        {"0": {"A": 9.3, "D": 8.4, "E": 8.1, "B": 7.6}},
        {"0": NDEVAL_VALUES},
        1e-4,
    ),
    Run(
        "ndeval, in ir_measures test_pyndeval.py",
        IR_SUBTOPICS,
        IR_RUN,
        {"0": {"ERR_IA@20": 0.4659}, "1": {"ERR_IA@20": 0.1803}, "all": {"ERR_IA@20": 0.3231}},
        5e-5,
    ),
    Run(
        "ndeval, in the documentation of ir_measures (Getting Started, Diversity Measures)",
        IR_DIVERSITY,
        {"q0": {"d0": 1.0}},
        {"all": {"alpha_nDCG@10": 0.8637574337885664}},
        EXACT,
    ),
    Run(
        "ndeval, in the documentation of ir_measures, the worse run",
        IR_DIVERSITY,
        {"q0": {"d1": 1.0}},
        {"all": {"alpha_nDCG@10": 0.4318787168942832}},
        EXACT,
    ),
]


@for_each("case", RUNS, ids=lambda case: case.source)
def test_values_of_runs(case):
    for query, values in case.values.items():
        if query == "all":
            found = evaluate_run(case.qrels, case.run, list(values))
        else:
            found = evaluate_run(case.qrels, case.run, list(values), per_query=True).loc[query].to_dict()
        for name, value in values.items():
            assert found[name] == pytest.approx(value, abs=case.tolerance), f"{name} of {query}"


def test_alpha_dcg_of_tensorflow_ranking():
    """TF-Ranking, docstring of AlphaDCGMetric, in float32: its sum is not divided by that of the best documents."""
    qrels = qrels_of("q 2 a 1\nq 1 b 1\nq 1 c 1\nq 2 c 1")
    value = evaluate_run(qrels, {"q": {"a": 3.0, "b": 1.0, "c": 2.0}}, "alpha_DCG@3")["alpha_DCG@3"]
    assert value * 2 * (1 + 0.5 / np.log2(3) + 0.25 / 2) == pytest.approx(2.1963947, abs=1e-6)
