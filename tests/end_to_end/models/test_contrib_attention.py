"""Attention operators of com.microsoft: as onnxruntime computes them, stopped at every instruction."""
import os
import re

import numpy as np
import onnxruntime
import pytest
from harness import REFUSED, ROOT, write_npz, write_unchecked
from one_node import byte_weights, check, expected, model_of, name_of, run_with_stops
from onnx import TensorProto, helper

pytestmark = pytest.mark.one_home

TABLE = os.path.join(ROOT, "compiler", "frontend", "nodes", "onnx_compositions_attention.def")
SEED = np.random.default_rng(11)
BATCH, ROWS, KEYS, HEADS, SIZE = 2, 3, 5, 2, 4
HIDDEN = HEADS * SIZE


def f(*shape):
    return SEED.standard_normal(shape).astype(np.float32)


def i(values):
    return np.array(values, np.int32)


def bits(*shape):
    """A mask that shows the first key to every row."""
    mask = SEED.integers(0, 2, shape).astype(np.int32)
    mask[..., 0] = 1
    return mask


def u8(*shape):
    return SEED.integers(0, 256, shape).astype(np.uint8)


def i8(*shape):
    return SEED.integers(-128, 128, shape).astype(np.int8)


X, W, B = f(BATCH, ROWS, 5), f(5, 3 * HIDDEN), f(3 * HIDDEN)
PAST = f(2, BATCH, HEADS, 2, SIZE)
TWO = {"num_heads": HEADS}
CAUSAL = {**TWO, "unidirectional": 1}
MASKS = [i([2, 3]), i([2, 3, 1, 0]), i([2, 3, 0, 2, 5, 0, 2, 5]), bits(BATCH, ROWS), bits(BATCH, ROWS, ROWS), i([[1], [0]])]
Q, K, V = f(BATCH, ROWS, HIDDEN), f(BATCH, KEYS, HIDDEN), f(BATCH, KEYS, 6)
V_SAME, PAST_K, PAST_V = f(BATCH, KEYS, HIDDEN), f(BATCH, HEADS, 2, SIZE), f(BATCH, HEADS, 2, SIZE)
K_MADE, V_MADE = f(BATCH, HEADS, KEYS, SIZE), f(BATCH, HEADS, KEYS, SIZE)
ANGLES = np.outer(np.arange(16), 1 / 100 ** (np.arange(2) / 2)).astype(np.float32)
COS, SIN = np.cos(ANGLES), np.sin(ANGLES)
PLACES = np.array([[0, 1, 2], [7, 8, 9]], np.int64)
# (operator, inputs in their order (None: left out), attributes, number of outputs)
CASES = [
    ("Attention", [X, W, B], TWO, 1),
    ("Attention", [X, W, B], CAUSAL, 2),
    ("Attention", [X, W, B], {**TWO, "scale": 0.3}, 2),
    *[("Attention", [X, W, B, mask], attributes, 1) for mask in MASKS for attributes in (TWO, CAUSAL)],
    ("Attention", [X, W, B, bits(BATCH, ROWS)], {**TWO, "mask_filter_value": -3.0}, 1),
    ("Attention", [X, W, B, None, PAST], TWO, 2),
    ("Attention", [X, W, B, None, PAST], CAUSAL, 2),
    ("Attention", [X, W, B, bits(BATCH, 5), PAST], TWO, 2),
    ("Attention", [X, W, B, bits(BATCH, 5), PAST], CAUSAL, 2),
    ("Attention", [X, W, B, bits(BATCH, ROWS, 5), PAST], TWO, 2),
    ("Attention", [X, W, B, i([4, 5]), PAST], TWO, 2),
    ("Attention", [X, W, B, i([4, 5, 1, 2]), PAST], CAUSAL, 2),
    ("Attention", [X, W, B, None, None, f(1, 1, ROWS, ROWS)], TWO, 1),
    ("Attention", [X, W, B, bits(BATCH, ROWS), None, f(BATCH, HEADS, ROWS, ROWS)], TWO, 1),
    ("Attention", [X, f(5, 22), f(22)], {**TWO, "qkv_hidden_sizes": [8, 8, 6]}, 1),
    ("Attention", [X, f(5, 16), f(16), bits(BATCH, ROWS)], {**TWO, "qkv_hidden_sizes": [6, 6, 4]}, 1),
    ("MultiHeadAttention", [Q, K, V], TWO, 1),
    ("MultiHeadAttention", [Q, K, V, f(22)], TWO, 1),
    ("MultiHeadAttention", [Q, K, V_SAME, f(24)], {**TWO, "scale": 0.2}, 3),
    ("MultiHeadAttention", [Q, Q, Q], CAUSAL, 3),
    *[("MultiHeadAttention", [Q, K, V, None, mask], TWO, 1) for mask in
      (i([2, 3]), i([2, 3, 0, 2, 5, 0, 2, 5]), bits(BATCH, KEYS), bits(BATCH, ROWS, KEYS))],
    *[("MultiHeadAttention", [Q, Q, Q, None, mask], CAUSAL, 1) for mask in
      (i([2, 3]), bits(BATCH, ROWS), bits(BATCH, ROWS, ROWS))],
    ("MultiHeadAttention", [Q[:, :1], Q[:, :1], Q[:, :1], None, bits(BATCH, 1, 3), None, PAST_K, PAST_V], TWO, 3),
    ("MultiHeadAttention", [Q, K, V_SAME, None, None, None, PAST_K, PAST_V], TWO, 3),
    ("MultiHeadAttention", [Q, Q, Q, f(24), None, None, PAST_K, PAST_V], CAUSAL, 3),
    ("MultiHeadAttention", [Q, K, V_SAME, None, bits(BATCH, 7), None, PAST_K, PAST_V], TWO, 3),
    ("MultiHeadAttention", [Q, K, V_SAME, None, None, f(1, HEADS, ROWS, KEYS)], TWO, 1),
    ("MultiHeadAttention", [Q, K, V_SAME, None, bits(BATCH, KEYS), f(BATCH, 1, ROWS, KEYS)], TWO, 1),
    ("MultiHeadAttention", [Q, K_MADE, V_MADE], TWO, 1),
    ("MultiHeadAttention", [Q, K_MADE, V_MADE, f(24), bits(BATCH, KEYS)], TWO, 1),
    ("RotaryEmbedding", [f(BATCH, ROWS, HIDDEN), PLACES, COS, SIN], {}, 1),
    ("RotaryEmbedding", [f(BATCH, ROWS, HIDDEN), PLACES, COS, SIN], {"interleaved": 1, "num_heads": HEADS}, 1),
    ("RotaryEmbedding", [f(BATCH, ROWS, HIDDEN), np.array([4], np.int64), COS, SIN], {"num_heads": HEADS}, 1),
    ("RotaryEmbedding", [f(BATCH, HEADS, ROWS, SIZE), PLACES, COS, SIN], {}, 1),
    ("RotaryEmbedding", [f(BATCH, HEADS, ROWS, SIZE), np.array([4], np.int64), COS, SIN], {"interleaved": 1}, 1),
    ("RotaryEmbedding", [f(BATCH, ROWS, 16), PLACES, COS, SIN], {"num_heads": HEADS, "rotary_embedding_dim": 4}, 1),
]
ONE = f(BATCH, 1, HIDDEN)
SHARED = {**TWO, "past_present_share_buffer": 1}
BUFFER_K, BUFFER_V = f(BATCH, HEADS, 9, SIZE), f(BATCH, HEADS, 9, SIZE)
# one text with two beams: which beam each place of the past is of
FROM = i([[[0, 1, 1, 0, 0, 0, 0, 0, 0], [1, 0, 0, 1, 0, 0, 0, 0, 0]]])
CASES += [
    ("DecoderMaskedMultiHeadAttention", [ONE, ONE * 0.5, ONE + 1, None, None, BUFFER_K, BUFFER_V, i([2])], SHARED, 3),
    ("DecoderMaskedMultiHeadAttention", [ONE, ONE, ONE + 1, bits(BATCH, 3), None, BUFFER_K, BUFFER_V, i([2]), None, None, f(24)],
     SHARED, 3),
    ("DecoderMaskedMultiHeadAttention", [ONE, ONE, ONE + 1, None, None, BUFFER_K, BUFFER_V, i([4]), i([2]), FROM], SHARED, 3),
    ("DecoderMaskedMultiHeadAttention", [ONE, ONE, ONE + 1, bits(BATCH, 3), None, BUFFER_K, BUFFER_V, i([2]), i([2]), FROM, f(24)],
     SHARED, 3),
]
# GroupQueryAttention: 4 heads of queries, 2 of keys and values. (operator, new rows, keys in all, rows of the past (0: none),
# what else: number of keys of each text, attributes, the inputs after total_sequence_length)
GROUPED = [
    ("GroupQueryAttention", 4, 4, 0, {}),
    ("GroupQueryAttention", 4, 4, 8, {}),
    ("GroupQueryAttention", 4, 4, 0, {"lengths": [4, 2]}),
    ("GroupQueryAttention", 1, 1, 0, {"packed": True}),
    ("GroupQueryAttention", 1, 6, 5, {}),
    ("GroupQueryAttention", 1, 6, 5, {"lengths": [6, 4]}),
    ("GroupQueryAttention", 1, 6, 9, {"lengths": [6, 4], "packed": True}),
    ("GroupQueryAttention", 1, 8, 9, {"lengths": [6, 4]}),
    ("GroupQueryAttention", 3, 6, 3, {"batch": 1}),
    ("GroupQueryAttention", 3, 6, 9, {"batch": 1}),
    *[("GroupQueryAttention", *call, {**given, "attributes": attributes})
      for call, given in (((4, 4, 0), {}), ((1, 6, 9), {"lengths": [6, 4]}), ((3, 6, 3), {"batch": 1}))
      for attributes in ({"local_window_size": 2}, {"softcap": 1.5}, {"smooth_softmax": 1}, {"scale": 0.2})],
    *[("GroupQueryAttention", *call, {**given, "rotary": True, "attributes": attributes})
      for call, given in (((4, 4, 0), {"packed": True}), ((1, 6, 9), {"lengths": [6, 4]}), ((3, 6, 3), {"batch": 1}))
      for attributes in ({}, {"rotary_interleaved": 1, "local_window_size": 3})],
    ("GroupQueryAttention", 1, 6, 9, {"rotary": True, "more": [np.array([[5], [3]], np.int64)], "lengths": [6, 4]}),
    ("GroupQueryAttention", 4, 4, 0, {"more": [None, f(1, 4, 4, 4)]}),
    ("GroupQueryAttention", 1, 6, 9, {"more": [None, f(BATCH, 1, 1, 6)], "lengths": [6, 4]}),
    ("GroupQueryAttention", 1, 6, 9, {"more": [None, None, f(4)], "lengths": [6, 4]}),
]
WORDS = SEED.integers(0, 5, (BATCH, ROWS)).astype(np.int32)
TABLES = [u8(9, 8), u8(6, 8)]
ZERO = np.uint8(128)
QUANTIZED = [u8(BATCH, ROWS, 5), byte_weights(SEED, 5, 24), f(24), np.float32(0.05)]
CASES += [
    ("QAttention", [*QUANTIZED, np.float32(0.02)], TWO, 2),
    ("QAttention", [*QUANTIZED, np.float32(0.02), i([2, 3]), np.uint8(3), np.int8(2)], TWO, 1),
    ("QAttention", [*QUANTIZED, SEED.random(24).astype(np.float32) / 50, bits(BATCH, ROWS), np.uint8(3), i8(24)], CAUSAL, 1),
    ("QAttention", [*QUANTIZED, np.float32(0.02), None, np.uint8(3), np.int8(2), PAST], CAUSAL, 2),
    ("QEmbedLayerNormalization", [WORDS, bits(BATCH, ROWS), *TABLES, u8(2, 8), u8(8), u8(8), None,
                                  *(np.float32(n / 100) for n in range(1, 6)), *[ZERO] * 5], {}, 2),
    ("QEmbedLayerNormalization", [WORDS, None, *TABLES, None, u8(8), u8(8), i([[1, 1, 0], [1, 0, 0]]), np.float32(0.01),
                                  np.float32(0.02), None, np.float32(0.04), np.float32(0.05), ZERO, ZERO, None, ZERO, ZERO],
     {"epsilon": 1e-5}, 2),
]
HALF = [
    ("Attention", [X, W, B, bits(BATCH, ROWS)], TWO, 1),
    ("Attention", [X, W, B, None, PAST], CAUSAL, 2),
    ("MultiHeadAttention", [Q, K, V_SAME, f(24), i([2, 3])], TWO, 3),
    ("RotaryEmbedding", [f(BATCH, ROWS, HIDDEN), PLACES, COS, SIN], {}, 1),
]


