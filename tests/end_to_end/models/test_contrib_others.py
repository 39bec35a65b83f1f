"""Operators of com.microsoft on pictures, signals, texts and experts: as onnxruntime computes them, stopped at every instruction."""
import os
import re

import numpy as np
import pytest
from harness import REFUSED, ROOT, write_npz, write_unchecked
from one_node import check, expected, model_of, name_of
from onnx import numpy_helper

pytestmark = pytest.mark.one_home

FOLDER = os.path.join(ROOT, "compiler", "frontend", "nodes")
TABLES = ["onnx_compositions_search.def", "onnx_compositions_vision.def"]
SEARCHES = {"BeamSearch", "GreedySearch", "Sampling", "WhisperBeamSearch"}  # test_{encoded_,}searches.py, test_sampling.py
SEED = np.random.default_rng(11)
FAILED_RUN = 1


def f(*shape):
    return SEED.uniform(-2, 2, shape).astype(np.float32)


def positive(*shape):
    return np.abs(f(*shape)) * np.float32(0.1)


def u8(*shape):
    return SEED.integers(0, 256, shape).astype(np.uint8)


def mask(*shape):
    return SEED.integers(0, 2, shape).astype(np.int32)


def i32(*values):
    return np.array(values, np.int32)


def i64(*values):
    return np.array(values, np.int64)


def pairs(values):
    return np.stack([values.real, values.imag], -1).astype(np.float32)


BOXES = np.array([[0, 0, 1, 1], [.1, .2, .7, .6], [-.3, .1, 1.2, .8], [.9, .8, .1, .2]], np.float32)
PICTURES = f(2, 2, 6, 5)
WHICH = i32(0, 1, 1, 0)
UP = {"strides": [2, 2], "kernel_shape": [3, 3]}
EXPERTS = [f(4, 8), f(4, 2), f(2, 12, 8), f(2, 12), f(2, 8, 12), f(2, 8)]
GATED = [f(3, 8), f(3, 2), f(2, 24, 8), None, f(2, 8, 12), None]
BYTES_4 = [f(3, 32), f(3, 2), u8(2, 16, 16), positive(2, 16), f(2, 16), u8(2, 32, 8), positive(2, 32), f(2, 32)]
BLOCKS_4 = [f(3, 32), f(3, 2), u8(2, 16, 16), positive(2, 16, 2), None, u8(2, 32, 8), positive(2, 32, 1), None, None, None, None,
            u8(2, 16, 1), u8(2, 32, 1)]
BYTES_8 = [f(3, 32), f(3, 2), u8(2, 16, 32), positive(2, 16) / 9, None, u8(2, 32, 16), positive(2, 32) / 9, None, None, None, None,
           u8(2, 16), u8(2, 32), None, positive(3, 2)]
