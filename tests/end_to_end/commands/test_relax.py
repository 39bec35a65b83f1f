"""Executables of TVM's Relax VM: registered, printed, run, written back; Relay's are only looked at."""
import filecmp
import os
import struct

import numpy as np
import pytest

from daemon import Daemon
from harness import FORBIDDEN, REFUSED, ROOT, load, write_npz

FIXTURES = os.path.join(ROOT, "tests", "relax", "fixtures", "built")
CORPUS = os.path.join(ROOT, "tests", "fuzz", "corpus", "relax")


def fixture(name):
    return os.path.join(FIXTURES, name + ".bin")


def text(data):
    return struct.pack("<Q", len(data)) + data


def library(executable, symbol=b"__tvm_ffi__library_bin", machine=None):
    """A library (ELF) as TVM exports it, with the modules _lib and relax.VMExecutable."""
    rows = struct.pack("<6Q", 3, 0, 1, 1, 1, 1)
    content = rows + text(b"relax.VMExecutable") + text(executable) + text(b"_lib")
    blob = text(content)
    names = b"\0" + symbol + b"\0"
    names += bytes(-len(names) % 8)
    at = 64 + 56 + 3 * 64
    symbols = bytes(24) + struct.pack("<IBBHQQ", 1, 0x11, 0, 1, at + 48 + len(names), len(blob))
    size = at + len(symbols) + len(names) + len(blob)
    machine = machine or {"x86_64": 62, "aarch64": 183}[os.uname().machine]
    header = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 64, 120, 0, 64, 56, 1, 64, 3, 0)
    segment = struct.pack("<IIQQQQQQ", 1, 4, 0, 0, 0, size, size, 1)
    sections = bytes(64) + struct.pack("<IIQQQQIIQQ", 0, 11, 0, 0, at, len(symbols), 2, 0, 8, 24)
    sections += struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, at + len(symbols), len(names), 0, 0, 1, 0)
    return header + segment + sections + symbols + names + blob


def test_a_raw_file_is_registered_printed_and_written_back(home, tmp_path):
    home.call("register", "tuple", fixture("tuple"))
    functions = {f["name"]: f for f in home.call("show", "tuple").json["functions"]}
    assert set(functions) == {"main", "empty", "oob"}
    wanted = open(os.path.join(FIXTURES, "tuple.txt"), encoding="utf-8").read().split("\n# as_python")[0]
    for source in ("tuple", fixture("tuple")):
        assert home.call("disasm", source, "--relax").json["assembly"] == wanted
        assert home.call("disasm", source, "--relax", as_json=False).out == wanted
    assert "Call &vm.builtin.make_tuple" in home.call("disasm", "tuple", as_json=False).out
    home.call("export", "tuple", tmp_path / "back.bin")
    assert filecmp.cmp(tmp_path / "back.bin", fixture("tuple"), shallow=False)
    home.call("compile", fixture("tuple"), "-o", tmp_path / "tuple.lvx")
    home.call("import", "again", tmp_path / "tuple.lvx")
    home.call("export", "again", tmp_path / "back.bin")
    assert filecmp.cmp(tmp_path / "back.bin", fixture("tuple"), shallow=False)


def test_a_library_is_read_as_data_and_runs(home, tmp_path):
    raw = open(os.path.join(CORPUS, "builtins.bin"), "rb").read()
    (tmp_path / "m.so").write_bytes(library(raw))
    (tmp_path / "m.bin").write_bytes(raw)
    one = home.call("register", "m", tmp_path / "m.so").json
    assert one["executable"] == home.call("register", "raw", tmp_path / "m.bin").json["executable"]
    x, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.zeros((3, 2), np.int64)
    source = write_npz(tmp_path / "in.npz", **{"0": x, "1": y})
    home.call("run", "m", "--input", source, "--output", tmp_path / "out.npz")
    (result,) = load(tmp_path / "out.npz").values()
    assert result.tolist() == x.reshape(3, 2).tolist()
    home.call("run", "m", "--function", "two", "--input", source, "--output", tmp_path / "out.npz")
    assert [a.tolist() for a in load(tmp_path / "out.npz").values()] == [y.tolist(), x.tolist()]


def test_a_daemon_takes_both_kinds_of_file(home, tmp_path):
    raw = open(os.path.join(CORPUS, "builtins.bin"), "rb").read()
    (tmp_path / "m.so").write_bytes(library(raw))
    with Daemon(home):
        one = home.call("register", "m", tmp_path / "m.so").json["executable"]
        assert one == home.call("register", "raw", os.path.join(CORPUS, "builtins.bin")).json["executable"]
        source = write_npz(tmp_path / "in.npz", **{"0": np.ones((2, 3), "f4"), "1": np.ones((3, 2), "f4")})
        home.call("run", "m", "--input", source, "--output", tmp_path / "out.npz")
        home.call("export", "m", tmp_path / "back.bin")
    assert (tmp_path / "back.bin").read_bytes() == raw


@pytest.mark.parametrize("data, words", [
    (b"hello", ["no library"]),
    (b"", ["empty"]),
    (b"\x7fELF", ["a library of only 4 bytes"]),
    (library(b"x", symbol=b"something"), ["none of the symbols", "__tvm_ffi__library_bin"]),
    (library(b"x", machine=22), ["a library for S/390", "this machine is"]),
    (library(b"x"), ["ends early"]),
    (library(bytes(64)), ["no Relax executable"]),
], ids=["text", "empty", "head", "symbol", "machine", "short", "zeroes"])
def test_bad_libraries_are_refused_in_one_sentence(home, tmp_path, data, words):
    (tmp_path / "m.so").write_bytes(data)
    home.refuses("register", "m", tmp_path / "m.so", words=["m.so", *words])


def test_a_packed_function_that_nobody_registered_is_named(home, tmp_path):
    home.call("register", "add", fixture("add"))
    names = [port["name"] for port in home.call("show", "add").json["functions"][0]["inputs"]]
    source = write_npz(tmp_path / "in.npz", **{name: np.ones(3, "f4") for name in names})
    home.refuses("run", "add", "--input", source, "--output", tmp_path / "o.npz", code=(REFUSED, 3),
                 words=["there is no packed function test.vm.add"])


def test_inspect_shows_what_is_in_a_file(home, tmp_path):
    found = home.call("inspect", fixture("constants")).json
    assert (found["format"], found["tvm"]) == ("relax", "0.23 to 0.27")
    assert [c["kind"] for c in found["constants"]].count("tensor") == 6
    assert {"name": "fx.scale_f64", "kind": "packed"} in found["functions"]
    assert "bytecode main" in home.call("inspect", fixture("constants"), as_json=False).out
    relay = os.path.join(CORPUS, "relay_18.ro")
    found = home.call("inspect", relay).json
    assert (found["format"], found["tvm"]) == ("relay", "0.18.0")
    assert "InvokePacked primitive=fused_add" in found["code"]
    home.refuses("register", "m", relay, words=["Relay VM", "layover inspect"])
    broken = bytearray(open(relay, "rb").read())
    broken[-1] ^= 1
    (tmp_path / "broken.ro").write_bytes(broken)
    home.refuses("inspect", tmp_path / "broken.ro", words=["function 0", "hash"])


def test_precision_and_other_models_are_refused(small_home, tmp_path):
    small_home.refuses("register", "m", fixture("add"), "--precision", "bf16", words=["compiled already"])
    small_home.refuses("export", "small", tmp_path / "o.bin", code=FORBIDDEN, words=["small", "not made from a Relax"])
