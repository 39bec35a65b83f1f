"""Jobs that move to another node while they run, wait or rest, and give what they give where nobody moves them."""
import json
import time

import numpy as np
import pytest
from daemon import Refused, equal
from harness import FORBIDDEN, NOT_FOUND, REFUSED, USAGE, Home, load
from migration import FAST, ROUNDS, SLOW, Node, Pair, make_key, numbers, undisturbed, watched


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    return undisturbed(tmp_path_factory.mktemp("expected"))


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    return make_key(folder / "one"), make_key(folder / "two")


@pytest.fixture
def pair(tmp_path, keys):
    with Pair(Node(Home(tmp_path / "a"), "a", listen="127.0.0.1:0", key=keys[0]),
              Node(Home(tmp_path / "b"), "b", listen="127.0.0.1:0", key=keys[1])) as nodes:
        yield nodes


@pytest.fixture
def near(tmp_path):
    """As pair, by their sockets."""
    with Pair(Node(Home(tmp_path / "a"), "a"), Node(Home(tmp_path / "b"), "b")) as nodes:
        yield nodes


def is_in_the_middle(job):
    assert not job["ended"], job
    return job["state"] == "running" and (job["items_done"] or job["outputs"] or job["device_seconds"] > 0.1)


def migrate(source, job, target, *arguments):
    moved = source.home.call("migrate", job, "--to", target.name, *arguments).json
    assert (moved["job"], moved["node"]) == (job, target.name) and moved["rounds"] >= 1 and moved["seconds"] > 0
    assert sorted(moved) == ["bytes_sent", "downtime_ms", "job", "node", "rounds", "seconds"]
    return moved


@pytest.mark.parametrize("kind", ["single", "batch", "yields"])
def test_a_running_job_moves(pair, expected, kind):
    job = pair.submit(kind)
    before = pair.a.wait(job, is_in_the_middle)
    with watched(pair, job):
        assert migrate(pair.a, job, pair.b)["downtime_ms"] > 0
        there = pair.b.wait(job, is_in_the_middle)
    assert pair.a.state(job) == "moved"
    for field in ("tenant", "priority", "items_total"):
        assert there[field] == before[field], field
    assert there["model"].split("@")[0] == before["model"].split("@")[0]
    assert (there["items_done"] or 0) >= (before["items_done"] or 0) and there["outputs"] >= before["outputs"]
    assert pair.check(job, expected[kind]) is pair.b


def test_items_before_and_after_the_move(near, expected):
    """Outputs that the source made come along as they are, and are not made again."""
    job = near.submit("batch")
    near.a.wait(job, is_in_the_middle)
    near.a.suspend(job)
    near.a.change(job, "resume")
    near.a.wait(job, is_in_the_middle)
    migrate(near.a, job, near.b)
    near.b.wait(job, lambda it: it["items_done"] < it["items_total"])
    near.b.suspend(job)
    done = near.b.job(job)["items_done"]
    assert 0 < done < expected["batch"]["y"].shape[0]
    assert near.b.outputs(job)["y"].tobytes() == expected["batch"]["y"][:done].tobytes()
    assert near.check(job, expected["batch"]) is near.b


def test_values_before_and_after_the_move_are_each_given_once(near, expected):
    job = near.submit("yields")
    near.a.wait(job, lambda it: it["outputs"] > 5)
    taken = near.a.outputs(job)
    migrate(near.a, job, near.b)
    near.b.wait(job, lambda it: it["outputs"] > len(taken) + 5)
    middle = near.b.outputs(job, since=len(taken))
    assert not set(middle) & set(taken) and len(middle) >= 5
    near.b.end()
    near.b.start(device=FAST)
    near.b.wait(job, lambda it: it["ended"])
    rest = near.b.outputs(job, since=len(taken) + len(middle))
    assert not set(rest) & (set(middle) | set(taken))
    equal({**taken, **middle, **rest}, expected["yields"])
    lines = near.b.watch(job)
    assert lines[-1]["state"] == "succeeded"
    assert [line["outputs"] for line in lines if line.get("outputs")][-1] == ROUNDS + 1
    assert near.check(job, expected["yields"]) is near.b


