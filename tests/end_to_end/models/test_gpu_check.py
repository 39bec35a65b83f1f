"""tools/gpu-check: packed, carried elsewhere, run there on sim; what fails is said and counted."""
import os
import re
import shutil
import subprocess
import sys

import feeds
import numpy
import pytest

from harness import ROOT, TIMEOUT_S, USAGE, binary, load

FAKE = os.path.join(os.path.dirname(binary()), "..", "tests", "support", "fake_cuda")
SCRIPT = os.path.join(ROOT, "tools", "gpu-check")


def call(*command, expect=0, **environment):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
                          env={**os.environ, **environment})
    assert done.returncode == expect, f"{command}\n{done.stdout}\n{done.stderr}"
    return done


@pytest.fixture(scope="module")
def pack(tmp_path_factory):
    """A pack of the build under test, without larger models, moved from where it was made."""
    folder = tmp_path_factory.mktemp("pack")
    build = os.path.dirname(os.path.dirname(binary()))
    said = call(SCRIPT, "pack", "--build", build, "--models", folder / "none", folder / "made",
                PYTHON=sys.executable).stdout
    assert "without the models" not in said, said
    size = os.path.getsize(folder / "made.tar.gz")
    assert f"made.tar.gz, {size / 2 ** 20:.1f} MiB of 64" in said and size < 64 << 20
    shutil.rmtree(folder / "made")
    shutil.unpack_archive(folder / "made.tar.gz", folder / "there")
    return folder / "there" / "made"


def table(out):
    """The rows below the last heading: [what, device, result, target]."""
    lines = out.rstrip("\n").split("\n")
    at = len(lines) - 1 - lines[::-1].index("| what | device | result | target |")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[at + 2:]]
    assert all(len(row) == 4 for row in rows), out
    return rows


def test_a_pack_checks_a_device_and_ends_in_a_table(pack, tmp_path):
    done = call(pack / "gpu-check", "--device", "sim:0", "--quick", "--out", tmp_path)
    assert done.stdout.startswith("sim:0 ")
    rows = {row[0]: row[2] for row in table(done.stdout)}
    assert all(row[1] == "sim:0" for row in table(done.stdout))
    for way in ("sim:0->sim:0", "cpu->sim:0", "sim:0->cpu"):
        assert rows[f"stopped and gone on, {way}"] == "2 runs, stopped at 6 points: 0 failed"
    for check in ("values", "equality", "peer", "random"):
        passed, failed = rows[f"conformance, {check}"].split(", ")[:2]
        assert int(passed.split()[0]) > 0 and failed == "0 failed"
    models = [f"model quick_{case}, a run" for case in (
        "resnet_float32.batch2", "resnet_float16.batch2", "bert_float32.batch2", "bert_float16.batch2",
        "bert_bfloat16.batch2", "gpt2_float32.decode4", "gpt2_float16.decode4")]
    for measured in ("Softmax float32, T[8,12,128,128]", "model loop_if_scan.five, a run", "switch between two executions",
                     "copy of live tensors to the host", "4 MiB of weights, host-resident / pure copy",
                     "4 MiB of weights, disk-resident / read, over the link", *models):
        assert any(character in "123456789" for character in rows[measured]), rows[measured]
    assert any(re.fullmatch(r"checkpoint of 0\.0168 GB, \d+ threads, written nowhere", what) for what in rows)
    assert rows.get("PyTorch", "not measured: ").startswith("not measured: ")
    assert "PyTorch" in rows or sum("in PyTorch" in what for what in rows) > len(models)
    assert "MatMul" in open(tmp_path / "support.md", encoding="utf-8").read()


def test_products_are_compared_with_raw_cublas(pack, tmp_path):
    """Over a driver and a cuBLASLt without a GPU: that it works, not how fast."""
    fake = tmp_path / "fake"
    shutil.copytree(pack, fake)
    shutil.copy(f"{FAKE}/liblayover-cuda.so", fake / "bin")
    done = call(fake / "gpu-check", "--device", "cuda:0", "--quick", "--part", "bench", LD_LIBRARY_PATH=FAKE)
    rows = {row[0]: row for row in table(done.stdout)}
    for dtype in ("float32", "float16", "bfloat16"):
        for shape in ("1 x [5,8] [8,9]", "2 x [4,3] [3,6]"):
            _, device, result, target = rows[f"product {dtype} {shape}"]
            assert device == "cuda:0" and target == "0.95 x raw"
            assert re.fullmatch(r"[\d.]+ us by cuda\.cublas_matmul, \d+ GFLOP/s; raw [\d.]+ us: [\d.]+ x raw", result), result
    assert "switch between two executions" in rows


