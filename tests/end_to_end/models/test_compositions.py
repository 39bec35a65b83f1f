"""Operators of com.microsoft that are groups of plain ones: as onnxruntime computes them, stopped at every instruction."""
import math
import os
import re

import numpy as np
import pytest
from harness import REFUSED, ROOT, write_unchecked
from one_node import byte_weights, check, expected, model_of, name_of

pytestmark = pytest.mark.one_home

TABLE = os.path.join(ROOT, "compiler", "frontend", "nodes", "onnx_compositions.def")
SEED = np.random.default_rng(7)


def f(*shape):
    return SEED.uniform(-2, 2, shape).astype(np.float32)


def bytes_of(dtype, *shape):
    return SEED.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, shape).astype(dtype)


def u8(*shape):
    return bytes_of(np.uint8, *shape)


def i8(*shape):
    return bytes_of(np.int8, *shape)


def w8(*shape):
    return byte_weights(SEED, *shape)


def scale(value=0.05):
    return np.float32(value)


def zero(value=3, dtype=np.uint8):
    return dtype(value)


def ids(limit, *shape):
    return SEED.integers(0, limit, shape).astype(np.int32)


QUANTIZED = [scale(), zero()]
WEIGHTS = [scale(0.02), zero(0, np.int8)]
SCALES = SEED.uniform(0.01, 0.03, 4).astype(np.float32)
GRID = f(1, 3, 2, 2) / 3
# (operator, inputs in their order (None: left out), attributes, number of outputs or which ones)
CASES = [
    ("FusedMatMul", [f(2, 3, 4), f(2, 4, 5)], {"alpha": 0.5}, 1),
    ("FusedMatMul", [f(2, 4, 3), f(2, 5, 4)], {"transA": 1, "transB": 1}, 1),
    ("FusedMatMul", [f(3, 2, 4), f(2, 4, 5)], {"transBatchA": 1}, 1),
    ("FusedMatMul", [f(2, 3, 4), f(4, 2, 5)], {"transBatchB": 1}, 1),
    ("TransposeMatMul", [f(4, 3), f(4, 5)], {"transA": 1, "alpha": 2.0}, 1),
    ("FusedGemm", [f(3, 4), f(4, 5), f(5)], {"activation": "Relu"}, 1),
    ("FusedGemm", [f(3, 4), f(5, 4)], {"activation": "LeakyRelu", "activation_alpha": 0.2, "transB": 1}, 1),
    ("FusedConv", [f(1, 2, 6, 6), f(3, 2, 3, 3), f(3)], {"activation": "Relu", "pads": [1, 1, 1, 1]}, 1),
    ("FusedConv", [f(1, 2, 6, 6), f(3, 2, 3, 3), f(3), f(1, 3, 4, 4)], {"activation": "Relu"}, 1),
    ("FusedConv", [f(1, 2, 6, 6), f(3, 2, 3, 3)], {"activation": "LeakyRelu", "activation_params": [0.3]}, 1),
    ("FusedConv", [f(1, 2, 6, 6), f(3, 2, 3, 3)], {"activation": "Clip", "activation_params": [-1.0, 1.0]}, 1),
    ("FusedConv", [f(1, 2, 6, 6), f(3, 2, 3, 3)], {"activation": "HardSigmoid", "activation_params": [0.3, 0.4]}, 1),
    ("FusedConv", [f(1, 2, 6, 6), f(3, 2, 3, 3)], {"activation": "Tanh", "strides": [2, 2]}, 1),
    ("MatMulInteger16", [bytes_of(np.int16, 3, 4), bytes_of(np.int16, 4, 2)], {}, 1),
    ("CDist", [f(3, 4), f(5, 4)], {"metric": "euclidean"}, 1),
    ("CDist", [f(3, 4), f(5, 4)], {"metric": "sqeuclidean"}, 1),
    ("Gelu", [f(3, 40)], {}, 1),
    ("FastGelu", [f(3, 40)], {}, 1),
    ("FastGelu", [f(3, 40), f(40)], {}, 1),
    ("QuickGelu", [f(3, 40)], {}, 1),
    ("QuickGelu", [f(3, 40)], {"alpha": 1.0}, 1),
    ("BiasGelu", [f(3, 40), f(40)], {}, 1),
    ("SkipLayerNormalization", [f(2, 3, 8), f(2, 3, 8), f(8), f(8), f(8)], {"epsilon": 1e-5}, 1),
    ("SkipLayerNormalization", [f(2, 3, 8), f(2, 3, 8), f(8)], {}, 1),
    ("SkipLayerNormalization", [f(2, 3, 8), f(2, 3, 8), f(8), f(8)], {}, 4),
    ("SkipSimplifiedLayerNormalization", [f(2, 3, 8), f(2, 3, 8), f(8)], {}, 1),
    ("SkipSimplifiedLayerNormalization", [f(2, 3, 8), f(2, 3, 8), f(8), f(8)], {}, [0, 3]),
    ("EmbedLayerNormalization", [ids(9, 2, 5), ids(2, 2, 5), f(9, 8), f(5, 8), f(2, 8), f(8), f(8)], {}, 2),
    ("EmbedLayerNormalization", [ids(9, 2, 5), None, f(9, 8), f(6, 8), None, f(8), f(8), ids(2, 2, 5)],
     {"mask_index_type": 1}, 2),
    ("EmbedLayerNormalization", [ids(9, 2, 5), None, f(9, 8), f(6, 8), None, f(8), f(8), None, ids(6, 2, 5)], {}, 3),
    ("DequantizeLinear", [u8(3, 4), *QUANTIZED], {}, 1),
    ("DequantizeLinear", [bytes_of(np.int16, 3, 4), scale(), zero(5, np.int16)], {}, 1),
    ("QuantizeLinear", [f(3, 4), *QUANTIZED], {}, 1),
    ("QuantizeLinear", [f(3, 4), scale(0.001), zero(5, np.uint16)], {}, 1),
    ("QLinearAdd", [u8(3, 4), *QUANTIZED, u8(3, 4), *QUANTIZED, scale(0.1), zero(7)], {}, 1),
    ("QLinearAdd", [i8(3, 4), scale(), zero(1, np.int8), i8(4), scale(), zero(0, np.int8), scale(0.1), zero(7, np.int8)], {}, 1),
    ("QLinearMul", [u8(3, 4), *QUANTIZED, u8(3, 4), *QUANTIZED, scale(0.3), zero(7)], {}, 1),
    ("QLinearSigmoid", [u8(3, 40), *QUANTIZED, scale(1 / 256), zero(0)], {}, 1),
    ("QLinearLeakyRelu", [u8(3, 40), *QUANTIZED, scale(), zero(9)], {"alpha": 0.2}, 1),
    ("QLinearSoftmax", [u8(3, 40), *QUANTIZED, scale(1 / 256), zero(0)], {"axis": -1, "opset": 13}, 1),
    ("QLinearSoftmax", [u8(2, 3, 4), *QUANTIZED, scale(1 / 256), zero(0)], {"axis": 1, "opset": 12}, 1),
    ("QLinearSoftmax", [u8(2, 3, 4), *QUANTIZED, scale(1 / 256), zero(0)], {"axis": 1, "opset": 13}, 1),
    ("QLinearSoftmax", [u8(2, 3, 4), *QUANTIZED, scale(1 / 256), zero(0)], {"axis": -1, "opset": 11}, 1),
    ("QLinearGlobalAveragePool", [u8(1, 3, 5, 5), *QUANTIZED, *QUANTIZED], {}, 1),
    ("QLinearGlobalAveragePool", [u8(1, 5, 5, 3), *QUANTIZED, *QUANTIZED], {"channels_last": 1}, 1),
    ("QLinearAveragePool", [u8(1, 3, 6, 6), *QUANTIZED, *QUANTIZED], {"kernel_shape": [2, 2], "strides": [2, 2]}, 1),
    ("QLinearAveragePool", [u8(1, 6, 6, 3), *QUANTIZED, *QUANTIZED], {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1],
                                                                       "channels_last": 1}, 1),
    ("QLinearWhere", [SEED.integers(0, 2, (3, 4)).astype(bool), u8(3, 4), *QUANTIZED, u8(3, 4), *QUANTIZED, scale(0.06),
                      zero(4)], {}, 1),
    ("MatMulIntegerToFloat", [u8(3, 4), w8(4, 5), scale(), scale(), zero(3), zero(2, np.int8), f(5)], {}, 1),
    ("MatMulIntegerToFloat", [u8(3, 4), u8(4, 5), scale(), f(5)], {}, 1),
    ("DynamicQuantizeMatMul", [f(3, 4), w8(4, 5), scale(), zero(2, np.int8)], {}, 1),
    ("DynamicQuantizeMatMul", [f(3, 4), w8(4, 5), f(5), None, f(5)], {}, 1),
    ("QGemm", [u8(3, 4), *QUANTIZED, u8(4, 5), *QUANTIZED, ids(50, 5), scale(2.0), zero(100)], {}, 1),
    ("QGemm", [u8(3, 4), *QUANTIZED, u8(5, 4), *QUANTIZED], {"transB": 1, "alpha": 0.5}, 1),
    ("QLinearConcat", [scale(0.06), zero(4), u8(2, 3), scale(), zero(), u8(2, 4), scale(0.07), zero(1)], {"axis": 1}, 1),
    ("DynamicQuantizeLSTM", [f(4, 1, 3), w8(1, 3, 8), w8(1, 2, 8), f(1, 16), None, None, None, None, np.array([0.005], np.float32),
                             np.array([0], np.int8), np.array([0.005], np.float32), np.array([0], np.int8)], {"hidden_size": 2}, 3),
    ("DynamicQuantizeLSTM", [f(6, 1, 70), u8(2, 70, 256), u8(2, 64, 256), f(2, 512), None, f(2, 1, 64), f(2, 1, 64), None,
                             np.array([0.002, 0.003], np.float32), np.array([120, 120], np.uint8),
                             np.array([0.002, 0.001], np.float32), np.array([128, 128], np.uint8)],
     {"hidden_size": 64, "direction": "bidirectional"}, 3),
    ("NhwcMaxPool", [u8(1, 6, 6, 3)], {"kernel_shape": [2, 2], "strides": [2, 2]}, 1),
    ("QLinearConv", [u8(1, 3, 6, 5), *QUANTIZED, w8(4, 3, 3, 3), *WEIGHTS, scale(2.0), zero(9)], {"pads": [1, 1, 1, 1]}, 1),
    ("QLinearConv", [u8(2, 6, 5, 3), *QUANTIZED, w8(4, 3, 3, 3), SCALES, zero(0, np.int8), scale(2.0), zero(9), ids(500, 4)],
     {"pads": [1, 0, 1, 2], "strides": [2, 1], "channels_last": 1}, 1),
    ("QLinearConv", [u8(1, 6, 5, 4), *QUANTIZED, w8(4, 1, 3, 3), *WEIGHTS, scale(2.0), zero(9)], {"group": 4, "channels_last": 1}, 1),
    ("QLinearConv", [i8(1, 7, 3), scale(), zero(1, np.int8), w8(4, 3, 2), *WEIGHTS, scale(2.0), zero(9, np.int8)],
     {"channels_last": 1, "auto_pad": "SAME_UPPER"}, 1),
    ("ExpandDims", [f(3, 4), np.int32(1)], {}, 1),
    ("GatherND", [f(3, 4), np.array([[0, 1], [2, 3]], np.int64)], {}, 1),
    ("GridSample", [f(1, 2, 4, 4), GRID], {}, 1),
    ("GridSample", [f(1, 2, 4, 4), GRID], {"mode": "nearest", "padding_mode": "border"}, 1),
    ("Pad", [f(3, 4), np.array([0, 1, 1, 0], np.int64), np.array([1.5], np.float32)], {}, 1),
    ("Range", [np.float32(1), np.float32(7), np.float32(2)], {}, 1),
    ("Range", [np.int64(1), np.int64(7)], {}, 1),
    ("Trilu", [f(4, 4), np.int64(1)], {"upper": 0}, 1),
    ("Unique", [np.array([3, 1, 3, 2, 1, 3], np.float32)], {}, 3),
]
# onnxruntime has no kernel for these on a CPU; what they mean is written down here.
BY_HAND = [
    ("BiasDropout", [f(3, 4), f(4), f(3, 4)], {}, lambda x, b, r: x + b + r),
    ("FusedMatMulActivation", [f(3, 4), f(5, 4)], {"activation": "Relu", "transB": 1, "alpha": 0.5},
     lambda a, b: np.maximum(a @ b.T * np.float32(0.5), 0)),
    ("BiasSplitGelu", [f(2, 3, 8), f(8)], {}, lambda x, b: (x + b)[..., :4] * _gelu((x + b)[..., 4:])),
    ("SimplifiedLayerNormalization", [f(3, 8), f(8)], {}, lambda x, g: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * g),
    ("MulInteger", [u8(3, 4), zero(3), u8(3, 4), zero(2)], {},
     lambda a, p, b, q: (a.astype(np.int32) - p) * (b.astype(np.int32) - q)),
    ("NhwcFusedConv", [f(1, 5, 5, 2), f(3, 2, 1, 1), f(3)], {"activation": "Relu"},
     lambda x, w, b: np.maximum(x @ w[:, :, 0, 0].T + b, 0)),
    ("NhwcConv", [f(1, 5, 5, 2), f(3, 1, 1, 2), f(3)], {}, lambda x, w, b: x @ w[:, 0, 0].T + b),
    ("NhwcConv", [f(1, 3, 3, 2), f(3, 3, 3, 2)], {}, lambda x, w: np.einsum("nhwc,mhwc->nm", x, w)[:, None, None]),
    ("QLinearReduceMean", [u8(3, 4), *QUANTIZED, scale(0.04), zero(2)], {"axes": [1]},
     lambda x, s, z, t, q: np.clip(np.rint((x.astype(np.float32) - z).mean(1, keepdims=True) * s / t) + q, 0, 255).astype(np.uint8)),
    ("UnfoldTensor", [f(2, 7)], {"size": 3, "step": 2}, lambda x: np.stack([x[:, i:i + 3] for i in (0, 2, 4)], 1)),
    ("UnfoldTensor", [f(2, 7, 2)], {"dim": 1, "size": 3}, lambda x: np.stack([x[:, i:i + 3].transpose(0, 2, 1) for i in range(5)], 1)),
    ("BiasAdd", [f(2, 3, 4), f(4), f(2, 3, 4)], {}, lambda x, b, s: x + b + s),
    ("SkipGroupNorm", [f(1, 2, 3, 4), f(4), f(4), f(1, 2, 3, 4)], {"activation": 0, "groups": 2},
     lambda x, g, b, s: _group_norm(x + s, g, b, 2)),
    ("GroupNorm", [f(1, 2, 3, 4), f(4), f(4)], {"activation": 1, "groups": 2}, lambda x, g, b: _silu(_group_norm(x, g, b, 2))),
    ("BiasSoftmax", [f(2, 3, 4), f(2, 1, 4)], {"axis": 2, "is_inner_broadcast": 1}, lambda x, b: _softmax(x + b)),
    ("GemmFastGelu", [f(3, 4), f(4, 5), f(5)], {}, lambda x, w, b: _fast_gelu(x @ w + b)),
    ("ReduceSumInteger", [u8(3, 4)], {"axes": [1]}, lambda x: x.astype(np.int32).sum(1, keepdims=True, dtype=np.int32)),
    ("TorchEmbedding", [f(5, 3), np.array([[0, 4], [2, 2]], np.int64)], {}, lambda w, i: w[i]),
    ("ComplexMul", [f(3, 2), f(3, 2)], {}, lambda a, b: _pairs(_complex(a) * _complex(b))),
    ("ComplexMulConj", [f(3, 2), f(3, 2)], {}, lambda a, b: _pairs(_complex(a) * np.conj(_complex(b)))),
]
REFUSED_CASES = [
    ("FusedGemm", [f(3, 4), f(4, 5)], {"activation": "Secret"}, "this activation"),
    ("FusedConv", [f(1, 2, 6, 6), f(3, 2, 3, 3)], {"activation": "HardSigmoid", "activation_params": [0.3]}, "activation_params has 1 entries"),
    ("QLinearSoftmax", [u8(3, 4), *QUANTIZED, *QUANTIZED], {"opset": 1}, "opset below 13"),
    ("BiasGelu", [f(3, 4)], {}, "input B is missing"),
    ("Gelu", [f(3, 4)], {"own": 1}, "attribute own"),
    ("Gelu", [f(3, 4), f(3, 4)], {}, "2 inputs"),
]


