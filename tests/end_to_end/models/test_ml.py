"""Operators of ai.onnx.ml: as onnxruntime computes them, stopped at every instruction."""
import functools
import os
import re

import numpy as np
import one_node
import onnxruntime
import pytest
from harness import REFUSED, ROOT, load, write_npz, write_unchecked
from one_node import check, expected, name_of, run_with_stops
from onnx import TensorProto, helper, numpy_helper

pytestmark = pytest.mark.one_home

TABLE = os.path.join(ROOT, "compiler", "frontend", "nodes", "onnx_compositions_ml.def")
SEED = np.random.default_rng(11)
NAN = float("nan")
model_of = functools.partial(one_node.model_of, domain="ai.onnx.ml", version=3)


def f(*shape):
    return SEED.uniform(-2, 2, shape).astype(np.float32)


def floats(*values):
    return np.array(values, np.float32)


def ints(*values):
    return np.array(values, np.int64)


def texts(*values):
    return np.array(values, "<U8")


def listed(*shape):
    return [float(value) for value in f(*shape).reshape(-1)]


X = f(6, 4)
ROWS = floats([1, -3, 2], [0, 0, 0], [-1, -2, -4])
GAPS = floats([np.nan, 0, 1], [2, np.nan, 0])
WEIGHTS, THREE = listed(4), listed(3, 4)
POST = ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT"]
KERNELS = [("LINEAR", [0.0, 0.0, 0.0]), ("POLY", [0.25, 0.5, 3.0]), ("RBF", [0.4, 0.0, 0.0]), ("SIGMOID", [0.2, -0.1, 0.0])]


def machine(sizes, kernel="RBF", params=(0.4, 0.0, 0.0), columns=4, seed=5, **attributes):
    """A classifier with so many support vectors of each class."""
    rng = np.random.default_rng(seed)
    count, pairs = sum(sizes), len(sizes) * (len(sizes) - 1) // 2

    def some(number):
        return [float(value) for value in rng.uniform(-1, 1, number).astype(np.float32)]

    made = {"vectors_per_class": list(sizes), "support_vectors": some(count * columns), "coefficients": some((len(sizes) - 1) * count),
            "rho": some(pairs), "kernel_type": kernel, "classlabels_ints": [3 * i + 5 for i in range(len(sizes))]}
    return {**made, "kernel_params": list(params), **attributes}


def likely(pairs, seed=6):
    rng = np.random.default_rng(seed)
    return {"prob_a": [float(value) for value in -rng.uniform(0.5, 3, pairs)], "prob_b": [float(value) for value in rng.uniform(-0.5, 0.5, pairs)]}


def texts_in_place_of_numbers(attributes, labels):
    return {**{name: value for name, value in attributes.items() if name != "classlabels_ints"}, "classlabels_strings": labels}


