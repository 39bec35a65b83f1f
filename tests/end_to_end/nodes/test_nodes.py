"""Two homes that trust each other over TLS, and everything that is no such home."""
import concurrent.futures
import contextlib
import http.server
import json
import os
import pty
import re
import socket
import subprocess
import threading
import time

import pytest
from daemon import Daemon, Refused
from harness import FORBIDDEN, NOT_FOUND, REFUSED, UNREACHABLE, USAGE, Home
from migration import make_key

OTHER_KEY = "sha256//AAAAU6i3vl97CkgYJSy0d+5K+qDgj5dhU6S2B3SzNE4="
HELLO = {"node": "3f9a0c72d1e4", "role": "node", "protocol": {"min": 1, "max": 1}, "layover": "9.9", "unfinished": 1,
         "waiting": 1, "devices": 2}


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    return make_key(folder / "one"), make_key(folder / "two")


def serve_tls(home, key, listen="127.0.0.1:0"):
    return Daemon(home, "--listen", listen, "--tls-cert", key / "cert.pem", "--tls-key", key / "key.pem")


@pytest.fixture
def here(tmp_path, keys):
    with serve_tls(Home(tmp_path / "here"), keys[0]) as daemon:
        yield daemon


@pytest.fixture
def there(tmp_path, keys):
    with serve_tls(Home(tmp_path / "there"), keys[1]) as daemon:
        yield daemon


def url(daemon):
    return f"https://{daemon.ready['listen']}"


def make_token(daemon, role="node"):
    return daemon.home.call("token", "create", "--role", role).json


def add(daemon, name, address, token, *arguments):
    return daemon.home.call("node", "add", name, address, "--token", token, *arguments).json


def listed(daemon):
    return {line["node"]: line for line in daemon.home.call("node", "list").lines}


def test_two_homes_trust_each_other(here, there):
    token = make_token(there)
    added = add(here, "there", url(there), token["token"], "--fingerprint", there.ready["fingerprint"])
    assert added["node"] == "there" and added["url"] == url(there)
    add(there, "here", url(here), make_token(here)["token"], "--fingerprint", here.ready["fingerprint"])
    for one, other, name in ((here, there, "there"), (there, here, "here")):
        line = listed(one)[name]
        assert line["reachable"] and line["error"] is None and line["layover"] and line["devices"] == 1
        assert line["fingerprint"] == other.ready["fingerprint"]
    assert added["number"] != listed(there)["here"]["number"]
    # each knows whose token that is
    line, = [line for line in there.home.call("token", "list").lines if line["id"] == token["id"]]
    assert line["node"] == listed(there)["here"]["number"] and line["role"] == "node"
    # nobody is shown a token
    assert token["token"] not in here.home.call("node", "list").out
    here.end()
    here.start()
    assert listed(here)["there"]["reachable"]
    here.home.call("node", "remove", "there")
    assert listed(here) == {}
    here.home.refuses("node", "remove", "there", code=NOT_FOUND, words=["there"])


def test_the_key_is_compared_by_people(here, there, tmp_path):
    token = make_token(there)["token"]
    here.home.refuses("node", "add", "there", url(there), "--token", token, code=FORBIDDEN,
                      words=[there.ready["fingerprint"], "--fingerprint"])
    here.home.refuses("node", "add", "there", url(there), "--token", token, "--fingerprint", OTHER_KEY, code=FORBIDDEN,
                      words=["another key"])
    here.home.refuses("node", "add", "there", url(there), "--token", token, "--fingerprint", "sha1//x",
                      words=["fingerprint"])
    assert listed(here) == {}
    path = tmp_path / "token"
    path.write_text(token + "\n")
    path.chmod(0o644)
    here.home.refuses("node", "add", "there", url(there), "--token-file", path, code=FORBIDDEN, words=["chmod 600"])
    path.chmod(0o600)
    here.home.call("node", "add", "there", url(there), "--token-file", path, "--fingerprint", there.ready["fingerprint"])
    assert listed(here)["there"]["reachable"]


@pytest.mark.parametrize("answer, trusts", [(b"y\n", True), (b"n\n", False), (b"\n", False)])
def test_a_terminal_is_asked(here, there, answer, trusts):
    token = make_token(there)["token"]
    master, slave = pty.openpty()
    process = subprocess.Popen(here.home.command("node", "add", "there", url(there), "--token", token), stdin=slave,
                               stdout=subprocess.PIPE, stderr=slave)
    os.close(slave)
    seen = b""
    while b"[y/N]" not in seen:
        seen += os.read(master, 4096)
    assert there.ready["fingerprint"].encode() in seen
    os.write(master, answer)
    process.communicate(timeout=60)
    os.close(master)
    assert (process.returncode == 0) is trusts
    assert ("there" in listed(here)) is trusts


