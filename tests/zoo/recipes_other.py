"""Smaller tools: CatBoost's own writer and two simplifiers; trees and encoders of newer versions of ai.onnx.ml."""
import os
import tempfile

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from recipe import Recipe, given, reals
from recipes_optimized import base
from recipes_tables import FEATURES, _data

ML = "ai.onnx.ml"


def catboost(name, kind, classes):
    def make():
        import catboost as package
        import onnx

        x, y = _data(classes)
        model = getattr(package, kind)(iterations=6, depth=3, random_seed=0, verbose=False, thread_count=1, train_dir=None,
                                       allow_writing_files=False)
        model.fit(x, y)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            model.save_model(path, format="onnx")
            made = onnx.load(path)
        return made, {made.graph.input[0].name: reals(8, FEATURES)}

    return Recipe(name, "catboost", "trees", make)


def simplified(name, tool):
    def make():
        model, specs = base(name)
        if tool == "onnxslim":
            import onnxslim

            return onnxslim.slim(model), specs
        import onnxsim

        made, right = onnxsim.simplify(model)
        assert right
        return made, specs

    return Recipe(f"{name}_{tool}", tool, "optimised", make)


def _ml(name, nodes, inputs, outputs, specs, version=5):
    def make():
        graph = helper.make_graph(nodes, name, inputs, outputs)
        imports = [helper.make_opsetid("", 21), helper.make_opsetid(ML, version)]
        return helper.make_model(graph, opset_imports=imports, ir_version=10), specs

    return Recipe(name, "onnx helper, ai.onnx.ml", "trees" if "ensemble" in name else "tabular", make)


def _value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def _ensemble(name, aggregate, modes):
    """Two trees of depth two: nodes 0 and 1, 2 below; 3 and 4, 5 below; leaves with a weight for one of two targets."""
    def tensor(key, values, kind):
        return numpy_helper.from_array(np.array(values, kind), key)

    inner = {"nodes_featureids": [0, 1, 2, 3, 4, 5], "nodes_truenodeids": [1, 0, 2, 4, 4, 6],
             "nodes_falsenodeids": [2, 1, 3, 5, 5, 7], "nodes_trueleafs": [0, 1, 1, 0, 1, 1], "nodes_falseleafs": [0, 1, 1, 0, 1, 1],
             "nodes_missing_value_tracks_true": [1, 0, 1, 0, 1, 0]}
    node = helper.make_node(
        "TreeEnsemble", ["x"], ["y"], domain=ML, n_targets=2, aggregate_function=aggregate, post_transform=0, tree_roots=[0, 3],
        nodes_splits=tensor("splits", [0.1, -0.2, 0.3, 0.0, 0.5, -0.5], np.float32),
        nodes_modes=tensor("modes", [modes[i % len(modes)] for i in range(6)], np.uint8),
        leaf_targetids=[0, 1, 0, 1, 0, 1, 1, 0],
        leaf_weights=tensor("weights", [1.0, -2.0, 0.5, 3.0, -1.5, 0.25, 2.0, 4.0], np.float32), **inner)
    specs = {"x": given([[0.5, float("nan"), -1.0, 2.0, 0.0, 1.0], [1.5, 0.25, 0.5, -2.0, 0.5, -1.0], [-1, -1, -1, -1, -1, -1]],
                        "float32")}
    return _ml(name, [node], [_value("x", ["n", 6])], [_value("y", ["n", 2])], specs)


def _labels():
    text, whole, real = TensorProto.STRING, TensorProto.INT64, TensorProto.FLOAT
    nodes = [helper.make_node("LabelEncoder", ["x"], ["number"], domain=ML, keys_strings=["a", "b", "c"], values_int64s=[4, 5, 6],
                              default_int64=-1),
             helper.make_node("LabelEncoder", ["number"], ["real"], domain=ML, keys_int64s=[4, 5], values_floats=[0.5, 1.5],
                              default_float=-2.0),
             helper.make_node("LabelEncoder", ["number"], ["text"], domain=ML, keys_int64s=[4, 6], values_strings=["first", "last"],
                              default_string="none"),
             helper.make_node("CategoryMapper", ["x"], ["mapped"], domain=ML, cats_strings=["a", "c"], cats_int64s=[1, 2],
                              default_int64=9),
             helper.make_node("OneHotEncoder", ["mapped"], ["hot"], domain=ML, cats_int64s=[1, 2, 9], zeros=1),
             helper.make_node("Cast", ["hot"], ["wide"], to=real),
             helper.make_node("FeatureVectorizer", ["real", "wide"], ["all"], domain=ML, inputdimensions=[1, 3])]
    outputs = [_value("number", ["n"], whole), _value("text", ["n"], text), _value("mapped", ["n"], whole), _value("wide", ["n", 3])]
    return _ml("labels", nodes[:-1], [_value("x", ["n"], text)], outputs, {"x": given(["a", "c", "d", "b"], "str")}, 2)


