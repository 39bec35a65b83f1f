"""One daemon over HTTP: a socket's path, http:// or https://. Connections are kept, and any thread may ask."""
import http.client
import json
import os
import socket
import ssl
import threading
import typing
import urllib.parse

from layover._errors import make_error

PIECE_BYTES = 1 << 20
KEPT_MAX = 8  # idle connections


def default_server() -> str:
    """LAYOVER_SERVER, or the socket of the home's daemon."""
    server = os.environ.get("LAYOVER_SERVER")
    if server:
        return server
    for variable, below in (("LAYOVER_HOME", ""), ("XDG_DATA_HOME", "layover"), ("HOME", ".local/share/layover")):
        if os.environ.get(variable):
            return os.path.join(os.environ[variable], below, "socket")
    raise make_error("NOT_FOUND", "no server: LAYOVER_SERVER, LAYOVER_HOME, XDG_DATA_HOME and HOME are not set")


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def path_of(pattern: str, *names: str, **query: typing.Any) -> str:
    """An address: names for its braces, and a query of what is not None; a list repeats its name."""
    for name in names:
        start, end = pattern.index("{"), pattern.index("}") + 1
        pattern = pattern[:start] + urllib.parse.quote(str(name), safe="") + pattern[end:]
    words = {name: value for name, value in query.items() if value is not None}
    return pattern + ("?" + urllib.parse.urlencode(words, doseq=True) if words else "")


class Transport:
    """What sends requests and reads answers.

    server:  a socket's path, http://HOST:PORT or https://HOST:PORT.
    token:   goes with every request.
    tenant:  for whom an administrator acts.
    timeout: seconds without a byte after which a request fails; watching has none.
    cafile:  certificates to trust instead of the system's.
    """

    def __init__(self, server, token, tenant, timeout, cafile):
        self.server, self.tenant, self.timeout = server, tenant, timeout
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._url = urllib.parse.urlsplit(server) if "://" in server else None
        if self._url and self._url.scheme not in ("http", "https"):
            raise make_error("INVALID", f"{server}: a socket's path, http://HOST:PORT or https://HOST:PORT")
        self._tls = ssl.create_default_context(cafile=cafile) if self._url and self._url.scheme == "https" else None
        self._kept, self._lock, self._process = [], threading.Lock(), os.getpid()

    def close(self):
        """Closes idle connections. The next request opens a new one."""
        with self._lock:
            kept, self._kept = self._kept, []
        for connection in kept:
            connection.close()

    def _make(self):
        if self._url is None:
            return _UnixConnection(self.server, self.timeout)
        if self._tls is not None:
            return http.client.HTTPSConnection(self._url.netloc, timeout=self.timeout, context=self._tls)
        return http.client.HTTPConnection(self._url.netloc, timeout=self.timeout)

    def _take(self):
        """(a connection, whether it was used before)"""
        with self._lock:
            if self._process != os.getpid():  # a forked process must not share its parent's connections
                self._kept, self._process = [], os.getpid()
            if self._kept:
                return self._kept.pop(), True
        return self._make(), False

    def _keep(self, connection, response):
        if not response.isclosed() or response.will_close:
            connection.close()
            return
        with self._lock:
            if len(self._kept) < KEPT_MAX:
                self._kept.append(connection)
                return
        connection.close()

    def _send(self, method, path, body, headers):
        """(connection, response). A kept connection that the daemon closed meanwhile is replaced once: the request was not
        taken, as not a byte of an answer came."""
        if self.tenant is not None:
            path += ("&" if "?" in path else "?") + urllib.parse.urlencode({"tenant": self.tenant})
        while True:
            connection, used = self._take()
            try:
                try:
                    connection.request(method, path, body, {**self.headers, **headers})
                except BrokenPipeError:
                    if used:
                        raise
                return connection, connection.getresponse()
            except (http.client.RemoteDisconnected, ConnectionError) as error:
                connection.close()
                if not used or (body is not None and not isinstance(body, bytes)):
                    raise make_error("UNREACHABLE", f"{self.server}: {error}") from error
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                raise make_error("UNREACHABLE", f"{self.server}: {error or type(error).__name__}") from error

    def open(self, method, path, body=None, headers=None):
        """(connection, response) of a request that was answered with 200; the caller reads the answer and calls done()."""
        connection, response = self._send(method, path, body, headers or {})
        if response.status == 200:
            return connection, response
        text = response.read()
        self._keep(connection, response)
        try:
            answer = json.loads(text)
            code, message = answer["code"], answer["error"]
        except (ValueError, KeyError, TypeError):
            code, message = "FAILED", f"{self.server} answered {response.status} {response.reason}"
        raise make_error(code, message)

    def done(self, connection, response):
        """Gives a connection back whose answer was read."""
        self._keep(connection, response)

    def bytes(self, method, path, body=None, content_type=None):
        """(the whole answer, its headers)"""
        connection, response = self.open(method, path, body, {"Content-Type": content_type} if content_type else None)
        try:
            return response.read(), response.headers
        finally:
            self.done(connection, response)

    def json(self, method, path, body=None):
        """The answer's object. body: an object, sent as JSON."""
        text = None if body is None else json.dumps(body).encode()
        return json.loads(self.bytes(method, path, text, text and "application/json")[0])

    def pages(self, pattern, *names, **query):
        """The objects of a list, page after page."""
        while True:
            data, headers = self.bytes("GET", path_of(pattern, *names, **query))
            for line in data.splitlines():
                yield json.loads(line)
            query["after"] = headers.get("Layover-Next")
            if query["after"] is None:
                return

    def lines(self, path):
        """The objects of a stream, as they come."""
        connection, response = self.open("GET", path)
        try:
            connection.sock and connection.sock.settimeout(None)
            for line in response:
                yield json.loads(line)
        finally:
            connection.close()

    def upload(self, path, source):
        """Sends a file by its name; the answer's object."""
        with open(source, "rb") as file:
            headers = {"Content-Length": str(os.fstat(file.fileno()).st_size)}
            connection, response = self.open("POST", path, file, headers)
            try:
                return json.loads(response.read())
            finally:
                self.done(connection, response)

    def download(self, method, path, file, body=None):
        """Writes the answer to an open file; the number of bytes."""
        text = None if body is None else json.dumps(body).encode()
        connection, response = self.open(method, path, text, {"Content-Type": "application/json"} if text else None)
        try:
            size = 0
            while True:
                piece = response.read(PIECE_BYTES)
                if not piece:
                    return size
                file.write(piece)
                size += len(piece)
        finally:
            self.done(connection, response)
