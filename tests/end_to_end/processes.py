"""The processes that a daemon or a run starts: which there are, and whether they are gone."""
import os
import time


def children(pid, word="worker"):
    """Processes that it started with this word on their command line."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as file:
                parent = int(file.read().rsplit(")", 1)[1].split()[1])
            with open(f"/proc/{name}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except (OSError, IndexError, ValueError):
            continue
        if parent == pid and word.encode() in words:
            found.append(int(name))
    return found


def is_gone(pid):
    """Not there, or only its entry until somebody waits for it."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0] in "ZX"
    except OSError:
        return True


def until(wanted, seconds=30):
    end = time.monotonic() + seconds
    while not (found := wanted()):
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.01)
    return found
