"""Heads and bodies that two readers could cut differently, over a raw socket of each kind: RFC 9112 wants them refused and
the connection closed. A request that hides behind one in the same packet is never answered."""
import contextlib
import socket
import ssl

import pytest
from daemon import Daemon
from test_tls import certificate  # noqa: F401: a fixture

GET = b"GET /v2/health/live HTTP/1.1\r\nHost: x\r\n"
POST = b"POST /v1/jobs/1/cancel HTTP/1.1\r\nHost: x\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
HIDDEN = b"GET /v2/health/ready HTTP/1.1\r\nHost: x\r\n\r\n"

# (section of RFC 9112, bytes, status)
REFUSED = [
    ("2.2", b"\r\n\r\n" + GET + b"\r\n", 400),
    ("2.2", b"GET /v2/health/live HTTP/1.1\nHost: x\n\n", 400),
    ("2.2", GET + b"A: b\rContent-Length: 42\r\n\r\n", 400),
    ("2.2", GET + b"\rContent-Length: 42\r\n\r\n", 400),
    ("2.2", GET + b"\0Content-Length: 42\r\n\r\n", 400),
    ("2.2", GET + b"\0\r\nContent-Length: 42\r\n\r\n", 400),
    ("2.2", b"\0\r\n" + GET + b"\r\n", 400),
    ("2.2", b"GET /v2/health/live HTTP/1.1\r\n Content-Length: 42\r\nHost: x\r\n\r\n", 400),
    ("3", b"GET  /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("3", b"GET /v2/health/live\r\n\r\n", 400),
    ("3.2", GET + b"Host: x\r\n\r\n", 400),
    ("3.2", GET + b"host: y\r\n\r\n", 400),
    ("3.2", b"GET /v2/health/live HTTP/1.1\r\n\r\n", 400),
    ("3.2", b"GET /v2/health/live HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
    ("5.1", GET + b"Content-Length : 42\r\n\r\n", 400),
    ("5.1", GET + b"Content-Length\t: 42\r\n\r\n", 400),
    ("5.1", GET + b": 42\r\n\r\n", 400),
    ("5.1", GET + b"no colon\r\n\r\n", 400),
    ("5.1", GET + b"Content-Length\0: 42\r\n\r\n", 400),
    ("5.1", GET + b"A: b\0c\r\n\r\n", 400),
    ("5.2", GET + b"A: b\r\n Content-Length: 42\r\n\r\n", 400),
    ("5.2", GET + b"Content-Len: 4\r\n\tgth\r\n\r\n", 400),
    ("6.1", POST + b"Transfer-Encoding: gzip\r\n\r\n", 400),
    ("6.1", POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n", 501),
    ("6.1", POST + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", 400),
    ("6.1", POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    ("6.1", POST + b"Transfer-Encoding: chunked\0\r\n\r\n0\r\n\r\n", 400),
    ("6.1", POST + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n", 400),
    ("6.1", POST + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", 400),
    ("6.1", POST + b"Transfer-Encoding:\r\n\r\n0\r\n\r\n", 400),
    ("6.1", b"POST /v1/jobs/1/cancel HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    ("6.3", POST + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", 400),
    ("6.3", POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    ("6.3", POST + b"Content-Length: 5\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", 400),
    ("6.3", POST + b"Content-Length: 5, 5\r\n\r\n0\r\n\r\n", 400),
    ("6.3", POST + b"Content-Length: -5\r\n\r\n", 400),
    ("6.3", POST + b"Content-Length: +5\r\n\r\n0\r\n\r\n", 400),
    ("6.3", POST + b"Content-Length: 0x5\r\n\r\n0\r\n\r\n", 400),
    ("6.3", POST + b"Content-Length:\r\n\r\n", 400),
    ("6.3", POST + b"Content-Length: " + b"9" * 30 + b"\r\n\r\n", 413),
    ("7.1", CHUNKED + b"2\n{}\r\n0\r\n\r\n", 400),
    ("7.1", CHUNKED + b"2;a\n{}\r\n0\r\n\r\n", 400),
    ("7.1", CHUNKED + b"2\r\n{}0\r\n\r\n", 400),
    ("7.1", CHUNKED + b"2\r\n{}\n0\r\n\r\n", 400),
    ("7.1", CHUNKED + b"+2\r\n{}\r\n0\r\n\r\n", 400),
    ("7.1", CHUNKED + b"0x2\r\n{}\r\n0\r\n\r\n", 400),
    ("7.1", CHUNKED + b"2 \r\n{}\r\n0\r\n\r\n", 400),
    ("7.1", CHUNKED + b"1" + b"0" * 15 + b"2\r\n{}\r\n0\r\n\r\n", 400),
    ("7.1", CHUNKED + b"2\r\n{}\r\n0\r\nContent-Length: 5\r\n\r\n", 400),
    ("7.1", CHUNKED + b"2\r\n{}\r\n0\r\nA : b\r\n\r\n", 400),
]
TAKEN = [
    GET + b"\r\n",
    b"\r\n" + GET + b"A:\t b \t\r\nB:\r\n\r\n",
    b"GET /v2/health/live HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    CHUNKED + b"2;a=\"b\"\r\n{}\r\n0\r\nA: b\r\n\r\n",
    POST + b"Content-Length: 2\r\n\r\n{}",
]


@pytest.fixture(scope="module", params=["unix", "tcp", "tls"])
def connect(request, tmp_path_factory, certificate):  # noqa: F811
    from harness import Home
    arguments = ["--listen", "127.0.0.1:0"]
    if request.param == "tls":
        arguments += ["--tls-cert", certificate / "cert.pem", "--tls-key", certificate / "key.pem"]
    with Daemon(Home(tmp_path_factory.mktemp("home")), *arguments) as daemon:
        @contextlib.contextmanager
        def open_one():
            if request.param == "unix":
                with socket.socket(socket.AF_UNIX) as plain:
                    plain.settimeout(20)
                    plain.connect(str(daemon.socket))
                    yield plain
                return
            host, port = daemon.ready["listen"].rsplit(":", 1)
            with socket.create_connection((host, int(port)), timeout=20) as plain:
                if request.param == "tcp":
                    yield plain
                    return
                context = ssl.create_default_context(cafile=certificate / "cert.pem")
                with context.wrap_socket(plain, server_hostname="localhost") as connection:
                    yield connection
        yield open_one


def everything(connection):
    """Until the daemon closes."""
    received = b""
    with contextlib.suppress(ConnectionResetError, ssl.SSLEOFError):
        while piece := connection.recv(65536):
            received += piece
    return received


@pytest.mark.parametrize("section,sent,status", REFUSED)
def test_what_two_readers_cut_differently_is_refused(connect, section, sent, status):
    for pieces in ([sent + HIDDEN], [sent[:len(sent) // 2], sent[len(sent) // 2:] + HIDDEN],
                   [GET + b"\r\n" + sent + HIDDEN]):
        with connect() as connection:
            with contextlib.suppress(BrokenPipeError):  # refused before the second piece
                for piece in pieces:
                    connection.sendall(piece)
            answer = everything(connection)
        before = answer.count(b"HTTP/1.1 200 ")
        assert before == pieces[0].startswith(GET + b"\r\n"), (section, answer)
        assert b"ready" not in answer, (section, answer)
        assert answer.split(b"HTTP/1.1 ")[-1].startswith(b"%d " % status), (section, answer)
        assert answer.count(b"\r\nDate: ") == before + 1, (section, answer)


@pytest.mark.parametrize("sent", TAKEN)
def test_what_can_be_read_in_one_way_is_answered(connect, sent):
    with connect() as connection:
        connection.sendall(sent + HIDDEN[:-2] + b"Connection: close\r\n\r\n")
        answer = everything(connection)
    assert answer.count(b"\r\nDate: ") == 2, answer
    assert b"ready" in answer
