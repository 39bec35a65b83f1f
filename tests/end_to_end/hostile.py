"""What a tenant with a user's token does to a daemon: each attack is a function that a process of its own runs.

Few processes and no threads: a process holds its requests as connections that it looks after by epoll, so that what the
attackers take of the processors stays small beside what they make the daemon take."""
import collections
import contextlib
import io
import json
import resource
import selectors
import socket
import struct
import time
import zlib

import numpy as np
from daemon import Refused, _multipart

MIB = 1 << 20
ROWS_MIN = 5000

# Uploaded by tenant b, run by both.
PROGRAM = """
constant @nothing = float32[0] {}
constant @image slot 0 = int64[4] {1, 1, 4096, 4096}
constant @window slot 0 = int64[4] {1, 1, 2048, 2048}
constant @small_image slot 0 = int64[4] {1, 1, 2048, 2048}
constant @small_window slot 0 = int64[4] {1, 1, 1024, 1024}
constant @large slot 0 = int64[1] {4194304}
primitive %fill = ConstantOfShape
primitive %conv = Conv
primitive %neg = Neg
function main(a: float32[n]) -> (y: float32[n]) exported {
    InvokePacked %neg r0 -> r1
    Ret r1
}
function kernel() -> (y: float32[1, 1, 2049, 2049]) exported {
    InvokePacked %fill @image -> r0
    InvokePacked %fill @window -> r1
    InvokePacked %conv r0, r1 -> r2
    Ret r2
}
function small_kernels() -> (y: float32[1]) exported {
    InvokePacked %fill @small_image -> r0
    InvokePacked %fill @small_window -> r1
head:
    InvokePacked %conv r0, r1 -> r2
    Goto head
}
function endless() -> (y: float32[1]) exported {
    LoadConsti 0 -> r0
head:
    IntOp add, r0, 1 -> r0
    Goto head
}
function zeros() -> (y: float32[0]) exported {
    LoadConsti 0 -> r0
head:
    If r0, 128, done, body
body:
    InvokePacked %fill @large -> r1
    Yield r1
    IntOp add, r0, 1 -> r0
    Goto head
done:
    LoadConst @nothing -> r1
    Ret r1
}
function rows() -> (y: float32[0]) exported {
    LoadConsti 0 -> r0
    LoadConst @nothing -> r1
head:
    If r0, 100000, done, body
body:
    Yield r1
    IntOp add, r0, 1 -> r0
    Goto head
done:
    Ret r1
}
"""


def bomb(size):
    """An .npz with one array of so many zero bytes, some thousandth as long. Its checksum is wrong, which only those find
    out who have unpacked it."""
    block = bytes(4 * MIB)
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({size // 4},), }}".encode()
    head = b"\x93NUMPY\x01\x00\x76\x00" + head.ljust(117) + b"\n"
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    data += (packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)) * (size // len(block)) + b"\3\0"
    unpacked, name = size + len(head), b"a.npy"
    more = struct.pack("<HHQ", 1, 8, unpacked) if unpacked >= 0xffffffff else b""
    common = struct.pack("<HHHHHIIIHH", 45, 0, 8, 0, 0, 0, len(data), min(unpacked, 0xffffffff), len(name), len(more))
    local = b"PK\3\4" + common + name + more + data
    central = b"PK\1\2" + struct.pack("<H", 45) + common + struct.pack("<HHHII", 0, 0, 0, 0, 0) + name + more
    return local + central + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local), 0)


def npz(**arrays):
    data = io.BytesIO()
    np.savez(data, **arrays)
    return data.getvalue()


def submission(inputs, **policy):
    """The body of POST /v1/jobs and its type."""
    return _multipart({"policy": json.dumps(policy).encode(), **({"inputs": inputs} if inputs else {})})


