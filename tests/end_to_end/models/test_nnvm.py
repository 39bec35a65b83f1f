"""Symbols of MXNet with their params: right results, here and in a daemon, and bad files in one sentence."""
import json
import struct

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from daemon import Daemon
from harness import REFUSED, Home, load, write_npz


def variable(name):
    return {"op": "null", "name": name, "inputs": []}


def node(op, name, *inputs, **attributes):
    return {"op": op, "name": name, "inputs": [[i, 0, 0] for i in inputs], "attrs": {k: str(v) for k, v in attributes.items()}}


def symbol():
    nodes = [variable("data"), variable("conv_weight"), variable("conv_bias"),
             node("Convolution", "conv", 0, 1, 2, kernel=(3, 3), num_filter=8),
             *(variable(f"bn_{name}") for name in ("gamma", "beta", "moving_mean", "moving_var")),
             node("BatchNorm", "bn", 3, 4, 5, 6, 7, eps=0.001, fix_gamma=True),
             node("Activation", "relu", 8, act_type="relu"),
             node("Pooling", "pool", 9, kernel=(2, 2), stride=(2, 2), pool_type="max"), node("Flatten", "flat", 10),
             variable("fc1_weight"), variable("fc1_bias"), node("FullyConnected", "fc1", 11, 12, 13, num_hidden=16),
             node("Activation", "tanh", 14, act_type="tanh"),
             variable("fc2_weight"), node("FullyConnected", "fc2", 15, 16, num_hidden=5, no_bias=True),
             variable("softmax_label"), node("SoftmaxOutput", "softmax", 17, 18)]
    return {"nodes": nodes, "arg_nodes": [i for i, item in enumerate(nodes) if item["op"] == "null"], "heads": [[19, 0, 0]]}


def weights():
    random = np.random.default_rng(7)
    shapes = {"conv_weight": (8, 1, 3, 3), "conv_bias": (8,), "bn_gamma": (8,), "bn_beta": (8,), "bn_moving_mean": (8,),
              "bn_moving_var": (8,), "fc1_weight": (16, 200), "fc1_bias": (16,), "fc2_weight": (5, 16)}
    made = {name: (random.standard_normal(shape) * 0.2).astype(np.float32) for name, shape in shapes.items()}
    made["bn_moving_var"] = np.abs(made["bn_moving_var"]) + np.float32(0.5)
    return made


def write_params(path, tensors):
    with open(path, "wb") as file:
        file.write(struct.pack("<QQQ", 0x112, 0, len(tensors)))
        for tensor in tensors.values():
            file.write(struct.pack(f"<IiI{tensor.ndim}qiii", 0xF993FAC9, 0, tensor.ndim, *tensor.shape, 1, 0, 0) + tensor.tobytes())
        file.write(struct.pack("<Q", len(tensors)))
        for name in tensors:
            name = ("aux:" if "moving" in name else "arg:") + name
            file.write(struct.pack("<Q", len(name)) + name.encode())


def compute(x, w):
    y = np.einsum("nchwij,ocij->nohw", sliding_window_view(x, (3, 3), (2, 3)), w["conv_weight"])
    along = lambda name: w[name][:, None, None]
    y = (y + along("conv_bias") - along("bn_moving_mean")) / np.sqrt(along("bn_moving_var") + 0.001) + along("bn_beta")
    y = np.maximum(y, 0).reshape(2, 8, 5, 2, 5, 2).max((3, 5)).reshape(2, -1)
    y = np.exp(np.tanh(y @ w["fc1_weight"].T + w["fc1_bias"]) @ w["fc2_weight"].T)
    return y / y.sum(1, keepdims=True)


def write_model(folder):
    (folder / "lenet.json").write_text(json.dumps(symbol()))
    write_params(folder / "lenet.params", weights())
    return folder / "lenet.json", folder / "lenet.params"


def test_a_symbol_and_its_params_run_here_and_in_a_daemon(tmp_path):
    home, (graph, params) = Home(tmp_path / "home"), write_model(tmp_path)
    source, output = tmp_path / "x.npz", tmp_path / "y.npz"
    x = np.random.default_rng(8).standard_normal((2, 1, 12, 12)).astype(np.float32)
    write_npz(source, data=x)
    home.call("register", "lenet", graph, "--params", params)
    home.call("run", "lenet", "--input", source, "--output", output)
    np.testing.assert_allclose(load(output)["softmax"], compute(x, weights()), rtol=1e-5)
    with Daemon(home):
        home.call("register", "lenet", graph, "--params", params)
        assert len(home.call("models").lines) >= 1


def test_bad_files_are_refused_in_one_sentence(tmp_path):
    home, (graph, params) = Home(tmp_path / "home"), write_model(tmp_path)
    whole, bad = params.read_bytes(), tmp_path / "bad"
    for content, words in ((whole[:-1], ("params", "name")), (b"", ("params", "ends early")), (whole + b"x", ("params",))):
        bad.write_bytes(content)
        home.refuses("register", "m", graph, "--params", bad, code=REFUSED, words=words)
    write_params(bad, {**weights(), "fc1_bias": np.zeros(3, np.float32)})
    home.refuses("register", "m", graph, "--params", bad, code=REFUSED, words=("fc1", "16", "3"))
    write_params(bad, {name: tensor for name, tensor in weights().items() if name != "fc2_weight"})
    home.refuses("register", "m", graph, "--params", bad, code=REFUSED, words=("node 17: fc2", "fc2_weight"))
    wrong = symbol()
    wrong["nodes"][3]["inputs"][0][0] = 8
    bad.write_text(json.dumps(wrong))
    home.refuses("register", "m", bad, "--params", params, code=REFUSED, words=("node 3: conv", "node 8", "cycle"))
