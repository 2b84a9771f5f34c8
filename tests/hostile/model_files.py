"""Hostile model files: damaged text of LightGBM, damaged JSON of XGBoost, and what loading them leads to."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import boostrank as br
from hostile.entry_points import RANKERS, tiny

SUFFIX = {"LightGBMRanker": ".txt", "XGBoostRanker": ".json"}
X, Y, QID = br.make_ranking(n_queries=6, n_documents=5, random_state=0)


def native_text(name):
    """A model as the library itself writes it, without a seal."""
    booster = tiny(RANKERS[name]).fit(X, Y, QID).booster_
    return booster.model_to_string() if name == "LightGBMRanker" else bytes(booster.save_raw("json")).decode()


def edited(pattern, replacement):
    """Damage to LightGBM's text: the first place that the pattern finds."""
    return lambda text: re.sub(pattern, replacement, text, count=1, flags=re.MULTILINE)


def in_tree(field, value, position=None):
    """Damage to XGBoost's JSON: a field of the first tree, or one element of it."""

    def damage(text):
        document = json.loads(text)
        tree = document["learner"]["gradient_booster"]["model"]["trees"][0]
        if position is None:
            tree[field] = value
        else:
            tree[field][position] = value
        return json.dumps(document)

    return damage


def in_model(*path, value):
    """Damage to XGBoost's JSON: a field of the document."""

    def damage(text):
        document = json.loads(text)
        place = document
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        return json.dumps(document)

    return damage


MODEL = ("learner", "gradient_booster", "model")
#: Damage that has led to a crash or an endless loop of the libraries at load or at predict.
CRASHING = {
    "LightGBMRanker": {
        "feature-out-of-range": edited(r"^split_feature=\d+", "split_feature=99999"),
        "negative-feature": edited(r"^split_feature=\d+", "split_feature=-7"),
        "child-out-of-range": edited(r"^left_child=-?\d+", "left_child=99999"),
        "leaf-out-of-range": edited(r"^right_child=-?\d+", "right_child=-99999"),
        "cycle": edited(r"^left_child=-?\d+", "left_child=0"),
        "more-leaves-than-values": edited(r"^num_leaves=\d+", "num_leaves=1000000"),
        "negative-number-of-leaves": edited(r"^num_leaves=\d+", "num_leaves=-5"),
        "short-thresholds": edited(r"^threshold=.*", "threshold=0.5"),
        "short-leaf-values": edited(r"^leaf_value=.*", "leaf_value=0.5"),
        "wrong-tree-sizes": edited(r"^tree_sizes=\d+", "tree_sizes=99999999"),
        "negative-tree-size": edited(r"^tree_sizes=\d+", "tree_sizes=-1"),
        "categories-out-of-range": edited(r"^num_cat=0", "num_cat=5"),
        "fewer-features": edited(r"^max_feature_idx=\d+", "max_feature_idx=0"),
        "text-as-number": edited(r"^leaf_value=\S+", "leaf_value=zero"),
    },
    "XGBoostRanker": {
        "nested-brackets": lambda text: '{"a":' + "[" * 200_000 + "]" * 200_000 + "}",
        "nested-braces": lambda text: '{"a":' * 200_000 + "1" + "}" * 200_000,
        "feature-out-of-range": in_tree("split_indices", 99999, 0),
        "negative-feature": in_tree("split_indices", -7, 0),
        "child-out-of-range": in_tree("left_children", 99999, 0),
        "negative-child": in_tree("right_children", -5, 0),
        "cycle": in_tree("left_children", 0, 0),
        "short-conditions": in_tree("split_conditions", [0.5]),
        "short-children": in_tree("right_children", [1]),
        "no-children": in_tree("left_children", []),
        "short-defaults": in_tree("default_left", []),
        "negative-number-of-nodes": in_tree("tree_param", {"num_nodes": "-3", "num_feature": "10"}),
        "more-nodes-than-there-are": in_tree("tree_param", {"num_nodes": "1000000", "num_feature": "10"}),
        "groups-out-of-range": in_model(*MODEL, "tree_info", value=[7, 7]),
        "more-rounds-than-trees": in_model(*MODEL, "iteration_indptr", value=[0, 1, 99]),
        "more-trees-than-there-are": in_model(*MODEL, "gbtree_model_param", "num_trees", value="99"),
        "fewer-features": in_model("learner", "learner_model_param", "num_feature", value="1"),
    },
}
#: Other damage, that the library must refuse, with a part of the error.
REFUSED = {
    "empty": lambda text: "",
    "one-brace": lambda text: "{",
    "empty-object": lambda text: "{}",
    "cut-in-the-middle": lambda text: text[: len(text) // 2],
    "cut-at-the-end": lambda text: text[: -len(text) // 4],
    "no-model": lambda text: "0 qid:1 1:0.5\n" * 5,
    "only-the-head": lambda text: text[:12],
    "nul-bytes": lambda text: "\0" * 100,
    "html": lambda text: "<html><body>404</body></html>",
    "pickle": lambda text: "\x80\x04\x95",
}
#: Every crash ends a process; a library without faults needs one.
MAX_PROCESSES = 3
LOAD = """
import faulthandler, sys
faulthandler.enable()
import numpy as np
import boostrank as br
for name, path in zip(sys.argv[1::2], sys.argv[2::2]):
    print("BEGIN", path, flush=True)
    try:
        scores = getattr(br, name)().load_model(path).predict(np.zeros((3, 10)))
        print("END", "accepted", scores.tolist(), flush=True)
    except Exception as error:
        print("END", type(error).__name__, str(error).splitlines()[0][:200], flush=True)
"""


def outcomes_in_a_process(damage: dict[str, dict], folder: Path, seconds: float = 40.0) -> dict[str, str]:
    """What loading each damaged file and predicting with it leads to, in a process of its own.

    `damage` has the functions that damage the text of a model, by the name of the ranker and a name of their own.
    """
    paths = {}
    for name, functions in damage.items():
        text = native_text(name)
        for damage_name, function in functions.items():
            key = f"{name}-{damage_name}"
            paths[key] = folder / f"{key}{SUFFIX[name]}"
            damaged = function(text)
            assert damaged != text, f"the damage {key} does nothing"
            paths[key].write_text(damaged)
    outcomes: dict[str, str] = {}
    for _ in range(MAX_PROCESSES):
        left = [part for key, path in paths.items() if key not in outcomes for part in (key.split("-")[0], str(path))]
        command = [sys.executable, "-c", LOAD, *left]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
            output, ending = done.stdout, f"the process ended with code {done.returncode}"
        except subprocess.TimeoutExpired as expired:
            output, ending = (expired.stdout or b"").decode(), f"the process did not end within {seconds:g} s"
        begun = None
        for line in output.splitlines():
            if line.startswith("BEGIN "):
                begun = Path(line[6:]).stem
            elif line.startswith("END ") and begun is not None:
                outcomes[begun], begun = line[4:], None
        if begun is not None:
            outcomes[begun] = ending
        elif output.count("BEGIN ") == 0:
            raise AssertionError(f"no file was tried: {ending}")
        if len(outcomes) == len(paths):
            break
    return {key: outcomes.get(key, "not tried after so many crashes") for key in paths}
