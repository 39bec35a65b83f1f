"""layover simulate: the same seed gives the same run, a log gives the same decisions, bad input a clear error."""
import json
import os

import pytest

from harness import REFUSED, ROOT, USAGE, NOT_FOUND

SCENARIOS = os.path.join(ROOT, "bench", "scenarios")


@pytest.mark.parametrize("name", ["fair_share", "faults"])
def test_a_run_keeps_its_promises_and_replays(home, tmp_path, name):
    log = tmp_path / "events.log"
    run = home.call("simulate", f"{SCENARIOS}/{name}.json", "--log", log).json
    assert run["violations"] == [] and run["jobs_done"] > 0 and run["events"] > 0 and run["virtual_seconds"] > 0
    again = home.call("simulate", "--replay", log).json
    assert (again["digest"], again["events"], again["jobs_done"]) == (run["digest"], run["events"], run["jobs_done"])
    assert home.call("simulate", f"{SCENARIOS}/{name}.json").json["digest"] == run["digest"]
    assert home.call("simulate", f"{SCENARIOS}/{name}.json", "--seed", 99).json["digest"] != run["digest"]


def test_weights_are_followed(home):
    run = home.call("simulate", f"{SCENARIOS}/fair_share.json").json
    assert run["jain_index"] > 0.99
    assert [tenant["weight"] for tenant in run["tenants"]] == [1, 2, 4]


def test_bad_input(home, tmp_path):
    def scenario(text):
        path = tmp_path / "s.json"
        path.write_text(text)
        return path

    home.refuses("simulate", code=USAGE)
    home.refuses("simulate", f"{SCENARIOS}/fair_share.json", "--replay", "x", code=USAGE)
    home.refuses("simulate", tmp_path / "none.json", code=NOT_FOUND)
    home.refuses("simulate", scenario("{"), code=REFUSED, words=["JSON"])
    home.refuses("simulate", scenario(json.dumps({"devices": [{"colour": 1}]})), code=REFUSED, words=["colour"])
    home.refuses("simulate", "--replay", scenario("LVEVENTS"), code=REFUSED, words=["header"])
