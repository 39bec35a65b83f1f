"""A daemon and its HTTP over the unix socket."""
import http.client
import io
import json
import os
import signal
import socket
import subprocess
import time

import harness
import numpy as np

READY_S = 60


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


# A generation of 200 tokens takes half a second on this device, and a twentieth of that on cpu. Tests that suspend,
# fork or stop a running job use the device, so that the job has not ended before.
SLOWER = "sim:0,speed=0.2"


class Refused(Exception):
    def __init__(self, status, body):
        super().__init__(f"{status}: {body}")
        self.status, self.code = status, body.get("code")


def _multipart(parts):
    boundary = "layover-test-boundary"
    body = io.BytesIO()
    for name, data in parts.items():
        body.write(f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'.encode())
        body.write(data + b"\r\n")
    body.write(f"--{boundary}--\r\n".encode())
    return body.getvalue(), f"multipart/form-data; boundary={boundary}"


class Daemon:
    """`layover serve` on a home. Entering starts it; leaving ends it, if it still runs."""

    def __init__(self, home, *arguments):
        self.home, self.arguments, self.process = home, arguments, None
        self.socket = os.path.join(home.path, "socket")

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.end()

    def command(self):
        return self.home.command("serve", *self.arguments)

    def start(self, environment=None):
        self.process = subprocess.Popen(self.command(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env={**os.environ, **(environment or {})})
        line = self.process.stdout.readline()
        assert line, self.process.communicate(timeout=READY_S)
        self.ready = json.loads(line)
        assert self.ready["ready"] and self.ready["pid"] == self.process.pid

    def kill(self):
        self.process.kill()
        self.process.communicate()

    def end(self):
        """SIGTERM; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=harness.TIMEOUT_S)
        assert "Sanitizer" not in err and "runtime error:" not in err, out + err
        return self.process.returncode

    def request(self, method, path, body=None, content_type=None, headers=None):
        if self.process.poll() is not None:
            out, err = self.process.communicate()
            raise ConnectionError(f"the daemon ended with {self.process.returncode}: {out}{err}")
        return self.exchange(method, path, body, content_type, headers)

    def exchange(self, method, path, body=None, content_type=None, headers=None):
        """As request, whether it runs or not, and on any thread."""
        return self.answer(method, path, body, content_type, headers)[0]

    def answer(self, method, path, body=None, content_type=None, headers=None):
        """exchange, with the answer's headers."""
        connection = _UnixConnection(self.socket, harness.TIMEOUT_S)
        try:
            try:
                connection.request(method, path, body,
                                   {**({"Content-Type": content_type} if content_type else {}), **(headers or {})})
            except BrokenPipeError:
                pass  # refused before all of it was sent: the answer is there
            response = connection.getresponse()
            data = response.read()
        finally:
            connection.close()
        if response.status != 200:
            raise Refused(response.status, json.loads(data))
        return data, response.headers

    def json(self, method, path, body=None, headers=None):
        text = json.dumps(body).encode() if body is not None else None
        return json.loads(self.request(method, path, text, "application/json" if text else None, headers))

    def lines(self, path, headers=None):
        return [json.loads(line) for line in self.request("GET", path, headers=headers).splitlines()]

    def submit(self, model, arrays, headers=None, **policy):
        return self.submitted(model, arrays, headers, **policy)["job"]

    def submitted(self, model, arrays, headers=None, **policy):
        """The whole answer."""
        data = io.BytesIO()
        np.savez(data, **arrays)
        body, content_type = _multipart({"policy": json.dumps({"model": model, **policy}).encode(),
                                         "inputs": data.getvalue()})
        return json.loads(self.request("POST", "/v1/jobs", body, content_type, headers))

    def job(self, job, headers=None):
        return self.json("GET", f"/v1/jobs/{job}", headers=headers)

    def change(self, job, verb, **options):
        return self.json("POST", f"/v1/jobs/{job}/{verb}", options)

    def suspend(self, job):
        """Asks again as long as the job has not reached a safepoint: a request waits 0.8 s for one, and on a
        machine with much else to do a kernel takes longer."""
        end = time.monotonic() + harness.TIMEOUT_S
        while True:
            try:
                return self.change(job, "suspend")
            except Refused as refused:
                if "no safepoint" not in str(refused) or time.monotonic() > end:
                    raise
            time.sleep(0.02)

    def outputs(self, job, since=0, headers=None):
        """All from since on, of as many answers as it takes; a batch job's behind each other."""
        found, visible = {}, None
        while visible is None or since < visible:
            data, head = self.answer("GET", f"/v1/jobs/{job}/outputs?since={since}", headers=headers)
            with np.load(io.BytesIO(data)) as arrays:
                for name in arrays.files:
                    found.setdefault(name, []).append(arrays[name])
            since = int(head["Layover-Next"])
            visible = self.job(job, headers)["outputs"] if visible is None else visible
        return {name: pieces[0] if len(pieces) == 1 else np.concatenate(pieces) for name, pieces in found.items()}

    def watch(self, job, since=0):
        data = self.request("GET", f"/v1/jobs/{job}/watch?since={since}")
        return [json.loads(line) for line in data.splitlines()]

    def wait(self, job, wanted, seconds=120):
        """Until wanted(job) is true; the job then."""
        end = time.monotonic() + seconds
        while True:
            found = self.job(job)
            if wanted(found):
                return found
            assert time.monotonic() < end, found
            time.sleep(0.02)

    def finished(self, job):
        found = self.wait(job, lambda it: it["ended"])
        assert found["state"] == "succeeded", found
        return self.outputs(job)


def equal(one, two):
    assert sorted(one) == sorted(two)
    for name, array in one.items():
        assert (array.dtype, array.shape) == (two[name].dtype, two[name].shape), name
        assert array.tobytes() == two[name].tobytes(), f"{name} differs"
