"""LabelEncoder in its versions: as onnxruntime computes them, stopped at every instruction; with as many keys as a vocabulary."""
import functools

import numpy as np
import one_node
import pytest
from one_node import check, expected, outputs_of
from onnx import numpy_helper

pytestmark = pytest.mark.one_home

NAN = float("nan")
TEXTS = np.array(["b", "z", "", "a\u00e4"])
NUMBERS = np.array([3, 0, -7, 1])


def tensors(keys, values, default):
    """The attributes of version 4 whose element types are the tensors' own."""
    return {"keys_tensor": numpy_helper.from_array(keys), "values_tensor": numpy_helper.from_array(values),
            "default_tensor": numpy_helper.from_array(np.array([default], values.dtype))}


@pytest.mark.parametrize("version,array,attributes", [
    (1, TEXTS, {"classes_strings": ["a\u00e4", "b", "c"], "default_int64": 9}),
    (1, NUMBERS, {"classes_strings": ["zero", "one", "two"], "default_string": "none"}),
    (2, np.float32([NAN, 1, 2, -0.0]), {"keys_floats": [1.0, NAN, 1.0, 0.0], "values_int64s": [5, 6, 7, 8]}),
    (4, np.float32([NAN, 1, 2, -0.0]), {"keys_floats": [1.0, NAN, 1.0, 0.0], "values_int64s": [5, 6, 7, 8]}),
    (4, np.float64([NAN, 1, 0.1, 5]), tensors(np.float64([NAN, 0.1]), np.float64([0.3, 0.7]), -1)),
    (4, NUMBERS, tensors(np.array([3, -7, 3]), np.float64([0.3, 0.7, 0.9]), NAN)),
])
def test_each_version_finds_its_keys(home, tmp_path, version, array, attributes):
    model, given = one_node.model_of("LabelEncoder", [array], attributes, 1, domain="ai.onnx.ml", version=version)
    check(home, tmp_path, model, given, expected(model, given))


@pytest.mark.parametrize("operator", ["LabelEncoder", "CategoryMapper", "OneHotEncoder"])
def test_a_vocabulary_is_not_compared_word_by_word(home, tmp_path, operator):
    """20,000 rows among 100,000 keys: 2 * 10^9 pairs, of which a table of booleans would be 2 GB."""
    count, rows = (100_000, 20_000) if operator != "OneHotEncoder" else (2_000, 50)
    words = [f"word {i * 7919 % count}" for i in range(count)]
    attributes = {"LabelEncoder": {"keys_strings": words, "values_int64s": list(range(count))},
                  "CategoryMapper": {"cats_strings": words, "cats_int64s": list(range(count))},
                  "OneHotEncoder": {"cats_strings": words}}[operator]
    asked = np.array([f"word {i * 13 % (2 * count)}" for i in range(rows)])
    make = functools.partial(one_node.model_of, domain="ai.onnx.ml", version=2 if operator == "LabelEncoder" else 1)
    model, given = make(operator, [asked], attributes, 1)
    np.testing.assert_array_equal(outputs_of(home, tmp_path, model, given)["y0"], expected(model, given)["y0"])
