"""Clients that do not read their answers hold little of the daemon's memory."""
import re
import socket
import time

import harness
import numpy as np
from daemon import Daemon
from onnx import TensorProto, helper

CLIENTS, MIB = 150, 1 << 20
FLOATS = 2 << 20  # 8 MiB


def resident_bytes(daemon):
    with open(f"/proc/{daemon.process.pid}/status", encoding="utf-8") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1)) << 10


def ask(daemon, path):
    client = socket.socket(socket.AF_UNIX)
    client.connect(str(daemon.socket))
    client.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    return client


def test_unread_outputs_are_not_in_memory(home, tmp_path):
    port = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [FLOATS]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "same", port[:1], port[1:])
    harness.write_model(tmp_path / "same.onnx", helper.make_model(graph))
    home.call("register", "same", tmp_path / "same.onnx")
    data = np.random.default_rng(9).standard_normal(FLOATS, dtype=np.float32)
    with Daemon(home) as daemon:
        job = daemon.submit("same", {"x": data})
        assert daemon.finished(job)["y"].tobytes() == data.tobytes()
        before = resident_bytes(daemon)
        clients = [ask(daemon, f"/v1/jobs/{job}/outputs") for _ in range(CLIENTS)]
        for client in clients:
            assert client.recv(1), "an answer has begun"
        peak = before
        for _ in range(20):
            time.sleep(0.1)
            assert daemon.json("GET", "/v2/health/live")["live"]
            peak = max(peak, resident_bytes(daemon))
        assert peak - before < CLIENTS * 3 * MIB, (before, peak)
        for client in clients:
            client.close()
        assert daemon.outputs(job)["y"].tobytes() == data.tobytes()
        assert daemon.end() == harness.DONE