# (operator, inputs in their order (None: left out), attributes)
CASES = [
    *[("CropAndResize", [PICTURES, BOXES, WHICH, i32(*size)], {"mode": mode, "extrapolation_value": 7.5})
      for mode in ("bilinear", "nearest") for size in ((3, 4), (1, 5))],
    ("CropAndResize", [PICTURES, BOXES[:0], WHICH[:0], i32(2, 2)], {}),
    ("CropAndResize", [PICTURES, BOXES * np.float32("nan"), WHICH, i32(2, 2)], {}),
    ("ConvTransposeWithDynamicPads", [f(1, 2, 5, 5), f(2, 3, 3, 3), i64(1, 1, 1, 1)], UP),
    ("ConvTransposeWithDynamicPads", [f(1, 2, 5, 5), f(2, 3, 3, 3), i64(0, 1, 2, 1), f(3)], {**UP, "output_padding": [1, 0]}),
    ("ConvTransposeWithDynamicPads", [f(1, 2, 5), f(2, 3, 3), i64(1, 0)], {"dilations": [2]}),
    ("MaxpoolWithMask", [PICTURES, mask(1, 1, 6, 5)], {"kernel_shape": [2, 3], "pads": [1, 1, 0, 1], "strides": [2, 1]}),
    ("MaxpoolWithMask", [f(2, 3, 9), mask(1, 1, 9)], {"kernel_shape": [3], "pads": [1, 1], "strides": [2]}),
    ("MaxpoolWithMask", [f(1, 2, 4, 3, 4), mask(1, 1, 4, 3, 4)], {"kernel_shape": [2, 1, 2], "pads": [0, 0, 0, 1, 0, 0]}),
    ("MaxpoolWithMask", [f(0, 3, 9), mask(1, 1, 9)], {"kernel_shape": [3]}),
    ("MoE", EXPERTS, {"k": 2, "activation_type": "gelu"}),
    ("MoE", EXPERTS, {"k": 1, "activation_type": "silu", "normalize_routing_weights": 1}),
    ("MoE", [f(2, 2, 8), f(4, 2), *EXPERTS[2:]], {"k": 1}),
    ("MoE", [f(3, 8), f(3, 2) * 0, *EXPERTS[2:]], {"k": 1, "activation_type": "identity"}),
    ("MoE", [f(0, 8), f(0, 2), *EXPERTS[2:]], {"k": 2}),
    ("MoE", GATED, {"k": 2, "activation_type": "swiglu", "swiglu_fusion": 1, "activation_alpha": 1.702, "activation_beta": 1.0,
                    "swiglu_limit": 1.0}),
    ("QMoE", BYTES_4, {"k": 2, "activation_type": "silu"}),
    ("QMoE", BLOCKS_4, {"k": 1, "activation_type": "relu", "block_size": 16}),
    ("QMoE", BYTES_8, {"k": 2, "activation_type": "identity", "expert_weight_bits": 8}),
]
REPEATS = i64([1, 2, 3, 1, 2], [4, 4, 4, 4, 4], [5, 6, 5, 6, 5])
CHARACTERS = i32([3, 9, 29, 4], [7, 1, 0, 0], [2, 0, 0, 0], [0, 5, 6, 7])
TEXTS = np.array(["hello, world 12_3!", "äöü ß", "", "a b  c"])
TOKENS = {"mark": 0, "mincharnum": 1, "pad_value": "#"}
CASES += [
    *[("NGramRepeatBlock", [REPEATS, f(3, 9)], {"ngram_size": size}) for size in (1, 2, 3, 6)],
    ("NGramRepeatBlock", [REPEATS[:, :0], f(3, 9)], {"ngram_size": 2}),
    ("MurmurHash3", [i32(0, 1, -5, 2**31 - 1)], {"seed": 7}),
    ("MurmurHash3", [np.array([[0, 1], [2**32 - 1, 77]], np.uint32)], {"seed": -3, "positive": 0}),
    ("MurmurHash3", [np.array([0, 1, -5, 2**63 - 1], np.int64)], {"seed": 7}),
    ("MurmurHash3", [np.array([0.0, -1.5, 1e300])], {}),
    ("MurmurHash3", [TEXTS], {"seed": 7}),
    ("MurmurHash3", [TEXTS.reshape(2, 2)], {"seed": -3, "positive": 0}),
    ("Inverse", [f(2, 3, 3)], {}),
    ("Inverse", [np.array([[0, 2], [4, 0]], np.float32)], {}),
    ("Inverse", [f(0, 3, 3)], {}),
    ("DynamicTimeWarping", [f(1, 3, 4)], {}),
    ("DynamicTimeWarping", [np.ones((2, 2), np.float32)], {}),
    ("DynamicTimeWarping", [f(2, 2) * np.float32("nan")], {}),
    ("DynamicTimeWarping", [f(0, 3)], {}),
    ("Tokenizer", [TEXTS], {**TOKENS, "separators": [""]}),
    ("Tokenizer", [TEXTS.reshape(2, 2)], {**TOKENS, "separators": [""], "mark": 1}),
    *[("Tokenizer", [TEXTS], {**TOKENS, "tokenexp": expression, "mincharnum": least, "mark": least - 1})
      for expression, least in (("[a-zA-Z0-9_]+", 1), ("[a-zA-Z0-9_]+", 2), ("a|ab|b\\w*", 1), ("l*", 1), ("l+?", 1),
                                ("\\b\\w\\w+\\b", 1), ("(?i)HE|lo", 1), (".+", 1))],
    *[("Tokenizer", [TEXTS], {**TOKENS, "separators": separators, "mincharnum": least, "mark": least - 1})
      for separators, least in (([" ", ","], 1), (["\\s+", "[,!]"], 2), (["b*"], 1), (["l+?"], 1), (["a", "a"], 1))],
    ("Tokenizer", [np.array(["xx", "x"])], {**TOKENS, "separators": ["x"], "mark": 1}),
]
# onnxruntime has no kernel for these on a CPU; what they mean is written down here.
BY_HAND = [
    ("WordConvEmbedding", [CHARACTERS, f(5, 1, 3, 2), f(5), f(30, 2)], {"embedding_size": 5}, lambda *x: _words(*x)),
    ("Rfft", [f(2, 3, 8)], {}, lambda x: pairs(np.fft.rfft(x))),
    ("Rfft", [f(2, 3, 7)], {"signal_ndim": 2}, lambda x: pairs(np.fft.rfft2(x))),
    ("Irfft", [pairs(np.fft.rfft(f(2, 3, 8)))], {"signal_ndim": 1}, lambda x: np.fft.irfft(x[..., 0] + 1j * x[..., 1])),
    ("Irfft", [pairs(np.fft.rfft2(f(2, 3, 8)))], {"signal_ndim": 2}, lambda x: np.fft.irfft2(x[..., 0] + 1j * x[..., 1])),
    ("MoE", [*EXPERTS, f(2, 12, 8), f(2, 12)], {"k": 2, "activation_type": "relu"}, lambda *x: _experts(*x)),
    ("QMoE", [f(3, 32), f(3, 2), u8(2, 16, 32), positive(2, 16, 2), None, u8(2, 32, 16), positive(2, 32, 1), None],
     {"k": 1, "expert_weight_bits": 8, "block_size": 16}, lambda *x: _byte_experts(*x)),
]
REFUSED_CASES = [
    *[(name, [f(2, 2)], {}, f"{name} is an operator of training; export the model for inference")
      for name in ("AdamWOptimizer", "SoftmaxCrossEntropyLossInternal", "LayerNormalizationGrad", "YieldOp")],
    ("Secret", [f(2, 2)], {}, "com.microsoft's Secret is not built; save the model without it"),
    ("Snpe", [f(2, 2)], {}, "compiled for one vendor's device"),
    ("Tokenizer", [TEXTS], {**TOKENS, "separators": [""], "mincharnum": 2}, "mincharnum above 1"),
    ("Tokenizer", [TEXTS], {**TOKENS, "tokenexp": "a", "mincharnum": 0}, "mincharnum is 0, not 1 or more"),
    ("Tokenizer", [TEXTS], {**TOKENS, "tokenexp": "("}, ") is missing"),
    ("Tokenizer", [TEXTS], TOKENS, "either separators or tokenexp"),
    ("Tokenizer", [TEXTS.reshape(1, 2, 2)], {**TOKENS, "separators": [""]}, "texts of rank 3"),
    ("NGramRepeatBlock", [REPEATS, f(3, 9)], {"ngram_size": 0}, "an ngram_size below 1"),
    ("WordConvEmbedding", [CHARACTERS, f(5, 1, 3, 2), f(5), f(30, 2)], {"embedding_size": 4}, "an embedding_size that is not that of W"),
    ("CropAndResize", [PICTURES, BOXES, WHICH, i32(2, 2)], {"mode": "cubic"}, "a mode other than bilinear and nearest"),
    ("ConvTransposeWithDynamicPads", [f(1, 2, 5), f(2, 3, 3), i64(1, 0)], {"auto_pad": "VALID"}, "Pads beside auto_pad"),
    ("MaxpoolWithMask", [f(1, 2, 6, 5), mask(1, 1, 6, 5)], {"kernel_shape": [0, 2]}, "a kernel_shape with 0"),
    ("MaxpoolWithMask", [f(1, 2, 6, 5), mask(1, 1, 6, 5)], {"kernel_shape": [2, 2], "auto_pad": "SAME_UPPER"}, "auto_pad"),
    ("Rfft", [f(2, 8)], {"normalized": 1}, "normalized"),
    ("Irfft", [f(2, 8, 2)], {"signal_ndim": 0}, "signal_ndim below 1"),
    ("MoE", EXPERTS, {"k": 3}, "k above the number of experts"),
    ("MoE", EXPERTS, {"k": 0}, "a k below 1"),
    ("MoE", EXPERTS, {"activation_type": "secret"}, "this activation_type"),
    ("MoE", EXPERTS, {"activation_type": "swiglu"}, "swiglu without swiglu_fusion"),
    ("QMoE", BYTES_4, {"expert_weight_bits": 3}, "3 bits, not 2, 4 or 8"),
    ("QMoE", BYTES_4, {"weights_prepacked": 1}, "weights_prepacked"),
    ("QMoE", [*BYTES_4[:3], None, *BYTES_4[4:]], {}, "no fc1_scales"),
]
FAILED_CASES = [
    ("NGramRepeatBlock", [REPEATS * 7, f(3, 9)], {"ngram_size": 2}, "is outside [-9, 8]"),
    ("DynamicTimeWarping", [f(3)], {}, "index 1"),
    ("CropAndResize", [PICTURES, BOXES, i32(0, 1, 2, 0), i32(2, 2)], {}, "index 2"),
    ("CropAndResize", [PICTURES, BOXES, i32(0, 1, -1, 0), i32(2, 2)], {}, "index 2"),
    ("CropAndResize", [PICTURES, BOXES, WHICH, i32(0, 2)], {}, "a crop_size below 1"),
    ("ConvTransposeWithDynamicPads", [f(1, 2, 5, 5), f(2, 3, 3, 3), i64(-1, 0, 0, 0)], UP, "negative Pads"),
    ("ConvTransposeWithDynamicPads", [f(1, 2, 5, 5), f(2, 3, 3, 3), i64(9, 9, 9, 9)], UP, "leave nothing of the output"),
    ("ConvTransposeWithDynamicPads", [f(1, 2, 5, 5), f(2, 3, 3, 3), i64(1, 1)], UP, "differ in length"),
]


