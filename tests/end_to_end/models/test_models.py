"""Every model gives onnxruntime's outputs, the same bits at any thread count, and one identity everywhere."""
import os

import onnx
import pytest

from conftest import LARGE, SMALL
from feeds import FEEDS
from harness import SMALL_MODELS, Home, assert_close, load, same_bits

CASES = [(name, case) for name in (*LARGE, *SMALL) for case in FEEDS[name]]


@pytest.mark.parametrize("name, case", [*CASES, ("minilm", "sentences")])
def test_outputs_equal_onnxruntime(straight, models, name, case):
    _, _, output, _ = straight(name, case)
    assert_close(output, load(f"{models}/{name}.{case}.expected.npz"), name)


@pytest.mark.parametrize("name", [*LARGE, "minilm"])
def test_threads_do_not_change_a_bit(shelf, models, straight, tmp_path, name):
    case = next(iter(FEEDS.get(name, {"sentences": None})))
    home, source, output, _ = straight(name, case)
    for threads in (1, 2):
        again = tmp_path / f"{threads}.npz"
        home.call("run", name, "--input", source, "--output", again, "--threads", threads)
        same_bits(output, again)


@pytest.mark.parametrize("name", [*LARGE, "gpt2_gen_tiny", "loop_if_scan"])
def test_identity_is_the_same_on_any_machine(shelf, models, tmp_path, name):
    first = shelf(name).registered[name]["executable"]
    files = []
    for environment in ({"ONEDNN_MAX_CPU_ISA": "AVX2"}, {"OMP_NUM_THREADS": "2"}, {"OMP_NUM_THREADS": "1"}):
        home = Home(tmp_path / str(len(files)))
        assert home.call("register", name, f"{models}/{name}.onnx", environment=environment).json["executable"] == first
        files.append(tmp_path / f"{len(files)}.lvx")
        home.call("compile", f"{models}/{name}.onnx", "-o", files[-1], environment=environment)
    contents = {open(path, "rb").read() for path in files}
    assert len(contents) == 1, "compile wrote different bytes"


def test_register_describes_the_model(shelf, models):
    for name in ("gpt2_gen_small", "vad", "squeezenet"):
        graph = onnx.load(f"{models}/{name}.onnx").graph
        weights = {tensor.name for tensor in graph.initializer}
        result = shelf(name).registered[name]
        main = next(function for function in result["functions"] if function["name"] == "main")
        for listed, entries in ((main["inputs"], [v for v in graph.input if v.name not in weights]),
                                (main["outputs"], graph.output)):
            expected = [(v.name, [d.dim_value if d.HasField("dim_value") else -1 for d in v.type.tensor_type.shape.dim])
                        for v in entries]
            assert [(v["name"], v["shape"]) for v in listed] == expected
        assert result["bytes_raw"] > 0 and result["bytes_stored"] > 0 and result["seconds"] >= 0


def test_run_reports_what_it_did(straight, tmp_path):
    home, source, _, instructions = straight("mlp", "one")
    result = home.call("run", "mlp", "--input", source, "--output", tmp_path / "o.npz", "--stats").json
    assert result["state"] == "succeeded" and result["instructions"] == instructions
    assert 0 < result["kernel_calls"] <= instructions and result["peak_bytes"] > 0 and result["seconds"] >= 0


def test_each_kind_of_input_file_gives_the_same(straight, tmp_path):
    import numpy as np
    from safetensors.numpy import save_file

    home, source, output, _ = straight("gpt2_gen_tiny", "short")
    arrays = load(source)
    separate = []
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
        separate += ["--input", f"{name}={tmp_path}/{name}.npy"]
    save_file(arrays, tmp_path / "all.safetensors")
    np.savez_compressed(tmp_path / "deflated.npz", **arrays)
    for i, inputs in enumerate((separate, ["--input", tmp_path / "all.safetensors"])):
        home.call("run", "gpt2_gen_tiny", *inputs, "--output", tmp_path / f"{i}.npz")
        same_bits(output, tmp_path / f"{i}.npz")
    # a compressed archive is either read or refused, never misread
    deflated = home.try_call("run", "gpt2_gen_tiny", "--input", tmp_path / "deflated.npz", "--output", tmp_path / "d.npz")
    assert deflated.code in (0, 1)
    if deflated.code == 0:
        same_bits(output, tmp_path / "d.npz")


def test_fortran_order_is_read_as_such_or_refused(straight, tmp_path):
    import numpy as np

    home, source, output, _ = straight("mlp", "five")
    np.savez(tmp_path / "f.npz", x=np.asfortranarray(load(source)["x"]))
    result = home.try_call("run", "mlp", "--input", tmp_path / "f.npz", "--output", tmp_path / "o.npz")
    assert result.code in (0, 1), str(result)
    if result.code == 0:
        same_bits(output, tmp_path / "o.npz")


def test_committed_small_models_are_what_the_scripts_write(models):
    for name in sorted(os.listdir(SMALL_MODELS)):
        committed, made = f"{SMALL_MODELS}/{name}", f"{models}/{name}"
        if name.endswith(".expected.npz"):  # onnxruntime's last bits depend on the machine
            continue
        if name.endswith(".npz"):  # arrays: the zip around them is as the Python that wrote it likes it
            same_bits(committed, made)
            continue
        with open(committed, "rb") as old, open(made, "rb") as new:
            assert old.read() == new.read(), f"{name} differs: run make_models.py again"
