"""Numbers that other libraries and papers publish, of runs: examples, and what their tests expect.

Each case names its source. The tolerance is half a unit of the last published decimal, or a unit where the source
truncates.
"""

from typing import Any, NamedTuple

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
        {"0": {"AP": 0.8333, "AP(rel=2)": 0.33333}, "1": {"AP": 0.125, "AP(rel=2)": 0.25}, "all": {"AP": 0.479167}},
        5e-5,
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
