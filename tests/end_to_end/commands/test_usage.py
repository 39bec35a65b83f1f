"""The command line itself: help, usage errors, formats to come, devices, bench."""
import json
import os
import pathlib
import re
import subprocess

import pytest

from harness import FORBIDDEN, NOT_FOUND, REFUSED, ROOT, SMALL_MODELS, SUSPENDED, USAGE, Home, binary

TABLES = [pathlib.Path(ROOT) / path for path in ("tools/client/commands.def", "scheduler/http/server/routes.def")]
VERBS = [verb for table in TABLES
         for verb in re.findall(r'^(?:COMMAND\(|VERB\(\w+, )"([a-z-]+)"', table.read_text(), re.MULTILINE)]


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example(home, verb):
    result = home.call(verb, "--help", as_json=False)
    assert verb in result.out and "layover" in result.out and result.err == ""
    assert not os.path.exists(home.path)


def test_general_help_lists_every_verb(home):
    text = home.call("--help", as_json=False).out
    for verb in VERBS:
        assert verb in text, verb


@pytest.mark.parametrize("arguments", [
    [], ["frobnicate"], ["run"], ["register", "m"], ["register", "m", "f", "extra"], ["models", "--frobnicate"],
    ["register", "m", "f", "--format", "cobol"], ["register", "m", "f", "--alias"], ["run", "m", "--threads", "many",
     "--output", "o", "--input", "i"], ["run", "m", "--threads", "0", "--output", "o", "--input", "i"],
    ["run", "m", "--threads", "-1", "--output", "o", "--input", "i"],
    ["run", "m", "--suspend-after", "-1", "--checkpoint", "c", "--output", "o", "--input", "i"],
    ["run", "m", "--suspend-after", "99999999999999999999", "--checkpoint", "c", "--output", "o", "--input", "i"],
    ["run", "m", "--suspend-after", "5", "--output", "o", "--input", "i"],
    ["jobs", "--state", "bogus"], ["resume", "./f.lvc", "--from", "1", "--output", "o"],
    ["serve", "--listen", "foo"], ["serve", "--listen", "127.0.0.1:99999"],
    ["alias", "m", "a"], ["alias", "m", "a", "three"], ["compile", "f"], ["bench", "m", "--repeat", "0"],
    ["show", ""], ["job", ""], ["cancel", ""], ["resume", ""], ["register", "m", ""],
])
def test_usage_errors_are_2(home, arguments):
    result = home.try_call(*arguments, as_json=False)
    assert result.code == USAGE and result.err.startswith("layover: ") and result.out == "", str(result)


def test_a_usage_error_as_json(home):
    result = home.call("frobnicate", expect=USAGE)
    assert json.loads(result.err)["error"]["code"] == "USAGE"


def test_params_are_for_graphs(home):
    home.refuses("register", "m", f"{SMALL_MODELS}/nested_if.onnx", "--params", "p", code=USAGE, words=["--params", "nested_if"])


def test_disasm_relax_of_another_model_is_refused_in_one_sentence(small_home):
    small_home.refuses("disasm", "small", "--relax", code=FORBIDDEN, words=["small", "not made from a Relax executable"])


def test_devices_are_listed(home):
    devices = {line["device"]: line for line in home.call("devices").lines}
    assert {"cpu", "sim:0"} <= set(devices)
    for line in devices.values():
        assert line["memory_bytes"] > 0 and line["name"] and line["determinism_class"]
    assert "MatMul" in home.call("devices", "--kernels", as_json=False).out


# What is said of a device that is not there, whoever is asked for it.
NO_DEVICES = {"foo:0": "no device kind \"foo\"", "toaster": "no device kind \"toaster\"", "cuda:0": "cuda",
              "sim:x": "sim:x", "sim:99": "index is above 63", "sim:99999999999999999999": "index is above 63",
              "cpu:1": "one cpu device", "sim:0,colour=red": "no option \"colour\"", "": "not a device"}


@pytest.mark.parametrize("device", NO_DEVICES)
def test_devices_that_are_not_there(small_home, tmp_path, device):
    if device == "cuda:0" and any(line["device"] == device for line in small_home.call("devices").lines):
        pytest.skip("this machine has one")
    given, output = ["--input", small_home.input], tmp_path / "o.npz"
    for call in (["run", "small", *given, "--output", output], ["bench", "small", *given], ["serve"]):
        small_home.refuses(*call, "--device", device, code=(REFUSED, USAGE, NOT_FOUND), words=[NO_DEVICES[device]])
    assert not output.exists()


