"""The processes that a daemon or a run starts, whether they have ended, and waiting for a condition."""
import os
import time


def children(pid, word="worker"):
    """The process ids of pid's children that have this word on their command line."""
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
    """Whether the process has ended; its parent may not have waited for it yet."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0] in "ZX"
    except OSError:
        return True


def until(wanted, seconds=30):
    """Calls wanted() until the answer is true; returns that answer."""
    end = time.monotonic() + seconds
    while not (found := wanted()):
        assert time.monotonic() < end, f"not true after {seconds} s"
        time.sleep(0.01)
    return found
