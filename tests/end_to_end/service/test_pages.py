"""Lists come in pages that keep their order while lines come and go; the command line follows them by itself."""
import json

import numpy as np
import pytest
from daemon import Daemon, Refused

IMAGES = np.random.default_rng(5).standard_normal((2, 784), dtype=np.float32)


def pages(daemon, path, limit, between=lambda: None):
    """Each page's lines; between is called behind each of them."""
    after = None
    while True:
        mark = "&" if "?" in path else "?"
        data, head = daemon.answer("GET", f"{path}{mark}limit={limit}" + (f"&after={after}" if after else ""))
        yield [json.loads(line) for line in data.splitlines()]
        between()
        after = head["Layover-Next"]
        if after is None:
            return


def test_jobs_come_and_go_between_pages(home, models):
    home.call("register", "mlp", f"{models}/mlp.onnx")
    with Daemon(home) as daemon:
        jobs = [daemon.submit("mlp", {"x": IMAGES}) for _ in range(20)]
        for job in jobs:
            daemon.finished(job)
        left = iter(jobs)

        def change():
            daemon.request("DELETE", f"/v1/jobs/{next(left)}")
            daemon.submit("mlp", {"x": IMAGES})

        seen = []
        for page in pages(daemon, "/v1/jobs", 7, change):
            assert len(page) <= 7
            seen += [line["job"] for line in page]
        assert seen[:20] == jobs, "each of those that stayed once, in the order in which they came"
        assert len(seen) == len(set(seen)) <= 24
        events = [line for page in pages(daemon, f"/v1/jobs/{jobs[-1]}/events", 1) for line in page]
        assert events == daemon.job(jobs[-1])["events"] and len(events) >= 2
        for wrong in ("limit=0", "limit=1001", "after=x"):
            with pytest.raises(Refused) as found:
                daemon.request("GET", f"/v1/jobs?{wrong}")
            assert found.value.status == 400


def test_the_command_line_follows_pages(home):
    """More tenants and tokens than a page has."""
    names = [f"t{i:04}" for i in range(1005)]
    with Daemon(home) as daemon:
        for name in names:
            daemon.json("POST", "/v1/tenants", {"tenant": name})
        assert len(daemon.lines("/v1/tenants")) == 1000
        assert [line["tenant"] for line in home.call("tenant", "list").lines] == ["default", *names]
        top = home.call("top", "--once").json
        assert [line["tenant"] for line in top["tenants"]] == ["default", *names]