def test_a_resume_on_a_device_that_is_not_there_leaves_the_checkpoint(small_home, tmp_path):
    checkpoint, output = tmp_path / "c.lvc", tmp_path / "o.npz"
    small_home.call("run", "small", "--input", small_home.input, "--output", output, "--suspend-after", 20,
                    "--checkpoint", checkpoint, expect=SUSPENDED)
    small_home.refuses("resume", checkpoint, "--output", output, "--device", "foo:0", code=REFUSED, words=["foo"])
    small_home.call("resume", checkpoint, "--output", output)


def test_functions_that_are_not_there(small_home, tmp_path):
    small_home.refuses("run", "small", "--input", small_home.input, "--output", tmp_path / "o.npz", "--function",
                       "other", code=NOT_FOUND, words=["other"])


def test_bench_measures(small_home):
    result = small_home.call("bench", "small", "--input", small_home.input, "--repeat", 20, "--threads", 1).json
    assert 0 < result["min"] <= result["p50"] <= result["p99"]
    assert result["repeat"] == 20 and result["threads"] == 1 and result["executions"] == 1
    result = small_home.call("bench", "small", "--input", small_home.input, "--repeat", 20, "--executions", 3).json
    assert 0 < result["min"] <= result["p50"] <= result["p99"]
    assert result["executions"] == 3 and result["per_second"] > 0
    small_home.refuses("bench", "small", "--input", small_home.input, "--executions", 0, code=USAGE)


def test_inspect_tells_where_a_checkpoint_stands(small_home, tmp_path):
    small_home.call("run", "small", "--input", small_home.input, "--output", tmp_path / "o.npz", "--suspend-after", 20,
                    "--checkpoint", tmp_path / "c.lvc", expect=SUSPENDED)
    found = small_home.call("inspect", tmp_path / "c.lvc").json
    for frame in found["frames"]:
        assert frame["function"] and frame["pc"] >= 0 and frame["instruction"]
    for live in found["live"]:
        assert set(live) >= {"frame", "register", "kind"} and live["frame"] < len(found["frames"])
    assert found["determinism_class"]
    # a file needs no home
    nowhere = Home(tmp_path / "nowhere")
    assert nowhere.call("inspect", tmp_path / "c.lvc").json == found
    assert not os.path.exists(nowhere.path)


def test_check_finite_names_the_first_bad_result(home, tmp_path):
    import numpy as np

    from graph_builder import FLOAT, GraphBuilder, value
    from harness import write_model, write_npz
    g = GraphBuilder("root")
    g.op("Sqrt", "x", name="y")
    home.call("register", "root", write_model(tmp_path / "m.onnx", g.model(
        [value("x", FLOAT, [2])], [value("y", FLOAT, [2])])))
    source = write_npz(tmp_path / "in.npz", x=np.array([1, -1], "f4"))
    home.call("run", "root", "--input", source, "--output", tmp_path / "o.npz")
    shown = home.call("run", "root", "--input", source, as_json=False)
    assert (shown.out, shown.err) == ("y: float32 [2]\n  [  1, NaN]\n", "")
    shown = home.call("run", "root", "--input", source, "-o", "-", as_json=False)
    assert json.loads(shown.out)["outputs"] == [{"name": "y", "dtype": "float32", "shape": [2], "data": [1, "NaN"]}]
    home.refuses("run", "root", "--input", source, "--output", tmp_path / "p.npz", "--check-finite", words=["Sqrt"])


def test_the_home_comes_from_the_environment_too(tmp_path):
    environment = {**os.environ, "LAYOVER_HOME": str(tmp_path / "h")}
    done = subprocess.run([binary(), "register", "m", f"{SMALL_MODELS}/nested_if.onnx"], env=environment,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0 and os.path.exists(tmp_path / "h" / "catalog.db"), done.stderr
    # without a terminal there are no progress bars
    assert "\r" not in done.stdout + done.stderr and "\x1b" not in done.stdout + done.stderr
    quiet = subprocess.run([binary(), "--quiet", "models"], env=environment, capture_output=True, text=True, check=False)
    assert quiet.returncode == 0 and quiet.stderr == ""


@pytest.mark.parametrize("option", ["--output", "--checkpoint"])
def test_a_file_that_cannot_be_written_is_noticed_before_the_run(home, tmp_path, option):
    paths = {"--output": tmp_path / "o.npz", "--checkpoint": tmp_path / "c.lvc", option: tmp_path / "none" / "f"}
    arguments = [text for pair in paths.items() for text in pair]
    home.refuses("run", "m", "--input", tmp_path / "x.npz", *arguments, code=REFUSED, words=["cannot create", "none/f"])
    assert list(tmp_path.glob("*.tmp")) == []
    paths[option] = ""
    arguments = [text for pair in paths.items() for text in pair]
    home.refuses("run", "m", "--input", tmp_path / "x.npz", *arguments, code=REFUSED, words=["name", "empty"])
