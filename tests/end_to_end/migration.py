"""Two daemons that jobs move between, and what holds afterwards, whatever happened on the way."""
import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import threading
import time

import harness
import numpy as np
import pytest
from daemon import Daemon, Refused, equal

# Each of the jobs below takes a few seconds on the slow one, and none on the fast one: the same arithmetic.
SLOW, FAST = "sim:0,speed=0.0001", "sim:0"
ROUNDS, ROWS, ITEMS, WIDTH = 250, 32, 2048, 64
WORK = """primitive %%add = Add
function main(a: float32[n, m], one: float32[1]) -> (y: float32[n, m]) exported {
    LoadConsti 0 -> r2
    Move r0 -> r3
head:
    IntOp add, r2, 1 -> r2
    InvokePacked %%add r3, r0 -> r3
    InvokePacked %%add r1, r1 -> r4
    DeviceCopy r4, 0 -> r4
    ReadScalar r4 -> r5
    If r2, %d, done, head
done:
    Ret r3
}
function yields(a: float32[n, m]) -> (y: float32[n, m]) exported {
    LoadConsti 0 -> r1
    Move r0 -> r2
head:
    IntOp add, r1, 1 -> r1
    InvokePacked %%add r2, r0 -> r2
    Yield r2
    If r1, %d, done, head
done:
    Ret r2
}
function item(a: float32[n, m]) -> (y: float32[n, m]) exported {
    InvokePacked %%add r0, r0 -> r1
    InvokePacked %%add r1, r0 -> r1
    Ret r1
}
""" % (ROUNDS, ROUNDS)
SETTLE_S = 90
GONE = (None, "moved")  # the job is not this node's
RESETS = (ConnectionError, http.client.HTTPException, EOFError, OSError, ValueError)
STATES = {1: "queued", 2: "suspended", 3: "succeeded", 4: "failed", 5: "cancelled", 6: "moved", 7: "released",
          8: "held", 9: "in_doubt"}


def steps():
    """Of migration_steps.def, in order: (text, side)."""
    with open(os.path.join(harness.ROOT, "scheduler", "migration", "migration_steps.def"), encoding="ascii") as file:
        rows = re.findall(r'^MIGRATION_STEP\(\w+, "(\w+)", (SOURCE|TARGET)', file.read(), re.MULTILINE)
    assert len(rows) >= 10
    return rows


def numbers(rows):
    return np.random.default_rng(rows).standard_normal((rows, WIDTH), dtype=np.float32)


KINDS = {
    "single": ({"a": numbers(ROWS), "one": np.ones(1, dtype=np.float32)}, {"function": "main", "checkpoint_every": 0.2}),
    "yields": ({"a": numbers(ROWS)}, {"function": "yields", "checkpoint_every": 0.2}),
    "batch": ({"a": numbers(ITEMS)}, {"function": "item", "items": True, "batch": 8, "checkpoint_every": 0.2}),
}


def make_key(folder):
    """A certificate that nobody signed for, as nodes have."""
    if not shutil.which("openssl"):
        pytest.skip("no openssl to make a certificate with")
    folder.mkdir()
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                    "2", "-subj", "/CN=nobody", "-keyout", folder / "key.pem", "-out", folder / "cert.pem"],
                   check=True, capture_output=True)
    return folder


def register(home):
    path = pathlib.Path(f"{home.path}.lva")
    path.write_text(WORK, encoding="ascii")
    home.call("register", "work", path)


class Node(Daemon):
    """A daemon that comes back under the same address: its socket, or where `listen` is given that one, with TLS if
    there is a key, in a network of its own if there is a namespace."""

    def __init__(self, home, name, device=SLOW, listen=None, key=None, namespace=None):
        super().__init__(home)
        self.name, self.device, self.listen, self.key, self.namespace = name, device, listen, key, namespace
        self.proxy = None

    def command(self):
        enter = ["nsenter", f"--net=/run/netns/{self.namespace}"] if self.namespace else []
        listen = ["--listen", self.listen] if self.listen else []
        key = ["--tls-cert", self.key / "cert.pem", "--tls-key", self.key / "key.pem"] if self.key else []
        return [*enter, *self.home.command("serve", "--grace", "5", "--device", self.device, *listen, *key)]

    def start(self, environment=None, dies_after=None, device=None):
        self.device = device or self.device
        super().start({**(environment or {}), **({"LAYOVER_DIE_AFTER_STEP": dies_after} if dies_after else {})})
        if self.listen:
            self.listen = self.ready["listen"]

    @property
    def address(self):
        """What others know it by."""
        return f"http{'s' if self.key else ''}://{self.proxy or self.listen}" if self.listen else self.socket

    def restart(self, **options):
        self.kill()
        self.start(**options)

    def wait_for_death(self):
        out, err = self.process.communicate(timeout=SETTLE_S)
        assert self.process.returncode == -signal.SIGKILL, out + err

    @property
    def runs(self):
        return self.process is not None and self.process.poll() is None

    def trust(self, other):
        token = other.json("POST", "/v1/tokens", {"role": "node"})["token"]
        key = other.ready["fingerprint"]
        self.home.call("node", "add", other.name, other.address, "--token", token,
                       *(["--fingerprint", key] if key else []))

    def begin(self, job, to, **options):
        """Begins to move it; the daemon may die of it."""
        with contextlib.suppress(*RESETS):
            self.change(job, "migrate", to=to.name, **options)

    def migration(self, job):
        return self.json("GET", f"/v1/jobs/{job}/migration")

    def wait_phase(self, job, *phases, seconds=SETTLE_S):
        end = time.monotonic() + seconds
        while (found := self.migration(job))["phase"] not in phases:
            assert not found["over"] and time.monotonic() < end, found
            time.sleep(0.01)
        return found

    def state(self, job):
        """Its state here; None: there is no such job, or the daemon is down."""
        try:
            return json.loads(self.exchange("GET", f"/v1/jobs/{job}"))["state"]
        except Refused as refused:
            assert refused.status in (404, 503), refused
        except RESETS:
            pass
        return None

    def read(self, sql, *values):
        with contextlib.closing(sqlite3.connect(f"file:{self.home.path}/catalog.db?mode=ro", uri=True,
                                                timeout=30)) as catalog:
            return catalog.execute(sql, values).fetchall()

    def stored(self, job):
        """As it stands in the store: (state, epoch); (None, None): there is no such job."""
        node, number = job.split("-")
        rows = self.read("SELECT state, epoch FROM jobs WHERE node = ? AND number = ?", int(node, 16), int(number))
        return (STATES[rows[0][0]], rows[0][1]) if rows else (None, None)

    def unsettled(self):
        return (self.read("SELECT 'departure', attempt, progress FROM departures WHERE progress < 2") +
                self.read("SELECT 'arrival', attempt, progress FROM arrivals"))


