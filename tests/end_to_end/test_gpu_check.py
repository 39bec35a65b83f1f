"""tools/gpu-check: packed, carried elsewhere, run there on sim; what fails is said and counted."""
import os
import shutil
import subprocess

import pytest

from harness import ROOT, TIMEOUT_S, USAGE, binary

SCRIPT = os.path.join(ROOT, "tools", "gpu-check")


def call(*command, expect=0):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert done.returncode == expect, f"{command}\n{done.stdout}\n{done.stderr}"
    return done


@pytest.fixture(scope="module")
def pack(tmp_path_factory):
    """A pack of the build under test, without larger models, moved from where it was made."""
    folder = tmp_path_factory.mktemp("pack")
    build = os.path.dirname(os.path.dirname(binary()))
    said = call(SCRIPT, "pack", "--build", build, "--models", folder / "none", folder / "made").stdout
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
    for measured in ("Softmax float32, T[8,12,128,128]", "model loop_if_scan.five, a run", "switch between two executions",
                     "copy of live tensors to the host"):
        assert any(character in "123456789" for character in rows[measured]), rows[measured]
    assert "PyTorch" in rows or any("in PyTorch" in what for what in rows)
    assert "MatMul" in open(tmp_path / "support.md", encoding="utf-8").read()


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
