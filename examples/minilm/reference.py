"""all-MiniLM-L6-v2 in numpy alone, in float64: what every other implementation is compared with."""
import math

import numpy as np

from weights import EPSILON, HEADS, LAYERS, WIDTH

_erf = np.vectorize(math.erf, otypes=[np.float64])


def _linear(weights, x, name):
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def _layer_norm(weights, x, name):
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred ** 2).mean(axis=-1, keepdims=True)
    return centred / np.sqrt(variance + EPSILON) * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def _softmax(x):
    shifted = np.exp(x - x.max(axis=-1, keepdims=True))
    return shifted / shifted.sum(axis=-1, keepdims=True)


def _attention(weights, x, penalty, prefix):
    batch, length, _ = x.shape

    def heads(name):
        return _linear(weights, x, f"{prefix}.self.{name}").reshape(batch, length, HEADS, -1).swapaxes(1, 2)

    scores = heads("query") @ heads("key").swapaxes(2, 3) / math.sqrt(WIDTH // HEADS) + penalty
    context = (_softmax(scores) @ heads("value")).swapaxes(1, 2).reshape(batch, length, WIDTH)
    return _layer_norm(weights, _linear(weights, context, f"{prefix}.output.dense") + x,
                       f"{prefix}.output.LayerNorm")


def embed(weights, input_ids, attention_mask):
    weights = {name: array.astype(np.float64) for name, array in weights.items() if array.dtype == np.float32}
    mask = attention_mask.astype(np.float64)
    penalty = (1 - mask)[:, None, None, :] * -10000.0
    x = (weights["embeddings.word_embeddings.weight"][input_ids]
         + weights["embeddings.token_type_embeddings.weight"][0]
         + weights["embeddings.position_embeddings.weight"][:input_ids.shape[1]])
    x = _layer_norm(weights, x, "embeddings.LayerNorm")
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}"
        x = _attention(weights, x, penalty, f"{prefix}.attention")
        wide = _linear(weights, x, f"{prefix}.intermediate.dense")
        wide = wide * 0.5 * (1 + _erf(wide / math.sqrt(2)))
        x = _layer_norm(weights, _linear(weights, wide, f"{prefix}.output.dense") + x, f"{prefix}.output.LayerNorm")
    mean = (x * mask[:, :, None]).sum(axis=1) / np.maximum(mask.sum(axis=1), 1e-9)[:, None]
    return mean / np.maximum(np.linalg.norm(mean, axis=-1, keepdims=True), 1e-12)
