"""One changed row of one tenant keeps nobody else from working: the daemon starts, says which one it is, and so does fsck."""
import sqlite3

import numpy as np
import pytest
from daemon import Daemon
from harness import REFUSED

PROMPT = {"input_ids": np.array([[5, 3, 9]], dtype=np.int64), "max_new_tokens": np.array(200, dtype=np.int64)}
PROMPT_SHORT = {**PROMPT, "max_new_tokens": np.array(3, dtype=np.int64)}

DAMAGE = {
    "policy": ("UPDATE jobs SET policy = x'00'", "held"),
    "priority": ("UPDATE jobs SET priority = 300", None),
    "executable": ("UPDATE jobs SET identity = zeroblob(32)", "held"),
    "quota": ("INSERT INTO tenant_quotas VALUES (1, 999, 5)", "suspended"),
    "weight": ("UPDATE tenants SET weight = 0", "suspended"),
}


def damage(home, statement):
    catalog = sqlite3.connect(f"{home.path}/catalog.db")
    catalog.execute("PRAGMA ignore_check_constraints = 1")
    catalog.execute(statement)
    catalog.commit()
    catalog.close()


def test_a_job_whose_migration_cannot_be_read_is_held_until_somebody_decides(home, models):
    home.call("register", "gen", f"{models}/gpt2_gen_small.onnx")
    with Daemon(home, "--grace", "30") as daemon:
        jobs = [daemon.submit("gen", PROMPT_SHORT, suspend_after=5) for _ in range(2)]
        for job in jobs:
            daemon.wait(job, lambda it: it["state"] == "suspended")
    damage(home, "UPDATE jobs SET migrating = 'far', attempt = 1")
    damage(home, "INSERT INTO departures SELECT id, 0, 77, 1, 99, 1 FROM jobs")
    damage(home, "UPDATE tenants SET bytes_stored = bytes_stored + 96 * (SELECT count(*) FROM departures)")  # what they cost
    for _ in range(2):  # a second start finds them held
        with Daemon(home, "--grace", "30") as daemon:
            for job in jobs:
                found = daemon.job(job)
                assert found["state"] == "held"
                assert "what is written of its migration cannot be read" in found["events"][-1]["why"]
                assert f"job {job}: " in home.call("fsck", expect=REFUSED, as_json=False).err
    with Daemon(home, "--grace", "30") as daemon:
        home.call("resume", jobs[0])
        daemon.finished(jobs[0])
        home.call("cancel", jobs[1])
        home.call("rm-job", jobs[1])
        assert "0 errors" in home.call("fsck", as_json=False).out


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_daemon_starts_beside_damage(home, models, kind):
    home.call("register", "gen", f"{models}/gpt2_gen_small.onnx")
    with Daemon(home, "--grace", "30") as daemon:
        job = daemon.submit("gen", PROMPT)
        daemon.wait(job, lambda it: it["state"] == "running")
        daemon.suspend(job)
    statement, state = DAMAGE[kind]
    damage(home, statement)
    with Daemon(home, "--grace", "30") as daemon:
        other = daemon.submit("gen", PROMPT_SHORT)
        daemon.wait(other, lambda it: it["state"] == "succeeded")
        listed = {line["job"]: line["state"] for line in home.call("jobs").lines}
        assert listed[job] == (state or "held")
        found = home.call("fsck", expect=REFUSED, as_json=False)
        assert "layover: fsck: " in found.err and found.out.splitlines()[0] in found.err
        if kind in ("quota", "weight"):
            assert "tenant default" in found.err
            assert "0 errors" in home.call("fsck", "--repair", as_json=False).out
        else:
            assert f"job {job} does not run" in found.err
            if state:
                home.call("cancel", job)
            home.call("rm-job", job)
            assert job not in {line["job"] for line in home.call("jobs").lines}
        assert "0 errors" in home.call("fsck", as_json=False).out
