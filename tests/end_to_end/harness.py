"""Calls the layover binary as a user would, and says clearly what differs."""
import json
import os
import shlex
import signal
import subprocess
import sys

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "models"))

import feeds  # noqa: E402
from graph_builder import model_bytes  # noqa: E402

DONE, REFUSED, USAGE, NOT_FOUND, FORBIDDEN, UNREACHABLE, SUSPENDED, INTERRUPTED = 0, 1, 2, 3, 4, 5, 85, 130
SMALL_MODELS = os.path.join(ROOT, "tests", "models", "small")
TIMEOUT_S = 300


MEASURE = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
print(end=f"\\n{resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss}")
sys.exit(code)
"""


def binary():
    path = os.environ.get("LAYOVER_BIN", os.path.join(ROOT, "build", "tools", "layover"))
    if not os.path.exists(path):
        raise RuntimeError(f"{path} is missing: build first, or set LAYOVER_BIN")
    return path


class Result:
    def __init__(self, command, code, out, err):
        self.command, self.code, self.out, self.err = command, code, out, err

    def __str__(self):
        return f"$ {shlex.join(self.command)}\nexit {self.code}\n{self.out[-2000:]}{self.err[-2000:]}"

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def lines(self):
        return [json.loads(line) for line in self.out.splitlines()]


class Home:
    """A home directory and the processes that work on it."""

    def __init__(self, path):
        self.path = str(path)

    def command(self, *arguments, as_json=True):
        return [binary(), "--home", self.path, *(["--json"] if as_json else []), *map(str, arguments)]

    def try_call(self, *arguments, as_json=True, environment=None, before=None, folder=None, timeout=TIMEOUT_S):
        """Runs one process to its end; any exit code is fine, but not a signal."""
        command = self.command(*arguments, as_json=as_json)
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False, cwd=folder,
                              env={**os.environ, **(environment or {})}, preexec_fn=before, errors="replace")
        result = Result(command, done.returncode, done.stdout, done.stderr)
        assert done.returncode >= 0, f"killed by {signal.Signals(-done.returncode).name}\n{result}"
        assert "Sanitizer" not in done.stderr and "runtime error:" not in done.stderr, str(result)
        return result

    def call(self, *arguments, expect=DONE, **options):
        result = self.try_call(*arguments, **options)
        assert result.code == expect, f"expected exit {expect}\n{result}"
        return result

    def refuses(self, *arguments, code=REFUSED, words=(), **options):
        """The call fails with this code and one clear line that holds these words, as text and as JSON."""
        codes = code if isinstance(code, tuple) else (code,)
        plain = self.try_call(*arguments, as_json=False, **options)
        assert plain.code in codes, f"expected exit {codes}\n{plain}"
        assert plain.err.count("\n") == 1 and plain.err.startswith("layover: "), f"not one clear line\n{plain}"
        for word in words:
            assert str(word).lower() in plain.err.lower(), f"does not name {word!r}\n{plain}"
        as_json = self.try_call(*arguments, **options)
        assert as_json.code == plain.code, str(as_json)
        error = json.loads(as_json.err)["error"]
        assert error["code"].isupper() and error["message"], str(as_json)
        return plain

    def start(self, *arguments):
        return subprocess.Popen(self.command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def measure(self, *arguments):
        """As try_call, and the most memory the process had, in bytes. A process begins with its parent's peak: this one's is small."""
        command = [sys.executable, "-c", MEASURE, *self.command(*arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        out, _, peak = done.stdout.rpartition("\n")
        return Result(command, done.returncode, out, done.stderr), int(peak) << 10

    def models(self):
        return [(line["model"], line["version"], line["executable"], tuple(line["aliases"]))
                for line in self.call("models").lines]

    def is_clean(self):
        result = self.call("fsck")
        assert result.json["errors"] == [], str(result)


def finish(process):
    out, err = process.communicate(timeout=TIMEOUT_S)
    return Result(process.args, process.returncode, out, err)


def load(path):
    with np.load(path) as arrays:
        return {name: arrays[name] for name in arrays.files}


def same_bits(one, two):
    one, two = load(one), load(two)
    assert sorted(one) == sorted(two), f"{sorted(one)} against {sorted(two)}"
    for name, array in one.items():
        assert (array.dtype, array.shape) == (two[name].dtype, two[name].shape), name
        assert array.tobytes() == two[name].tobytes(), f"{name} differs"


def assert_close(path, expected, model):
    """Outputs equal onnxruntime's: same names, types and shapes; floats within the model's tolerance."""
    outputs = load(path)
    rtol, atol = feeds.TOLERANCES.get(model, feeds.DEFAULT_TOLERANCE)
    assert sorted(outputs) == sorted(expected), f"{sorted(outputs)} against {sorted(expected)}"
    for name, array in expected.items():
        assert (outputs[name].dtype, outputs[name].shape) == (array.dtype, array.shape), name
        if array.dtype.kind == "f":
            np.testing.assert_allclose(outputs[name], array, rtol=rtol, atol=atol, err_msg=name)
        else:
            np.testing.assert_array_equal(outputs[name], array, err_msg=name)


def write_model(path, model):
    with open(path, "wb") as file:
        file.write(model_bytes(model))
    return str(path)


def write_unchecked(path, model):
    """For models that are wrong on purpose."""
    with open(path, "wb") as file:
        file.write(model.SerializeToString(deterministic=True))
    return str(path)


def write_npz(path, **arrays):
    np.savez(path, **arrays)
    return str(path)
