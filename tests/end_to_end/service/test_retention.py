"""What a daemon does by itself: finished jobs go after their tenant's retention, leftovers of a crash are removed."""
import os

import numpy as np
import pytest
from daemon import Daemon, Refused
from harness import DONE, USAGE
from processes import until

IMAGES = np.random.default_rng(3).standard_normal((12, 784), dtype=np.float32)


@pytest.fixture
def served(home, models):
    home.call("register", "mlp", f"{models}/mlp.onnx")
    return home


def test_finished_jobs_go_after_their_tenants_retention(served):
    with Daemon(served) as daemon:
        for i in range(40):
            job = daemon.submit("mlp", {"x": IMAGES + i})
        daemon.finished(job)
        assert served.call("tenant", "set", "default", "--retention", 0).json["retention"] == 0
        assert "finished jobs stay 0 s" in served.call("tenant", "list", as_json=False).out
        served.refuses("tenant", "set", "default", "--retention", -1, code=USAGE, words=["retention"])
        assert daemon.end() == DONE
    with Daemon(served) as daemon:
        until(lambda: not daemon.request("GET", "/v1/jobs").strip(), 60)  # the first turn of housekeeping comes at once
        with pytest.raises(Refused) as refused:
            daemon.job(job)
        assert refused.value.status == 404
        assert "\nlayover_jobs_expired_total 40\n" in daemon.request("GET", "/metrics").decode()
        daemon.finished(daemon.submit("mlp", {"x": IMAGES}))  # stays until the next turn
    served.is_clean()


def test_leftover_uploads_are_removed_at_the_start(served):
    uploads = os.path.join(served.path, "uploads")
    os.makedirs(os.path.join(uploads, "model.left"))
    for name in ("upload.left", "model.left/model.onnx"):
        with open(os.path.join(uploads, name), "wb") as file:
            file.write(b"left")
    with Daemon(served) as daemon:
        assert os.listdir(uploads) == []
        assert daemon.end() == DONE
