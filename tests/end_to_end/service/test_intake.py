"""What a submission may cost before its job is taken: the daemon's memory and its quotas."""
import concurrent.futures
import json
import struct
import time
import zlib

import pytest
from daemon import Daemon, Refused, _multipart
from harness import Home

MIB = 1 << 20
BLOCK = 8 * MIB

PROGRAM = """
constant @two = float32[1] {2}
function main(a: float32[n, 2]) -> (y: float32[n, 2]) exported {
    Ret r0
}
function small(a: float32[1, 2]) -> (y: float32[1, 2]) exported {
    Ret r0
}
function names(a: string[n] slot 0) -> (y: string[n] slot 0) exported {
    Ret r0
}
function none() -> (y: float32[1] slot 0) exported {
    LoadConst @two -> r0
    Ret r0
}
"""


def zeros_npz(name, descr, shape, size):
    """One deflated array of zeros; size: bytes of its elements."""
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    head = b"\x93NUMPY\x01\x00\x76\x00" + head.ljust(117) + b"\n"
    packer, crc, block = zlib.compressobj(9, zlib.DEFLATED, -15), zlib.crc32(head), bytes(BLOCK)
    begin = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
    piece = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)  # the same bytes each time: it refers to nothing before it
    packed = [begin, piece * (size // BLOCK), packer.compress(block[:size % BLOCK]), packer.flush()]
    for at in range(0, size, BLOCK):
        crc = zlib.crc32(block[:size - at] if size - at < BLOCK else block, crc)
    data, name = b"".join(packed), name.encode() + b".npy"
    common = struct.pack("<HHIIIIH", 0x800, 8, 0, crc, len(data), size + 128, len(name))
    local = b"PK\3\4" + struct.pack("<H", 20) + common + b"\0\0" + name + data
    central = b"PK\1\2" + struct.pack("<HH", 20, 20) + common + bytes(8) + bytes(4) + bytes(4) + name
    end = b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local), 0)
    return local + central + end


class Peak:
    """How much more memory than at its beginning the daemon ever had in it."""

    def __init__(self, daemon):
        self.pid = daemon.ready["pid"]

    def read(self, key):
        with open(f"/proc/{self.pid}/status") as status:
            return next(int(line.split()[1]) << 10 for line in status if line.startswith(key))

    def __enter__(self):
        with open(f"/proc/{self.pid}/clear_refs", "w") as file:
            file.write("5")
        self.before = self.read("VmRSS")
        return self

    def __exit__(self, *_):
        self.bytes = self.read("VmHWM") - self.before


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("intake")
    home = Home(folder / "home")
    (folder / "m.lva").write_text(PROGRAM)
    home.call("register", "m", folder / "m.lva")
    with Daemon(home) as daemon:
        daemon.json("POST", "/v1/tenants", {"tenant": "b"})
        home.call("register", "m", folder / "m.lva", "--tenant", "b")
        daemon.json("POST", "/v1/tenants/b", {"quotas": {"host_bytes": 64 * MIB, "running_jobs": 0}})
        token = daemon.json("POST", "/v1/tokens", {"tenant": "b", "role": "user"})["token"]
        daemon.b = {"Authorization": "Bearer " + token}
        yield daemon


def submit(daemon, inputs, headers=None, **policy):
    parts = {"policy": json.dumps({"model": "m", **policy}).encode()}
    if inputs is not None:
        parts["inputs"] = inputs
    body, content_type = _multipart(parts)
    return json.loads(daemon.request("POST", "/v1/jobs", body, content_type, headers))["job"]


def test_a_model_without_inputs_needs_no_inputs(served):
    job = submit(served, None, function="none")
    served.finished(job)
    assert served.outputs(job)["y"].tolist() == [2]


def test_inputs_are_not_unpacked_before_they_are_known_to_fit(served):
    bomb = zeros_npz("a", "<f4", "(134217728, 2)", 1 << 30)
    doubles = zeros_npz("a", "<f8", "(67108864, 2)", 1 << 30)
    assert len(bomb) < 1.1 * MIB
    with Peak(served) as peak:
        for status, words, options in (
                (404, "nothing", {"inputs": bomb, "model": "nothing"}),
                (400, "has shape [134217728, 2], not [1, 2]", {"inputs": bomb, "function": "small"}),
                (400, "is float64, not float32", {"inputs": doubles}),
                (429, "host_bytes", {"inputs": bomb, "headers": served.b})):
            with pytest.raises(Refused) as refused:
                submit(served, **options)
            assert refused.value.status == status and words in str(refused.value)
    assert peak.bytes < 32 * MIB


def test_many_submissions_at_once_stay_within_a_share(served):
    """24 at once would be 700 MiB if they were unpacked as they come; each is taken in the end. None runs here."""
    texts = zeros_npz("a", "<U1", f"({MIB // 2},)", 2 * MIB)
    floats = zeros_npz("a", "<f4", f"({7 * MIB}, 2)", 56 * MIB)
    with Peak(served) as peak, concurrent.futures.ThreadPoolExecutor(24) as pool:
        def one(i):
            for _ in range(20):
                try:
                    return submit(served, floats if i % 2 else texts, served.b,
                                  function="main" if i % 2 else "names")
                except Refused as refused:
                    assert refused.status == 429
                    time.sleep(0.5)
            return None
        assert all(pool.map(one, range(24)))
    assert peak.bytes < 128 * MIB, peak.bytes / MIB


def test_the_command_line_does_not_unpack_what_does_not_fit(tmp_path):
    home = Home(tmp_path / "home")
    (tmp_path / "m.lva").write_text(PROGRAM)
    home.call("register", "m", tmp_path / "m.lva")
    (tmp_path / "bomb.npz").write_bytes(zeros_npz("a", "<f4", "(134217728, 2)", 1 << 30))
    result, peak = home.measure("run", "m", "--function", "small", "--input", tmp_path / "bomb.npz",
                                "--output", tmp_path / "out.npz")
    assert result.code == 1 and "has shape [134217728, 2], not [1, 2]" in result.err, result
    assert 1 * MIB < peak < 256 * MIB


def test_a_daemon_with_less_address_space_takes_models(tmp_path, monkeypatch):
    """Its compiler may not ask for more than the daemon itself has."""
    home = Home(tmp_path / "home")
    prlimit = ["prlimit", f"--as={8 << 30}"]
    command = Daemon.command
    monkeypatch.setattr(Daemon, "command", lambda self: prlimit + command(self))
    with Daemon(home, "--device", "cpu", "--device", "sim:0") as daemon:
        (tmp_path / "m.lva").write_text(PROGRAM)
        daemon.request("POST", "/v1/models/m?format=lva", (tmp_path / "m.lva").read_bytes())
        assert daemon.json("GET", "/v1/models/m")["version"] == 1
        home.call("export", "m", tmp_path / "m.lvx")
        home.call("import", "n", tmp_path / "m.lvx")
        for device in ("cpu", "sim:0"):
            job = daemon.submit("n", {}, function="none", device=device)
            assert daemon.finished(job)["y"].tolist() == [2]
            home.call("result", job, "--output", tmp_path / "out.npz")
