"""ReduceSumSquare for onnx's reference evaluator: the result has the input's type. onnx's own sums int32 into int64, as NumPy does,
and what the graph declares of the result would be wrong."""
import numpy as np
from onnx.reference.ops.op_reduce_sum_square import ReduceSumSquare_18


class ReduceSumSquare(ReduceSumSquare_18):
    op_domain = ""

    def _run(self, data, axes=None, keepdims=1, noop_with_empty_axes=0):
        axes = None if axes is None else np.asarray(axes, np.int64)
        return (super()._run(data, axes, keepdims, noop_with_empty_axes)[0].astype(data.dtype),)
