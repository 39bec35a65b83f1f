"""Migrations over networks that are cut, slow or lossy, to nodes whose disk is full, whose clock is wrong, or that are no nodes."""
import contextlib
import http.server
import json
import subprocess
import threading
import time

import pytest
from daemon import Refused, equal
from disk import fill, small_disk  # noqa: F401  the fixture
from harness import FORBIDDEN, REFUSED, Home
from migration import Node, Pair, make_key, numbers, undisturbed, watched
from network import Cable, SlowProxy

SLOWER = "sim:0,speed=0.00003"  # a batch job takes ten seconds there
CUT_S = 3


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    return undisturbed(tmp_path_factory.mktemp("expected"))


@pytest.fixture
def cable():
    with Cable() as made:
        yield made


@pytest.fixture
def pair(tmp_path, cable):
    a, b = (Node(Home(tmp_path / name), name, device=SLOWER, listen=f"{address}:8443", namespace=namespace,
                 key=make_key(tmp_path / f"{name}.key"))
            for name, address, namespace in zip("ab", cable.addresses, cable.namespaces))
    with Pair(a, b) as nodes:
        yield nodes


@pytest.fixture
def near(tmp_path):
    with Pair(Node(Home(tmp_path / "a"), "a"), Node(Home(tmp_path / "b"), "b")) as nodes:
        yield nodes


def begin_copying(pair):
    """A batch job in the first round of its copying, which takes some seconds."""
    job = pair.submit("batch")
    pair.a.wait(job, lambda it: it["items_done"] > 0)
    pair.a.begin(job, pair.b, bandwidth=200000)
    pair.a.wait_phase(job, "copying")
    return job


def test_a_cut_while_it_copies(pair, cable, expected):
    job = begin_copying(pair)
    with watched(pair, job):
        time.sleep(0.5)
        cable.cut()
        before = pair.a.job(job)["items_done"]
        time.sleep(CUT_S)
        assert pair.a.job(job)["items_done"] > before  # it runs on meanwhile
        assert not pair.a.migration(job)["over"]
        cable.mend()
        assert pair.a.wait_phase(job, "moved", "aborted")["moved"]
    assert pair.check(job, expected["batch"]) is pair.b


def begin_and_stop(pair, cut=lambda: None):
    """A job that is stopped at a and prepared at b, which can't say so: it died, and comes back behind the cut."""
    pair.b.restart(dies_after="prepared")
    job = pair.submit("batch")
    pair.a.wait(job, lambda it: it["items_done"] > 0)
    pair.a.begin(job, pair.b)
    pair.b.wait_for_death()
    cut()
    pair.b.start()
    assert pair.b.state(job) == "in_doubt"
    return job


def test_a_cut_while_it_is_stopped(pair, cable, expected):
    job = begin_and_stop(pair, cable.cut)
    with watched(pair, job):
        assert pair.a.state(job) == "held"
        time.sleep(CUT_S)
        assert (pair.a.state(job), pair.a.migration(job)["phase"]) == ("held", "moving")
        cable.mend()
        assert pair.a.wait_phase(job, "moved", "aborted")["moved"]
        assert pair.settle(job) is pair.b
    assert pair.check(job, expected["batch"]) is pair.b


def test_a_cut_for_good_while_it_is_stopped(pair, cable, expected):
    """It goes on at the source, which says why; the next attempt works at once."""
    job = begin_and_stop(pair, cable.cut)
    with watched(pair, job):
        found = pair.a.wait_phase(job, "moved", "aborted")
        assert not found["moved"] and found["error"]
        done = pair.a.wait(job, lambda it: it["state"] == "running")["items_done"]
        pair.a.wait(job, lambda it: it["items_done"] > done)
        whys = [event["why"] for event in pair.a.job(job)["events"] if event["why"]]
        assert any("did not migrate to b" in why for why in whys), whys
        assert pair.b.state(job) == "in_doubt"
        cable.mend()
        pair.a.home.call("migrate", job, "--to", "b")
        assert pair.settle(job) is pair.b
    assert pair.check(job, expected["batch"]) is pair.b


def in_doubt_behind_a_cut(pair, cable, kind="batch"):
    """A job in doubt at b, held at a, and nothing between them."""
    pair.a.end()
    pair.a.start(dies_after="answered")
    job = pair.submit(kind)
    pair.a.wait(job, lambda it: it["state"] == "running")
    pair.a.begin(job, pair.b)
    pair.a.wait_for_death()
    cable.cut()
    pair.a.start()
    held = pair.a.job(job)
    assert held["state"] == "held" and held["migrating"] == "b" and "to go to b" in held["events"][-1]["why"]
    assert pair.b.state(job) == "in_doubt"
    return job


