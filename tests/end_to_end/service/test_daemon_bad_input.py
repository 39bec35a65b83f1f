"""Whatever is wrong with a request gets one clear sentence with the right status and exit code, and loses nothing."""
import http.client
import json
import re
import resource
import socket
import threading
import time

import numpy as np
import pytest
from daemon import Daemon, Refused
from harness import FORBIDDEN, NOT_FOUND, REFUSED, USAGE, Home, load, write_npz
from processes import until

CUT_S = 30  # heads are cut after 10 s
IDLE = 1000

PROGRAM = """
constant @why = string "fifty-seven is refused"
primitive %add = Add
function main(a: float32[n, 2], b: float32[n, 2]) -> (y: float32[n, 2]) exported {
    InvokePacked %add r0, r1 -> r2
    Ret r2
}
function picky(a: int64[1] slot 0) -> (y: int64[1] slot 0) exported {
    If r0, 57, bad, good
good:
    Ret r0
bad:
    Fatal @why
}
function endless(a: int64[1] slot 0) -> (y: int64[1] slot 0) exported {
head:
    If r0, -1, done, head
done:
    Ret r0
}
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bad")
    home = Home(folder / "home")
    (folder / "m.lva").write_text(PROGRAM)
    home.call("register", "m", folder / "m.lva")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    with Daemon(home, "--listen", "127.0.0.1:0") as daemon:
        daemon.home = home
        daemon.address = daemon.ready["listen"].removeprefix("http://").split(":")
        for tenant in ("alice", "bob"):
            daemon.json("POST", "/v1/tenants", {"tenant": tenant})
            home.call("register", "m", folder / "m.lva", "--tenant", tenant)
        daemon.headers = {
            (tenant, role): {"Authorization": "Bearer " + daemon.json(
                "POST", "/v1/tokens", {"tenant": tenant, "role": role} if tenant else {"role": role})["token"]}
            for tenant, role in (("alice", "user"), ("bob", "user"), ("default", "admin"), (None, "node"))}
        daemon.headers["nobody"] = {"Authorization": "Bearer " + "x" * 40}
        yield daemon
        assert daemon.end() in (0, 85)
    home.is_clean()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def refused(status, word, call, *arguments, **options):
    with pytest.raises(Refused) as error:
        call(*arguments, **options)
    assert error.value.status == status, error.value
    assert word in str(error.value), error.value
    return str(error.value)


def rows(count, width=2):
    return np.arange(count * width, dtype=np.float32).reshape(count, width)


def raw(daemon, data, wait_s=20):
    """Sends bytes over the unix socket; what comes back until the daemon closes or is silent."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(wait_s)
        connection.connect(daemon.socket)
        connection.sendall(data)
        answer = b""
        try:
            while b"\r\n\r\n" not in answer or b'"code"' not in answer:
                piece = connection.recv(65536)
                if not piece:
                    break
                answer += piece
        except (TimeoutError, ConnectionResetError):
            pass
        return answer


# The command line's own words ------------------------------------------------------------------------------------