@pytest.mark.parametrize("kind", ["batch", "yields"])
def test_the_source_gives_the_results_of_a_job_that_moved(near, expected, tmp_path, kind):
    job = near.submit(kind)
    near.a.wait(job, is_in_the_middle)
    migrate(near.a, job, near.b)
    near.b.end()
    near.b.start(device=FAST)
    near.b.wait(job, lambda it: it["ended"])
    near.a.home.call("result", job, "--output", tmp_path / "out.npz")
    equal(load(tmp_path / "out.npz"), expected[kind])
    lines = near.a.home.call("watch", job).lines
    assert lines[-1]["state"] == "succeeded"


def test_a_suspended_job_stays_suspended(near, expected):
    job = near.submit("single")
    near.a.wait(job, is_in_the_middle)
    near.a.suspend(job)
    migrate(near.a, job, near.b)
    assert near.b.state(job) == "suspended"
    near.b.end()
    near.b.start()
    assert near.b.state(job) == "suspended"
    assert near.check(job, expected["single"]) is near.b


def test_a_job_that_waits_for_its_turn_moves(near, expected):
    near.a.json("POST", "/v1/tenants/default", {"quotas": {"running_jobs": 1}})
    first = near.submit("single")
    near.a.wait(first, is_in_the_middle)
    job = near.submit("batch")
    assert near.a.job(job)["started"] is None
    migrate(near.a, job, near.b)
    assert near.a.state(first) == "running"
    near.b.wait(job, lambda it: it["items_done"] > 0)
    near.a.change(first, "cancel")
    near.a.home.call("rm-job", first)
    assert near.check(job, expected["batch"]) is near.b


def test_a_tenant_must_exist_at_the_target(near, expected):
    near.a.json("POST", "/v1/tenants", {"tenant": "acme"})
    token = near.a.json("POST", "/v1/tokens", {"tenant": "acme"})["token"]
    theirs = {"Authorization": f"Bearer {token}"}
    near.a.home.call("register", "work", f"{near.a.home.path}.lva", "--tenant", "acme")
    near.chunks[near.a] += 1 if near.a.home.call("fsck").json["chunks"] > near.chunks[near.a] else 0
    job = near.submit("single", headers=theirs)
    near.a.wait(job, is_in_the_middle)
    result = near.a.home.refuses("migrate", job, "--to", "b", code=REFUSED, words=[job, "acme"])
    assert "did not migrate" in result.err
    assert near.a.state(job) == "running" and near.b.state(job) is None
    near.b.json("POST", "/v1/tenants", {"tenant": "acme"})
    migrate(near.a, job, near.b)
    assert near.b.job(job)["tenant"] == "acme"
    assert near.b.home.call("jobs", "--tenant", "default").lines == []
    assert near.check(job, expected["single"]) is near.b




def test_weights_that_the_target_has_are_not_sent(near, models, tmp_path):
    arrays = {"input_ids": np.array([[5, 3, 9]], dtype=np.int64), "max_new_tokens": np.array(250, dtype=np.int64)}
    for node in near.nodes:
        node.restart(device=FAST)
    weights = json.loads(near.a.home.call("register", "gen", f"{models}/gpt2_gen_small.onnx").out)["bytes_stored"]
    near.a.home.call("run", "gen", "--input", save(tmp_path, **arrays), "--output", tmp_path / "out.npz")
    jobs = []
    for _ in range(2):
        jobs.append(near.a.submit("gen", arrays, suspend_after=1000))  # by itself: a request may come behind its end
        near.a.wait(jobs[-1], lambda it: it["state"] == "suspended")
    assert weights > 1 << 20
    assert migrate(near.a, jobs[0], near.b)["bytes_sent"] > weights / 2
    assert migrate(near.a, jobs[1], near.b)["bytes_sent"] < weights / 8
    for job in jobs:
        near.b.change(job, "resume")
        equal(near.b.finished(job), load(tmp_path / "out.npz"))
    for node in near.nodes:
        node.end()
        node.home.is_clean()


def save(folder, **arrays):
    np.savez(folder / "in.npz", **arrays)
    return folder / "in.npz"


def test_the_bandwidth_is_kept_to(near, expected):
    """The job's input, half a megabyte that does not compress, at 250 kB/s."""
    job = near.submit("batch")
    near.a.suspend(job)
    moved = migrate(near.a, job, near.b, "--bandwidth", "250000")
    assert moved["bytes_sent"] > 300000
    assert moved["bytes_sent"] / moved["seconds"] < 1.5 * 250000
    assert near.check(job, expected["batch"]) is near.b