class Tenant:
    """A daemon as a tenant's process sees it: requests one after the other, or many side by side until the end."""

    def __init__(self, daemon, token, until):
        self.daemon, self.token, self.until = daemon, token, until
        self.headers = {"Authorization": f"Bearer {token}"}
        self.seen = collections.Counter()  # statuses and what else happened

    def goes_on(self):
        return time.monotonic() < self.until

    def call(self, method, path, body=None, kind=None):
        """The answer, or None where it was refused; what else goes wrong is counted, too."""
        try:
            answer = self.daemon.exchange(method, path, body, kind, self.headers)
            self.seen[200] += 1
            return answer
        except Refused as refused:
            self.seen[refused.status] += 1
        except OSError:
            self.seen["cut"] += 1
        return None

    def submit(self, inputs=None, **policy):
        answer = self.call("POST", "/v1/jobs", *submission(inputs, **policy))
        return json.loads(answer)["job"] if answer else None

    def job(self, job):
        answer = self.call("GET", f"/v1/jobs/{job}")
        return json.loads(answer) if answer else None

    def wait(self, job, wanted, seconds=float("inf")):
        """Until wanted(job) or for so long: the job then; None at the end of the attack."""
        until, found = time.monotonic() + seconds, None
        while self.goes_on():
            found = self.job(job) or found
            if found and (wanted(found) or time.monotonic() >= until):
                return found
            time.sleep(0.1)
        return None

    def head(self, method, path, more=""):
        return f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.token}\r\n{more}\r\n".encode()

    def request(self, method, path, body=b"", kind="application/json"):
        return self.head(method, path, f"Connection: close\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n") + body

    def submission(self, inputs=None, **policy):
        return self.request("POST", "/v1/jobs", *submission(inputs, **policy))

    def connect(self, tcp=False):
        connection = socket.socket(socket.AF_INET if tcp else socket.AF_UNIX, socket.SOCK_STREAM)
        connection.setblocking(True)
        host, _, port = self.daemon.ready.get("listen", "").rpartition(":")
        connection.connect((host, int(port)) if tcp else self.daemon.socket)
        connection.setblocking(False)
        return connection


