"""Networks that tests can cut, slow down and make lossy: two namespaces and a cable, or a proxy that takes its time."""
import contextlib
import itertools
import os
import queue
import shutil
import socket
import subprocess
import threading
import time

import pytest

_numbers = itertools.count()


def _run(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{command}: {done.stderr.strip()}")


class Cable:
    """Two network namespaces, `a` at 10.77.0.1 and `b` at 10.77.0.2, and what connects them. Skips where there are none."""

    addresses = ("10.77.0.1", "10.77.0.2")

    def __enter__(self):
        missing = [tool for tool in ("ip", "tc", "nft", "nsenter") if not shutil.which(tool)]
        if os.geteuid() != 0 or missing:
            pytest.skip(f"needs {' '.join(missing)}" if missing else "only root can make network namespaces")
        name = f"layover-{os.getpid()}-{next(_numbers)}"
        self.a, self.b = f"{name}-a", f"{name}-b"
        self.namespaces, self.stack = (self.a, self.b), contextlib.ExitStack()
        try:
            self._make()
        except RuntimeError as error:
            self.stack.close()
            pytest.skip(f"no network namespaces here: {error}")
        return self

    def _make(self):
        for namespace in self.namespaces:
            _run("ip", "netns", "add", namespace)
            self.stack.callback(_run, "ip", "netns", "delete", namespace)
        _run("ip", "-n", self.a, "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", self.b)
        for namespace, address in zip(self.namespaces, self.addresses):
            _run("ip", "-n", namespace, "address", "add", f"{address}/24", "dev", "cable")
            for link in ("lo", "cable"):
                _run("ip", "-n", namespace, "link", "set", link, "up")

    def __exit__(self, *_):
        self.stack.close()

    def cut(self):
        _run("ip", "-n", self.a, "link", "set", "cable", "down")

    def mend(self):
        _run("ip", "-n", self.a, "link", "set", "cable", "up")

    def slow_down(self, rate):
        for namespace in self.namespaces:
            _run("tc", "-n", namespace, "qdisc", "add", "dev", "cable", "root", "tbf", "rate", rate, "burst", "64kb",
                 "latency", "50ms")

    def lose(self, percent):
        for namespace in self.namespaces:
            self._drop(namespace, f"numgen random mod 100 < {percent}")

    def close(self, namespace, port):
        """Nobody comes in there any more, though those in there go out."""
        self._drop(namespace, f"tcp dport {port}")

    def _drop(self, namespace, what):
        _run("ip", "netns", "exec", namespace, "nft", "add table ip test; add chain ip test input { type filter hook input "
             f"priority 0; }}; add rule ip test input {what} drop")


class SlowProxy:
    """Passes bytes on to a port of this machine, each way after a while."""

    def __init__(self, target, delay_s):
        self.target, self.delay_s = target, delay_s
        self.server = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.server.getsockname()[1]}"

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.server.accept()
                host, port = self.target.rsplit(":", 1)
                far = socket.create_connection((host, int(port)))
                for one, other in ((near, far), (far, near)):
                    on_the_way = queue.Queue(maxsize=4096)
                    threading.Thread(target=self._take, args=(one, on_the_way), daemon=True).start()
                    threading.Thread(target=self._give, args=(other, on_the_way), daemon=True).start()

    def _take(self, sock, on_the_way):
        data = b"-"
        while data:
            try:
                data = sock.recv(65536)
            except OSError:
                data = b""
            on_the_way.put((time.monotonic() + self.delay_s, data))

    def _give(self, sock, on_the_way):
        with contextlib.suppress(OSError):
            while True:
                when, data = on_the_way.get()
                time.sleep(max(0.0, when - time.monotonic()))
                if not data:
                    break
                sock.sendall(data)
            sock.shutdown(socket.SHUT_WR)