def test_there_and_back_and_there_again(near, expected):
    for kind in ("single", "batch"):
        job, epochs = near.submit(kind), []
        near.a.wait(job, is_in_the_middle)
        with watched(near, job):
            for source, target in ((near.a, near.b), (near.b, near.a), (near.a, near.b)):
                migrate(source, job, target)
                target.wait(job, lambda it: it["state"] == "running" or it["ended"])
                epochs.append(target.stored(job)[1])
                assert source.state(job) == "moved"
        assert epochs == [1, 2, 3]
        owner = near.settle(job)
        assert owner is near.b
        near.check(job, expected[kind])
        for node in near.nodes:
            node.start(device=SLOW)


def test_what_can_not_be_moved(pair, expected):
    a, job = pair.a, pair.submit("single")
    a.wait(job, is_in_the_middle)
    node = job.split("-")[0]
    a.home.refuses("migrate", job, "--to", "nowhere", code=NOT_FOUND, words=["nowhere"])
    a.home.refuses("migrate", job, "--to", "a", code=NOT_FOUND, words=["node a"])  # nobody knows itself
    a.home.refuses("migrate", f"{node}-999", "--to", "b", code=NOT_FOUND, words=[f"{node}-999"])
    a.home.refuses("migrate", "nonsense", "--to", "b", code=NOT_FOUND, words=["nonsense"])
    a.home.refuses("migrate", job, code=USAGE, words=["--to"])
    for wrong in ("0", "-5", "fast"):
        a.home.refuses("migrate", job, "--to", "b", "--bandwidth", wrong, code=USAGE, words=["bandwidth"])
    a.home.refuses("adopt", job, code=USAGE, words=["--source-is-dead"])
    assert "doubt" in a.home.call("adopt", job, "--source-is-dead", expect=FORBIDDEN).err
    a.home.call("adopt", f"{node}-999", "--source-is-dead", expect=NOT_FOUND)
    pair.b.end()
    assert a.state(job) == "running"
    pair.b.start()
    a.change(job, "cancel")
    a.home.refuses("migrate", job, "--to", "b", code=FORBIDDEN, words=["cancelled"])
    assert a.home.call("node", "list").lines[0]["reachable"]
    again = pair.submit("single")
    migrate(a, again, pair.b)
    a.home.refuses("migrate", again, "--to", "b", code=FORBIDDEN, words=["moved"])
    pair.b.home.refuses("migrate", again, "--to", "b", code=NOT_FOUND, words=["node b"])
    a.home.call("rm-job", job)
    assert pair.check(again, expected["single"]) is pair.b


def test_who_may_move_what(pair, expected):
    for node in pair.nodes:
        node.json("POST", "/v1/tenants", {"tenant": "acme"})
    job = pair.submit("single")
    pair.a.wait(job, is_in_the_middle)

    def refuses(status, words, verb, body, **token):
        token = pair.a.json("POST", "/v1/tokens", token)["token"]
        with pytest.raises(Refused, match=words) as refused:
            pair.a.json("POST", f"/v1/jobs/{job}/{verb}", body, {"Authorization": f"Bearer {token}"})
        assert refused.value.status == status

    refuses(404, job, "migrate", {"to": "b"}, tenant="acme")
    refuses(403, "role", "migrate", {"to": "b"}, role="node")
    refuses(403, "role", "adopt", {"source_is_dead": True}, tenant="default")
    refuses(409, "doubt", "adopt", {"source_is_dead": True}, role="admin")
    refuses(400, "twice", "adopt", {}, role="admin")
    assert pair.a.state(job) == "running" and pair.b.state(job) is None
    for path in ("arrivals", "departures"):  # what nodes say to each other is not for users
        token = pair.b.json("POST", "/v1/tokens", {"tenant": "default"})["token"]
        with pytest.raises(Refused, match="403"):
            pair.b.request("GET", f"/v1/peer/{path}/{job}?epoch=0&attempt=1",
                           headers={"Authorization": f"Bearer {token}"})
    migrate(pair.a, job, pair.b)
    assert pair.check(job, expected["single"]) is pair.b


def test_one_migration_of_a_job_at_a_time(near, expected):
    job = near.submit("batch")
    near.a.suspend(job)
    near.a.begin(job, near.b, bandwidth=100000)
    near.a.home.refuses("migrate", job, "--to", "b", code=FORBIDDEN, words=["migrating to b"])
    assert near.a.job(job)["migrating"] == "b"
    assert near.a.wait_phase(job, "moved")["moved"]
    assert near.check(job, expected["batch"]) is near.b


