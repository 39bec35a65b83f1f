"""Layers of com.microsoft that are groups of plain operators: as onnxruntime computes them, or as they are defined."""
import os
import re

import numpy as np
import pytest
from harness import REFUSED, ROOT, write_npz, write_unchecked
from one_node import check, expected, model_of, name_of

pytestmark = pytest.mark.one_home

TABLE = os.path.join(ROOT, "compiler", "frontend", "nodes", "onnx_compositions_layers.def")
SEED = np.random.default_rng(13)
FAILED_RUN = 1
BATCH, ROWS, KEYS, HEADS, SIZE = 2, 6, 4, 2, 4
HIDDEN = HEADS * SIZE
TWO = {"num_heads": HEADS}


def f(*shape):
    return SEED.standard_normal(shape).astype(np.float32)


def i(values):
    return np.array(values, np.int32)


def flag(value):
    return np.array([value])


# (operator, inputs in their order (None: left out), attributes, number of outputs or which ones)
STATE = f(2, 2, 3, 4)
ATTEND = [f(2, 2, 12), f(2, 2, 6) / 3, f(2, 2, 8)]
FADE, FADES, RATE = (SEED.uniform(-1, 0, (2, 2, 2)).astype(np.float32), SEED.uniform(-1, 0, (2, 2, 6)).astype(np.float32),
                     SEED.random((2, 2, 2)).astype(np.float32))
GROUPED = {"q_num_heads": 4, "kv_num_heads": 2}
PLACES = SEED.integers(0, 9, (3, 2, 3)).astype(np.int64)
TABLES = [f(9, 6), f(9, 6)]
CASES = [
    ("GatedAdd", [f(2, 3, 4), f(2, 3, 4), f(2, 3, 1)], {}, 1),
    ("ScaledSiLU", [f(3, 9)], {"alpha": 0.5}, 1),
    ("ScaledSiLU", [f(3, 9), np.float32(2)], {"alpha": 0.5}, 1),
    ("SampleOp", [f(3)], {}, 1),
    *[("BranchwiseRMSNorm", [f(2, 12), scale], {"num_branches": 3}, 1) for scale in (None, f(12), f(3, 4), f(4))],
    ("BranchwiseRMSNorm", [f(2, 3, 4), f(4)], {"epsilon": 1e-3}, 1),
    *[("GatedRMSNorm", [f(2, 3, 8), f(4), f(2, 3, 8)], {"activation": kind}, 1) for kind in ("silu", "sigmoid")],
    ("EngramGate", [f(2, 3, 2, 4), f(2, 3, 2, 4), f(2, 3, 4), f(2, 4), f(2, 4), f(2, 4)], {}, 2),
    *[("MRotaryEmbedding", [f(2, 2, 3, 12), PLACES, *TABLES], {"mrope_section": [2, 2, 2], "mrope_layout": layout}, 1)
      for layout in (0, 1)],
    ("CausalConvWithState", [f(2, 3, 5), f(3, 1, 4), f(3), f(2, 3, 3)], {"activation": "silu"}, 2),
    ("CausalConvWithState", [f(2, 3, 5), f(3, 1, 2)], {"dilation": 2}, 2),
    ("CausalConvWithState", [f(2, 5, 3), f(3, 1, 4), None, f(2, 3, 3)], {"channels_last": 1}, 2),
    ("LinearAttentionGate", [f(2, 3, 4), f(4), f(4), f(2, 3, 4)], {}, 2),
    ("LinearAttention", ATTEND, {**GROUPED, "update_rule": "linear"}, 2),
    ("LinearAttention", [*ATTEND, STATE, FADES], {**GROUPED, "update_rule": "gated", "scale": 0.3}, 2),
    ("LinearAttention", [*ATTEND, STATE, None, RATE], {**GROUPED, "update_rule": "delta"}, 2),
    ("LinearAttention", [*ATTEND, STATE, FADE, RATE], GROUPED, 2),
    ("LinearAttention", [f(2, 2, 3), *ATTEND[1:], None, FADE, RATE], {**GROUPED, "q_num_heads": 1}, 2),
]
# onnxruntime has no kernel for these on a CPU; what they mean is written down here.
X, W, B = f(BATCH, ROWS, HIDDEN), f(HIDDEN, 3 * HIDDEN), f(3 * HIDDEN)
GLOBAL_W, GLOBAL_B = f(HIDDEN, 3 * HIDDEN), f(3 * HIDDEN)
GLOBAL = i([[1, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 1]])
HIDDEN_KEYS = np.where([[0, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0]], -10000, 0).astype(np.float32)
QUERY, KEY = f(3, BATCH, HIDDEN), f(KEYS, BATCH, HIDDEN)
Q_W, KV_W = f(HIDDEN, HIDDEN), f(HIDDEN, 2 * HIDDEN)
CACHES = [f(BATCH, HEADS, KEYS, SIZE), f(BATCH, HEADS, KEYS, SIZE)]


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def longformer(x, w, b, mask, global_w, global_b, marks, window):
    """Row by row, over the keys that the row sees."""
    out = np.zeros_like(x)
    for text in range(BATCH):
        parts, others = np.split(x[text] @ w + b, 3, -1), np.split(x[text] @ global_w + global_b, 3, -1)
        for row in range(ROWS):
            seen = [key for key in range(ROWS) if marks[text, row] or marks[text, key] or abs(key - row) <= window]
            q, k, v = others if marks[text, row] else parts
            for head in range(HEADS):
                own = slice(head * SIZE, (head + 1) * SIZE)
                odds = softmax(q[row, own] @ k[seen, own].T / 2 + mask[text, seen])
                out[text, row, own] = odds @ v[seen, own]
    return [out]


