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


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_daemon_starts_beside_damage(home, models, kind):
    home.call("register", "gen", f"{models}/gpt2_gen_small.onnx")
    with Daemon(home, "--grace", "30") as daemon:
        job = daemon.submit("gen", PROMPT)
        daemon.wait(job, lambda it: it["state"] == "running")
        daemon.change(job, "suspend")
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
