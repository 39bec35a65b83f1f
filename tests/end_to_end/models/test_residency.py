"""More models than a device has memory for: their weights come and go, and every request is answered right.

LAYOVER_RESIDENCY_SECONDS=60 pytest tests/end_to_end/models/test_residency.py: the long run.
"""
import os
import random
import threading
import time

import numpy as np
import onnx
import pytest
from daemon import Daemon, Refused
from harness import DONE

SECONDS = float(os.environ.get("LAYOVER_RESIDENCY_SECONDS", "4"))
MODELS = 40
ROWS, COLUMNS = 512, 512  # of each model's weights: a mebibyte
CLIENTS = 4


def make_model(path, weights):
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])], "g",
        [value("x", onnx.TensorProto.FLOAT, ["n", ROWS])], [value("y", onnx.TensorProto.FLOAT, ["n", COLUMNS])],
        [onnx.numpy_helper.from_array(weights, "w")])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), path)


@pytest.fixture
def stocked(home, tmp_path):
    """A home with forty models, and their weights."""
    rng = np.random.default_rng(5)
    weights = [rng.standard_normal((ROWS, COLUMNS), dtype=np.float32) for _ in range(MODELS)]
    for i, matrix in enumerate(weights):
        make_model(tmp_path / "m.onnx", matrix)
        home.call("register", f"m{i}", tmp_path / "m.onnx")
    return home, weights


class Client(threading.Thread):
    """Asks for one random model after another and checks each answer."""

    def __init__(self, daemon, weights, seed, end):
        super().__init__()
        self.daemon_under_test, self.weights, self.end = daemon, weights, end
        self.random, self.count, self.failures = random.Random(seed), 0, []

    def ask(self):
        i = self.random.randrange(MODELS)
        x = np.random.default_rng(self.random.randrange(1 << 30)).standard_normal((3, ROWS), dtype=np.float32)
        found = self.daemon_under_test.finished(self.daemon_under_test.submit(f"m{i}", {"x": x}))
        np.testing.assert_allclose(found["y"], x @ self.weights[i], rtol=1e-4, atol=1e-3)

    def run(self):
        while time.monotonic() < self.end and not self.failures:
            try:
                self.ask()
            except (AssertionError, Refused, OSError) as error:
                self.failures.append(error)
            self.count += 1


def test_random_requests_to_more_models_than_memory(stocked):
    home, weights = stocked
    with Daemon(home, "--device", f"sim:0,memory={MODELS // 4}MiB") as daemon:
        clients = [Client(daemon, weights, seed, time.monotonic() + SECONDS) for seed in range(CLIENTS)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        assert not [client.failures for client in clients if client.failures]
        assert sum(client.count for client in clients) > MODELS
        [device] = [line for line in daemon.lines("/v1/devices") if line["device"] == "sim:0"]
        assert device["free_bytes"] <= device["memory_bytes"] == MODELS // 4 << 20
        assert daemon.end() == DONE
    home.is_clean()
