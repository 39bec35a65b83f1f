"""Loop for onnx's reference evaluator, by the specification's words: without a condition to start with, the body's is ignored; scan
outputs are stacked; without a turn they have the declared shape. onnx's own stops by the body's condition, joins scan outputs by
Concat, and fails without a turn."""
import numpy as np
from onnx.helper import tensor_dtype_to_np_dtype
from onnx.reference.op_run import OpRun


def _no_rows(port):
    kind = port.type.tensor_type
    if not kind.HasField("shape") or any(not dimension.HasField("dim_value") for dimension in kind.shape.dim):
        raise ValueError(f"{port.name}: a loop without a turn whose scan output has no declared shape")
    return np.zeros([0, *(dimension.dim_value for dimension in kind.shape.dim)], tensor_dtype_to_np_dtype(kind.elem_type))


class Loop(OpRun):
    op_domain = ""

    def need_context(self):
        return True

    def _run(self, limit, start, *states, context=None, body=None, attributes=None):
        ports, count = body.proto_.output[1 + len(states):], len(states)
        rows, going, turn = [[] for _ in ports], start is None or bool(np.ravel(start)[0]), 0
        trips = None if limit is None else int(np.ravel(limit)[0])
        while going and (trips is None or turn < trips):
            feeds = dict(zip(body.input_names, [np.array(turn, np.int64), np.array(True), *states]))
            stop, *rest = body.run(None, {**(context or {}), **feeds}, attributes=attributes)
            going, states = start is None or bool(np.ravel(stop)[0]), rest[:count]
            for items, item in zip(rows, rest[count:]):
                items.append(np.asarray(item))
            turn += 1
        return (*states, *(np.stack(items) if items else _no_rows(port) for items, port in zip(rows, ports)))