def _experts(x, router, up, up_bias, down, down_bias, gate, gate_bias):
    """All of two experts, with a third fully connected layer as a gate."""
    share = np.exp(router) / np.exp(router).sum(1, keepdims=True)
    made = [(np.maximum(x @ up[e].T + up_bias[e], 0) * (x @ gate[e].T + gate_bias[e])) @ down[e].T + down_bias[e] for e in range(2)]
    return sum(share[:, e:e + 1] * made[e] for e in range(2))


def _words(characters, weights, bias, table):
    """onnxruntime leaves the row of a word without characters as it was; here that is 0."""
    rows = np.zeros((len(characters), len(weights)), np.float32)
    for row, word in zip(rows, characters):
        parts = max((word > 0).sum() - 2, 1)
        if word[0]:
            windows = np.stack([(table[word[i:i + 3]] * weights[:, 0]).sum((1, 2)) + bias for i in range(parts)])
            row[:] = np.tanh(windows).max(0)
    return rows


def _byte_experts(x, router, up, up_scale, _, down, down_scale, __):
    """The better of two experts, whose weights are bytes in blocks of 16."""
    best = router.argmax(1)
    up, down = [(codes - 128.0) * np.repeat(scale, 16, 2) for codes, scale in ((up, up_scale), (down, down_scale))]
    return np.stack([np.maximum(x[i] @ up[e].T, 0) @ down[e].T for i, e in enumerate(best)])


