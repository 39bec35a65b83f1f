"""The C library, used as a program of its own would: a real generation chained through bytes at every instruction."""
import os
import tempfile

import pytest
from harness import load
from library import Library, Model


@pytest.fixture
def memory_folder(tmp_path):
    """Thousands of durable files are written: in memory where the machine has such a folder."""
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield folder


def chain(models, arrays, folder, step):
    """So many instructions, a checkpoint, a fresh execution on the next device, and so on to the end."""
    execution, stops = models[0].start(arrays), 0
    while not execution.run(step):
        stops += 1
        path = f"{folder}/{stops % 2}.lvc"
        execution.checkpoint(path)
        execution.free()
        execution = models[stops % len(models)].resume(path)
    outputs = execution.outputs()
    execution.free()
    return outputs, stops


@pytest.mark.parametrize("devices", [("cpu",), ("cpu", "sim:0")], ids=["cpu", "cpu-sim-cpu"])
@pytest.mark.parametrize("case, step", [("short", 1), ("long", 61)])
def test_a_generation_survives_bytes_at_every_stop(straight, memory_folder, case, step, devices):
    home, source, output, instructions = straight("gpt2_gen_small", case)
    file = f"{memory_folder}/model.lvx"
    home.call("export", "gpt2_gen_small", file)
    library = Library()
    models = [Model(library, file, device) for device in devices]
    outputs, stops = chain(models, load(source), memory_folder, step)
    assert stops == (instructions - 1) // step
    expected = load(output)
    assert sorted(outputs) == sorted(expected)
    for name, array in expected.items():
        assert outputs[name].dtype == array.dtype and outputs[name].shape == array.shape
        assert outputs[name].tobytes() == array.tobytes(), name
    for model in models:
        model.close()