FAR = X + np.float32(1000)
# scores within (0, 1), where PROBIT is defined
SMALL = [0.01 * value for value in THREE]
# (operator, inputs in their order, attributes, number of outputs)
CASES = [
    ("Scaler", [X], {"offset": listed(4), "scale": listed(4)}, 1),
    ("Scaler", [X[0]], {"offset": [0.5], "scale": [2.0]}, 1),
    ("Scaler", [ints([1, 2], [3, 4])], {"offset": [0.5], "scale": [2.0]}, 1),
    ("Normalizer", [ROWS], {"norm": "MAX"}, 1),
    ("Normalizer", [ROWS], {"norm": "L1"}, 1),
    ("Normalizer", [ROWS], {"norm": "L2"}, 1),
    ("Normalizer", [ROWS[0]], {"norm": "L2"}, 1),
    ("Normalizer", [ints([1, 2], [3, 4])], {"norm": "L1"}, 1),
    ("Binarizer", [X], {"threshold": 0.25}, 1),
    ("Imputer", [GAPS], {"imputed_value_floats": [9.0], "replaced_value_float": NAN}, 1),
    ("Imputer", [GAPS], {"imputed_value_floats": [9.0, 8.0, 7.0], "replaced_value_float": 0.0}, 1),
    ("Imputer", [ints([1, 2], [2, 3])], {"imputed_value_int64s": [4], "replaced_value_int64": 2}, 1),
    ("ArrayFeatureExtractor", [X, ints([1, 0, 1])], {}, 1),
    ("ArrayFeatureExtractor", [X[0], ints([3])], {}, 1),
    ("ArrayFeatureExtractor", [f(2, 3, 4), ints([3, 1])], {}, 1),
    ("ArrayFeatureExtractor", [texts(["a", "b"], ["c", "d"]), ints([1])], {}, 1),
    ("OneHotEncoder", [ints([1, 9], [3, 2])], {"cats_int64s": [1, 2, 3]}, 1),
    ("OneHotEncoder", [floats([1.5, 2], [3, 9])], {"cats_int64s": [1, 2, 3]}, 1),
    ("OneHotEncoder", [ints(3, 1)], {"cats_int64s": [1, 2, 3], "zeros": 0}, 1),
    ("OneHotEncoder", [texts("b", "z")], {"cats_strings": ["a", "b"]}, 1),
    ("LabelEncoder", [ints([1, 2], [9, 1])], {"keys_int64s": [1, 2, 1], "values_strings": ["a", "b", "c"]}, 1),
    ("LabelEncoder", [texts("a", "b", "")], {"keys_strings": ["b", "a"], "values_int64s": [5, 6], "default_int64": 7}, 1),
    ("LabelEncoder", [floats(1, 2.5)], {"keys_floats": [2.5], "values_strings": ["x"], "default_string": "none"}, 1),
    ("LabelEncoder", [ints(4, 5)], {"keys_int64s": [5], "values_floats": [0.5]}, 1),
    *[("LinearRegressor", [X * np.float32(0.05)], {"coefficients": WEIGHTS, "intercepts": [0.4], "post_transform": post}, 1)
      for post in POST],
    *[("LinearRegressor", [X * np.float32(0.05)],
       {"coefficients": THREE, "intercepts": [0.4, 0.5, 0.6], "targets": 3, "post_transform": post}, 1) for post in POST],
    ("LinearRegressor", [X], {"coefficients": WEIGHTS}, 1),
    ("LinearRegressor", [X[0]], {"coefficients": WEIGHTS}, 1),
    *[("LinearClassifier", [X], {"coefficients": WEIGHTS, "intercepts": [0.4], "classlabels_ints": [5, 7],
                                 "post_transform": post}, 2) for post in POST[:-1]],
    ("LinearClassifier", [X], {"coefficients": WEIGHTS, "intercepts": [0.4], "post_transform": "LOGISTIC"}, 2),
    ("LinearClassifier", [X], {"coefficients": WEIGHTS, "intercepts": [0.4], "classlabels_strings": ["no", "yes"]}, 2),
    *[("LinearClassifier", [X], {"coefficients": SMALL, "intercepts": [0.4, 0.5, 0.6], "classlabels_ints": [5, 7, 9],
                                 "post_transform": post}, 2) for post in POST],
    ("LinearClassifier", [X], {"coefficients": THREE, "intercepts": [0.0, 0.0, 0.0], "multi_class": 1,
                               "classlabels_strings": ["x", "y", "z"], "post_transform": "LOGISTIC"}, 2),
    ("LinearClassifier", [X[0]], {"coefficients": THREE, "intercepts": [0.0, 0.1, 0.2], "classlabels_ints": [1, 2, 3]}, 2),
    ("LinearClassifier", [ints([1, 2, 3, 4], [4, 3, 2, 1])],
     {"coefficients": THREE, "intercepts": [0.0, 0.1, 0.2], "classlabels_ints": [1, 2, 3]}, 2),
    ("CategoryMapper", [texts("b", "z", "a")], {"cats_strings": ["a", "b"], "cats_int64s": [7, 9], "default_int64": 3}, 1),
    ("CategoryMapper", [ints([9, 1], [7, 7])], {"cats_strings": ["a", "b"], "cats_int64s": [7, 9], "default_string": "none"}, 1),
    ("CategoryMapper", [ints(9, 1)], {"cats_strings": ["a", "b"], "cats_int64s": [7, 9]}, 1),
    ("FeatureVectorizer", [X, f(6, 2), f(6, 1)], {"inputdimensions": [4, 2, 1]}, 1),
    ("FeatureVectorizer", [ints([1, 2], [3, 4]), ints([5], [6])], {"inputdimensions": [2, 1]}, 1),
    ("FeatureVectorizer", [X[0], f(3)], {"inputdimensions": [4, 3]}, 1),
    ("FeatureVectorizer", [X, f(6, 2)], {"inputdimensions": [5, 1]}, 1),
    *[("SVMRegressor", [X], {"coefficients": listed(5), "support_vectors": listed(5, 4), "n_supports": 5, "rho": [0.3], "one_class": one,
                             "kernel_type": kernel, "kernel_params": params}, 1)
      for one in (0, 1) for kernel, params in KERNELS],
    ("SVMRegressor", [X], {"coefficients": WEIGHTS, "rho": [0.3], "kernel_type": "POLY", "kernel_params": [1.0, 1.0, 2.0]}, 1),
    ("SVMRegressor", [X], {"coefficients": WEIGHTS, "rho": [0.3], "kernel_params": [0.0] * 3, "post_transform": "LOGISTIC"}, 1),
    *[("SVMClassifier", [X], machine([3, 1, 2], kernel, params), 2) for kernel, params in KERNELS],
    *[("SVMClassifier", [X], machine([3, 2], post_transform=post), 2) for post in POST[:-1]],
    *[("SVMClassifier", [X], machine([3, 1, 2], post_transform=post), 2) for post in POST[:-1]],
    *[("SVMClassifier", [X], machine([3, 1, 2], post_transform=post, **likely(3)), 2) for post in ("NONE", "SOFTMAX", "PROBIT")],
    ("SVMClassifier", [X], machine([3, 2], **likely(1)), 2),
    ("SVMClassifier", [f(40, 4)], machine([3, 2, 4, 1], **likely(6)), 2),
    ("SVMClassifier", [X], texts_in_place_of_numbers(machine([3, 1, 2]), ["x", "y", "z"]), 2),
    ("SVMClassifier", [X[0]], machine([3, 1, 2]), 2),
    ("SVMClassifier", [ints([1, 2, 3, 4], [4, 3, 2, 1])], machine([3, 1, 2]), 2),
    ("SVMClassifier", [X], machine([3, 0, 2]), 2),
    *[("SVMClassifier", [X], {"coefficients": SMALL, "rho": [0.1, 0.2, 0.3], "kernel_params": [0.0] * 3, "classlabels_ints": [5, 7, 9], "post_transform": post}, 2)
      for post in POST[:-1]],
    ("SVMClassifier", [X], {"coefficients": listed(8), "rho": [0.1], "kernel_params": [0.0] * 3, "classlabels_ints": [5, 7]}, 2),
    ("SVMClassifier", [abs(X)], {"coefficients": [abs(value) for value in listed(8)], "rho": [-0.5], "kernel_params": [0.0] * 3,
                                    "classlabels_ints": [5, 7]}, 2),
]
REFUSED_CASES = [
    ("Normalizer", [X], {"norm": "L3"}, "this norm"),
    ("Imputer", [X], {}, "no imputed value"),
    ("Imputer", [X], {"imputed_value_floats": [1.0], "imputed_value_int64s": [1]}, "both imputed_value_floats"),
    ("OneHotEncoder", [ints(1)], {}, "no categories"),
    ("OneHotEncoder", [ints(1)], {"cats_int64s": [1], "cats_strings": ["a"]}, "both cats_int64s"),
    ("Scaler", [X], {"offset": [1, 2, 3, 4]}, "offset is not a list of floats"),
    ("Scaler", [X], {"offset": listed(3)}, ("Sub", "[3]")),
    ("LinearRegressor", [X], {"coefficients": listed(5), "targets": 2}, "5 / 2"),
    ("LinearRegressor", [X], {"coefficients": listed(5)}, ("Gemm", "5 rows")),
    ("LinearRegressor", [X], {"coefficients": WEIGHTS, "targets": 0}, "4 / 0"),
    ("LinearRegressor", [X], {"coefficients": WEIGHTS, "post_transform": "OWN"}, "this post_transform"),
    ("LinearClassifier", [X], {"coefficients": WEIGHTS}, "no intercepts"),
    ("LinearClassifier", [X], {"coefficients": WEIGHTS, "intercepts": [0.1], "classlabels_ints": [1, 2],
                               "post_transform": "PROBIT"}, "post_transform PROBIT"),
    ("Binarizer", [X], {"own": 1}, "attribute own"),
    ("LabelEncoder", [ints(1)], {}, "no keys"),
    ("LabelEncoder", [ints(1)], {"keys_int64s": [1, 2], "values_int64s": [1]}, "not as many values as keys"),
    ("CategoryMapper", [ints(1)], {}, "no categories"),
    ("CategoryMapper", [ints(1)], {"cats_int64s": [1], "cats_strings": ["a", "b"]}, "not as many cats_int64s"),
    ("FeatureVectorizer", [X], {"inputdimensions": [4, 4]}, "2 inputdimensions for 1 inputs"),
    ("FeatureVectorizer", [X], {"inputdimensions": [-4]}, "inputdimensions[0] is -4"),
    ("ZipMap", [X], {}, "neither classlabels_int64s nor classlabels_strings"),
    ("SVMRegressor", [X], {"rho": [0.5]}, "no coefficients"),
    ("SVMRegressor", [X], {"coefficients": [0.5], "n_supports": 2, "rho": [0.5]}, "not as many coefficients"),
    ("SVMRegressor", [X], {"coefficients": listed(4), "kernel_type": "OWN", "n_supports": 4, "support_vectors": listed(16), "rho": [0.5]},
     "this kernel_type"),
    ("SVMRegressor", [X], {"coefficients": listed(4), "kernel_type": "RBF", "n_supports": 4, "support_vectors": listed(16), "rho": [0.5]},
     "kernel_params has 0 entries"),
    ("SVMRegressor", [X], {"coefficients": listed(4), "n_supports": 4, "support_vectors": listed(15), "rho": [0.5]}, "15 / 4"),
    ("SVMClassifier", [X], {"coefficients": listed(4)}, "0 class labels"),
    ("SVMClassifier", [X], {"classlabels_ints": [1, 2]}, "coefficients is missing"),
    ("SVMClassifier", [X], {**machine([2, 2, 2]), "vectors_per_class": [2, 2]}, "vectors_per_class has 2 entries"),
    ("SVMClassifier", [X], {**machine([2, 2, 2]), "vectors_per_class": [2, 2, -1]}, "vectors_per_class[2] is -1"),
    ("SVMClassifier", [X], {**machine([2, 2, 2]), "rho": [0.5]}, "rho has 1 entries, not 3"),
    ("SVMClassifier", [X], {**machine([2, 2, 2]), "coefficients": listed(11)}, "coefficients has 11 entries, not 12"),
    ("SVMClassifier", [X], {**machine([2, 2, 2], prob_a=[1.0] * 3)}, "prob_b has 0 entries, not 3"),
    ("SVMClassifier", [X], machine([2, 2], post_transform="PROBIT"), "post_transform PROBIT"),
]


MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]
CLASSIFIER, REGRESSOR = "TreeEnsembleClassifier", "TreeEnsembleRegressor"


def trees(operator, ids, lowest=-1.0, count=5, depth=3, columns=4, modes=("BRANCH_LEQ",), seed=3, **attributes):
    """Random trees whose leaves have a weight for each of ids."""
    rng = np.random.default_rng(seed)
    kind = "target" if operator == REGRESSOR else "class"
    nodes = {name: [] for name in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids",
                                   "missing_value_tracks_true")}
    weights = {"treeids": [], "nodeids": [], "ids": [], "weights": []}

    def add(tree, free, level):
        node = free[0]
        leaf = level == depth or (level > 0 and rng.random() < 0.2)
        row = {"treeids": tree, "nodeids": node, "featureids": int(rng.integers(columns)), "values": float(rng.integers(-3, 4)) / 2,
               "modes": "LEAF" if leaf else modes[int(rng.integers(len(modes)))], "truenodeids": 0, "falsenodeids": 0,
               "missing_value_tracks_true": int(rng.integers(2))}
        place = len(nodes["treeids"])
        for name, value in row.items():
            nodes[name].append(value)
        free[0] += 1
        if leaf:
            for i in ids:
                for name, value in (("treeids", tree), ("nodeids", node), ("ids", i), ("weights", float(rng.uniform(lowest, 1)) / count)):
                    weights[name].append(value)
            return node
        nodes["truenodeids"][place] = add(tree, free, level + 1)
        nodes["falsenodeids"][place] = add(tree, free, level + 1)
        return node

    for tree in range(count):
        add(tree, [0], 0)
    made = {f"nodes_{name}": values for name, values in nodes.items()}
    made.update({f"{kind}_{name}": values for name, values in weights.items()})
    return {**made, **({"n_targets": 1} if operator == REGRESSOR else {}), **attributes}