def test_a_changed_key_is_no_longer_the_node(here, there, keys):
    token = make_token(there)["token"]
    add(here, "there", url(there), token, "--fingerprint", there.ready["fingerprint"])
    there.end()
    assert not listed(here)["there"]["reachable"]
    with serve_tls(there.home, keys[0], there.ready["listen"]) as changed:
        line = listed(here)["there"]
        assert not line["reachable"] and "another key" in line["error"]
        # the same home, trusted anew with its new key
        add(here, "there", url(changed), token, "--fingerprint", changed.ready["fingerprint"])
        assert listed(here)["there"]["reachable"] and len(listed(here)) == 1


def test_the_wrong_tokens(here, there):
    key = ["--fingerprint", there.ready["fingerprint"]]
    for role, words in (("user", "needs the role node"), ("admin", "has not the role node")):
        token = make_token(there, role)["token"]
        here.home.refuses("node", "add", "there", url(there), "--token", token, *key, code=FORBIDDEN, words=[words])
    here.home.refuses("node", "add", "there", url(there), "--token", "nonsense", *key, code=FORBIDDEN,
                      words=["token is unknown"])
    here.home.refuses("node", "add", "there", url(there), *key, code=USAGE, words=["--token"])
    token = make_token(there)
    add(here, "there", url(there), token["token"], *key)
    there.home.call("token", "revoke", token["id"])
    line = listed(here)["there"]
    assert not line["reachable"] and "token is unknown" in line["error"]


def test_a_token_is_one_nodes(here, there, keys, tmp_path):
    token, key = make_token(there), ["--fingerprint", there.ready["fingerprint"]]
    add(here, "there", url(there), token["token"], *key)
    with serve_tls(Home(tmp_path / "third"), keys[0]) as third:
        third.home.refuses("node", "add", "there", url(there), "--token", token["token"], *key, code=FORBIDDEN,
                           words=["another node"])
        add(third, "there", url(there), make_token(there)["token"], *key)
    # one more for the same node: the old one goes first
    new = make_token(there)["token"]
    here.home.refuses("node", "add", "there", url(there), "--token", new, *key, code=FORBIDDEN,
                      words=[f"token {token['id']}"])
    there.home.call("token", "revoke", token["id"])
    add(here, "there", url(there), new, *key)


def test_it_does_not_trust_itself(here):
    token = make_token(here)["token"]
    here.home.refuses("node", "add", "me", url(here), "--token", token, "--fingerprint", here.ready["fingerprint"],
                      code=FORBIDDEN, words=["that is this home"])
    here.home.refuses("node", "add", "me", f"unix:{here.socket}", "--token", token, code=FORBIDDEN,
                      words=["that is this home"])


@pytest.mark.parametrize("address, code, words", [
    ("http://192.0.2.7:80", FORBIDDEN, "use https"),
    ("http://127.0.0.1@192.0.2.7:80", REFUSED, "nothing but a host"),
    ("http://localhost.example:80", FORBIDDEN, "use https"),
    ("https://127.0.0.1:1", UNREACHABLE, "node x"),
    ("http://127.0.0.1:1", UNREACHABLE, "node x"),
    ("unix:/nowhere/socket", UNREACHABLE, "node x"),
    ("ftp://127.0.0.1", REFUSED, "https://"),
    ("west", REFUSED, "address"),
])
def test_addresses_that_are_not_taken(here, address, code, words):
    here.home.refuses("node", "add", "x", address, "--token", "t", code=code, words=[words])


@pytest.mark.parametrize("name", ["-x", "a b", "a/b", "x" * 65])
def test_names_follow_the_rule(here, name):
    here.home.refuses("node", "add", "--token", "t", "--", name, "http://127.0.0.1:1", words=["node"])


def test_homes_on_one_machine_need_no_tls(tmp_path, here):
    with Daemon(Home(tmp_path / "plain"), "--listen", "127.0.0.1:0") as plain:
        assert plain.ready["fingerprint"] is None
        token = make_token(plain)["token"]
        add(here, "tcp", f"http://{plain.ready['listen']}", token)
        here.home.refuses("node", "add", "socket", plain.socket, "--token", token, code=FORBIDDEN, words=["node tcp"])
        here.home.call("node", "remove", "tcp")
        assert add(here, "socket", plain.socket, token)["fingerprint"] is None
        assert listed(here)["socket"]["reachable"]


class FakePeer(http.server.ThreadingHTTPServer):
    """Answers every hello with the same bytes after a while."""

    def __init__(self, answer, status=200, pause=0.0):
        super().__init__(("127.0.0.1", 0), FakePeer.Handler)
        self.answer = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.status, self.pause, self.hellos = status, pause, []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.server.hellos.append((self.path, self.headers["Authorization"], json.loads(body)))
            with contextlib.suppress(OSError):
                self.send_response(self.server.status)
                self.send_header("Content-Length", str(len(self.server.answer)))
                self.end_headers()
                if not self.server.pause:
                    self.wfile.write(self.server.answer)
                    return
                for i in range(len(self.server.answer)):
                    self.wfile.write(self.server.answer[i:i + 1])
                    self.wfile.flush()
                    time.sleep(self.server.pause)

        def log_message(self, *_):
            pass

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


