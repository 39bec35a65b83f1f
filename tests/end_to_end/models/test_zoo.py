"""Graphs that other people's tools wrote: each registers, answers as onnxruntime does, and stops at every tenth instruction."""
import os
import sys

import numpy as np
import pytest

from harness import ROOT

sys.path.append(os.path.join(ROOT, "tests", "zoo"))

import zoo_check  # noqa: E402
import zoo_run  # noqa: E402

TABLE, REFUSED = zoo_check.read_table(), zoo_check.read_refused()
TOOLS_LEAST, GRAPHS_LEAST = 6, 80


@pytest.fixture(scope="module")
def zoo(tmp_path_factory):
    return zoo_run.Zoo(tmp_path_factory.mktemp("zoo"))


def test_the_zoo_has_many_small_graphs_of_many_tools():
    assert len(TABLE) >= GRAPHS_LEAST
    assert len({row["tool"].split(",")[0] for row in TABLE.values()}) >= TOOLS_LEAST
    graphs = {name.removesuffix(".onnx"): os.path.getsize(os.path.join(zoo_check.GRAPHS, name))
              for name in os.listdir(zoo_check.GRAPHS) if name.endswith(".onnx")}
    assert set(graphs) == set(TABLE) and set(REFUSED) <= set(TABLE)
    assert max(graphs.values()) <= zoo_check.GRAPH_BYTES


def test_weights_come_from_the_seed_alone(tmp_path):
    paths = []
    for name in ("first", "second"):
        os.mkdir(tmp_path / name)
        paths.append(zoo_check.fill("resnet_dynamo", str(tmp_path / name)))
    for first, second in zip(*paths):
        with open(first, "rb") as one, open(second, "rb") as other:
            assert one.read() == other.read()


@pytest.mark.parametrize("tolerance", sorted(zoo_check.TOLERANCES))
def test_an_answer_that_is_off_is_found(tolerance):
    answers = np.linspace(-1, 1, 21, dtype="f4")
    changed = answers.copy()
    changed[7] += 0.2
    assert zoo_check.compare_output("y", answers, answers, tolerance) is None
    assert "1 of 21 elements are off" in zoo_check.compare_output("y", changed, answers, tolerance)
    changed[7] = np.nan
    assert "1 of 21 elements are off" in zoo_check.compare_output("y", changed, answers, tolerance)
    labels = np.array(["a", "b"])
    assert "1 of 2 elements are others" in zoo_check.compare_output("y", labels[[0, 0]], labels, tolerance)


@pytest.mark.parametrize("name", sorted(set(TABLE) - set(REFUSED)))
def test_a_graph_runs_as_in_onnxruntime_and_resumes(zoo, name):
    assert zoo.verdict(name) is None


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_a_refused_graph_is_refused_with_its_reason(zoo, name):
    """A graph that has become able to run leaves refused.txt: tests/zoo/list_refused.py writes the file again."""
    assert zoo.verdict(name) == REFUSED[name]