def decoder(query, key, q_w, kv_w, bias, hidden, key_cache, value_cache, fixed, use_past, has_state, has_hidden):
    """The four ways in which keys and values come to be."""
    def heads(x):
        return x.reshape(*x.shape[:2], HEADS, SIZE).transpose(1, 2, 0, 3)

    q = heads(query @ q_w + bias[:HIDDEN])
    k, v = (heads(part) for part in np.split((key if fixed[0] else query) @ kv_w + bias[HIDDEN:], 2, -1))
    if use_past[0] and has_state[0]:
        k, v = (key_cache, value_cache) if fixed[0] else (np.concatenate(pair, 2) for pair in ((key_cache, k), (value_cache, v)))
    scores = q @ k.transpose(0, 1, 3, 2) / 2
    if has_hidden[0]:
        scores = np.where(hidden[:, None, None], -np.inf, scores)
    return [(softmax(scores) @ v).transpose(2, 0, 1, 3).reshape(query.shape), k, v]


def decoders(fixed, use_past, has_state, hidden=None):
    caches = CACHES if use_past else [None, None]
    flags = [flag(value) for value in (fixed, use_past, has_state, hidden is not None)]
    return "DecoderAttention", [QUERY, KEY, Q_W, KV_W, B, hidden, *caches, *flags], TWO, decoder


def remove(x, counts):
    real = np.arange(x.shape[1]) < counts[:, None]
    order = np.concatenate([np.flatnonzero(real), np.flatnonzero(~real)])
    return [x[real], order.reshape(real.shape).astype(np.int32), np.cumsum([0, *counts]).astype(np.int32), counts.max(keepdims=True)]


def turn(angles, q, q_turned, k, k_turned):
    sin, cos = np.sin(angles)[:, None], np.cos(angles)[:, None]
    return [q * cos + q_turned * sin, k * cos + k_turned * sin]


