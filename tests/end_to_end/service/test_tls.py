"""A daemon on TCP with TLS: clients that trust its certificate come in, others do not, and nobody without a token."""
import json
import shutil
import socket
import ssl
import subprocess

import pytest
from daemon import Daemon
from harness import NOT_FOUND, UNREACHABLE, USAGE


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    if not shutil.which("openssl"):
        pytest.skip("no openssl to make a certificate with")
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                    "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout",
                    folder / "key.pem", "-out", folder / "cert.pem"], check=True, capture_output=True)
    return folder


@pytest.fixture
def served(home, certificate):
    with Daemon(home, "--listen", "127.0.0.1:0", "--tls-cert", certificate / "cert.pem", "--tls-key",
                certificate / "key.pem") as daemon:
        yield daemon


def environment(served, certificate=None, token=None):
    return {"LAYOVER_SERVER": f"https://{served.ready['listen']}", "LAYOVER_TOKEN": token or "",
            "LAYOVER_CA": str(certificate / "cert.pem") if certificate else ""}


def test_a_client_that_trusts_the_certificate_comes_in(served, certificate):
    token = served.json("POST", "/v1/tokens", {"tenant": "default", "role": "user"})["token"]
    served.home.call("models", environment=environment(served, certificate, token))
    served.home.call("show", "nothing", expect=NOT_FOUND, environment=environment(served, certificate, token))


def test_the_certificate_is_checked(served):
    result = served.home.call("models", expect=UNREACHABLE, environment=environment(served, token="x"))
    assert "LAYOVER_CA" in json.loads(result.err)["error"]["message"]


def test_nobody_comes_in_without_a_token(served, certificate):
    assert served.home.try_call("models", environment=environment(served, certificate)).code == 4


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_tls_of_this_decade(served, certificate, version):
    context = ssl.create_default_context(cafile=certificate / "cert.pem")
    context.minimum_version = context.maximum_version = version
    host, port = served.ready["listen"].rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=10) as plain, \
            context.wrap_socket(plain, server_hostname="localhost") as connection:
        connection.sendall(b"GET /v2/health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 200")


def test_plain_http_is_not_answered(served):
    host, port = served.ready["listen"].rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=10) as plain:
        plain.sendall(b"GET /v2/health/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"HTTP/1.1 200" not in plain.recv(1000)


@pytest.mark.parametrize("arguments, code, words", [
    (("--tls-cert", "cert.pem"), USAGE, "belong together"),
    (("--tls-cert", "cert.pem", "--tls-key", "key.pem"), USAGE, "--listen"),
    (("--listen", "127.0.0.1:0", "--tls-cert", "absent.pem", "--tls-key", "key.pem"), NOT_FOUND, "absent.pem"),
    (("--listen", "127.0.0.1:0", "--tls-cert", "key.pem", "--tls-key", "key.pem"), 1, "certificate"),
])
def test_what_is_no_certificate_is_refused(home, certificate, arguments, code, words):
    home.refuses("serve", *arguments, code=code, words=[words], folder=certificate)