@pytest.mark.parametrize("arguments, code, words", [
    (["submit", "nobody", "--input", "IN"], NOT_FOUND, ["nobody"]),
    (["submit", "m@9", "--input", "IN"], NOT_FOUND, ["9"]),
    (["submit", "m", "--input", "IN", "--function", "none"], NOT_FOUND, ["none"]),
    (["submit", "m", "--input", "IN", "--device", "cuda:7"], NOT_FOUND, ["cuda:7"]),
    (["submit", "m", "--input", "IN", "--device", "nope"], NOT_FOUND, ["nope"]),
    (["submit", "m", "--input", "IN", "--device", "sim:99"], NOT_FOUND, ["sim:99"]),
    (["run", "m", "--input", "IN", "--output", "OUT", "--device", "foo:0"], NOT_FOUND, ["foo:0"]),
    (["submit", "m", "--input", "IN", "--batch", "0", "--items"], USAGE, ["batch"]),
    (["submit", "m", "--input", "IN", "--priority", "highest"], USAGE, ["priority"]),
    (["submit", "m", "--input", "IN", "--items", "--shared", "zz"], REFUSED, ["zz"]),
    (["submit", "m", "--input", "IN", "--tenant", "nobody"], NOT_FOUND, ["nobody"]),
    (["job", "0000000000aa-9999"], NOT_FOUND, ["0000000000aa-9999"]),
    (["job", "../../etc/passwd"], NOT_FOUND, []),
    (["result", "0000000000aa-9999", "--output", "OUT"], NOT_FOUND, ["0000000000aa-9999"]),
    (["cancel", "x"], NOT_FOUND, ["x"]),
    (["tenant", "set", "alice", "--quota", "nothing=3"], USAGE, ["nothing", "depth"]),
    (["tenant", "set", "nobody", "--weight", "3"], NOT_FOUND, ["nobody"]),
    (["tenant", "add", "../x"], REFUSED, []),
    (["token", "revoke", "999"], NOT_FOUND, ["999"]),
    (["token", "create", "--role", "king"], USAGE, ["king", "admin"]),
    (["cancel", ""], USAGE, ["empty"]),
    (["restore", "IN"], REFUSED, ["in.npz", "not a checkpoint"]),
    (["import", "m", "IN"], REFUSED, ["in.npz", "not an executable"]),
    (["fsck", "--repair-from", "IN"], REFUSED, ["in.npz", "not an executable"]),
    (["serve"], FORBIDDEN, ["pid"]),
], ids=lambda value: " ".join(map(str, value)) if isinstance(value, list) and value and value[0].islower() else None)
def test_the_command_line_is_refused_in_one_line(served, tmp_path, arguments, code, words):
    source = write_npz(tmp_path / "in.npz", a=rows(3), b=rows(3))
    named = {"IN": source, "OUT": str(tmp_path / "out.npz")}
    served.home.refuses(*[named.get(word, word) for word in arguments], code=code, words=words)
    assert not (tmp_path / "out.npz").exists()


# Inputs ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("arrays, policy, words", [
    ({"a": rows(3), "c": rows(3)}, {}, "no input c; it has a, b"),
    ({"a": rows(3)}, {}, "input b"),
    ({"a": rows(3), "b": rows(3, 3)}, {}, "b"),
    ({"a": rows(3), "b": rows(3).astype("f8")}, {}, "float64"),
    ({"a": rows(3), "b": rows(2)}, {}, "n"),
    ({"a": rows(3), "b": rows(2)}, {"items": True}, "input b has 2 items, others have 3"),
    ({"a": rows(0), "b": rows(2)}, {"items": True}, "input b has 2 items, others have 0"),
    ({"a": rows(3), "b": np.float32(1)}, {"items": True}, "input b has no item axis"),
    ({"a": rows(3), "b": rows(3)}, {"items": True, "shared": ["a", "b"]}, "nothing to count"),
    ({"a": rows(3), "b": rows(3)}, {"items": True, "batch": 2 ** 40}, "batch"),
    ({"a": rows(3), "b": rows(3)}, {"batch": 2}, "batch and shared belong to items"),
    ({"a": rows(3), "b": rows(3)}, {"weight": 0}, "weight"),
    ({"a": rows(3), "b": rows(3)}, {"deadline": -1}, "deadline"),
    ({"a": rows(3), "b": rows(3)}, {"key": ""}, "key"),
    ({"a": rows(3), "b": rows(3)}, {"colour": "red"}, "no field colour"),
    ({"a": rows(3), "b": rows(3)}, {"threads": 1e300}, "threads"),
])
def test_wrong_inputs_and_policies_are_named(served, arrays, policy, words):
    refused(400, words, served.submit, "m", arrays, **policy)


def test_a_job_of_no_items_gives_no_outputs(served):
    job = served.submit("m", {"a": rows(0), "b": rows(0)}, items=True)
    found = served.wait(job, lambda it: it["ended"])
    assert (found["state"], found["items_total"], found["outputs"]) == ("succeeded", 0, 0)
    assert served.outputs(job) == {}


def test_a_job_says_which_item_failed_and_keeps_those_before(served, tmp_path):
    data = np.arange(100, dtype=np.int64)
    job = served.submit("m", {"a": data}, function="picky", items=True)
    found = served.wait(job, lambda it: it["ended"])
    assert found["state"] == "failed" and found["items_done"] == 57
    assert "item 57" in found["why"] and "fifty-seven is refused" in found["why"]
    served.home.refuses("result", job, "--output", tmp_path / "no.npz", words=["failed"])
    served.home.call("result", job, "--output", tmp_path / "out.npz", "--partial")
    assert load(tmp_path / "out.npz")["y"].tolist() == list(range(57))
    shown = served.home.call("result", job, "--partial").json
    assert shown["outputs"] == [{"name": "y", "dtype": "int64", "shape": [57], "data": list(range(57))}]