def _group_norm(x, gamma, beta, groups):
    n, h, w, c = x.shape
    grouped = x.reshape(n, h * w, groups, c // groups)
    mean, variance = grouped.mean((1, 3), keepdims=True), grouped.var((1, 3), keepdims=True)
    return ((grouped - mean) / np.sqrt(variance + 1e-5)).reshape(x.shape) * gamma + beta


def _silu(x):
    return x / (1 + np.exp(-x))


def _softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _gelu(x):
    return x * np.vectorize(lambda v: 0.5 * (1 + math.erf(v / math.sqrt(2))))(x)


def _fast_gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))


def _complex(pairs):
    return pairs[..., 0] + 1j * pairs[..., 1]


def _pairs(values):
    return np.stack([values.real, values.imag], -1).astype(np.float32)


@pytest.mark.parametrize("operator,arrays,attributes,outputs", CASES, ids=name_of)
def test_a_composition_is_what_onnxruntime_computes(home, tmp_path, operator, arrays, attributes, outputs):
    model, given = model_of(operator, arrays, attributes, outputs)
    check(home, tmp_path, model, given, expected(model, given), atol=2e-5)


@pytest.mark.parametrize("operator,arrays,attributes,meaning", BY_HAND, ids=name_of)
def test_a_composition_is_what_it_means(home, tmp_path, operator, arrays, attributes, meaning):
    model, given = model_of(operator, arrays, attributes, 1)
    wanted = np.asarray(meaning(*arrays))
    check(home, tmp_path, model, given, {"y0": wanted.astype(np.float32) if wanted.dtype.kind == "f" else wanted})


@pytest.mark.parametrize("operator,arrays,attributes,words", REFUSED_CASES, ids=name_of)
def test_a_composition_is_refused_with_its_reason(home, tmp_path, operator, arrays, attributes, words):
    model, _ = model_of(operator, arrays, attributes, 1)
    home.refuses("register", "m", write_unchecked(tmp_path / "m.onnx", model), code=REFUSED, words=(words, operator))


def test_every_composition_has_a_case():
    with open(TABLE, encoding="utf-8") as file:
        names = set(re.findall(r'(?:ONNX_COMPOSITION|QUANTIZED)\(\s*"(?:com\.microsoft\.)?(\w+)"', file.read()))
    assert names - {case[0] for case in CASES + BY_HAND} == set()
