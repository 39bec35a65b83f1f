"""Operators of ai.onnx.ml: as onnxruntime computes them, stopped at every instruction."""
import os
import re

import numpy as np
import onnxruntime
import pytest
from harness import REFUSED, ROOT, SUSPENDED, load, same_bits, write_npz, write_unchecked
from onnx import TensorProto, helper

TABLE = os.path.join(ROOT, "compiler", "frontend", "nodes", "onnx_compositions_ml.def")
SEED = np.random.default_rng(11)
NAN = float("nan")


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
]


def kind_of(array):
    return TensorProto.STRING if array.dtype.kind == "U" else helper.np_dtype_to_tensor_dtype(array.dtype)


def model_of(operator, arrays, attributes, outputs, version=3):
    names = [f"x{i}" for i in range(len(arrays))]
    inputs = [helper.make_tensor_value_info(name, kind_of(array), array.shape) for name, array in zip(names, arrays)]
    made = [helper.make_tensor_value_info(f"y{i}", TensorProto.UNDEFINED, None) for i in range(outputs)]
    for output in made:
        output.ClearField("type")
    node = helper.make_node(operator, names, [output.name for output in made], domain="ai.onnx.ml", **attributes)
    imports = [helper.make_opsetid("", 20), helper.make_opsetid("ai.onnx.ml", version)]
    return helper.make_model(helper.make_graph([node], "g", inputs, made), opset_imports=imports, ir_version=9), dict(zip(names, arrays))


def peer(model, given):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    results = session.run(None, {name: array.astype(object) if array.dtype.kind == "U" else array for name, array in given.items()})
    return {output.name: array for output, array in zip(session.get_outputs(), results)}


def check(home, folder, model, given, wanted, tolerance=2e-5):
    """Runs it as it is and stopped at every instruction."""
    home.call("register", "m", write_unchecked(folder / "m.onnx", model))
    given, out, moved = write_npz(folder / "in.npz", **given), folder / "out.npz", folder / "moved.npz"
    instructions = home.call("run", "m", "--input", given, "--output", out).json["instructions"]
    made = load(out)
    assert sorted(made) == sorted(wanted)
    for name, array in wanted.items():
        if array.dtype.kind == "f":
            assert (made[name].shape, made[name].dtype) == (array.shape, array.dtype), name
            np.testing.assert_allclose(made[name], array, rtol=1e-4, atol=tolerance, err_msg=name)
        else:
            assert made[name].tolist() == array.tolist(), name
    for at in range(1, instructions):
        home.call("run", "m", "--input", given, "--output", moved, "--suspend-after", at, "--checkpoint", folder / "c.lvc",
                  expect=SUSPENDED)
        home.call("resume", folder / "c.lvc", "--output", moved)
        same_bits(moved, out)


def name_of(case):
    return case if isinstance(case, str) else None


@pytest.mark.parametrize("operator,arrays,attributes,outputs", CASES, ids=name_of)
def test_an_operator_is_what_onnxruntime_computes(home, tmp_path, operator, arrays, attributes, outputs):
    model, given = model_of(operator, arrays, attributes, outputs)
    # onnxruntime subtracts nearly equal numbers
    tolerance = 1e-3 if attributes.get("post_transform") == "PROBIT" else 2e-5
    check(home, tmp_path, model, given, peer(model, given), tolerance)


@pytest.mark.parametrize("operator,arrays,attributes,words", REFUSED_CASES, ids=name_of)
def test_an_operator_is_refused_with_its_reason(home, tmp_path, operator, arrays, attributes, words):
    model, _ = model_of(operator, arrays, attributes, 1)
    words = words if isinstance(words, tuple) else (words, operator)
    home.refuses("register", "m", write_unchecked(tmp_path / "m.onnx", model), code=REFUSED, words=words)


def test_a_category_that_is_not_listed_ends_the_run(home, tmp_path):
    model, _ = model_of("OneHotEncoder", [ints(3, 1)], {"cats_int64s": [1, 2, 3], "zeros": 0}, 1)
    home.call("register", "m", write_unchecked(tmp_path / "m.onnx", model))
    home.refuses("run", "m", "--input", write_npz(tmp_path / "in.npz", x0=ints(3, 4)), "--output", tmp_path / "out.npz", words=("Gather", "3"))


def test_weights_may_be_more_than_attributes_hold(home, tmp_path):
    x, weights = f(2, 70000), listed(70000)
    model, given = model_of("LinearRegressor", [x], {"coefficients": weights}, 1)
    home.call("register", "m", write_unchecked(tmp_path / "m.onnx", model))
    home.call("run", "m", "--input", write_npz(tmp_path / "in.npz", **given), "--output", tmp_path / "out.npz")
    np.testing.assert_allclose(load(tmp_path / "out.npz")["y0"], peer(model, given)["y0"], rtol=1e-3, atol=1e-2)


def test_every_composition_has_a_case():
    with open(TABLE, encoding="utf-8") as file:
        names = set(re.findall(r'ONNX_COMPOSITION\("ai\.onnx\.ml\.(\w+)"', file.read()))
    assert names - {case[0] for case in CASES} == set()