def _heads(x):
    return x.reshape(*x.shape[:2], HEADS, -1).transpose(0, 2, 1, 3)


def _attend(q, k, v, bias=0.0):
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1]) + bias
    e = np.exp(scores - scores.max(-1, keepdims=True))
    y = e / e.sum(-1, keepdims=True) @ v
    return y.transpose(0, 2, 1, 3).reshape(y.shape[0], y.shape[2], -1)


def _packed(qkv, bias=None):
    parts = [qkv[:, :, :, n].transpose(0, 2, 1, 3) for n in range(3)]
    if bias is not None:
        parts = [part + b.reshape(HEADS, 1, SIZE) for part, b in zip(parts, np.split(bias, 3))]
    return _attend(*parts)


def _lanes(keys, back=False):
    """16 bytes of a head's elements side by side, then those of the next place; or back to rows."""
    batch, heads, places, size = keys.shape
    shape = (batch, heads, size // 4, places, 4) if back else (batch, heads, places, size // 4, 4)
    return keys.reshape(shape).transpose(0, 1, 3, 2, 4).reshape(keys.shape)


def _one_token(x, w, b, mask, past, bias, length, beams=None, origin=None):
    """The next token of each row over a buffer that holds `length` tokens."""
    q, k, v = (_heads(part) for part in np.split(x @ w + b, 3, -1))
    seen, end = [_lanes(past[0], True), past[1]], int(length[0])
    present = np.stack([np.concatenate([old[:, :, :end], new, old[:, :, end + 1:]], 2) for old, new in zip(seen, (k, v))])
    if origin is not None:
        seen = [np.stack([np.stack([old[origin.reshape(BATCH, -1)[row, at], :, at] for at in range(end)], 1) for row in range(BATCH)])
                for old in seen]
    k, v = (np.concatenate([old[:, :, :end], new], 2) for old, new in zip(seen, (k, v)))
    hidden = 0 if mask is None else np.where(mask[:, None, None] > 0, 0, -10000)
    return _attend(q, k, v, hidden + (0 if bias is None else bias)), np.stack([_lanes(present[0]), present[1]])


def _square_mask(x, w, b, mask):
    q, k, v = (_heads(part) for part in np.split(x @ w + b, 3, -1))
    return _attend(q, k, v, np.where(mask[:, :, :ROWS, :ROWS] > 0, 0, -10000).astype(np.float32))


def _one_more(qkv, past_key, past_value):
    q, k, v = (_heads(part) for part in np.split(qkv, 3, -1))
    return _attend(q, np.concatenate([past_key, k], 2), np.concatenate([past_value, v], 2))


def _of_packed(q, k, v, offsets, ends):
    """Text by text."""
    spans = [slice(a, b) for a, b in zip(ends, ends[1:])]
    return np.concatenate([_attend(*(_heads(part[None, span]) for part in (q, k, v)))[0] for span in spans])


def _packed_heads(qkv, bias, offsets, ends):
    parts = [qkv[:, :, n].reshape(len(qkv), -1) + b for n, b in enumerate(np.split(bias, 3))]
    return _of_packed(*parts, offsets, ends)


def _buckets(table, rows, keys, both, farthest):
    """One number after the other."""
    count, heads = table.shape
    table, out = table.reshape(heads, count), np.zeros((1, heads, rows, keys), np.float32)
    for row in range(rows):
        for key in range(keys):
            far, first, own = row - key, 0, count // 2 if both else count
            if both:
                first, far = (own, -far) if far < 0 else (0, far)
            far, exact = max(far, 0), own // 2
            if far >= exact:
                far = min(exact + int(np.log(far / exact) / np.log(farthest / exact) * (own - exact)), own - 1)
            out[0, :, row, key] = table[:, first + far]
    return out


def _gated(query, bias, places, w, b, a):
    gates = (_heads(query + bias) @ w + b).reshape(BATCH, HEADS, ROWS, 2, -1).sum(-1)
    u, r = np.split(1 / (1 + np.exp(-gates)), 2, -1)
    return (u * (r * a - 1) + 2) * places


# three texts of 3, 1 and 2 tokens in rows of 3
OFFSETS, ENDS = i([[0, 1, 2], [3, 6, 7], [4, 5, 8]]), i([0, 3, 4, 6])
TOKENS = f(6, HIDDEN)
SQUARE = bits(BATCH, 1, 6, 6)
# onnxruntime has no kernel for these on a CPU; what they mean is written down here.
BY_HAND = [
    ("PackedMultiHeadAttention", [TOKENS, TOKENS * 0.5, TOKENS + 1, None, OFFSETS, ENDS], TWO, _of_packed),
    ("PackedMultiHeadAttention", [f(6, HEADS, 3, SIZE), None, None, f(24), OFFSETS, ENDS], TWO, _packed_heads),
    ("PackedAttention", [TOKENS, f(HIDDEN, 24), f(24), OFFSETS, ENDS], TWO,
     lambda x, w, b, offsets, ends: _of_packed(*np.split(x @ w + b, 3, -1), offsets, ends)),
    ("RestorePadding", [TOKENS, OFFSETS], {}, lambda x, offsets: np.concatenate([x[:4], x[:2] * 0, x[4:], x[:1] * 0]).reshape(3, 3, -1)),
    *[("RelativePositionBias", [f(8, HEADS), np.int64(12), np.int64(12)], {"is_bidirectional": both, "max_distance": 9},
       lambda table, rows, keys, both=both: _buckets(table, rows, keys, both, 9)) for both in (0, 1)],
    ("GatedRelativePositionBias", [f(BATCH, ROWS, HIDDEN), f(HIDDEN), f(1, HEADS, ROWS, ROWS), f(SIZE, 8), f(8), f(1, HEADS, 1, 1)],
     TWO, _gated),
    ("DecoderMaskedMultiHeadAttention", [ONE, K_MADE, V_MADE], SHARED, lambda q, k, v: _attend(_heads(q), k, v)),
    ("DecoderMaskedMultiHeadAttention", [f(BATCH, 1, 3 * HIDDEN), None, None, None, None, PAST_K, PAST_V], TWO, _one_more),
    ("Attention", [X, W, B, SQUARE], TWO, _square_mask),
    ("Attention", [X, W], TWO, lambda x, w: _attend(*(_heads(part) for part in np.split(x @ w, 3, -1)))),
    ("MultiHeadAttention", [f(BATCH, ROWS, HEADS, 3, SIZE)], TWO, _packed),
    ("MultiHeadAttention", [f(BATCH, ROWS, HEADS, 3, SIZE), None, None, f(24)], TWO, lambda qkv, bias: _packed(qkv, bias)),
    ("MultiHeadAttention", [Q, f(BATCH, KEYS, HEADS, 2, SIZE)], TWO,
     lambda q, kv: _attend(_heads(q), kv[:, :, :, 0].transpose(0, 2, 1, 3), kv[:, :, :, 1].transpose(0, 2, 1, 3))),
]
TOKEN = f(BATCH, 1, 5)
BUFFER = f(2, BATCH, HEADS, 9, 8)
WIDE, WIDE_BIAS = f(5, 48), f(48)
# DecoderMaskedSelfAttention with heads of 8 elements: what comes after the weights
MASKED = {
    "first": [None, BUFFER, None, i([0])],
    "later": [None, BUFFER, None, i([4])],
    "mask": [bits(BATCH, 4), BUFFER, f(1, HEADS, 1, 4), i([3])],
    "beams": [None, BUFFER, None, i([4]), i([2]), FROM],
}
REFUSED_CASES = [
    ("SparseAttention", [X] * 9, {**TWO, "kv_num_heads": 1, "sparse_block_size": 0}, "a sparse_block_size below 1"),
    ("DecoderMaskedSelfAttention", [X, W, B, None, PAST, None, i([2])], {**TWO, "do_rotary": 1}, "save the model with RotaryEmbedding"),
    ("QAttention", [*QUANTIZED, np.float32(0.02)], {**TWO, "do_rotary": 1}, "do_rotary"),
    ("Attention", [X, W, B], {**TWO, "do_rotary": 1}, "save the model with RotaryEmbedding"),
    ("Attention", [X, W, B, None, PAST], {**TWO, "past_present_share_buffer": 1}, "without past_sequence_length"),
    ("GroupQueryAttention", [f(1, 1, 32), f(1, 1, 16), f(1, 1, 16), None, None, i([0]), i(1)],
     {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1}, "do_rotary without cos_cache"),
    ("GroupQueryAttention", [f(1, 1, 32), f(1, 1, 16), f(1, 1, 16), None, None, i([0]), i(1)],
     {"num_heads": 4, "kv_num_heads": 2, "sliding_window_cache": 1}, "sliding_window_cache"),
    ("GroupQueryAttention", [f(1, 1, 32), f(1, 1, 16), f(1, 1, 16), None, None, i([0]), i(1)],
     {"num_heads": 4, "kv_num_heads": 2, "k_quant_type": "PER_TENSOR"}, "a quantised cache"),
    ("GroupQueryAttention", [f(1, 1, 32), f(1, 1, 24), f(1, 1, 24), None, None, i([0]), i(1)],
     {"num_heads": 4, "kv_num_heads": 3}, "4 / 3 is no integer"),
    ("DecoderMaskedMultiHeadAttention", [ONE, ONE, ONE, None, None, PAST_K, PAST_V, None, None, i([[[0]]])], TWO,
     "cache_indirection without past_sequence_length"),
    ("Attention", [X, W, B], {}, "num_heads"),
    ("Attention", [X, W, B], {"num_heads": 3}, "do not divide"),
    ("Attention", [X, W, B, bits(BATCH, ROWS + 1)], TWO, "cannot read [2, 4]"),
    ("Attention", [X, f(4, 24), B], TWO, "MatMul"),
    ("MultiHeadAttention", [Q, None, V], TWO, "a value without a key"),
    ("MultiHeadAttention", [Q, K, V_SAME, None, None, None, PAST_K], TWO, "past_key without past_value"),
    ("MultiHeadAttention", [Q, K, f(BATCH, 4, HIDDEN)], TWO, "keys and values do not fit"),
    ("RotaryEmbedding", [f(BATCH, ROWS, HIDDEN), PLACES, COS, SIN], {"scale": 2.0}, "a scale other than 1"),
    ("RotaryEmbedding", [f(BATCH, ROWS, 7), PLACES, COS, SIN], {"num_heads": 2}, "num_heads 2 for 7 columns"),
]


def grouped(rows, total, past, given):
    batch, size = given.get("batch", BATCH), 16
    q, k, v = f(batch, rows, 4 * size), f(batch, rows, 2 * size), f(batch, rows, 2 * size)
    arrays = [np.concatenate([q, k, v], -1), None, None] if given.get("packed") else [q, k, v]
    arrays += [f(batch, 2, past, size), f(batch, 2, past, size)] if past else [None, None]
    arrays += [i(given.get("lengths", [total] * batch)) - 1, np.int32(total)]
    angles = np.outer(np.arange(16), 1 / 100 ** (np.arange(8) / 8)).astype(np.float32)
    arrays += [np.cos(angles), np.sin(angles)] if given.get("rotary") else [None, None]
    arrays += given.get("more", [])
    while arrays[-1] is None:
        arrays.pop()
    attributes = {"num_heads": 4, "kv_num_heads": 2, "do_rotary": int(given.get("rotary", False)), **given.get("attributes", {})}
    return model_of("GroupQueryAttention", arrays, attributes, 3)


@pytest.mark.parametrize("operator,arrays,attributes,outputs", CASES, ids=name_of)
def test_attention_is_what_onnxruntime_computes(home, tmp_path, operator, arrays, attributes, outputs):
    model, given = model_of(operator, arrays, attributes, outputs)
    check(home, tmp_path, model, given, expected(model, given))


@pytest.mark.parametrize("operator,arrays,attributes,outputs", HALF, ids=name_of)
def test_attention_of_half_precision_is_near_that_of_single(home, tmp_path, operator, arrays, attributes, outputs):
    wanted = expected(*model_of(operator, arrays, attributes, outputs))
    halves = [array.astype(np.float16) if array is not None and array.dtype == np.float32 else array for array in arrays]
    model, given = model_of(operator, halves, attributes, outputs)
    check(home, tmp_path, model, given, {name: array.astype(np.float16) for name, array in wanted.items()}, 2e-2, 2e-2)


@pytest.mark.parametrize("operator,arrays,attributes,meaning", BY_HAND, ids=name_of)
def test_attention_is_what_it_means(home, tmp_path, operator, arrays, attributes, meaning):
    model, given = model_of(operator, arrays, attributes, 1)
    wanted = meaning(*(array for array in arrays if array is not None))
    check(home, tmp_path, model, given, {"y0": wanted.astype(np.float32)})


@pytest.mark.parametrize("operator,arrays,attributes,words", REFUSED_CASES, ids=name_of)
def test_attention_is_refused_with_its_reason(home, tmp_path, operator, arrays, attributes, words):
    model, _ = model_of(operator, arrays, attributes, 1)
    home.refuses("register", "m", write_unchecked(tmp_path / "m.onnx", model), code=REFUSED, words=(words, "node y0"))


@pytest.mark.parametrize("operator,rows,total,past,given", GROUPED, ids=name_of)
def test_grouped_attention_is_what_onnxruntime_computes(home, tmp_path, operator, rows, total, past, given):
    """Rows behind the end of a text are nobody's: onnxruntime leaves others there."""
    model, inputs = grouped(rows, total, past, given)
    wanted = expected(model, inputs)
    made = run_with_stops(home, tmp_path, model, inputs)
    for text, length in enumerate(given.get("lengths", [total] * given.get("batch", BATCH))):
        own = length if rows == total else rows
        np.testing.assert_allclose(made["y0"][text, :own], wanted["y0"][text, :own], rtol=1e-4, atol=2e-5)
        for name in ("y1", "y2"):
            assert made[name].shape == wanted[name].shape
            np.testing.assert_allclose(made[name][text, :, :length], wanted[name][text, :, :length], rtol=1e-4, atol=2e-5)


def test_a_buffer_shared_by_past_and_present_keeps_what_is_behind_the_end(home, tmp_path):
    arrays = [Q, Q, Q, None, None, None, BUFFER_K, BUFFER_V, i([2])]
    model, given = model_of("MultiHeadAttention", arrays, TWO, 3)
    apart, parts = model_of("MultiHeadAttention", [*arrays[:6], BUFFER_K[:, :, :2], BUFFER_V[:, :, :2]], TWO, 3)
    wanted = expected(apart, parts)
    for name, buffer in (("y1", BUFFER_K), ("y2", BUFFER_V)):
        wanted[name] = np.concatenate([wanted[name], buffer[:, :, 5:]], 2)
    check(home, tmp_path, model, given, wanted)


@pytest.mark.parametrize("mask", [bits(BATCH, ROWS), bits(BATCH, ROWS, ROWS)], ids=["texts", "rows"])
def test_a_mask_whose_rank_only_the_run_knows_is_applied(home, tmp_path, mask):
    model, given = model_of("Attention", [X, W, B, mask], TWO, 1)
    wanted = expected(model, given)
    model.graph.node.insert(0, helper.make_node("Reshape", ["flat", "shape"], ["x3"]))
    del model.graph.input[3]
    model.graph.input.extend([helper.make_tensor_value_info("flat", TensorProto.INT32, ["n"]),
                              helper.make_tensor_value_info("shape", TensorProto.INT64, ["r"])])
    del given["x3"]
    check(home, tmp_path, model, {**given, "flat": mask.ravel(), "shape": np.array(mask.shape, np.int64)}, wanted)


def test_a_key_whose_rank_only_the_run_knows_has_three_dimensions(home, tmp_path):
    model, given = model_of("MultiHeadAttention", [Q, K, V_SAME], TWO, 1)
    wanted = expected(model, given)
    model.graph.node.insert(0, helper.make_node("Reshape", ["flat", "shape"], ["x1"]))
    del model.graph.input[1]
    model.graph.input.extend([helper.make_tensor_value_info("flat", TensorProto.FLOAT, ["n"]),
                              helper.make_tensor_value_info("shape", TensorProto.INT64, ["r"])])
    del given["x1"]
    check(home, tmp_path, model, {**given, "flat": K.ravel(), "shape": np.array(K.shape, np.int64)}, wanted)
    made = write_npz(tmp_path / "made.npz", **given, flat=K_MADE.ravel(), shape=np.array(K_MADE.shape, np.int64))
    home.refuses("run", "m", "--input", made, "--output", tmp_path / "out.npz", words=("Transpose",))


@pytest.mark.parametrize("name", MASKED)
def test_the_next_token_over_a_cache_in_lanes_is_what_it_means(home, tmp_path, name):
    model, given = model_of("DecoderMaskedSelfAttention", [TOKEN, WIDE, WIDE_BIAS, *MASKED[name]], SHARED, 2)
    output, present = _one_token(TOKEN, WIDE, WIDE_BIAS, *MASKED[name])
    check(home, tmp_path, model, given, {"y0": output.astype(np.float32), "y1": present})


def test_a_beam_that_is_not_there_ends_the_run(home, tmp_path):
    """onnxruntime reads another place of its memory."""
    model, given = model_of("DecoderMaskedMultiHeadAttention", [ONE, ONE, ONE, None, None, BUFFER_K, BUFFER_V, i([4]), i([2]), FROM + 1],
                            SHARED, 1)
    home.call("register", "m", write_unchecked(tmp_path / "m.onnx", model))
    home.refuses("run", "m", "--input", write_npz(tmp_path / "in.npz", **given), "--output", tmp_path / "out.npz",
                 words=("cache_indirection names a beam that is not there",))


# (operator, new rows, keys in all, rows of the past, what else, words of the error)
SHORT = [
    ("GroupQueryAttention", 1, 9, 5, {}, "TensorScatter"),
    ("GroupQueryAttention", 1, 6, 5, {"lengths": [6, 9]}, "TensorScatter"),
    ("GroupQueryAttention", 3, 6, 5, {"lengths": [6, 1]}, "TensorScatter"),
    ("GroupQueryAttention", 4, 6, 0, {}, "Reshape"),
]


@pytest.mark.parametrize("operator,rows,total,past,given,words", SHORT, ids=name_of)
def test_a_cache_shorter_than_its_lengths_say_ends_the_run(home, tmp_path, operator, rows, total, past, given, words):
    model, inputs = grouped(rows, total, past, given)
    home.call("register", "m", write_unchecked(tmp_path / "m.onnx", model))
    home.refuses("run", "m", "--input", write_npz(tmp_path / "in.npz", **inputs), "--output", tmp_path / "out.npz",
                 words=(words,))


def _sparse(rows, total, batch=1, heads=2, groups=1, layouts=1, packed=False, turned=False, **attributes):
    """Attention to blocks of 16 keys: each row of blocks sees itself and one or two before it. Heads have 16 elements."""
    size, places, entries = 16, 64, 12
    bounds, columns = [], []
    for layout in range(layouts):
        seen = [sorted({row, row // 2, row * layout // 3}) for row in range(places // 16)]
        bounds.append(np.cumsum([0, *map(len, seen)]))
        columns.append((sum(seen, []) + [-1] * entries)[:entries])
    wide = [heads + 2 * groups] if packed else [heads, groups, groups]
    arrays = [f(batch, rows, count * size) for count in wide] + [None] * (3 - len(wide))
    arrays += [f(batch, groups, places, size), f(batch, groups, places, size), i(bounds), i(columns), i([total]), i([total] * batch)]
    if turned:
        angles = np.outer(np.arange(places), 1 / 100 ** (np.arange(size // 2) / 8)).astype(np.float32)
        arrays, attributes = [*arrays, np.cos(angles), np.sin(angles)], {**attributes, "do_rotary": 1}
    attributes = {**attributes, "num_heads": heads, "kv_num_heads": groups, "sparse_block_size": 16}
    return model_of("SparseAttention", arrays, attributes, 3)


SPARSE = {"text": _sparse(20, 20), "layouts": _sparse(20, 20, 2, 4, 2, 2), "token": _sparse(1, 21), "tokens": _sparse(1, 33, 2, 4, 1, 2),
          "packed": _sparse(20, 20, packed=True), "turned": _sparse(20, 20, turned=True),
          "turned_token": _sparse(1, 40, turned=True, scale=0.3)}


def _sparse_expected(model, given):
    """onnxruntime writes the new keys and values into the caches that it was given."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    values = {key: onnxruntime.OrtValue.ortvalue_from_numpy(np.array(array)) for key, array in given.items()}
    for key, value in values.items():
        binding.bind_ortvalue_input(key, value)
    binding.bind_output("y0")
    binding.bind_ortvalue_output("y1", values["x3"])
    binding.bind_ortvalue_output("y2", values["x4"])
    session.run_with_iobinding(binding)
    return {f"y{index}": np.array(value.numpy()) for index, value in enumerate(binding.get_outputs())}


@pytest.mark.parametrize("name", SPARSE)
def test_attention_to_blocks_is_what_onnxruntime_computes(home, tmp_path, name):
    model, given = SPARSE[name]
    check(home, tmp_path, model, given, _sparse_expected(model, given))


@pytest.mark.parametrize("rows,lengths", [(20, [20, 13]), (1, [33, 21])])
def test_texts_of_unequal_lengths_are_what_onnxruntime_computes_for_each(home, tmp_path, rows, lengths):
    """onnxruntime itself mixes up texts of unequal lengths in one call."""
    model, given = _sparse(rows, max(lengths), len(lengths), 4, 2, 2, turned=True)
    given["x8"] = i(lengths)
    made = run_with_stops(home, tmp_path, model, given)
    for text, length in enumerate(lengths):
        own = min(rows, length)
        alone, parts = _sparse(own, length, 1, 4, 2, 2, turned=True)
        parts.update({f"x{n}": given[f"x{n}"][text:text + 1, :own] for n in range(3)})
        parts.update({f"x{n}": given[f"x{n}"][text:text + 1] for n in (3, 4)})
        wanted = _sparse_expected(alone, parts)
        np.testing.assert_allclose(made["y0"][text, :own], wanted["y0"][0], rtol=1e-4, atol=2e-5)
        for name in ("y1", "y2"):
            np.testing.assert_allclose(made[name][text, :, :length], wanted[name][0, :, :length], rtol=1e-4, atol=2e-5)


def test_every_attention_has_a_case():
    with open(TABLE, encoding="utf-8") as file:
        names = set(re.findall(r'ONNX_COMPOSITION\("com\.microsoft\.(\w+)"', file.read()))
    assert names and names - {case[0] for case in CASES + BY_HAND + GROUPED} - {"SparseAttention", "DecoderMaskedSelfAttention"} == set()