def test_a_job_in_doubt_waits_until_somebody_adopts_it(pair, cable, expected):
    job = in_doubt_behind_a_cut(pair, cable)
    with watched(pair, job):
        time.sleep(7)  # longer than the quiet after which each asks the other
        assert (pair.a.state(job), pair.b.state(job)) == ("held", "in_doubt")
        assert pair.b.home.call("adopt", job, "--source-is-dead").json["state"] in ("queued", "running")
        time.sleep(1)
        assert pair.a.state(job) == "held"
        cable.mend()
        assert pair.settle(job) is pair.b
    assert pair.a.state(job) == "moved"
    pair.a.home.call("resume", job, expect=FORBIDDEN)
    assert pair.check(job, expected["batch"]) is pair.b


def test_an_adopted_job_that_is_gone_when_its_source_comes_back(pair, cable, expected):
    job = in_doubt_behind_a_cut(pair, cable)
    pair.b.home.call("adopt", job, "--source-is-dead")
    equal(pair.b.finished(job), expected["batch"])
    pair.b.home.call("rm-job", job)
    cable.mend()
    end = time.monotonic() + 60
    while pair.a.unsettled() or pair.b.unsettled():
        assert time.monotonic() < end, (pair.a.unsettled(), pair.b.unsettled())
        time.sleep(0.1)
    assert (pair.a.state(job), pair.b.state(job)) == ("moved", None)


@pytest.mark.parametrize("verb, state", [("resume", "running"), ("cancel", "cancelled")])
def test_somebody_decides_at_a_source_that_holds_a_job(pair, cable, expected, verb, state):
    """It is the source's until it says otherwise: what is in doubt at the target goes."""
    job = in_doubt_behind_a_cut(pair, cable)
    pair.a.home.call(verb, job)
    pair.a.wait(job, lambda it: it["state"] == state)
    with watched(pair, job):
        cable.mend()
        assert pair.settle(job) is pair.a
    assert pair.b.state(job) is None
    if verb == "resume":
        assert pair.check(job, expected["batch"]) is pair.a
    else:
        pair.leave_nothing(pair.a, job)


def test_a_job_in_doubt_is_settled_when_the_cable_is_mended(pair, cable, expected):
    job = in_doubt_behind_a_cut(pair, cable, "single")
    cable.mend()
    assert pair.settle(job) is pair.a
    assert pair.check(job, expected["single"]) is pair.a


def test_the_target_asks_a_source_that_does_not_reach_it(pair, cable, expected):
    """What is prepared waits as long as the source says that it is undecided, and goes when that one gives up."""
    job = begin_and_stop(pair, lambda: cable.close(cable.b, 8443))
    with watched(pair, job):
        found = pair.a.wait_phase(job, "moved", "aborted")
        assert not found["moved"] and found["error"]
        assert pair.settle(job) is pair.a
    assert pair.b.state(job) is None
    assert pair.check(job, expected["batch"]) is pair.a


def test_one_packet_in_a_hundred_is_lost(pair, cable, expected):
    cable.lose(1)
    job = pair.submit("batch")
    pair.a.wait(job, lambda it: it["items_done"] > 0)
    with watched(pair, job):
        for source, target in ((pair.a, pair.b), (pair.b, pair.a), (pair.a, pair.b)):
            source.home.call("migrate", job, "--to", target.name)
            target.wait(job, lambda it: it["state"] == "running" or it["ended"])
        assert pair.settle(job) is pair.b
    assert pair.check(job, expected["batch"]) is pair.b


def test_a_narrow_cable(pair, cable):
    cable.slow_down("50mbit")
    items = numbers(16384)  # 4 MB
    job = pair.a.submit("work", {"a": items}, function="item", items=True, batch=256)
    pair.a.suspend(job)
    moved = pair.a.home.call("migrate", job, "--to", "b").json
    assert moved["bytes_sent"] > 3 << 20
    assert moved["bytes_sent"] * 8 / moved["seconds"] < 60e6  # it is really that narrow
    assert pair.check(job, {"y": items + items + items}) is pair.b


def test_a_long_way(tmp_path, expected):
    """50 ms each way, through a proxy."""
    a, b = (Node(Home(tmp_path / name), name, device=SLOWER, listen="127.0.0.1:0") for name in "ab")
    with contextlib.ExitStack() as stack:
        pair = stack.enter_context(Pair(a, b, strangers=True))
        for node in pair.nodes:
            node.proxy = stack.enter_context(SlowProxy(node.listen, 0.05)).address
        pair.introduce()
        job = pair.submit("batch")
        a.wait(job, lambda it: it["items_done"] > 0)
        with watched(pair, job):
            moved = a.home.call("migrate", job, "--to", "b").json
            assert moved["downtime_ms"] > 100  # it is really that far
            b.wait(job, lambda it: it["state"] == "running")
        assert pair.check(job, expected["batch"]) is b


