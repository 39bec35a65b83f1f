#!/usr/bin/env python3
"""--precision bf16 and int8 against float32 and against onnxruntime's float32 and dynamic int8, in one run.

All sides alternate, each measurement in a process of its own; a figure is the least of all times. onnxruntime's int8
is quantize_dynamic over MatMul and Gemm (loops included), weights of int8 by columns as ours. Errors are relative root mean
squares against onnxruntime's float32, over all float outputs.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

from comparison import call, open_session, read_feed, run_peer, write_results
from yardsticks import add_options, make_models, model_files

MODELS = ("mlp", "minilm", "bert_base", "gpt2_gen")
OURS = ("fp32", "bf16", "int8")
QUANTIZE = """
import sys
from onnxruntime.quantization import QuantType, quantize_dynamic
quantize_dynamic(sys.argv[1], sys.argv[2], op_types_to_quantize=["MatMul", "Gemm"], per_channel=True,
                 weight_type=QuantType.QInt8, extra_options={"EnableSubgraph": True, "MatMulConstBOnly": True})
"""


class Model:
    """One model in every form."""

    def __init__(self, options, home, name):
        self.options, self.home, self.name = options, home, name
        model, self.source = model_files(options.models, name)
        self.files = {"onnxruntime": model,
                      "onnxruntime int8": os.path.join(options.models, f"{name}.quantized.onnx")}
        if not os.path.exists(self.files["onnxruntime int8"]):
            done = subprocess.run([sys.executable, "-c", QUANTIZE, *self.files.values()], capture_output=True, check=False)
            if done.returncode != 0:
                print(f"{name}: onnxruntime did not quantize it: {done.stderr.decode().strip()[-300:]}", file=sys.stderr)
                del self.files["onnxruntime int8"]
        self.bytes = {side: os.path.getsize(path) for side, path in self.files.items()}
        for precision in OURS:
            self.bytes[precision] = self.register(f"{name}-{precision}", precision)["bytes_raw"]

    def register(self, name, precision):
        """Unless a home that was kept has it."""
        if self.options.home:
            shown = subprocess.run(self.layover("show", name), capture_output=True, text=True, check=False)
            if shown.returncode == 0:
                return json.loads(shown.stdout)
        return call(*self.layover("register", name, self.files["onnxruntime"], "--precision", precision))

    def layover(self, *arguments):
        return [self.options.layover, "--home", self.home, "--json", *arguments]

    def measure(self, side, threads):
        if side in OURS:
            return call(*self.layover("bench", f"{self.name}-{side}", "--input", self.source, "--threads",
                                      str(threads), "--repeat", str(self.repeat)))["min"]
        found = run_peer("onnxruntime", self.files[side], self.source, threads, self.options.seconds)
        self.repeat = found["repeat"]
        return found["min"]

    def times(self, threads):
        sides = [*self.files, *OURS]
        rounds = [{side: self.measure(side, threads) for side in sides} for _ in range(self.options.rounds)]
        return {side: min(one[side] for one in rounds) for side in sides}

    def outputs(self, side):
        if side not in OURS:
            session = open_session(self.files[side], 2)
            return dict(zip([output.name for output in session.get_outputs()], session.run(None, read_feed(self.source))))
        path = os.path.join(self.home, "out.npz")
        call(*self.layover("run", f"{self.name}-{side}", "--input", self.source, "--output", path))
        return read_feed(path)

    def errors(self):
        wanted = self.outputs("onnxruntime")
        floats = [name for name, value in wanted.items() if value.dtype.kind == "f"]
        size = sum(np.square(wanted[name], dtype=np.float64).sum() for name in floats)
        found = {"onnxruntime": 0.0}
        for side in [*self.files, *OURS][1:]:
            got = self.outputs(side)
            off = sum(np.square(got[name] - wanted[name], dtype=np.float64).sum() for name in floats)
            found[side] = float(np.sqrt(off / size))
        return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    add_options(parser)
    parser.set_defaults(only=MODELS, rounds=3)
    parser.add_argument("--home", help="a home to keep; default: one that goes again")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--seconds", type=float, default=1.0, help="onnxruntime's time per round (default 1)")
    parser.add_argument("--no-errors", action="store_true", help="times only")
    options = parser.parse_args()
    make_models(options.models, options.only)
    print("| model | threads | side | ms | of our fp32 | of onnxruntime's fp32 | of its int8 | MB | error |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    results = []
    with tempfile.TemporaryDirectory() as temporary:
        for name in options.only:
            model = Model(options, options.home or temporary, name)
            errors = {} if options.no_errors else model.errors()
            for threads in options.threads:
                times = model.times(threads)
                for side, time in times.items():
                    peers = [times.get(peer) for peer in ("fp32", "onnxruntime", "onnxruntime int8")]
                    ratios = " | ".join(f"{time / peer:.2f}" if peer else "-" for peer in peers)
                    error = f"{errors[side]:.2g}" if side in errors else "-"
                    results.append({"model": name, "threads": threads, "side": side, "seconds": time,
                                    "bytes": model.bytes[side], "error": errors.get(side)})
                    print(f"| {name} | {threads} | {side} | {time * 1e3:.3f} | {ratios} "
                          f"| {model.bytes[side] / 1e6:.1f} | {error} |", flush=True)
    write_results(options.output, results)


if __name__ == "__main__":
    main()