def model_with_weights(operator, arrays, attributes):
    """The model; quantised weights and what belongs to them are initializers."""
    model, given = model_of(operator, arrays, attributes, 1)
    if operator == "QMoE":
        for name in [name for name in given if name not in ("x0", "x1", "x14")]:
            model.graph.initializer.append(numpy_helper.from_array(given.pop(name), name))
        kept = [value for value in model.graph.input if value.name in given]
        del model.graph.input[:]
        model.graph.input.extend(kept)
    return model, given


@pytest.mark.parametrize("operator,arrays,attributes", CASES, ids=name_of)
def test_an_operator_is_what_onnxruntime_computes(home, tmp_path, operator, arrays, attributes):
    model, given = model_with_weights(operator, arrays, attributes)
    check(home, tmp_path, model, given, expected(model, given), rtol=1e-3, atol=1e-3 if operator == "QMoE" else 2e-5)


@pytest.mark.parametrize("operator,arrays,attributes,meaning", BY_HAND, ids=name_of)
def test_an_operator_is_what_it_means(home, tmp_path, operator, arrays, attributes, meaning):
    model, given = model_with_weights(operator, arrays, attributes)
    wanted = np.asarray(meaning(*arrays))
    check(home, tmp_path, model, given, {"y0": wanted.astype(np.float32) if wanted.dtype.kind == "f" else wanted}, atol=1e-3)


@pytest.mark.parametrize("operator,arrays,attributes,words", REFUSED_CASES, ids=name_of)
def test_a_file_is_refused_with_its_reason(home, tmp_path, operator, arrays, attributes, words):
    model, _ = model_with_weights(operator, arrays, attributes)
    home.refuses("register", "m", write_unchecked(tmp_path / "m.onnx", model), code=REFUSED, words=(words, operator))


@pytest.mark.parametrize("operator,arrays,attributes,words", FAILED_CASES, ids=name_of)
def test_a_run_that_onnxruntime_refuses_fails(home, tmp_path, operator, arrays, attributes, words):
    model, given = model_with_weights(operator, arrays, attributes)
    with pytest.raises(Exception):
        expected(model, given)
    home.call("register", "m", write_unchecked(tmp_path / "m.onnx", model))
    home.refuses("run", "m", "--input", write_npz(tmp_path / "in.npz", **given), "--output", tmp_path / "out.npz", code=FAILED_RUN,
                 words=(words,))


def test_every_operator_has_a_case():
    text = ""
    for table in TABLES:
        with open(os.path.join(FOLDER, table), encoding="utf-8") as file:
            text += file.read()
    names = set(re.findall(r'ONNX_COMPOSITION\(\s*"com\.microsoft\.(\w+)"', text))
    assert names - {case[0] for case in CASES + BY_HAND} == SEARCHES
