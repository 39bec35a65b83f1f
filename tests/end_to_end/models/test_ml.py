"""Operators of ai.onnx.ml: as onnxruntime computes them, stopped at every instruction."""
import functools
import os
import re

import numpy as np
import one_node
import pytest
from harness import REFUSED, ROOT, load, write_npz, write_unchecked
from one_node import check, expected, name_of
from onnx import TensorProto, helper

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
    ("ZipMap", [X], {}, "no class labels"),
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


def test_a_zip_map_is_the_tensor_of_its_scores(home, tmp_path):
    kinds = {"classlabels_int64s": [5, 7, 9, 11]}, {"classlabels_strings": ["a", "b", "c", "d"]}
    for i, labels in enumerate(kinds):
        model, given = model_of("ZipMap", [X], labels, 1)
        key = TensorProto.STRING if i else TensorProto.INT64
        kind = helper.make_map_type_proto(key, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
        model.graph.output[0].type.CopyFrom(helper.make_sequence_type_proto(kind))
        rows = expected(model, given)["y0"]
        names = next(iter(labels.values()))
        check(home, tmp_path, model, given, {"y0": np.array([[row[name] for name in names] for row in rows], np.float32)})


def test_a_map_is_no_input(home, tmp_path):
    model, _ = model_of("ZipMap", [X], {"classlabels_int64s": [1, 2, 3, 4]}, 1)
    kind = helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
    model.graph.input[0].type.CopyFrom(helper.make_sequence_type_proto(kind))
    home.refuses("register", "m", write_unchecked(tmp_path / "m.onnx", model), code=REFUSED, words=("x0", "maps"))


def test_weights_may_be_more_than_attributes_hold(home, tmp_path):
    x, weights = f(2, 70000), listed(70000)
    model, given = model_of("LinearRegressor", [x], {"coefficients": weights}, 1)
    home.call("register", "m", write_unchecked(tmp_path / "m.onnx", model))
    home.call("run", "m", "--input", write_npz(tmp_path / "in.npz", **given), "--output", tmp_path / "out.npz")
    np.testing.assert_allclose(load(tmp_path / "out.npz")["y0"], expected(model, given)["y0"], rtol=1e-3, atol=1e-2)


def test_every_composition_has_a_case():
    with open(TABLE, encoding="utf-8") as file:
        names = set(re.findall(r'ONNX_COMPOSITION\("ai\.onnx\.ml\.(\w+)"', file.read()))
    assert names - {case[0] for case in CASES + TREE_CASES} - {"ZipMap"} == set()
