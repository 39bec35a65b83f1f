"""Alert rules and the dashboard ask for metrics and labels that the table of metrics has, in expressions of Prometheus."""
import json
import os
import re
import shutil
import subprocess

import pytest
from harness import ROOT

FOLDER = os.path.join(ROOT, "tools", "monitoring")
# Labels that Prometheus adds.
ADDED = {"instance", "job", "le"}
NAMES = re.compile(r"\b(layover_\w+)(?:\{([^}]*)\})?")
GROUPED = re.compile(r"\b(?:by|without) \(([^)]*)\)")


def table():
    """{name in a query: labels}"""
    with open(os.path.join(ROOT, "scheduler", "node", "metrics.def"), encoding="ascii") as file:
        rows = re.findall(r'^METRIC\(\w+, "(\w+)", (\w+), "([^"]*)"', file.read(), re.MULTILINE)
    return {name + ending: set(labels.split()) for name, kind, labels in rows
            for ending in (("_bucket", "_sum", "_count") if kind == "SECONDS" else ("",))}


def read(name):
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return file.read()


def rules():
    """The expressions of the rules, each on one line or folded behind '>-'."""
    found = re.findall(r"^ {8}expr: (?:>-\n((?: {10}.*\n)+)|(.*)\n)", read("layover.rules.yml"), re.MULTILINE)
    assert len(found) == read("layover.rules.yml").count("- alert: ") > 5
    return [" ".join((folded or plain).split()) for folded, plain in found]


def panels():
    found = [(panel["title"], target["expr"].replace("$__rate_interval", "5m"))
             for panel in json.loads(read("layover-dashboard.json"))["panels"] for target in panel["targets"]]
    assert len(found) > 10
    return found


def unknown_words(expression):
    known, wrong, labels = table(), [], set(ADDED)
    for name, matchers in NAMES.findall(expression):
        wrong += [] if name in known else [name]
        labels |= known.get(name, set())
        wrong += [label for label in re.findall(r"(\w+)\s*=", matchers) if label not in known.get(name, set()) | ADDED]
    return wrong + [label for group in GROUPED.findall(expression) for label in re.split(r",\s*", group) if label not in labels]


def test_queries_name_metrics_and_labels_of_the_table():
    for expression in [*rules(), *(expression for _, expression in panels())]:
        assert not unknown_words(expression), expression
    assert unknown_words("sum by (model) (rate(layover_slices{tenant=~\"a\"}[5m]))") == ["layover_slices", "tenant", "model"]
    assert unknown_words("layover_suspend_seconds") == ["layover_suspend_seconds"]


def test_panels_of_the_dashboard_have_places_of_their_own():
    dashboard = json.loads(read("layover-dashboard.json"))
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in dashboard["panels"]]
    numbers = [panel["id"] for panel in dashboard["panels"]]
    assert len(set(places)) == len(places) and len(set(numbers)) == len(numbers)
    assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24 for panel in dashboard["panels"])


@pytest.mark.skipif(not shutil.which("promtool"), reason="there is no promtool here")
def test_promtool_reads_the_rules_and_the_queries(tmp_path):
    queries = tmp_path / "queries.yml"
    queries.write_text(json.dumps({"groups": [{"name": "queries", "rules": [
        {"record": f"query:{i}", "expr": expression} for i, (_, expression) in enumerate(panels())]}]}))
    for file in (os.path.join(FOLDER, "layover.rules.yml"), queries):
        done = subprocess.run(["promtool", "check", "rules", file], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
