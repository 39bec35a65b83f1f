"""The Open Inference Protocol: what clients of Triton send, and what must not hurt the daemon."""
import asyncio
import json
import socket
import time

import numpy as np
import pytest
from daemon import Daemon, Refused
from harness import Home

PROGRAM = """
primitive %add = Add
function main(a: float32[n, 4], b: float32[n, 4]) -> (sum: float32[n, 4]) exported {
    InvokePacked %add r0, r1 -> r2
    Ret r2
}
function texts(s: string[n] slot 0) -> (t: string[n] slot 0) exported {
    Ret r0
}
function endless(i: int64[1] slot 0) -> (j: int64[1] slot 0) exported {
head:
    If r0, -1, done, head
done:
    Ret r0
}
"""
TYPES = {"BOOL": np.bool_, "INT8": np.int8, "INT16": np.int16, "INT32": np.int32, "INT64": np.int64, "UINT8": np.uint8,
         "UINT16": np.uint16, "UINT32": np.uint32, "UINT64": np.uint64, "FP16": np.float16, "FP32": np.float32,
         "FP64": np.float64}


def echo(name, dtype):
    return f"function {name}(x: {dtype}[n] slot 0) -> (y: {dtype}[n] slot 0) exported {{\n    Ret r0\n}}\n"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inference")
    home = Home(folder / "home")
    echoes = "".join(echo(name, np.dtype(type_).name) for name, type_ in TYPES.items())
    (folder / "m.lva").write_text(PROGRAM + echoes)
    home.call("register", "m", folder / "m.lva")
    with Daemon(home, "--listen", "127.0.0.1:0") as daemon:
        daemon.token = "Bearer " + daemon.json("POST", "/v1/tokens", {"tenant": "default", "role": "user"})["token"]
        yield daemon


def tensor(name, array, datatype, **more):
    return {"name": name, "shape": list(array.shape), "datatype": datatype, **more}


ONES = np.ones((1, 4), np.float32)
INPUTS = [tensor(name, ONES, "FP32", data=ONES.tolist()) for name in "ab"]


def infer(served, body, model="m"):
    return served.json("POST", f"/v2/models/{model}/infer", body)


def connect(served):
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(60)
    connection.connect(served.socket)
    return connection


def message(body, path="/v2/models/m/infer", head=""):
    return f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n{head}\r\n".encode() + body


def receive(connection):
    """The status and the body of one answer."""
    stream = connection.makefile("rb")
    status, length = int(stream.readline().split()[1]), 0
    while (line := stream.readline().strip()):
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    return status, json.loads(stream.read(length))


def running(served):
    return sum(tenant["running"] for tenant in served.json("GET", "/v1/top")["tenants"])


def test_json_gives_what_a_job_gives_and_stores_nothing(served):
    answer = infer(served, {"id": "7", "inputs": INPUTS})
    assert answer == {"model_name": "m", "model_version": "1", "id": "7", "outputs": [
        {"name": "sum", "datatype": "FP32", "shape": [1, 4], "data": [2, 2, 2, 2]}]}
    assert served.lines("/v1/jobs") == []
    assert served.json("GET", "/v2")["name"] == "layover"
    assert served.json("GET", "/v2/models/m/versions/1")["inputs"][0] == {
        "name": "a", "datatype": "FP32", "shape": [-1, 4]}


@pytest.mark.parametrize("body, words", [
    ({"inputs": INPUTS[:1]}, "b"),
    ({"inputs": INPUTS + INPUTS[:1]}, "a"),
    ({"inputs": INPUTS, "outputs": [{"name": "product"}]}, "no output product"),
    ({"inputs": [INPUTS[0], {**INPUTS[1], "datatype": "FP64"}]}, "b"),
    ({"inputs": [INPUTS[0], {**INPUTS[1], "shape": [4]}]}, "b"),
    ({"inputs": [INPUTS[0], {**INPUTS[1], "shape": [16, 2 ** 60 + 2]}]}, "b"),
    ({"inputs": [INPUTS[0], {**INPUTS[1], "shape": [2, 4]}]}, "b"),
])
def test_a_wrong_request_says_what_is_wrong(served, body, words):
    with pytest.raises(Refused) as refused:
        infer(served, body)
    assert refused.value.status == 400 and words in str(refused.value)


def test_delivery_by_bytes_and_in_rows_of_requests(served):
    """One byte at a time, and two requests at once, give the answers of whole requests."""
    body = json.dumps({"inputs": INPUTS}).encode()
    with connect(served) as connection:
        for byte in message(body):
            connection.send(bytes([byte]))
        first = receive(connection)
        connection.sendall(message(body) * 2)
        stream = connection.makefile("rb")
        text = b""
        while text.count(b'"data":[2,2,2,2]') < 2:
            text += stream.read1(65536)
    assert first[0] == 200 and first[1]["outputs"][0]["data"] == [2, 2, 2, 2]


def test_a_client_that_goes_ends_its_run(served):
    body = json.dumps({"inputs": [{"name": "i", "shape": [1], "datatype": "INT64", "data": [0]}],
                       "parameters": {"function": "endless"}}).encode()
    with connect(served) as connection:
        connection.sendall(message(body))
        end = time.monotonic() + 60
        while not running(served):
            assert time.monotonic() < end
    while running(served):
        assert time.monotonic() < end
        time.sleep(0.01)