def test_inline_inputs_have_the_form_that_the_daemon_describes(served):
    call = served.home.call
    assert call("run", "m", "--function", "picky", "--input", "a=7").json["outputs"][0]["data"] == [7]
    shown = call("run", "m", "--input", "a=1,2,3,4", "--input", "b=ones", "--dim", "n=2", as_json=False)
    assert shown.out == "y: float32 [2, 2]\n  [[2, 3],\n   [4, 5]]\n"
    job = call("submit", "m", "--function", "picky", "--items", "--input", "a=3,4", "--wait").lines[0]["job"]
    assert call("result", job).json["outputs"][0]["data"] == [3, 4]
    served.home.refuses("run", "m", "--input", "a=1,2,3", "--input", "b=ones", words=["3 elements do not fill the shape [-1, 2]"])


# Quotas ----------------------------------------------------------------------------------------------------------

def test_over_quota_names_the_figures(served, tmp_path):
    alice = served.headers["alice", "user"]
    one = {"a": np.zeros(1, np.int64)}
    quotas = {"queued_jobs": 1, "running_jobs": 1, "depth": 100}
    try:
        served.json("POST", "/v1/tenants/alice", {"quotas": quotas})
        jobs = [served.submit("m", one, function="endless", headers=alice)]
        served.wait(jobs[0], lambda it: it["state"] == "running")
        jobs.append(served.submit("m", one, function="endless", headers=alice))
        refused(429, "queued_jobs: 2 of 1", served.submit, "m", one, function="endless", headers=alice)
        source = write_npz(tmp_path / "in.npz", **one)
        served.home.refuses("submit", "m", "--function", "endless", "--input", source, "--tenant", "alice",
                            code=FORBIDDEN, words=["queued_jobs: 2 of 1"])
        for job in jobs:
            served.change(job, "cancel")
        served.json("POST", "/v1/tenants/alice", {"quotas": {"device_bytes": 1000}})
        refused(429, "device_bytes", served.submit, "m", {"a": rows(1000), "b": rows(1000)}, headers=alice)
        served.json("POST", "/v1/tenants/alice", {"quotas": {"device_bytes": None, "store_bytes": 0}})
        refused(429, "store_bytes", served.submit, "m", one, function="endless", headers=alice)
    finally:
        served.json("POST", "/v1/tenants/alice", {"quotas": {name: None for name in (
            "queued_jobs", "running_jobs", "depth", "device_bytes", "store_bytes")}})


# States ----------------------------------------------------------------------------------------------------------

def test_changes_that_the_state_does_not_allow(served):
    job = served.submit("m", {"a": np.zeros(1, np.int64)}, function="endless")
    served.wait(job, lambda it: it["state"] == "running")
    refused(409, "running", served.change, job, "resume")
    served.home.refuses("resume", job, code=FORBIDDEN, words=["running"])
    refused(409, "", served.request, "DELETE", f"/v1/jobs/{job}")
    served.suspend(job)
    refused(409, "suspended", served.change, job, "suspend")
    refused(404, "sim:9", served.change, job, "resume", device="sim:9")
    refused(400, "colour", served.change, job, "resume", colour="red")
    served.change(job, "cancel")
    for verb in ("cancel", "suspend", "resume"):
        refused(409, "cancelled", served.change, job, verb)
        served.home.refuses(verb, job, code=FORBIDDEN, words=["cancelled"])
    refused(404, "9", served.change, job, "fork", **{"from": 9})
    served.request("DELETE", f"/v1/jobs/{job}")
    refused(404, job, served.job, job)


# Bodies ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("body, word", [
    (b"{", "JSON"), (b"[]", "object"), (b'{"weight": NaN}', "JSON"), (b'{"weight": 1e999}', "weight"),
    (b'{"weight": "1"}', "weight"), (b'{"weight": 99999999999999999999999}', "weight"),
    (b'{"weight": 1, "weight": 2}', "twice"), (b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}", "JSON"),
    (b"\xff\xfe{}", "JSON"), (b'{"weight": 1}\x00', "JSON"), (b'{"quotas": {"depth": -1}}', "depth"),
    (b'{"quotas": {"depth": 1.5}}', "depth"), (b'{"quotas": 3}', "quotas"), (b'{"w\\u0065ight": 0}', "weight"),
])
def test_malformed_json_is_refused_where_it_breaks(served, body, word):
    refused(400, word, served.request, "POST", "/v1/tenants/alice", body, "application/json")


