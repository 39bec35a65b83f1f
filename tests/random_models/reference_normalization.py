"""Normalizations for onnx's reference evaluator, in float64. onnx's own take a variance for the mean of squares less the square of
the mean (GroupNormalization, MeanVarianceNormalization) or round the mean, and of nearly equal elements nothing is left; LRN takes
the count of images for the count of channels."""
import numpy as np
from onnx.reference.op_run import OpRun


def _centered(x, axes, epsilon):
    """(mean 0 and variance 1, the mean, 1 / the deviation)."""
    wide = x.astype(np.float64)
    mean = wide.mean(axes, keepdims=True)
    inverse = 1 / np.sqrt(np.square(wide - mean).mean(axes, keepdims=True) + epsilon)
    return (wide - mean) * inverse, mean, inverse


def _per_channel(values, rank):
    return values.reshape(1, -1, *[1] * (rank - 2))


class LayerNormalization(OpRun):
    op_domain = ""

    def _run(self, x, scale, bias=None, axis=-1, epsilon=1e-5, stash_type=1):
        first = axis % x.ndim
        y, mean, inverse = _centered(x, tuple(range(first, x.ndim)), epsilon)
        y = y * scale if bias is None else y * scale + bias
        return y.astype(x.dtype), mean.astype(np.float32), inverse.astype(np.float32)


class InstanceNormalization(OpRun):
    op_domain = ""

    def _run(self, x, scale, bias, epsilon=1e-5):
        y = _centered(x, tuple(range(2, x.ndim)), epsilon)[0]
        return ((y * _per_channel(scale, x.ndim) + _per_channel(bias, x.ndim)).astype(x.dtype),)


class GroupNormalization(OpRun):
    """Of opset 21 on: a scale and a bias for each channel."""
    op_domain = ""

    def _run(self, x, scale, bias, epsilon=1e-5, num_groups=1, stash_type=1):
        y = _centered(x.reshape(x.shape[0], num_groups, -1), 2, epsilon)[0].reshape(x.shape)
        return ((y * _per_channel(scale, x.ndim) + _per_channel(bias, x.ndim)).astype(x.dtype),)


class MeanVarianceNormalization(OpRun):
    op_domain = ""

    def _run(self, x, axes=(0, 2, 3)):
        wide = x.astype(np.float64)
        off = wide - wide.mean(tuple(axes), keepdims=True)
        return ((off / (np.sqrt(np.square(off).mean(tuple(axes), keepdims=True)) + 1e-9)).astype(x.dtype),)


class LRN(OpRun):
    op_domain = ""

    def _run(self, x, alpha=1e-4, beta=0.75, bias=1.0, size=None):
        wide, channels = x.astype(np.float64), x.shape[1]
        squares = np.stack([np.square(wide[:, max(0, c - (size - 1) // 2):c + size // 2 + 1]).sum(1) for c in range(channels)], 1)
        return ((wide / (bias + alpha / size * squares) ** beta).astype(x.dtype),)


NORMALIZATIONS = [LayerNormalization, InstanceNormalization, GroupNormalization, MeanVarianceNormalization, LRN]
