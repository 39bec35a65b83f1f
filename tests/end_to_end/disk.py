"""A small disk for the tests that fill it."""
import os
import subprocess

import pytest

DISK_MIB = 64


@pytest.fixture
def small_disk(tmp_path, request):
    """A file system of a few megabytes: DISK_MIB, or what the test's parameter says."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={getattr(request, 'param', DISK_MIB)}m", "tmpfs", folder], check=False,
                             capture_output=True, text=True)
    if mounted.returncode != 0:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def fill(folder):
    """Takes all room there is, also what came free since the last time; the file to remove."""
    path = folder / "filler"
    with open(path, "ab", buffering=0) as file:
        size = 1 << 20
        while size >= 512:
            try:
                file.write(b"x" * size)
            except OSError:
                size //= 2
    return path