GRID = (SEED.integers(-4, 5, (70, 4)) / 2).astype(np.float32)
GRID[3, :2] = GRID[20] = np.nan
HALVES = GRID[:9]
TREE_CASES = [
    (REGRESSOR, [GRID], trees(REGRESSOR, [0])),
    (REGRESSOR, [GRID[:1]], trees(REGRESSOR, [0], count=19)),
    (REGRESSOR, [GRID], trees(REGRESSOR, [0], modes=MODES, depth=6, base_values=[0.25])),
    (CLASSIFIER, [np.nan_to_num(GRID).astype(np.int64)], trees(CLASSIFIER, [0], classlabels_int64s=[5, 7])),
    (REGRESSOR, [GRID.astype(np.float64)], trees(REGRESSOR, [0])),
    *[(REGRESSOR, [HALVES], trees(REGRESSOR, [0, 1, 2], n_targets=3, aggregate_function=name, base_values=[0.5, 0.0, -1.0]))
      for name in ("SUM", "AVERAGE", "MIN", "MAX")],
    (REGRESSOR, [HALVES], trees(REGRESSOR, [0, 2], n_targets=3, aggregate_function="MIN")),
    # one score: of the weights of a leaf the first one counts
    (REGRESSOR, [HALVES], trees(REGRESSOR, [0, 0, 0])),
    (REGRESSOR, [HALVES], trees(REGRESSOR, [0], lowest=0.1, post_transform="PROBIT")),
    (REGRESSOR, [HALVES], trees(REGRESSOR, [0, 1], n_targets=2, post_transform="SOFTMAX")),
    *[(CLASSIFIER, [GRID], trees(CLASSIFIER, [0], lowest, classlabels_int64s=[5, 7], post_transform=post))
      for lowest in (-1.0, 0.0) for post in ("NONE", "LOGISTIC", "SOFTMAX")],
    (CLASSIFIER, [HALVES], trees(CLASSIFIER, [0], classlabels_strings=["no", "yes"], base_values=[0.25], post_transform="LOGISTIC")),
    (CLASSIFIER, [HALVES], trees(CLASSIFIER, [1], classlabels_int64s=[5, 7])),
    (CLASSIFIER, [HALVES], trees(CLASSIFIER, [0], classlabels_int64s=[0])),
    *[(CLASSIFIER, [HALVES], trees(CLASSIFIER, [0, 1, 2], classlabels_int64s=[5, 7, 9], post_transform=post))
      for post in ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO")],
    (CLASSIFIER, [HALVES], trees(CLASSIFIER, [0, 2], classlabels_strings=["a", "b", "c"], base_values=[0.1, 0.2, 0.3])),
]


def broken(**changes):
    made = trees(REGRESSOR, [0], count=1, depth=2, seed=5)
    for name, (place, value) in changes.items():
        made[name] = made[name][:place] + [value] + made[name][place + 1:]
    return made


def linked(yes, no):
    """Nodes 0 to 3 of one tree; a leaf has no children."""
    return {"nodes_treeids": [0] * 4, "nodes_nodeids": [0, 1, 2, 3], "nodes_featureids": [0] * 4, "nodes_values": [0.0] * 4,
            "nodes_modes": ["LEAF" if node is None else "BRANCH_LEQ" for node in yes], "nodes_truenodeids": [node or 0 for node in yes],
            "nodes_falsenodeids": [node or 0 for node in no], "target_treeids": [0], "target_nodeids": [3], "target_ids": [0],
            "target_weights": [1.0]}


BROKEN_TREES = [
    (broken(nodes_truenodeids=(0, 99)), "has no node 99"),
    (broken(nodes_truenodeids=(0, 0)), "node 0 of tree 0 is in a cycle"),
    (broken(nodes_truenodeids=(0, 2), nodes_falsenodeids=(0, 2)), "roots, not one"),
    (broken(nodes_nodeids=(1, 0)), "node 0 of tree 0 is there twice"),
    (broken(nodes_treeids=(1, 1)), "has no node 1"),
    (broken(nodes_modes=(0, "BRANCH_OWN")), "BRANCH_OWN"),
    (broken(nodes_featureids=(0, -1)), "nodes_featureids[0] is -1"),
    (broken(target_ids=(0, 1)), "target_ids[0] is 1 of 1 scores"),
    (broken(target_nodeids=(0, 77)), "has no node 77"),
    ({**broken(), "nodes_values": [0.0]}, "nodes_values has 1 entries"),
    ({**broken(), "nodes_modes": ["LEAF"]}, "nodes_modes has 1 entries"),
    ({**broken(), "target_treeids": [0]}, "target_treeids has 1 entries"),
    ({**broken(), "base_values": [1.0, 2.0]}, "base_values has 2 entries"),
    ({**broken(), "aggregate_function": "OWN"}, "aggregate_function"),
    ({**broken(), "n_targets": 0}, "0 scores"),
    (linked([None, 2, 1, None], [None, 3, 3, None]), "node 1 of tree 0 is in a cycle"),
    (linked([1, 2, 3, 0], [1, 2, 3, 0]), "tree 0 has 0 roots"),
    (linked([1, 2, None, None], [2, 3, None, None]), "node 2 of tree 0 is reached in two ways"),
]


def tensor(name, values, kind):
    return numpy_helper.from_array(np.array(values, kind), name)


def ensemble(modes, members=None, kind=np.float32, count=3, depth=4, targets=2, columns=4, seed=8, **attributes):
    """Random trees of version 5. members: how many values each set has."""
    rng = np.random.default_rng(seed)
    nodes = {name: [] for name in ("featureids", "truenodeids", "falsenodeids", "trueleafs", "falseleafs", "missing_value_tracks_true")}
    splits, kinds, sets, leaves, weights, roots = [], [], [], [], [], []

    def branch(level):
        if level == depth or (level > 1 and rng.random() < 0.2):
            leaves.append(int(rng.integers(targets)))
            weights.append(float(rng.uniform(-1, 1)))
            return len(leaves) - 1, 1
        return add(level), 0

    def add(level):
        place = len(splits)
        splits.append(float(rng.integers(-3, 4)) / 2)
        kinds.append(modes[int(rng.integers(len(modes)))])
        for name in nodes:
            nodes[name].append(0)
        nodes["featureids"][place] = int(rng.integers(columns))
        nodes["missing_value_tracks_true"][place] = int(rng.integers(2))
        nodes["truenodeids"][place], nodes["trueleafs"][place] = branch(level + 1)
        nodes["falsenodeids"][place], nodes["falseleafs"][place] = branch(level + 1)
        return place

    for _ in range(count):
        roots.append(add(0))
    for mode in kinds:
        if mode == MEMBER:
            size = int(rng.integers(1, members + 1))
            sets += [*(rng.permutation(np.arange(-8, 9))[:size] / 2), NAN]
    made = {f"nodes_{name}": values for name, values in nodes.items()}
    if sets:
        made["membership_values"] = tensor("members", sets, kind)
    return {**made, "nodes_splits": tensor("splits", splits, kind), "nodes_modes": tensor("modes", kinds, np.uint8),
            "leaf_weights": tensor("weights", weights, kind), "leaf_targetids": leaves, "tree_roots": roots, "n_targets": targets,
            **attributes}


MEMBER, ALL_MODES = 6, [0, 1, 2, 3, 4, 5, 6]
ENSEMBLES = [
    (GRID, ensemble([0])),
    (GRID, ensemble(ALL_MODES, members=1)),
    (GRID, ensemble([MEMBER], members=2)),
    (GRID, ensemble(ALL_MODES, members=9, count=7, depth=6)),
    (GRID[:2], ensemble([MEMBER], members=17, count=19)),
    (GRID.astype(np.float64), ensemble(ALL_MODES, members=5, kind=np.float64)),
    *[(GRID, ensemble([0, MEMBER], members=4, post_transform=post, aggregate_function=aggregate))
      for post, aggregate in ((1, 0), (2, 1), (0, 2), (0, 3))],
    (GRID, ensemble([0], count=1, depth=1, targets=1)),
]


def changed(members=None, modes=(0,), **changes):
    """An ensemble with one entry of a list changed."""
    made = ensemble(list(modes), members=members, count=2, depth=2, seed=5)
    for name, (place, value) in changes.items():
        made[name] = made[name][:place] + [value] + made[name][place + 1:]
    return made


BROKEN_ENSEMBLES = [
    (changed(nodes_truenodeids=(1, 0), nodes_trueleafs=(1, 0)), "node 0 is reached in two ways"),
    (changed(nodes_truenodeids=(0, 0), nodes_trueleafs=(0, 0)), "node 0 is reached in two ways"),
    (changed(nodes_falsenodeids=(0, 99)), "nodes_falsenodeids[0] is 99 of 6 nodes"),
    (changed(nodes_truenodeids=(2, -1)), "nodes_truenodeids of leaves[2] is -1 of 8 leaves"),
    (changed(tree_roots=(0, 6)), "tree_roots[0] is 6 of 6 nodes"),
    (changed(tree_roots=(1, 0)), "node 0 is reached in two ways"),
    (changed(leaf_targetids=(0, 2)), "leaf_targetids[0] is 2 of 2 scores"),
    (changed(nodes_featureids=(0, -1)), "nodes_featureids[0] is -1"),
    ({**changed(), "nodes_modes": tensor("modes", [7] * 6, np.uint8)}, "nodes_modes[0] is 7"),
    ({**changed(), "nodes_modes": tensor("modes", [6] * 6, np.uint8)}, "no set for node 0"),
    ({**changed(), "membership_values": tensor("members", [1, NAN], np.float32)}, "membership_values has 2 entries"),
    ({**changed(), "nodes_splits": tensor("splits", [1.0], np.float32)}, "nodes_splits has 1 entries, not 6"),
    ({**changed(), "aggregate_function": 4}, "aggregate_function is 4"),
    ({**changed(), "post_transform": 5}, "this post_transform"),
    ({**changed(), "n_targets": 0}, "0 scores"),
    ({name: value for name, value in changed().items() if name != "tree_roots"}, "tree_roots"),
]


def leaf_of(made, sets, row, node):
    """Walks down from a node, as the operator's definition says."""
    split, mode = numpy_helper.to_array(made["nodes_splits"])[node], int(numpy_helper.to_array(made["nodes_modes"])[node])
    value = row[made["nodes_featureids"][node]]
    tests = [value <= split, value < split, value >= split, value > split, value == split, value != split, value in sets.get(node, ())]
    way = "true" if tests[mode] or (np.isnan(value) and made["nodes_missing_value_tracks_true"][node]) else "false"
    child = made[f"nodes_{way}nodeids"][node]
    return child if made[f"nodes_{way}leafs"][node] else leaf_of(made, sets, row, child)


def defined(made, rows):
    """The scores before post_transform."""
    members = numpy_helper.to_array(made["membership_values"]).tolist() if "membership_values" in made else []
    sets, weights = {}, numpy_helper.to_array(made["leaf_weights"])
    for node, mode in enumerate(numpy_helper.to_array(made["nodes_modes"])):
        if mode == MEMBER:
            end = next(i for i, value in enumerate(members) if value != value)
            sets[node], members = members[:end], members[end + 1:]
    scores = np.zeros((len(rows), made["n_targets"]))
    for i, row in enumerate(rows):
        found = [[] for _ in range(made["n_targets"])]
        for root in made["tree_roots"]:
            leaf = leaf_of(made, sets, row, root)
            found[made["leaf_targetids"][leaf]].append(weights[leaf])
        combine = [lambda values: sum(values) / len(made["tree_roots"]), sum, min, max][made.get("aggregate_function", 1)]
        scores[i] = [combine(values) if values else 0 for values in found]
    return scores


@pytest.mark.parametrize("place", range(len(ENSEMBLES)))
def test_an_ensemble_of_version_5_is_what_its_definition_says(home, tmp_path, place):
    """onnxruntime knows sets of integers only, and cuts features to integers before it looks them up."""
    rows, attributes = ENSEMBLES[place]
    model, given = model_of("TreeEnsemble", [rows], attributes, 1, version=5)
    with np.errstate(over="ignore"):
        transform = [lambda y: y, lambda y: np.exp(y) / np.exp(y).sum(1, keepdims=True), lambda y: 1 / (1 + np.exp(-y))]
        wanted = {"y0": transform[attributes.get("post_transform", 0)](defined(attributes, rows)).astype(rows.dtype)}
    if "membership_values" not in attributes:
        wanted = expected(model, given)
        np.testing.assert_allclose(defined(attributes, rows), wanted["y0"], rtol=1e-4, atol=2e-5)
    check(home, tmp_path, model, given, wanted)


@pytest.mark.parametrize("attributes,words", BROKEN_ENSEMBLES, ids=[words for _, words in BROKEN_ENSEMBLES])
def test_what_is_no_ensemble_is_refused_by_name(home, tmp_path, attributes, words):
    model, _ = model_of("TreeEnsemble", [HALVES], attributes, 1, version=5)
    home.refuses("register", "m", write_unchecked(tmp_path / "m.onnx", model), code=REFUSED, words=(words, "TreeEnsemble"))


def test_an_ensemble_of_halves(home, tmp_path):
    rows = GRID.astype(np.float16)
    model, given = model_of("TreeEnsemble", [rows], ensemble(ALL_MODES, members=5, kind=np.float16), 1, version=5)
    wide, _ = model_of("TreeEnsemble", [GRID], ensemble(ALL_MODES, members=5), 1, version=5)
    wanted = run_with_stops(home, tmp_path, wide, {"x0": GRID})["y0"].astype(np.float16)
    check(home, tmp_path, model, given, {"y0": wanted}, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("operator,arrays,attributes,outputs", CASES, ids=name_of)
def test_an_operator_is_what_onnxruntime_computes(home, tmp_path, operator, arrays, attributes, outputs):
    model, given = model_of(operator, arrays, attributes, outputs)
    # onnxruntime subtracts nearly equal numbers
    tolerance = 1e-3 if attributes.get("post_transform") == "PROBIT" else 2e-5
    check(home, tmp_path, model, given, expected(model, given), atol=tolerance)


@pytest.mark.parametrize("operator,arrays,attributes,words", REFUSED_CASES, ids=name_of)
def test_an_operator_is_refused_with_its_reason(home, tmp_path, operator, arrays, attributes, words):
    model, _ = model_of(operator, arrays, attributes, 1)
    words = words if isinstance(words, tuple) else (words, operator)
    home.refuses("register", "m", write_unchecked(tmp_path / "m.onnx", model), code=REFUSED, words=words)


@pytest.mark.parametrize("operator,arrays,attributes", TREE_CASES, ids=name_of)
def test_trees_are_what_onnxruntime_computes(home, tmp_path, operator, arrays, attributes):
    model, given = model_of(operator, arrays, attributes, 2 if operator == CLASSIFIER else 1)
    tolerance = 1e-3 if attributes.get("post_transform") == "PROBIT" else 2e-5
    check(home, tmp_path, model, given, expected(model, given), atol=tolerance)


@pytest.mark.parametrize("attributes,words", BROKEN_TREES, ids=[words for _, words in BROKEN_TREES])
def test_what_is_no_tree_is_refused_by_name(home, tmp_path, attributes, words):
    model, _ = model_of(REGRESSOR, [HALVES], attributes, 1)
    home.refuses("register", "m", write_unchecked(tmp_path / "m.onnx", model), code=REFUSED, words=(words, REGRESSOR))


def test_trees_may_be_more_than_attributes_hold(home, tmp_path):
    attributes = trees(REGRESSOR, [0], count=300, depth=9, base_values=[0.5])
    assert len(attributes["nodes_values"]) > 1 << 16
    model, given = model_of(REGRESSOR, [GRID], attributes, 1)
    check(home, tmp_path, model, given, expected(model, given))


def test_a_category_that_is_not_listed_ends_the_run(home, tmp_path):
    model, _ = model_of("OneHotEncoder", [ints(3, 1)], {"cats_int64s": [1, 2, 3], "zeros": 0}, 1)
    home.call("register", "m", write_unchecked(tmp_path / "m.onnx", model))
    home.refuses("run", "m", "--input", write_npz(tmp_path / "in.npz", x0=ints(3, 4)), "--output", tmp_path / "out.npz", words=("Gather", "3"))


def map_type(key, value):
    return helper.make_map_type_proto(key, helper.make_tensor_type_proto(value, []))


@pytest.mark.parametrize("labels", [{"classlabels_int64s": [5, 7, 9, 11]}, {"classlabels_strings": ["a", "b", "c", "d"]},
                                    {"classlabels_int64s": [9, -2, 11, 7]}, {"classlabels_strings": ["b", "", "ab", "c"]}])
def test_a_zip_map_is_written_as_keys_and_values(home, tmp_path, labels):
    model, given = model_of("ZipMap", [X], labels, 1)
    names = next(iter(labels.values()))
    kind = map_type(TensorProto.STRING if isinstance(names[0], str) else TensorProto.INT64, TensorProto.FLOAT)
    model.graph.output[0].type.CopyFrom(helper.make_sequence_type_proto(kind))
    rows = expected(model, given)["y0"]
    wanted = {"y0.keys": np.array(list(rows[0])), "y0.values": np.array([list(row.values()) for row in rows], np.float32)}
    check(home, tmp_path, model, given, wanted)


def test_a_zip_map_refuses_equal_labels_and_other_numbers_of_scores(home, tmp_path):
    model, given = model_of("ZipMap", [X], {"classlabels_strings": ["a", "b", "c", "b"]}, 1)
    home.refuses("register", "m", write_unchecked(tmp_path / "m.onnx", model), code=REFUSED, words=('two class labels are "b"', "ZipMap"))
    for count in 3, 5:
        model, given = model_of("ZipMap", [X], {"classlabels_int64s": list(range(count))}, 1)
        del model.graph.input[0].type.tensor_type.shape.dim[:]
        model.graph.input[0].type.tensor_type.ClearField("shape")
        home.call("register", "m", write_unchecked(tmp_path / "m.onnx", model))
        home.refuses("run", "m", "--input", write_npz(tmp_path / "in.npz", **given), "--output", tmp_path / "out.npz", words=("Split", "4"))


INT64, STRING, FLOAT, DOUBLE = TensorProto.INT64, TensorProto.STRING, TensorProto.FLOAT, TensorProto.DOUBLE
FORMS = ["DENSE", "SPARSE"]
# (operator, attributes, types of key and value, the map, the type of the result)
MAP_CASES = [
    ("DictVectorizer", {"string_vocabulary": ["a", "c", "b", "z"]}, STRING, FLOAT, {"c": 8.0, "a": 4.0, "other": 1.0}, FLOAT),
    ("DictVectorizer", {"int64_vocabulary": [9, 3]}, INT64, FLOAT, {3: 0.5}, FLOAT),
    *[("CastMap", {"map_form": form, "max_map": size}, INT64, FLOAT, {5: 1.5, 1: 2.75, 3: -1e10}, FLOAT)
      for form, size in (("DENSE", 1), ("SPARSE", 7), ("SPARSE", 4))],
    *[("CastMap", {"map_form": form, "max_map": 7, "cast_to": "TO_INT64"}, INT64, FLOAT, {5: 1.5, 1: 2.75, 0: 7.0}, INT64) for form in FORMS],
]


def map_model(operator, attributes, key, value, result):
    node = helper.make_node(operator, ["x"], ["y"], domain="ai.onnx.ml", **attributes)
    graph = helper.make_graph([node], "g", [helper.make_value_info("x", map_type(key, value))],
                              [helper.make_tensor_value_info("y", result, None)])
    imports = [helper.make_opsetid("", 20), helper.make_opsetid("ai.onnx.ml", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=9)


def map_arrays(given, kind):
    return {"x.keys": np.array(list(given)), "x.values": np.array(list(given.values()), kind)}


@pytest.mark.parametrize("operator,attributes,key,value,given,result", MAP_CASES, ids=name_of)
def test_a_map_is_an_input_of_keys_and_values(home, tmp_path, operator, attributes, key, value, given, result):
    model = map_model(operator, attributes, key, value, result)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    check(home, tmp_path, model, map_arrays(given, np.float32), {"y": session.run(None, {"x": given})[0]})


def test_maps_of_other_values_and_empty_ones(home, tmp_path):
    nothing = {"x.keys": np.zeros(0, np.int64), "x.values": np.zeros(0, np.float32)}
    two = {"x.keys": ints(7, 3), "x.values": np.array(["seven", "three"])}
    for attributes, value, given, wanted in (
            ({"int64_vocabulary": [3, 5]}, STRING, two, np.array([["three", ""]])),
            ({"int64_vocabulary": [3, 5]}, FLOAT, nothing, floats([0, 0])),
            ({"int64_vocabulary": [3, 5]}, DOUBLE, {**two, "x.values": np.array([0.1, 0.2])}, np.array([[0.2, 0.0]]))):
        check(home, tmp_path, map_model("DictVectorizer", attributes, INT64, value, value), given, {"y": wanted})
    for attributes, given, wanted in (({"cast_to": "TO_INT64"}, {**two, "x.values": np.array(["70", "30"])}, ints([30, 70])),
                                      ({"cast_to": "TO_STRING", "map_form": "SPARSE", "max_map": 5}, two,
                                       np.array([["0.f", "0.f", "0.f", "three", "0.f"]]))):
        result = STRING if "max_map" in attributes else INT64
        check(home, tmp_path, map_model("CastMap", attributes, INT64, STRING, result), given, {"y": wanted})
    check(home, tmp_path, map_model("CastMap", {}, INT64, FLOAT, FLOAT), nothing, {"y": np.zeros((1, 0), np.float32)})


def test_bad_maps_are_refused_by_name(home, tmp_path):
    model = map_model("DictVectorizer", {"string_vocabulary": ["a", "b"]}, STRING, FLOAT, FLOAT)
    home.call("register", "m", write_unchecked(tmp_path / "m.onnx", model))
    good = {"x.keys": np.array(["a", "b"]), "x.values": floats(1, 2)}
    for changed, words in (({"x.keys": np.array(["a", "a"])}, ("two keys of the map x are equal",)),
                           ({"x.keys": np.array(["a"])}, ("x.values", "is 2", "x.keys has 1")),
                           ({"x.keys": ints(1, 2)}, ("x.keys", "int64")),
                           ({"x.values": ints(1, 2)}, ("x.values", "int64")),
                           ({"x": floats(1)}, ("x",))):
        given = write_npz(tmp_path / "in.npz", **{**good, **changed})
        home.refuses("run", "m", "--input", given, "--output", tmp_path / "out.npz", words=words)
    model = map_model("CastMap", {"map_form": "SPARSE", "max_map": 4}, INT64, FLOAT, FLOAT)
    given = write_npz(tmp_path / "in.npz", **{"x.keys": ints(2, -1), "x.values": floats(1, 2)})
    home.call("register", "n", write_unchecked(tmp_path / "n.onnx", model))
    home.refuses("run", "n", "--input", given, "--output", tmp_path / "out.npz", words=("ScatterElements",))


def test_maps_that_no_operator_takes_are_refused(home, tmp_path):
    model, _ = model_of("Scaler", [X], {"offset": [0.5]}, 1)
    model.graph.input[0].type.CopyFrom(helper.make_sequence_type_proto(map_type(INT64, FLOAT)))
    home.refuses("register", "m", write_unchecked(tmp_path / "m.onnx", model), code=REFUSED, words=("x0", "a sequence of maps"))
    model = map_model("DictVectorizer", {"string_vocabulary": ["a"]}, INT64, FLOAT, FLOAT)
    home.refuses("register", "m", write_unchecked(tmp_path / "m.onnx", model), code=REFUSED, words=("keys of int64", "vocabulary of strings"))
    model = map_model("CastMap", {}, TensorProto.INT32, FLOAT, FLOAT)
    home.refuses("register", "m", write_unchecked(tmp_path / "m.onnx", model), code=REFUSED, words=("input x", "keys of int32"))


def test_a_map_may_come_out_of_a_branch(home, tmp_path):
    kind = helper.make_sequence_type_proto(map_type(INT64, FLOAT))

    def branch(labels):
        node = helper.make_node("ZipMap", ["x"], ["z"], domain="ai.onnx.ml", classlabels_int64s=labels)
        return helper.make_graph([node], "b", [], [helper.make_value_info("z", kind)])

    node = helper.make_node("If", ["which"], ["y"], then_branch=branch([1, 2, 3, 4]), else_branch=branch([8, 7, 6, 5]))
    inputs = [helper.make_tensor_value_info("x", FLOAT, X.shape), helper.make_tensor_value_info("which", TensorProto.BOOL, [])]
    graph = helper.make_graph([node], "g", inputs, [helper.make_value_info("y", kind)])
    imports = [helper.make_opsetid("", 20), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=9)
    check(home, tmp_path, model, {"x": X, "which": np.array(True)}, {"y.keys": ints(1, 2, 3, 4), "y.values": X})
    check(home, tmp_path, model, {"x": X, "which": np.array(False)}, {"y.keys": ints(5, 6, 7, 8), "y.values": X[:, ::-1]})


def test_weights_may_be_more_than_attributes_hold(home, tmp_path):
    x, weights = f(2, 70000), listed(70000)
    model, given = model_of("LinearRegressor", [x], {"coefficients": weights}, 1)
    home.call("register", "m", write_unchecked(tmp_path / "m.onnx", model))
    home.call("run", "m", "--input", write_npz(tmp_path / "in.npz", **given), "--output", tmp_path / "out.npz")
    np.testing.assert_allclose(load(tmp_path / "out.npz")["y0"], expected(model, given)["y0"], rtol=1e-3, atol=1e-2)


def test_every_composition_has_a_case():
    with open(TABLE, encoding="utf-8") as file:
        names = set(re.findall(r'ONNX_COMPOSITION\("ai\.onnx\.ml\.(\w+)"', file.read()))
    assert names - {case[0] for case in CASES + TREE_CASES} - {"TreeEnsemble"} == set()