def test_what_a_home_says_of_itself(here):
    with FakePeer(HELLO) as peer:
        assert add(here, "fake", peer.url, "secret")["number"] == HELLO["node"]
        assert listed(here)["fake"]["layover"] == "9.9" and listed(here)["fake"]["waiting"] == 1
        path, authorization, body = peer.hellos[0]
    assert (path, authorization) == ("/v1/peer", "Bearer secret")
    assert sorted(body) == ["node", "protocol"] and re.fullmatch("[0-9a-f]{12}", body["node"])
    assert body["protocol"] == {"min": 1, "max": 1}


@pytest.mark.parametrize("answer, status, code, words", [
    (b"", 200, REFUSED, "its answer"),
    (b"\x00\xff" * 1000, 200, REFUSED, "its answer"),
    (b"[" * 100000, 200, REFUSED, "its answer"),
    ({}, 200, REFUSED, "its answer"),
    ({**HELLO, "node": "../../etc"}, 200, REFUSED, "node"),
    ({**HELLO, "node": 5}, 200, REFUSED, "node"),
    ({**HELLO, "protocol": {"min": 3, "max": 9}}, 200, REFUSED, "3 to 9 there"),
    ({**HELLO, "protocol": {"min": -1, "max": 10**30}}, 200, REFUSED, "its answer"),
    ({**HELLO, "unfinished": -5}, 200, REFUSED, "unfinished"),
    ({**HELLO, "layover": "\x1b[2J"}, 200, REFUSED, "layover"),
    ({**HELLO, "role": "admin"}, 200, FORBIDDEN, "role node"),
    ({"error": "x" * 50000, "code": "INTERNAL"}, 500, UNREACHABLE, "node fake"),
    ({"error": "go away\n\x1b[2J", "code": "REFUSED"}, 403, FORBIDDEN, "go away"),
    (b"moved", 302, REFUSED, "302"),
])
def test_what_is_no_home_is_refused(here, answer, status, code, words):
    with FakePeer(answer, status) as peer:
        result = here.home.refuses("node", "add", "fake", peer.url, "--token", "t", code=code, words=[words])
        assert "\x1b" not in result.err and len(result.err) < 5000
    assert listed(here) == {}


def test_a_peer_that_lies_about_who_it_is(here, there):
    add(here, "there", url(there), make_token(there)["token"], "--fingerprint", there.ready["fingerprint"])
    number = listed(here)["there"]["number"]
    with FakePeer({**HELLO, "node": number}) as peer:
        here.home.refuses("node", "add", "fake", peer.url, "--token", "t", code=FORBIDDEN, words=["node there"])
    with FakePeer(HELLO) as peer:
        add(here, "fake", peer.url, "t")
        peer.answer = json.dumps({**HELLO, "node": "0000000000aa"}).encode()
        line = listed(here)["fake"]
        assert not line["reachable"] and "another home" in line["error"]
        here.home.refuses("node", "add", "fake", peer.url, "--token", "t", code=FORBIDDEN, words=["another home"])


def test_peers_that_stall_are_given_up(here):
    """One never answers, one sends a byte now and then: both lose, and the daemon goes on serving."""
    with socket.create_server(("127.0.0.1", 0)) as silent, FakePeer(HELLO, pause=0.5) as slow:
        port = silent.getsockname()[1]

        def status_of(address):
            with pytest.raises(Refused) as refused:
                here.json("POST", "/v1/nodes", {"node": "stalls", "url": address, "token": "t"})
            return refused.value.status

        with concurrent.futures.ThreadPoolExecutor() as pool:
            addresses = [f"http://127.0.0.1:{port}", f"https://127.0.0.1:{port}", slow.url]
            assert list(pool.map(status_of, addresses)) == [503, 503, 503]
        slow.pause = 0
        add(here, "slow", slow.url, "t")
        slow.pause = 0.5
        line = listed(here)["slow"]
        assert not line["reachable"] and line["error"]
    assert here.json("GET", "/v2/health/ready") == {"ready": True}


def test_only_admins_see_nodes(here):
    headers = {"Authorization": f"Bearer {make_token(here, 'user')['token']}"}
    for method, path, body in (("GET", "/v1/nodes", None), ("POST", "/v1/nodes", {}), ("POST", "/v1/peer", HELLO),
                               ("DELETE", "/v1/nodes/x", None)):
        with pytest.raises(Refused) as refused:
            here.request(method, path, json.dumps(body).encode() if body is not None else None,
                         "application/json" if body is not None else None, headers)
        assert refused.value.status == 403