class Exchange:
    """One request on its way. The status is noted as it comes; what follows is thrown away, no faster than pace bytes each
    time, or left where it is (pace 0)."""

    def __init__(self, tenant, data, pace, tcp=False):
        self.tenant, self.left, self.pace, self.status = tenant, memoryview(data), pace, None
        self.begun, self.events = time.monotonic(), 0
        self.connection = tenant.connect(tcp)

    def send(self):
        try:
            self.left = self.left[self.connection.send(self.left[:MIB]):]
        except BlockingIOError:
            pass
        except OSError:  # refused before all of it was sent: the answer is there
            self.left = self.left[:0]

    def receive(self):
        """False: it is over."""
        try:
            data = self.connection.recv(self.pace or 32, 0 if self.pace else socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            data = b""
        if data and self.status is None:
            self.status = int(data[9:12])
            self.tenant.seen[self.status] += 1
        elif not data and self.status is None:
            self.tenant.seen["cut"] += 1
        return bool(data)


def side_by_side(tenant, data, count, pause_s, pace=256 << 10, hold_s=60, turn_s=0.02):
    """Keeps count requests under way until the end, the next ones of data each time, pause_s after the one before was over.
    One is over when its answer is, or after hold_s."""
    selector, free, under_way, turn = selectors.DefaultSelector(), [0.0] * count, set(), 0

    def watch(one):
        unread = one.status is not None and not one.pace
        events = (selectors.EVENT_WRITE if one.left else 0) | (0 if unread else selectors.EVENT_READ)
        if one.events:
            selector.unregister(one.connection)
        if events:
            selector.register(one.connection, events, one)
        one.events = events

    def end(one):
        if one.events:
            selector.unregister(one.connection)
        one.connection.close()
        under_way.discard(one)
        free.append(time.monotonic() + pause_s)

    while tenant.goes_on():
        now = time.monotonic()
        for due in [at for at in free if at <= now][:16]:
            free.remove(due)
            try:
                one = Exchange(tenant, data[turn % len(data)], pace)
                under_way.add(one)
                watch(one)
            except OSError:
                tenant.seen["cut"] += 1
                free.append(now + pause_s)
            turn += 1
        for key, events in selector.select(turn_s):
            if events & selectors.EVENT_WRITE:
                key.data.send()
            if events & selectors.EVENT_READ and not key.data.receive():
                end(key.data)
            else:
                watch(key.data)
        for one in [one for one in under_way if now - one.begun > hold_s]:
            end(one)
        time.sleep(turn_s)
    for one in list(under_way):
        end(one)


def bombs(b, given):
    """Archives that unpack to a thousand times their size, for a model that there is and for one that there is not."""
    side_by_side(b, [b.submission(given["bomb"], model=model) for model in ("nothing", "b")], 40, 1.0)


def submissions(b, given):
    """40 clients; every second job has a deadline that is over when it begins."""
    data = npz(a=np.zeros(25000, dtype="f4"))
    del given
    side_by_side(b, [b.submission(data, model="b"), b.submission(data, model="b", deadline=1e-6)], 40, 2)


def compilations(b, given):
    """18 uploads at a time of graphs, most of them larger than its quota lets it compile."""
    large, small = (b.request("POST", "/v1/models/chain", given[chain], "application/octet-stream")
                    for chain in ("chain", "small chain"))
    side_by_side(b, [small, large, large], 18, 0.5)


def kernels(b, given):
    """A convolution of minutes, cancelled and begun again."""
    del given
    while b.goes_on():
        job = b.submit(model="b", function="kernel")
        if not job:
            time.sleep(0.2)
            continue
        b.wait(job, lambda it: it["state"] == "running")
        b.seen["running"] += 1
        time.sleep(4)
        b.call("POST", f"/v1/jobs/{job}/cancel", b"{}", "application/json")


def uploads(b, given):
    """60 bodies of 18 MiB in chunks, of which the last one never comes. What goes beyond the quota is cut off."""
    del given
    piece = b"100000\r\n" + bytes(MIB) + b"\r\n"
    data = b.head("POST", "/v1/models/endless", "Transfer-Encoding: chunked\r\n") + 18 * piece
    while b.goes_on():
        side_by_side_for(b, 4, [data], 60, 1.0)
        time.sleep(3)  # what they hold leaves no room for the others' attacks


def rows(b, given):
    """Jobs of 100,000 outputs without an element, whose outputs are asked for, and which are then deleted. A job waits while
    the other attacks hold the room of the quota, and goes on when they give it back, some seconds later."""
    del given
    while b.goes_on():
        job = b.submit(model="b", function="rows")
        found = job and b.wait(job, lambda it: it["ended"] or it["outputs"] >= ROWS_MIN, 5)
        if not found:
            time.sleep(0.2)
            continue
        b.seen["rows"] += found["outputs"]
        side_by_side_for(b, 1.0, [b.request("GET", f"/v1/jobs/{job}/outputs?since={at}") for at in (0, 50000)], 4, 0.05)
        if not found["ended"]:
            b.call("POST", f"/v1/jobs/{job}/cancel", b"{}", "application/json")
        if b.call("DELETE", f"/v1/jobs/{job}"):
            b.seen["deleted"] += 1


def side_by_side_for(b, seconds, *arguments, **options):
    until, b.until = b.until, min(b.until, time.monotonic() + seconds)
    side_by_side(b, *arguments, **options)
    b.until = until


def unread_answers(b, given):
    """150 clients ask for an output of 8 MB and read nothing of it; in between others may have answers."""
    while b.goes_on():
        side_by_side_for(b, 5, [b.request("GET", f"/v1/jobs/{given['noise']}/outputs")], 150, 1.0, pace=0)
        time.sleep(2)


def zeros(b, given):
    """Eight clients read, slowly, outputs that unpack to a thousand times what they take as stored."""
    side_by_side(b, [b.request("GET", f"/v1/jobs/{given['zeros']}/outputs?since={at}") for at in range(given["zeros made"])],
                 8, 0.5, hold_s=3)


def idle_connections(b, given):
    """1,100 connections of one address that say nothing, opened again as they are closed."""
    del given
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, max(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
    idle = []
    while b.goes_on():
        for tcp in (True, False):
            for _ in range(20):
                if len(idle) < 2200:
                    with contextlib.suppress(OSError):
                        idle.append(b.connect(tcp))
                        b.seen["open"] += 1
        for connection in list(idle):
            with contextlib.suppress(BlockingIOError, OSError):
                if connection.recv(1) == b"":
                    b.seen["closed"] += 1
                    idle.remove(connection)
                    connection.close()
        time.sleep(0.1)


def resting_jobs(b, given):
    """As many suspended jobs as it gets, and lists of all its jobs; then it lets them go, for the others' sake."""
    del given
    data = [b.submission(model="b", function="endless", suspend_after=1), b.request("GET", "/v1/jobs")]
    while b.goes_on():
        side_by_side_for(b, 2, data, 6, 0.05)
        for line in (b.call("GET", "/v1/jobs?state=suspended") or b"").splitlines():
            job = json.loads(line)
            if job["outputs"] == 0 and b.goes_on():
                b.call("POST", f"/v1/jobs/{job['job']}/cancel", b"{}", "application/json")
        time.sleep(2)


# Attack: what has to be seen of it, or it proves nothing.
ATTACKS = {
    bombs: {404: 10, 429: 10},
    submissions: {200: 20},
    compilations: {200: 1, 429: 2},
    kernels: {"running": 1},
    uploads: {"cut": 60},
    rows: {"rows": ROWS_MIN, "deleted": 1},
    unread_answers: {200: 60, 429: 100},
    zeros: {200: 10},
    idle_connections: {"open": 2000, "closed": 200},
    resting_jobs: {200: 40, 429: 5},
}