def test_slow_clients_hold_nobody_up(served):
    """Requests that come byte by byte leave the daemon to others."""
    body = json.dumps({"inputs": INPUTS}).encode()
    slow = [connect(served) for _ in range(50)]
    for connection in slow:
        connection.sendall(message(body)[:-1])
    for _ in range(20):
        assert infer(served, {"inputs": INPUTS})["outputs"]
    for connection in slow:
        connection.sendall(body[-1:])
    assert all(receive(connection)[0] == 200 for connection in slow)
    for connection in slow:
        connection.close()


def test_a_batch_job_gives_way_and_loses_nothing(served):
    rows = np.arange(4000 * 4, dtype=np.float32).reshape(-1, 4)
    job = served.submit("m", {"a": rows, "b": rows}, items=True, priority="low")
    for _ in range(50):
        assert infer(served, {"inputs": INPUTS})["outputs"][0]["data"] == [2, 2, 2, 2]
    assert np.array_equal(served.finished(job)["sum"], rows * 2)
    served.request("DELETE", f"/v1/jobs/{job}")


# ---- with tritonclient ----

client_library = pytest.importorskip("tritonclient.http", reason="tools/requirements.txt has it")


def named(array, name="x", datatype=None, binary=True):
    wanted = client_library.InferInput(name, list(array.shape), datatype)
    return wanted.set_data_from_numpy(array, binary_data=binary)


@pytest.fixture(scope="module")
def client(served):
    with client_library.InferenceServerClient(served.ready["listen"]) as made:
        yield made


def test_client_asks_about_server_and_models(served, client):
    head = {"authorization": served.token}
    assert client.is_server_live() and client.is_server_ready()
    assert client.is_model_ready("m", headers=head) and client.is_model_ready("m", "1", headers=head)
    assert not client.is_model_ready("m", "2", headers=head) and not client.is_model_ready("n", headers=head)
    assert client.get_server_metadata(headers=head)["name"] == "layover"
    assert client.get_model_metadata("m", headers=head)["outputs"][0]["name"] == "sum"
    assert {"name": "m", "version": "1", "state": "READY"} in client.get_model_repository_index(headers=head)
    assert client.get_model_config("m", headers=head)["input"][0] == {
        "name": "a", "data_type": "TYPE_FP32", "dims": [-1, 4]}
    client.load_model("m", headers=head)
    with pytest.raises(client_library.InferenceServerException, match="not taken"):
        client.load_model("m", config="{}", headers=head)
    with pytest.raises(client_library.InferenceServerException, match="no model n"):
        client.infer("n", [], headers=head)
    with pytest.raises(client_library.InferenceServerException, match="401"):
        client.get_server_metadata()


@pytest.mark.parametrize("datatype", TYPES)
def test_client_gets_back_what_it_sends(served, client, datatype):
    bits = np.random.default_rng(1).integers(0, 2, 64 * 8, np.uint8)
    array = np.frombuffer(np.packbits(bits).tobytes(), TYPES[datatype]) if datatype != "BOOL" else bits.astype(bool)
    for send, answer in ((True, True), (False, False), (True, False), (False, True)):
        if datatype == "FP16" and not (send and answer):
            continue  # only exists as bytes
        if not send and datatype.startswith("FP"):
            array = np.array([0.1, np.inf, -np.inf, np.nan, -0.0, 1e-45], TYPES[datatype])
        result = client.infer("m", [named(array, datatype=datatype, binary=send)],
                              outputs=[client_library.InferRequestedOutput("y", binary_data=answer)],
                              parameters={"function": datatype}, headers={"authorization": served.token})
        back = result.as_numpy("y")
        assert back.dtype == array.dtype
        if datatype.startswith("FP") and not answer:
            np.testing.assert_array_equal(back, array)
        else:
            assert back.tobytes() == array.tobytes()


def test_client_sends_texts_and_empty_tensors(served, client):
    texts = np.array(["", "a\"b", "é" * 300], object)
    for binary in (True, False):
        result = client.infer("m", [named(texts, "s", "BYTES", binary)], request_id="r",
                              parameters={"function": "texts"}, headers={"authorization": served.token})
        assert [text.decode() for text in result.as_numpy("t")] == list(texts)
        assert result.get_response()["id"] == "r"
        empty = client.infer("m", [named(np.zeros(0, np.int64), datatype="INT64", binary=binary)],
                             parameters={"function": "INT64"}, headers={"authorization": served.token})
        assert empty.as_numpy("y").shape == (0,)


def test_client_asks_for_classes_in_sequences(served, client):
    values = np.array([[1, 3, 2, 0]], np.float32)
    result = client.infer("m", [named(values, name, "FP32") for name in "ab"], sequence_id=5, sequence_start=True,
                          priority=2, timeout=10 ** 7, headers={"authorization": served.token},
                          outputs=[client_library.InferRequestedOutput("sum", class_count=2)])
    assert result.as_numpy("sum").tolist() == [[b"6.000000:1", b"4.000000:2"]]


def test_aio_client(served):
    aio = pytest.importorskip("tritonclient.http.aio")

    async def ask():
        async with aio.InferenceServerClient(served.ready["listen"]) as made:
            head = {"authorization": served.token}
            assert await made.is_server_ready()
            inputs = [aio.InferInput(name, [1, 4], "FP32").set_data_from_numpy(ONES) for name in "ab"]
            results = await asyncio.gather(*(made.infer("m", inputs, headers=head) for _ in range(20)))
            assert all((result.as_numpy("sum") == 2).all() for result in results)

    asyncio.run(ask())