def test_a_target_whose_disk_is_full(tmp_path, small_disk, expected):  # noqa: F811
    with Pair(Node(Home(tmp_path / "a"), "a", device=SLOWER), Node(Home(small_disk / "b"), "b")) as pair:
        job = pair.submit("batch")
        pair.a.wait(job, lambda it: it["items_done"] > 0)
        filler = fill(small_disk)
        result = pair.a.home.call("migrate", job, "--to", "b", expect=REFUSED)
        assert "did not migrate" in result.err
        done = pair.a.wait(job, lambda it: it["state"] == "running")["items_done"]
        pair.a.wait(job, lambda it: it["items_done"] > done)
        filler.unlink()
        pair.a.home.call("migrate", job, "--to", "b")
        assert pair.check(job, expected["batch"]) is pair.b


class OtherVersion(http.server.ThreadingHTTPServer):
    """A node that understood us when it was added, and has another protocol since."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), OtherVersion.Handler)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            known = self.path == "/v1/peer"
            body = json.dumps({"node": "3f9a0c72d1e4", "role": "node", "protocol": {"min": 1, "max": 1}, "layover": "9.9",
                               "unfinished": 1, "waiting": 1, "devices": 2} if known else
                              {"error": "no common protocol: 7 to 9 here", "code": "UNSUPPORTED"}).encode()
            self.send_response(200 if known else 400)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


def test_another_protocol(near, expected):
    job = near.submit("single")
    near.a.wait(job, lambda it: it["state"] == "running")
    with OtherVersion() as peer:
        near.a.home.call("node", "add", "old", f"http://127.0.0.1:{peer.server_address[1]}", "--token", "t")
        near.a.home.refuses("migrate", job, "--to", "old", code=REFUSED, words=["no common protocol"])
    assert near.a.state(job) == "running"
    # and as the one that is asked
    token = {"Authorization": "Bearer " + near.b.json("POST", "/v1/tokens", {"role": "node"})["token"]}
    near.b.json("POST", "/v1/peer", {"node": "3f9a0c72d1e4", "protocol": {"min": 1, "max": 9}}, token)
    with pytest.raises(Refused, match="no common protocol"):
        near.b.json("POST", f"/v1/peer/arrivals/{job}?epoch=0&attempt=9",
                    {"protocol": 9, "tenant": "default", "executable": "0" * 64, "bytes": 1}, token)
    assert near.check(job, expected["single"]) is near.a


SKEW = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
static long skew(void) { const char *text = getenv("TEST_SKEW_S"); return text ? atol(text) : 0; }
int clock_gettime(clockid_t id, struct timespec *out) {
    static int (*next)(clockid_t, struct timespec *);
    if (!next) next = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = next(id, out);
    if (id == CLOCK_REALTIME) out->tv_sec += skew();
    return result;
}
time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}
int gettimeofday(struct timeval *restrict out, void *restrict zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    out->tv_sec = now.tv_sec;
    out->tv_usec = now.tv_nsec / 1000;
    return 0;
}
"""


@pytest.fixture(scope="module")
def skewed(tmp_path_factory):
    """skewed(seconds): the environment of a process whose calendar is so much ahead."""
    folder = tmp_path_factory.mktemp("skew")
    (folder / "skew.c").write_text(SKEW, encoding="ascii")
    try:
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", folder / "skew.so", folder / "skew.c", "-ldl"], check=True)
    except FileNotFoundError:
        pytest.skip("no gcc")
    return lambda seconds: {"LD_PRELOAD": str(folder / "skew.so"), "TEST_SKEW_S": str(seconds)}


@pytest.mark.parametrize("skew", [-3600, 3600])
def test_clocks_that_differ(near, expected, skewed, skew):
    """Half an hour is left until the deadline, there as here, and what ended is kept for the tenant's retention."""
    near.b.kill()
    near.b.start(environment=skewed(skew))
    near.b.json("POST", "/v1/tenants/default", {"retention": 1800})
    job = near.submit("batch", deadline=1800)
    near.a.wait(job, lambda it: it["items_done"] > 0)
    with watched(near, job):
        near.a.home.call("migrate", job, "--to", "b")
        arrived = near.b.wait(job, lambda it: it["state"] == "running")
    there = time.time() + skew
    assert abs(arrived["submitted"] - there) < 300  # the clock is really that wrong
    (deadline,), = near.b.read("SELECT deadline FROM jobs WHERE state IN (1, 2)")
    assert 1500 < deadline - there <= 1800
    near.b.wait(job, lambda it: it["ended"])
    time.sleep(3)  # housekeeping has looked, and the settling too
    assert near.b.job(job)["state"] == "succeeded"
    assert near.settle(job) is near.b
    near.b.end()
    near.b.start(environment=skewed(skew))
    assert near.check(job, expected["batch"]) is near.b