def test_a_gigabyte_is_refused_before_it_comes(served):
    head = "POST {} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\nContent-Type: application/json\r\n\r\n"
    answer = raw(served, head.format("/v1/tenants/alice", 1 << 30).encode() + b'{"weight": 1')
    assert answer.startswith(b"HTTP/1.1 413") and str(1 << 30).encode() in answer
    for length in ("-1", "99999999999999999999999", "0x10", "1, 2"):
        answer = raw(served, head.format("/v1/tenants/alice", length).encode())
        assert re.match(rb"HTTP/1.1 4\d\d ", answer), (length, answer)
    body = b'{"model": "m", "' + b"x" * (2 << 20) + b'": 1}'  # JSON in a part that the route takes
    boundary = b"--b\r\nContent-Disposition: form-data; name=\"policy\"\r\n\r\n" + body + b"\r\n--b--\r\n"
    refused(413, "policy", served.request, "POST", "/v1/jobs", boundary, "multipart/form-data; boundary=b")


def test_broken_uploads_are_refused(served, tmp_path):
    for body, content_type in ((b"", "multipart/form-data; boundary=b"), (b"--b--", "multipart/form-data; boundary=b"),
                               (b"{}", "application/json"), (b"x" * 100, "multipart/form-data")):
        refused(400, "", served.request, "POST", "/v1/jobs", body, content_type)
    refused(400, "", served.request, "POST", "/v1/models/new?format=onnx", b"no model", "application/octet-stream")
    refused(404, "", served.request, "GET", "/v1/models/new")


# Clients ---------------------------------------------------------------------------------------------------------

