"""Graphs of TVM's graph executor as TVM writes them, and files of params, with numpy only."""
import json
import struct

import numpy as np

CODES = {"i": 0, "u": 1, "f": 2, "b": 6}


class Graph:
    """Nodes in their order. Results are (node, index) pairs; each gets a storage of its own unless one is named."""

    def __init__(self):
        self.nodes, self.arguments, self.rows, self.shapes, self.dtypes, self.storages = [], [], [0], [], [], []

    def _result(self, shape, dtype, storage):
        self.shapes.append(list(shape))
        self.dtypes.append(str(dtype))
        self.storages.append(len(self.storages) if storage is None else storage)

    def variable(self, name, shape, dtype="float32", storage=None):
        self.arguments.append(len(self.nodes))
        self.nodes.append({"op": "null", "name": name, "inputs": []})
        self._result(shape, dtype, storage)
        self.rows.append(len(self.shapes))
        return len(self.nodes) - 1, 0

    def call(self, function, inputs, results, name=None, flatten=False, **more):
        """results: (shape, dtype, storage) each; gives the results, or the only one."""
        number = len(self.nodes)
        self.nodes.append({"op": "tvm_op", "name": name or f"{function.strip('_')}_{number}",
                           "attrs": {"func_name": function, "num_inputs": str(len(inputs)), "num_outputs": str(len(results)),
                                     "flatten_data": str(int(flatten)), "hash": "0123"},
                           "inputs": [[*one, 0] for one in inputs], **more})
        for result in results:
            self._result(*result)
        self.rows.append(len(self.shapes))
        made = [(number, i) for i in range(len(results))]
        return made if len(made) != 1 else made[0]

    def json(self, *heads):
        return {"nodes": self.nodes, "arg_nodes": self.arguments, "heads": [[*head, 0] for head in heads],
                "attrs": {"dltype": ["list_str", self.dtypes], "device_index": ["list_int", [1] * len(self.shapes)],
                          "storage_id": ["list_int", self.storages], "shape": ["list_shape", self.shapes]},
                "node_row_ptr": self.rows}

    def write(self, path, *heads):
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.json(*heads), file, indent=2)


def write_params(path, tensors):
    """TVM's list of params."""
    names = [name.encode() for name in tensors]
    parts = [struct.pack("<QQQ", 0xF7E58D4F05049CB7, 0, len(names)), *[struct.pack("<Q", len(name)) + name for name in names],
             struct.pack("<Q", len(names))]
    for tensor in map(np.asarray, tensors.values()):
        parts.append(struct.pack("<QQiiiBBH", 0xDD5E40F096B4A13F, 0, 1, 0, tensor.ndim, CODES[tensor.dtype.kind],
                                 tensor.dtype.itemsize * 8, 1) + struct.pack(f"<{tensor.ndim}q", *tensor.shape))
        parts.append(struct.pack("<q", tensor.nbytes) + tensor.tobytes())
    with open(path, "wb") as file:
        file.write(b"".join(parts))
