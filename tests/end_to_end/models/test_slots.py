"""What the network computes stays on its device: which graphs of the zoo copy a value from there to the host, and why."""
import os
import re
import sys

import pytest

import library_modules
from harness import ROOT, Home

sys.path.append(os.path.join(ROOT, "tests", "zoo"))
sys.path.append(os.path.join(ROOT, "tests", "random_models"))

import random_case  # noqa: E402
import zoo_check  # noqa: E402

# Copies to the host in a graph's code. Strings are on the host, and so are conditions and lengths that the graph computes.
HOST_COPIES = {
    "hashes_and_repeats": 2,                 # conditions of Loops
    "logistic_regression_texts_zip_map": 1,  # words by number
    "script_choose_branch": 1,               # the condition of an If
    "script_halve_until": 4,                 # the condition of a Loop
    "search_beams": 1,                       # the condition of a Loop
    "search_greedy": 1,                      # the same
    "tree_classifier_texts": 1,              # words by number
    "vectors": 1,                            # the same
}
GRAPHS = sorted(set(zoo_check.read_table()) - set(zoo_check.read_refused()))


RANDOM_GRAPHS = 50


def code_of(path):
    """The assembly of a model's code."""
    module = library_modules.Module(path)
    text = module.text("as_text")
    module.close()
    return text


def find_returns(code):
    """Copies to the device of what the host made of the device's values: each could have been computed there, without a wait."""
    found, from_device = [], set()
    for line in code.splitlines():
        if line.startswith("function"):
            from_device = set()
        reads, _, writes = line.partition("->")
        read, written = (set(re.findall(r"\br\d+\b", part)) for part in (reads, writes))
        if re.search(r"DeviceCopy [^,]*, 1 ", reads) and read & from_device:
            found.append(line)
        made = re.search(r"DeviceCopy [^,]*, 0 ", reads) or ".host " in reads and read & from_device
        from_device = from_device | written if made else from_device - written
    return found


def test_what_returns_is_found():
    assert find_returns(" DeviceCopy r1!, 0 -> r2\n InvokePacked.host %1, r2!, @3 -> r2\n DeviceCopy r2!, 1 -> r4\n")
    assert not find_returns(" DeviceCopy r1, 0 -> r2\n InvokePacked %1, r1, r2! -> r2\n DeviceCopy r3, 1 -> r4\n")


@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_copies_to_the_host_what_it_must(tmp_path, name):
    """On a device of its own memory each of these copies is a wait for all the work before it."""
    model, _ = zoo_check.fill(name, str(tmp_path))
    code = code_of(model)
    assert len(re.findall(r"DeviceCopy [^\n]*, 0 ->", code)) == HOST_COPIES.get(name, 0)
    assert not find_returns(code)


def test_no_value_of_a_random_graph_goes_to_the_host_and_back(tmp_path):
    for number in range(RANDOM_GRAPHS):
        model = tmp_path / f"{number}.onnx"
        model.write_bytes(random_case.make_case(7, number).data)
        assert not find_returns(code_of(model)), f"random_case.make_case(7, {number})"


def test_run_counts_copies_and_waits(tmp_path):
    """On a device with memory of its own; where both slots are host memory there are none."""
    model, source = zoo_check.fill("script_halve_until", str(tmp_path))
    home = Home(tmp_path / "home")
    home.call("register", "m", model)
    run = ("run", "m", "--input", source, "--output", tmp_path / "o.npz", "--stats", "--device")
    traffic = home.call(*run, "sim:0").json["traffic"]
    assert 0 < traffic["copies_to_host"] <= traffic["bytes_to_host"] and traffic["waits"] == traffic["copies_to_host"]
    text = home.call(*run, "sim:0", as_json=False).out
    assert (f"copies to the host: {traffic['copies_to_host']} ({traffic['bytes_to_host']} bytes), to the device: "
            f"{traffic['copies_to_device']} ({traffic['bytes_to_device']} bytes); waits for the device: "
            f"{traffic['waits']}\n") in text
    assert set(home.call(*run, "cpu").json["traffic"].values()) == {0}