@pytest.mark.parametrize("change, state", [("cancel", "cancelled"), ("suspend", "suspended")])
def test_what_becomes_of_a_job_that_changes_while_it_moves(near, expected, change, state):
    """Cancelled in the middle of the copying it does not arrive; suspended, it arrives suspended."""
    job = near.submit("batch")
    near.a.begin(job, near.b, bandwidth=200000)
    near.a.wait_phase(job, "copying")
    assert near.a.change(job, change)["state"] == state
    found = near.a.wait_phase(job, "moved", "aborted")
    owner = near.a if change == "cancel" else near.b
    assert near.settle(job) is owner and owner.state(job) == state
    assert found["moved"] is (owner is near.b)
    if change == "suspend":
        assert near.check(job, expected["batch"]) is near.b
    else:
        assert near.b.state(job) is None
        near.leave_nothing(near.a, job)


def test_nobody_changes_a_job_that_is_stopped_to_move(near, expected, tmp_path):
    near.b.restart(dies_after="prepared")
    job = near.submit("batch")
    near.a.wait(job, lambda it: it["items_done"] > 0)
    near.a.begin(job, near.b)
    near.b.wait_for_death()
    for arguments in (["resume", job], ["suspend", job], ["cancel", job], ["rm-job", job], ["migrate", job, "--to", "b"],
                      ["checkpoint", job, "-o", tmp_path / "x.lvc", "--release"]):
        near.a.home.call(*arguments, expect=FORBIDDEN)
    near.b.start()
    assert near.a.wait_phase(job, "moved", "aborted")["moved"]
    assert near.check(job, expected["batch"]) is near.b


def test_a_job_whose_source_died_is_adopted(near, expected):
    near.a.end()
    near.a.start(dies_after="answered")
    job = near.submit("single")
    near.a.wait(job, is_in_the_middle)
    near.a.begin(job, near.b)
    near.a.wait_for_death()
    assert near.b.state(job) == "in_doubt"
    for verb in ("suspend", "resume"):
        near.b.home.refuses(verb, job, code=FORBIDDEN, words=["in_doubt"])
    near.b.end()
    near.b.start()
    assert near.b.state(job) == "in_doubt"
    time.sleep(0.5)
    assert near.b.state(job) == "in_doubt"
    shown = near.b.home.call("adopt", job, "--source-is-dead", as_json=False)
    assert "twice" in shown.err and job in shown.out
    assert near.b.state(job) in ("queued", "running")
    near.a.start()
    with watched(near, job):
        assert near.settle(job) is near.b
    assert near.a.state(job) == "moved"
    assert near.check(job, expected["single"]) is near.b


def test_a_source_that_answers_is_not_dead(near, expected):
    near.a.end()
    near.a.start(dies_after="answered")
    job = near.submit("single")
    near.a.begin(job, near.b)
    near.a.wait_for_death()
    near.a.start()
    result = near.b.home.try_call("adopt", job, "--source-is-dead")
    assert result.code in (FORBIDDEN, NOT_FOUND), str(result)  # in doubt still, or settled since
    assert near.settle(job) is near.a
    assert near.check(job, expected["single"]) is near.a


def test_an_offer_that_came_to_nothing_is_forgotten(near, expected):
    job = near.submit("batch")
    near.a.suspend(job)
    near.a.begin(job, near.b, bandwidth=200000)
    near.a.wait_phase(job, "copying")
    near.b.kill()
    near.a.end()  # gives up what is under way; nobody hears of it
    near.a.start()
    near.b.start()
    assert near.settle(job) is near.a
    near.b.home.call("node", "remove", "a")
    assert near.check(job, expected["batch"]) is near.a


def test_outputs_that_were_seen_do_not_go_away(near, expected):
    """A source that was killed makes the outputs behind its last checkpoint once more; those that are stored go along."""
    job = near.submit("batch", checkpoint_every=1000)
    seen = near.a.wait(job, lambda it: it["outputs"] > 20)["outputs"]
    near.a.restart()
    near.a.begin(job, near.b)
    assert near.a.wait_phase(job, "moved")["moved"]
    (arrived,), = near.b.read("SELECT output_end FROM job_events WHERE sequence = 1")
    assert arrived >= seen
    assert near.check(job, expected["batch"]) is near.b