def test_idle_connections_cost_nobody_else_and_are_cut(served):
    """A thousand that say nothing, one whose head and one whose body never end."""
    connections = []
    try:
        for i in range(IDLE):
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(served.socket)
            connections.append(connection)
        connections[0].sendall(b"GET /v1/jobs HTTP/1.1\r\nHost: x\r\n")
        connections[1].sendall(b"POST /v1/tenants/bob HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        start = time.monotonic()
        found = served.submit("m", {"a": rows(3), "b": rows(3)})
        assert served.finished(found)["y"].tolist() == (2 * rows(3)).tolist()
        assert served.lines("/v1/jobs") and time.monotonic() - start < 5
        end = time.monotonic() + CUT_S
        for i, connection in enumerate(connections):
            if i == 1:
                continue  # a body has longer: tests/scheduler/http/server/test_http_server.c
            connection.settimeout(max(0.1, end - time.monotonic()))
            assert connection.recv(4096) == b"" or i == 0  # a broken head may be told so
    finally:
        for connection in connections:
            connection.close()
    assert served.lines("/v1/jobs")


def test_a_client_that_vanishes_while_it_watches(served):
    job = served.submit("m", {"a": np.zeros(1, np.int64)}, function="endless")
    watchers = []
    for _ in range(50):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(served.socket)
        connection.sendall(f"GET /v1/jobs/{job}/watch HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        watchers.append(connection)
    for connection in watchers:
        connection.settimeout(20)
        assert connection.recv(4096).startswith(b"HTTP/1.1 200")

    def streams():
        text = served.request("GET", "/metrics").decode()
        return int(re.search(r"^layover_http_streams (\d+)", text, re.MULTILINE)[1])

    assert streams() == 50
    for connection in watchers:
        connection.close()
    until(lambda: streams() == 0, 10)
    assert served.job(job)["state"] == "running"
    assert served.change(job, "cancel")["state"] == "cancelled"


def test_a_revoked_token_watches_no_longer(served):
    made = served.json("POST", "/v1/tokens", {"tenant": "alice", "role": "user"})
    headers = {"Authorization": f"Bearer {made['token']}"}
    job = served.submit("m", {"a": np.zeros(1, np.int64)}, function="endless", headers=headers)
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(served.socket)
    connection.sendall(f"GET /v1/jobs/{job}/watch HTTP/1.1\r\nHost: x\r\n"
                       f"Authorization: {headers['Authorization']}\r\n\r\n".encode())
    connection.settimeout(20)
    assert connection.recv(4096).startswith(b"HTTP/1.1 200")
    served.request("DELETE", f"/v1/tokens/{made['id']}")
    for verb in ("suspend", "resume", "cancel"):  # news that it would be told
        served.request("POST", f"/v1/jobs/{job}/{verb}?tenant=alice", b"{}", "application/json")
    told = b""
    while piece := connection.recv(4096):
        told += piece
    assert b"cancelled" not in told
    connection.close()


# Tenants ---------------------------------------------------------------------------------------------------------

def test_guessing_ids_tells_nothing(served):
    """Another tenant's job, outputs, checkpoints: byte for byte what a job that never was answers."""
    alice, bob = served.headers["alice", "user"], served.headers["bob", "user"]
    job = served.submit("m", {"a": np.zeros(1, np.int64)}, function="endless", headers=alice, key="mine")
    served.wait(job, lambda it: it["state"] == "running")
    assert served.suspend(job)["state"] == "suspended"
    absent = re.sub(r"\d$", lambda digit: str((int(digit[0]) + 5) % 10), job.replace("-", "-9"))

    def ask(headers, method, path, body=None):
        try:
            return 200, served.request(method, path, body, "application/json" if body else None, headers)
        except Refused as error:
            return error.status, str(error)

    addresses = [("GET", ""), ("GET", "/outputs"), ("GET", "/outputs?since=3"), ("GET", "/watch"), ("GET", "/events"),
                 ("GET", "/checkpoint"), ("GET", "/checkpoint?from=1"), ("GET", "/checkpoints"), ("DELETE", ""),
                 ("POST", "/suspend"), ("POST", "/resume"), ("POST", "/cancel"), ("POST", "/fork"), ("POST", "/checkpoint")]
    for method, tail in addresses:
        body = b"{}" if method == "POST" else None
        theirs = ask(bob, method, f"/v1/jobs/{job}{tail}", body)
        nobodys = ask(bob, method, f"/v1/jobs/{absent}{tail}", body)
        assert theirs[0] == 404, (method, tail, theirs)
        assert theirs[1].replace(job, "ID") == nobodys[1].replace(absent, "ID"), (method, tail)
    assert served.lines("/v1/jobs", bob) == []
    assert served.lines("/v1/models", bob) != []  # its own
    again = served.submit("m", {"a": np.zeros(1, np.int64)}, function="endless", headers=bob, key="mine")
    assert again != job  # a key is its tenant's
    for mine in (job, again):
        served.change(mine, "cancel")


def test_tokens_of_the_wrong_role(served):
    """Every address in docs/http.md is asked by every role in tests/scheduler/http/server/test_http_service.c; here, over TCP."""
    def ask(headers, path):
        connection = http.client.HTTPConnection(*served.address, timeout=20)
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        return response.status, response.read()

    user, admin, node = (served.headers[key] for key in (("alice", "user"), ("default", "admin"), (None, "node")))
    for path, statuses in (("/v1/jobs", (200, 200, 403, 401, 401)), ("/v1/tenants", (403, 200, 403, 401, 401)),
                           ("/metrics", (403, 200, 403, 401, 401)), ("/v1/nothing", (404, 404, 404, 401, 401)),
                           ("/v2/health/live", (200, 200, 200, 200, 200)),
                           ("/v1/jobs?tenant=bob", (404, 200, 403, 401, 401))):
        found = tuple(ask(headers, path)[0] for headers in (user, admin, node, served.headers["nobody"], {}))
        assert found == statuses, path


def test_many_bad_requests_at_once_leave_the_daemon_as_it_was(served):
    """Noise from eight threads, a second long, while a job runs."""
    job = served.submit("m", {"a": rows(200), "b": rows(200)}, items=True)
    end, problems = time.monotonic() + 1, []

    def ask(seed):
        rng = np.random.default_rng(seed)
        while time.monotonic() < end:
            path = ["/v1/jobs", "/v1/jobs/0000000000aa-1/suspend", "/v1/models/m", "/v1/tenants/alice"][rng.integers(4)]
            size = int(rng.integers(0, 200))
            try:
                served.request("POST", path, rng.bytes(size), "application/json")  # nothing at all is an empty object
            except Refused as error:
                if error.status >= 500:
                    problems.append((path, str(error)))

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems, problems[:3]
    assert served.finished(job)["y"].tolist() == (2 * rows(200)).tolist()
    assert json.loads(served.request("GET", "/v1/top"))["tenants"]
