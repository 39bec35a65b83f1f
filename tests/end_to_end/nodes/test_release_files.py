"""Files that own their jobs, and files that only say so: whose they are, and what they tell of other tenants' jobs."""
import contextlib
import json
import sqlite3

import pytest
from daemon import Daemon, Refused, equal
from harness import FORBIDDEN, Home
from migration import FAST, KINDS, SLOW, Node, Pair, register, undisturbed

ARRAYS, POLICY = KINDS["batch"]
STRANGE = "3f9a0c72d1e4"  # a node that nobody here knows


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    return undisturbed(tmp_path_factory.mktemp("expected"))["batch"]


@pytest.fixture
def near(tmp_path):
    with Pair(Node(Home(tmp_path / "a"), "a"), Node(Home(tmp_path / "b"), "b"), both_have_it=True) as nodes:
        yield nodes


@pytest.fixture
def strangers(tmp_path):
    with Pair(Node(Home(tmp_path / "a"), "a"), Node(Home(tmp_path / "b"), "b"), strangers=True,
              both_have_it=True) as nodes:
        yield nodes


def user_of(daemon, tenant):
    """The headers of a tenant's user; the tenant is made where it is missing."""
    with contextlib.suppress(Refused):
        daemon.json("POST", "/v1/tenants", {"tenant": tenant})
    return {"Authorization": f"Bearer {daemon.json('POST', '/v1/tokens', {'tenant': tenant, 'role': 'user'})['token']}"}


def release(daemon, job, headers=None):
    return daemon.request("POST", f"/v1/jobs/{job}/checkpoint?with_model=1", b'{"release":true}', "application/json",
                          headers)


def restore(daemon, file, headers=None):
    return json.loads(daemon.request("POST", "/v1/checkpoints", file, "application/octet-stream", headers))


def refusal(daemon, file, headers=None):
    with pytest.raises(Refused) as refused:
        restore(daemon, file, headers)
    return str(refused.value)


def suspended(daemon, headers=None, **policy):
    job = daemon.submit("work", ARRAYS, headers, **POLICY, **policy)
    daemon.json("POST", f"/v1/jobs/{job}/suspend", {}, headers)
    return job


def change_catalog(home, sql, *values):
    with contextlib.closing(sqlite3.connect(f"{home.path}/catalog.db")) as catalog, catalog:
        catalog.execute(sql, values)


def forge(folder, job, epoch=0):
    """A file that says it owns that job, right in every other way: of a home whose job was given the name."""
    node, number = job.split("-")
    home = Home(folder / f"forger-{job}-{epoch}")
    register(home)
    with Daemon(home, "--device", SLOW) as daemon:
        made = suspended(daemon)
        daemon.end()
        change_catalog(home, "UPDATE jobs SET node = ?, number = ?, epoch = ?", int(node, 16), int(number), epoch)
        daemon.start()
        assert made != job
        return release(daemon, job)


def node_of(job):
    return job.split("-")[0]


def test_a_forged_file_tells_nothing_of_other_tenants_jobs(home, tmp_path):
    register(home)
    with Daemon(home, "--device", SLOW) as daemon:
        acme = user_of(daemon, "acme")
        ours = suspended(daemon)
        none = f"{node_of(ours)}-77"
        said = [refusal(daemon, forge(tmp_path, job), acme).replace(job, "JOB") for job in (ours, none)]
        assert said[0] == said[1] and said[0].startswith("409"), said
        taken, free = f"{STRANGE}-5", f"{STRANGE}-6"
        files = {job: forge(tmp_path, job) for job in (taken, free)}
        assert restore(daemon, files[taken])["job"] == taken  # by an administrator, for the default tenant
        made = {job: restore(daemon, file, acme) for job, file in files.items()}
        for job, answer in made.items():
            assert node_of(answer["job"]) == node_of(ours) and answer["was"] == job, answer
            told = daemon.job(answer["job"], acme)
            assert told["tenant"] == "acme" and any(job in event["why"] for event in told["events"])
            assert answer["job"] in refusal(daemon, files[job], acme)  # a file gives its job once
        assert restore(daemon, files[free])["job"] == free  # nobody has taken it
        for job in daemon.lines("/v1/jobs"):
            daemon.change(job["job"], "cancel")


def test_a_forged_file_keeps_no_job_from_coming(near, expected, tmp_path):
    acme = user_of(near.b, "acme")
    near.b.home.call("register", "work", f"{near.b.home.path}.lva", "--tenant", "acme")
    moves, goes = near.submit("batch"), suspended(near.a)
    for job in (moves, goes):
        forged = restore(near.b, forge(tmp_path, job, epoch=40), acme)["job"]
        assert node_of(forged) != node_of(job)
        near.b.json("POST", f"/v1/jobs/{forged}/cancel", {}, acme)
    assert restore(near.a, release(near.a, goes))["job"] == goes
    near.a.change(goes, "cancel")
    near.a.home.call("migrate", moves, "--to", "b")
    assert near.b.state(moves) in ("running", "queued", "succeeded")
    assert near.settle(moves) is near.b
    near.b.end()
    near.b.start(device=FAST)
    equal(near.b.finished(moves), expected)


def test_a_file_gives_a_user_its_job_among_nodes_that_know_each_other(near, expected, tmp_path):
    here, there = user_of(near.a, "default"), user_of(near.b, "default")
    acme = user_of(near.b, "acme")  # whoever holds the file can run it, as a job of theirs
    job = suspended(near.a, here, key="monday")
    file = release(near.a, job, here)
    (tmp_path / "job.lvc").write_bytes(file)
    copy = near.b.home.call("restore", tmp_path / "job.lvc", as_json=False,
                            environment={"LAYOVER_TOKEN": acme["Authorization"].split()[1]})
    assert job in copy.err and copy.err.count("\n") == 1 and job not in copy.out, copy
    answer = restore(near.b, file, there)
    assert answer["job"] == job and "was" not in answer
    assert "already" in refusal(near.b, file, there)
    assert "at node b already" in refusal(near.a, file, here)
    near.b.json("POST", f"/v1/jobs/{job}/suspend", {}, there)
    assert restore(near.a, release(near.b, job, there), here)["job"] == job
    assert near.a.submit("work", ARRAYS, here, **POLICY, key="monday") == job
    near.b.json("POST", f"/v1/jobs/{copy.out.split()[0]}/cancel", {}, acme)
    near.a.end()
    near.a.start(device=FAST)
    equal(near.a.finished(job), expected)


def test_a_file_gives_a_user_a_job_of_another_name_where_nobody_knows(strangers, expected, tmp_path):
    there = user_of(strangers.b, "default")
    job = suspended(strangers.a)
    file = release(strangers.a, job)
    (tmp_path / "job.lvc").write_bytes(file)
    answer = restore(strangers.b, file, there)
    assert answer["was"] == job and node_of(answer["job"]) != node_of(job)
    for headers in (there, None):  # once, also for an administrator
        assert answer["job"] in refusal(strangers.b, file, headers)
    strangers.b.home.refuses("restore", tmp_path / "job.lvc", code=FORBIDDEN, words=[job, answer["job"]])
    strangers.b.end()
    strangers.b.start(device=FAST)
    equal(strangers.b.finished(answer["job"]), expected)