@pytest.mark.parametrize("name", ["quick_resnet_float32.batch2", "quick_resnet_float16.batch2", "quick_bert_float32.batch2",
                                  "quick_bert_float16.batch2", "quick_gpt2_float32.decode4", "quick_gpt2_float16.decode4"])
def test_card_models_compute_what_onnxruntime_does(pack, home, tmp_path, name):
    model, dtype = name.split(".")[0], name.split(".")[0].split("_")[-1]
    shutil.copy(pack / "card" / f"{model}.onnx", tmp_path)
    shutil.copy(pack / "card" / f"{dtype}.block", tmp_path / f"weights.{dtype}")
    source = pack / "card" / f"{name}.npz"
    home.call("compile", tmp_path / f"{model}.onnx", "-o", tmp_path / "m.lvx")
    home.call("import", model, tmp_path / "m.lvx")
    home.call("run", model, "--input", source, "--output", tmp_path / "o.npz")
    got, expected = load(tmp_path / "o.npz"), feeds.expected_outputs(str(tmp_path / f"{model}.onnx"), load(source))
    tolerance = 1e-2 if dtype == "float16" else 1e-4
    assert sorted(got) == sorted(expected)
    for key, array in expected.items():
        assert array.size > 1 and numpy.ptp(array) > 0, f"{key} is the same everywhere"
        numpy.testing.assert_allclose(got[key], array, rtol=tolerance, atol=tolerance)


def test_a_pack_without_card_models_says_so(pack, tmp_path):
    less = tmp_path / "less"
    shutil.copytree(pack, less, ignore=shutil.ignore_patterns("card"))
    rows = table(call(less / "gpu-check", "--device", "cpu", "--quick", "--part", "models").stdout)
    assert ["models of full size", "cpu", "not in this pack", ""] in rows


def test_its_libraries_are_the_packed_ones(pack):
    listed = call("env", f"LD_LIBRARY_PATH={pack}/lib", "ldd", pack / "bin" / "layover").stdout
    elsewhere = {line.split()[0].split(".so")[0] for line in listed.splitlines() if "=> /" in line and str(pack) not in line}
    assert elsewhere <= {"libc", "libm", "libstdc++", "libgcc_s", "libresolv", "libdl", "libpthread", "librt"}, listed


def test_one_part_of_it(pack, tmp_path):
    rows = table(call(pack / "gpu-check", "--device", "cpu", "--quick", "--part", "resume", "--out", tmp_path).stdout)
    assert [row[0] for row in rows] == ["stopped and gone on, cpu->cpu"]


def test_wrong_outputs_fail_it_and_are_named(pack, tmp_path):
    broken = tmp_path / "broken"
    shutil.copytree(pack, broken)
    shutil.copy(broken / "models/loop_if_scan.none.expected.npz", broken / "models/loop_if_scan.five.expected.npz")
    done = call(broken / "gpu-check", "--device", "sim:0", "--quick", "--part", "resume", expect=1)
    assert "failed: loop_if_scan.five: run on cpu" in done.stdout
    assert table(done.stdout)


def test_a_device_that_is_not_there_is_one_clear_sentence(pack, tmp_path):
    if os.path.exists("/dev/nvidia0"):
        pytest.skip("this machine has the device")
    done = call(pack / "gpu-check", "--device", "cuda:0", "--out", tmp_path, expect=1)
    assert done.stdout == "" and done.stderr.count("\n") == 1
    assert done.stderr.startswith("gpu-check: ") and "cuda" in done.stderr


def test_wrong_command_lines(pack, tmp_path):
    for options in (["--part", "everything"], ["--colour"], ["--device"]):
        done = call(pack / "gpu-check", *options, expect=USAGE)
        assert done.stderr.startswith("gpu-check: ") and done.stderr.count("\n") == 1
    (tmp_path / "precious").write_text("mine")
    assert "no pack of an earlier call" in call(SCRIPT, "pack", tmp_path, expect=1).stderr
    assert (tmp_path / "precious").read_text() == "mine"