class Pair:
    """Nodes a and b, which know each other unless they are strangers; the model `work` is a's alone, or both's."""

    def __init__(self, a, b, strangers=False, both_have_it=False):
        self.a, self.b, self.nodes, self.strangers, self.both_have_it = a, b, (a, b), strangers, both_have_it
        self.chunks = {}

    def __enter__(self):
        register(self.a.home)
        if self.both_have_it:
            register(self.b.home)
        else:
            self.b.home.call("models")
        for node in self.nodes:
            self.chunks[node] = node.home.call("fsck").json["chunks"]
            node.start()
        if not self.strangers:
            self.introduce()
        return self

    def introduce(self):
        self.a.trust(self.b)
        self.b.trust(self.a)

    def __exit__(self, *_):
        for node in self.nodes:
            if node.runs:
                node.kill()

    def other(self, node):
        return self.b if node is self.a else self.a

    def submit(self, kind, node=None, **policy):
        arrays, wanted = KINDS[kind]
        return (node or self.a).submit("work", arrays, **{**wanted, **policy})

    def settle(self, job):
        """Until no migration is under way on either side, and no offer is remembered; the owner of the job."""
        end = time.monotonic() + SETTLE_S
        while any(node.unsettled() for node in self.nodes):
            assert time.monotonic() < end, [(node.name, node.unsettled(), node.stored(job)) for node in self.nodes]
            time.sleep(0.05)
        return self.owner(job)

    def owner(self, job):
        found = {node.name: node.stored(job) for node in self.nodes}
        owners = [node for node in self.nodes if found[node.name][0] not in GONE]
        assert len(owners) == 1, found
        owner, other = owners[0], self.other(owners[0])
        assert found[owner.name][0] not in ("held", "in_doubt"), found
        if found[other.name][0] == "moved":
            assert found[other.name][1] < found[owner.name][1], found
        return owner

    def check(self, job, expected):
        """Settled, whole, and nothing is left behind; the owner."""
        owner = self.settle(job)
        if not owner.job(job)["ended"]:
            owner.end()
            owner.start(device=FAST)
            if owner.job(job)["state"] == "suspended":
                owner.change(job, "resume")
        equal(owner.finished(job), expected)
        check_history(owner, job)
        assert self.owner(job) is owner
        self.leave_nothing(owner, job)
        return owner

    def leave_nothing(self, owner, job):
        owner.home.call("rm-job", job)
        for node in self.nodes:
            code = node.end()
            assert code == harness.DONE, (node.name, code)
            node.home.is_clean()
            node.home.call("gc")
            node.home.is_clean()
            assert node.unsettled() == []
            assert node.home.call("fsck").json["chunks"] == self.chunks[node], node.name


def check_history(owner, job):
    """What its followers are told: every output once, in order, and never fewer than before."""
    lines = owner.watch(job)
    numbered = [line["seq"] for line in lines[:-1]]
    assert numbered == sorted(set(numbered)), lines
    outputs = [line["outputs"] for line in lines if line.get("outputs") is not None]
    assert outputs == sorted(set(outputs)), lines
    assert not any(event["kind"] == "diverged" for event in owner.job(job)["events"])


@contextlib.contextmanager
def watched(pair, job):
    """Meanwhile both are asked again and again: at no time do two of them run it."""
    runs = ("running", "queued")

    def look():
        looks = 0
        while not over.is_set():
            # one is asked before and after the other: what holds both times held in between
            for one in pair.nodes:
                found = [node.state(job) for node in (one, pair.other(one), one)]
                assert not all(state in runs for state in found), (one.name, found)
            looks += 1
            time.sleep(0.005)
        return looks

    over = threading.Event()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        looks = pool.submit(look)
        try:
            yield
        finally:
            over.set()
        assert looks.result() > 0


def undisturbed(folder):
    """Of each kind of job: its outputs on a daemon that is left alone."""
    home = harness.Home(folder / "undisturbed")
    register(home)
    with Daemon(home) as daemon:
        jobs = {kind: daemon.submit("work", arrays, **{**policy, "checkpoint_every": 100})
                for kind, (arrays, policy) in KINDS.items()}
        expected = {kind: daemon.finished(job) for kind, job in jobs.items()}
    assert len(expected["yields"]) == ROUNDS + 1 and len(expected["batch"]["y"]) == ITEMS
    return expected
