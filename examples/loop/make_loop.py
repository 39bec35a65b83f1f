#!/usr/bin/env python3
"""make_loop.py [FOLDER]: makes loop.onnx and in.npz beside this file: the model that README.md runs.

A Loop that turns a state of 16 numbers, x = tanh(1.1 x W), as many times as the input `rounds` says: long enough to be
stopped in the middle, small enough to come along.
"""
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SIZE, ROUNDS, SEED = 16, 2_000_000, 1


def make_model():
    """x turned `rounds` times."""
    turn, _ = np.linalg.qr(np.random.default_rng(SEED).standard_normal((SIZE, SIZE)))
    weights = numpy_helper.from_array((1.1 * turn).astype(np.float32), "W")
    state = [1, SIZE]
    body = helper.make_graph(
        [helper.make_node("Identity", ["go_on"], ["still"]),
         helper.make_node("MatMul", ["before", "W"], ["turned"]),
         helper.make_node("Tanh", ["turned"], ["after"])],
        "round",
        [helper.make_tensor_value_info("index", TensorProto.INT64, []),
         helper.make_tensor_value_info("go_on", TensorProto.BOOL, []),
         helper.make_tensor_value_info("before", TensorProto.FLOAT, state)],
        [helper.make_tensor_value_info("still", TensorProto.BOOL, []),
         helper.make_tensor_value_info("after", TensorProto.FLOAT, state)])
    graph = helper.make_graph(
        [helper.make_node("Loop", ["rounds", "", "x"], ["y"], body=body)],
        "loop",
        [helper.make_tensor_value_info("rounds", TensorProto.INT64, []),
         helper.make_tensor_value_info("x", TensorProto.FLOAT, state)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, state)],
        [weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="layover")
    model.ir_version = 8
    onnx.checker.check_model(model, full_check=True)
    return model


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    onnx.save(make_model(), os.path.join(folder, "loop.onnx"))
    state = np.random.default_rng(SEED).standard_normal((1, SIZE)).astype(np.float32)
    np.savez(os.path.join(folder, "in.npz"), rounds=np.int64(ROUNDS), x=state)


if __name__ == "__main__":
    main()