def _vectors():
    nodes = [helper.make_node("Scaler", ["x"], ["scaled"], domain=ML, offset=[0.5, 1.0], scale=[2.0, 0.5]),
             helper.make_node("Imputer", ["y"], ["whole"], domain=ML, imputed_value_floats=[1.0, 2.0, 3.0],
                              replaced_value_float=float("nan")),
             helper.make_node("FeatureVectorizer", ["scaled", "whole"], ["all"], domain=ML, inputdimensions=[2, 3]),
             helper.make_node("Normalizer", ["all"], ["unit"], domain=ML, norm="L1"),
             helper.make_node("SVMClassifier", ["unit"], ["label", "score"], domain=ML, kernel_type="LINEAR", kernel_params=[0.1, 0.0, 3.0],
                              coefficients=[0.2, -0.5, 1.0, 0.3, -0.7, 0.1, 0.4, 0.6, -0.9, 0.8, -0.2, 0.5, 0.9, -0.3, 0.7],
                              rho=[0.1, -0.1, 0.2], classlabels_strings=["a", "b", "c"], post_transform="SOFTMAX")]
    return _ml("vectors", nodes, [_value("x", ["n", 2]), _value("y", ["n", 3])],
               [_value("label", ["n"], TensorProto.STRING), _value("score", ["n", 3])],
               {"x": reals(4, 2), "y": given([[1, float("nan"), 2], [0, 1, float("nan")], [3, 2, 1], [1, 1, 1]], "float32")}, 3)


def _odd_entries():
    """Shapes that are wrong, twice there or of nothing; weights of nothing; imports of nothing; nodes without a name."""
    random = np.random.RandomState(6)
    weights = [numpy_helper.from_array(random.standard_normal(shape).astype(np.float32), name)
               for name, shape in (("w", (3, 8, 6)), ("unused", (5, 5)))]
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Relu", ["a"], ["b"]),
             helper.make_node("Dropout", ["b"], ["c", "", ]), helper.make_node("ReduceMean", ["c", ""], ["y"], keepdims=0)]

    def make():
        graph = helper.make_graph(nodes, "", [_value("x", [3, "n", 8])], [_value("y", [])], weights)
        graph.value_info.extend([_value("a", [3, "m", 7]), _value("a", [3, "m", 7]), _value("gone", [1]), _value("b", None)])
        imports = [helper.make_opsetid(domain, version) for domain, version in (("", 18), (ML, 3), ("com.microsoft.experimental", 1))]
        return helper.make_model(graph, opset_imports=imports, ir_version=8, producer_name=""), {"x": reals(3, 4, 8)}

    return Recipe("odd_entries", "onnx helper", "classification", make)


def _one_import():
    """A file that imports ai.onnx.ml alone."""
    def make():
        node = helper.make_node("LinearRegressor", ["x"], ["y"], domain=ML, coefficients=[0.5, -1.0, 2.0], intercepts=[0.25])
        graph = helper.make_graph([node], "linear", [_value("x", ["n", 3])], [_value("y", ["n", 1])])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid(ML, 1)], ir_version=6), {"x": reals(5, 3)}

    return Recipe("one_import", "onnx helper, ai.onnx.ml", "tabular", make)


MAX, MIN, SUM, AVERAGE = 3, 2, 1, 0
RECIPES = [
    catboost("catboost_classifier", "CatBoostClassifier", 3),
    catboost("catboost_two", "CatBoostClassifier", 2),
    catboost("catboost_regressor", "CatBoostRegressor", 0),
    *[simplified(name, tool) for name in ("swin_script", "llama_script", "center_net_script") for tool in ("onnxslim", "onnxsim")],
    _ensemble("ensemble_sum", SUM, [0]), _ensemble("ensemble_max", MAX, [1, 2, 3]), _ensemble("ensemble_min", MIN, [4, 5, 0]),
    _ensemble("ensemble_average", AVERAGE, [0, 1]),
    _labels(), _vectors(), _odd_entries(), _one_import(),
]