BY_HAND = [
    ("GemmaRotaryEmbedding", [f(2, 3, 4), *[f(2, 2, 3, 4) for _ in range(4)]], {}, turn),
    ("RemovePadding", [f(3, 4, 2), i([3, 1, 4])], {}, remove),
    ("BitmaskDropout", [f(3, 4)], {}, lambda x: [x]),
    ("BitmaskBiasDropout", [f(3, 4), f(4), f(3, 4)], {}, lambda x, b, r: [x + b + r]),
    *[("LongformerAttention", [X, W, B, HIDDEN_KEYS, GLOBAL_W, GLOBAL_B, GLOBAL], {**TWO, "window": window},
       lambda *x, window=window: longformer(*x, window)) for window in (1, 2)],
    decoders(False, False, False),
    decoders(True, False, False, np.array([[0, 1, 0, 0], [0, 0, 0, 1]], bool)),
    decoders(False, True, True),
    decoders(False, True, True, np.array([[0, 1, 0, 0, 0, 0, 1], [0, 0, 0, 1, 0, 0, 0]], bool)),
    decoders(False, True, False),
    decoders(True, True, True),
]
REFUSED_CASES = [
    ("LongformerAttention", [X, W, B, HIDDEN_KEYS, GLOBAL_W, GLOBAL_B, GLOBAL], {**TWO, "window": 0}, "a window below 1"),
    ("LinearAttention", ATTEND, GROUPED, "this update_rule without decay"),
    ("CausalConvWithState", [f(2, 3, 5), f(3, 1, 4)], {"state_window": 2}, "state_window"),
    ("BitmaskDropout", [f(3, 4), None, flag(True)], {}, "dropout of training"),
    ("DecoderAttention", [QUERY, KEY, Q_W, KV_W, B, None, CACHES[0], None, *[flag(False)] * 4], TWO, "key_cache without value_cache"),
]


@pytest.mark.parametrize("operator,arrays,attributes,outputs", CASES, ids=name_of)
def test_a_layer_is_what_onnxruntime_computes(home, tmp_path, operator, arrays, attributes, outputs):
    model, given = model_of(operator, arrays, attributes, outputs)
    check(home, tmp_path, model, given, expected(model, given))


@pytest.mark.parametrize("operator,arrays,attributes,meaning", BY_HAND, ids=name_of)
def test_a_layer_is_what_it_means(home, tmp_path, operator, arrays, attributes, meaning):
    wanted = {f"y{index}": array for index, array in enumerate(meaning(*arrays))}
    model, given = model_of(operator, arrays, attributes, len(wanted))
    check(home, tmp_path, model, given, {name: array.astype(np.float32) if array.dtype.kind == "f" else array
                                         for name, array in wanted.items()})


@pytest.mark.parametrize("operator,arrays,attributes,words", REFUSED_CASES, ids=name_of)
def test_a_layer_is_refused_with_its_reason(home, tmp_path, operator, arrays, attributes, words):
    model, _ = model_of(operator, arrays, attributes, 1)
    home.refuses("register", "m", write_unchecked(tmp_path / "m.onnx", model), code=REFUSED, words=(words, operator))


def test_a_cache_that_is_asked_for_and_not_there_ends_the_run(home, tmp_path):
    model, given = model_of("DecoderAttention", [QUERY, KEY, Q_W, KV_W, B, None, None, None, *[flag(True)] * 3, flag(False)], TWO, 1)
    home.call("register", "m", write_unchecked(tmp_path / "m.onnx", model))
    home.refuses("run", "m", "--input", write_npz(tmp_path / "in.npz", **given), "--output", tmp_path / "out.npz", code=FAILED_RUN,
                 words=("use_past and has_layer_state without key_cache",))


def test_every_layer_has_a_case():
    with open(TABLE, encoding="utf-8") as file:
        names = set(re.findall(r'ONNX_COMPOSITION\(\s*"com\.microsoft\.(\w+)"', file.read()))
    assert names - {case[0] for case in CASES + BY_HAND} == {"MoE", "QMoE"}  # test_contrib_others.py has those
