"""A daemon under load that is killed at random moments: nothing acknowledged is lost, nothing is done twice.

LAYOVER_DAEMON_KILLS=300 LAYOVER_DAEMON_JOBS=100 pytest tests/end_to_end/service/test_daemon_kill.py: the long run.
"""
import json
import os
import random
import threading

import numpy as np
import stops
from daemon import Daemon, Refused, equal

KILLS = int(os.environ.get("LAYOVER_DAEMON_KILLS", "12"))
JOBS = int(os.environ.get("LAYOVER_DAEMON_JOBS", "12"))  # unfinished at any time
ITEMS = 60
TOKENS = 60
DATA_SETS = 4
PRIORITIES = ("high", "normal", "normal", "low")


class Load:
    """Jobs of three kinds, and what each must give."""

    def __init__(self, home, models):
        home.call("register", "mlp", f"{models}/mlp.onnx")
        home.call("register", "gen", f"{models}/gpt2_gen_small.onnx")
        self.count = 0
        self.models = {name: stops.opened(home, name) for name in ("mlp", "gen")}
        self.data = np.random.default_rng(11).standard_normal((DATA_SETS, ITEMS, 784), dtype=np.float32)
        self.batches = {size: [self._batch(data, size) for data in self.data] for size in (1, 7)}
        self.prompt = {"input_ids": np.array([[5, 3, 9]], dtype=np.int64),
                       "max_new_tokens": np.array(TOKENS, dtype=np.int64)}
        self.generated = self._run("gen", **self.prompt)
        self.jobs = {}  # acknowledged: id to what it must give, and how many outputs

    def _run(self, model, **arrays):
        return stops.run(self.models[model], arrays)[0]

    def _batch(self, data, size):
        parts = [self._run("mlp", x=data[i:i + size]) for i in range(0, ITEMS, size)]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def submit(self, daemon):
        """The next job; its key makes a repeated submission the same job."""
        number, self.count = self.count, self.count + 1
        policy = {"key": f"job-{number}", "priority": PRIORITIES[number % 4], "checkpoint_every": 0.02}
        if number % 5 == 4:
            self.jobs[daemon.submit("gen", self.prompt, **policy)] = (self.generated, None)
            return
        size, data = (1, 7)[number % 2], number % DATA_SETS
        job = daemon.submit("mlp", {"x": self.data[data]}, items=True, batch=size, **policy)
        self.jobs[job] = (self.batches[size][data], -(-ITEMS // size))

    def top_up(self, daemon):
        lines = daemon.request("GET", "/v1/jobs?state=queued").splitlines()
        lines += daemon.request("GET", "/v1/jobs?state=running").splitlines()
        for _ in range(JOBS - len(lines)):
            self.submit(daemon)

    def check(self, daemon):
        for job, (expected, outputs) in self.jobs.items():
            equal(daemon.finished(job), expected)
            shown = daemon.job(job)
            assert not any(event["kind"] == "diverged" for event in shown["events"])
            assert outputs is None or shown["outputs"] == outputs  # each item once


def test_killed_at_any_moment_every_job_ends_with_the_same_outputs(home, models):
    rng = random.Random(4)
    work = Load(home, models)
    daemon = Daemon(home, "--device", "cpu", "--device", "sim:0")
    for _ in range(KILLS):
        daemon.start()
        timer = threading.Timer(rng.uniform(0.0, 0.4), daemon.process.kill)
        timer.start()
        try:
            while daemon.process.poll() is None:
                work.top_up(daemon)
        except (OSError, EOFError, Exception) as error:  # the answer was cut; what was acknowledged counts
            assert not isinstance(error, (Refused, AssertionError)), error
        timer.join()
        daemon.process.communicate()
    with daemon:
        listed = [json.loads(line)["job"] for line in daemon.request("GET", "/v1/jobs").splitlines()]
        assert set(work.jobs) <= set(listed)
        work.check(daemon)
    home.is_clean()
