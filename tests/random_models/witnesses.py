"""Who says what a model gives: Layover through layover-model-server, onnxruntime; and whether two say the same."""
import os
import select
import struct
import subprocess

import numpy as np
import onnxruntime

from random_graph import BF16, F2, FLOATS, STRING, as_array, float_elements, onnx_type

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.dirname(os.path.dirname(os.environ.get("LAYOVER_BIN", os.path.join(ROOT, "build", "tools", "layover"))))
SERVER = os.path.join(BUILD, "tests", "random_models", "layover-model-server")
ANSWER_SECONDS_MAX = 60
NO_STOP = 65535
NUMPY_TYPES = {onnx_type(dtype): dtype for dtype in
               (*FLOATS, *map(np.dtype, ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?")), STRING)}


class Refusal(Exception):
    """It does not take the model, or fails while it runs."""


class Crash(Exception):
    """The process died or does not answer."""


class OnnxRuntime:
    name = "onnxruntime"

    def __init__(self):
        onnxruntime.set_default_logger_severity(4)
        self.options = onnxruntime.SessionOptions()
        self.options.intra_op_num_threads = self.options.inter_op_num_threads = 1
        self.options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        self.options.log_severity_level = 4

    def run(self, data, inputs):
        try:
            session = onnxruntime.InferenceSession(data, self.options, providers=["CPUExecutionProvider"])
            results = session.run(None, inputs)
            return {port.name: as_array(result) for port, result in zip(session.get_outputs(), results)}
        except Exception as error:  # pylint: disable=broad-except  # it has types of its own
            raise Refusal(str(error).replace("\n", " ")[:300]) from error


def _pack_bytes(array):
    if array.dtype != STRING:
        return np.ascontiguousarray(array).tobytes()
    texts = [text.encode() for text in array.flat]
    offsets = np.cumsum([0, *map(len, texts)]).astype("<u8")
    return offsets.tobytes() + b"".join(texts) if texts else b""


def _pack(data):
    if data is None:
        return b"\0"
    if isinstance(data, list):
        return struct.pack("<BI", 2, len(data)) + b"".join(map(_pack, data))
    content = _pack_bytes(data)
    return (struct.pack(f"<BBB{data.ndim}q", 1, onnx_type(data.dtype), data.ndim, *data.shape)
            + struct.pack("<Q", len(content)) + content)


class _Reader:
    def __init__(self, data):
        self.data, self.position = data, 0

    def take(self, layout):
        values = struct.unpack_from("<" + layout, self.data, self.position)
        self.position += struct.calcsize("<" + layout)
        return values if len(values) > 1 else values[0]

    def bytes(self, size):
        self.position += size
        return self.data[self.position - size:self.position]

    def text(self):
        return self.bytes(self.take("I")).decode(errors="replace")

    def value(self):
        kind = self.take("B")
        if kind == 0:
            return None
        if kind == 2:
            return [self.value() for _ in range(self.take("I"))]
        dtype, rank = NUMPY_TYPES[self.take("B")], self.take("B")
        shape = [self.take("q") for _ in range(rank)]
        content = self.bytes(self.take("Q"))
        if dtype != STRING:
            return np.frombuffer(content, dtype).reshape(shape)
        count = int(np.prod(shape))
        offsets = np.frombuffer(content, "<u8", count + 1).astype(int) if count else []
        texts = content[8 * (count + 1):]
        array = np.array([texts[a:b].decode() for a, b in zip(offsets[:-1], offsets[1:])], STRING)
        return array.reshape(shape)


class Layover:
    """One server process; another one when it dies."""

    def __init__(self):
        self.process = None

    def start(self):
        self.process = subprocess.Popen([SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
        self.process = None

    def _read(self, size):
        parts = []
        while size:
            if not select.select([self.process.stdout], [], [], ANSWER_SECONDS_MAX)[0]:
                raise Crash(f"no answer in {ANSWER_SECONDS_MAX} s")
            part = os.read(self.process.stdout.fileno(), size)
            if not part:
                raise Crash(f"the process ended with {self.process.wait()}")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def ask(self, data, inputs, with_sim=False, stop=NO_STOP):
        """{run: outputs in order, or a Refusal}. Errors: Crash."""
        frame = (struct.pack("<I", len(data)) + data + struct.pack("<I", len(inputs)) + b"".join(map(_pack, inputs))
                 + struct.pack("<BH", with_sim, stop))
        if not self.process:
            self.start()
        try:
            self.process.stdin.write(struct.pack("<Q", len(frame)) + frame)
            reader = _Reader(self._read(struct.unpack("<Q", self._read(8))[0]))
        except (Crash, OSError) as error:
            self.stop()
            raise Crash(str(error)) from error
        runs = {}
        while reader.take("B"):
            name = reader.text()
            if reader.take("B"):
                runs[name] = [reader.value() for _ in range(reader.take("I"))]
            else:
                runs[name] = Refusal(f"{reader.text()}: {reader.text()}")
        return runs

    def run(self, model, inputs):
        """The outputs on cpu by name. Errors: Refusal, Crash."""
        runs = self.ask(model.SerializeToString(), [inputs[port.name] for port in model.graph.input])
        for result in runs.values():
            if isinstance(result, Refusal):
                raise result
        return dict(zip([port.name for port in model.graph.output], runs["cpu"]))


def _near(made, wanted, exact, coarse):
    plain, right = float_elements(made).astype(np.float64), float_elements(wanted).astype(np.float64)
    finite = np.isfinite(right)
    if not np.array_equal(np.where(finite, 0, right), np.where(np.isfinite(plain), 0, plain), equal_nan=True):
        return False
    scale = max(1.0, np.abs(right[finite]).max(initial=0))
    relative = 4e-2 if coarse or made.dtype in (F2, BF16) else 1e-5 if exact else 1e-3
    return bool((np.abs(plain[finite] - right[finite]) <= relative * scale).all())


def same(made, wanted, exact=True, coarse=False):
    """Types, shapes, elements: floats within what rounding explains."""
    if isinstance(made, list) or isinstance(wanted, list):
        return (isinstance(made, list) and isinstance(wanted, list) and len(made) == len(wanted)
                and all(same(one, other, exact, coarse) for one, other in zip(made, wanted)))
    if made is None or wanted is None:
        return made is wanted
    if made.dtype != wanted.dtype or made.shape != wanted.shape:
        return False
    if made.dtype in FLOATS:
        with np.errstate(all="ignore"):
            return _near(made, wanted, exact, coarse)
    return np.array_equal(made, wanted)


def same_bits(made, wanted):
    return _pack(made) == _pack(wanted)
