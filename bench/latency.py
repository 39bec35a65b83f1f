#!/usr/bin/env python3
"""Latency of Layover against onnxruntime, model by model, at 1 and 2 threads, in one run.

The two alternate, each measurement in a process of its own, so that neither's spinning threads disturb the other
and slow moments of the machine hit both. A cell is the least of all times / the median of the rounds' medians, in
milliseconds; a ratio below 1 means that Layover is faster.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "models"))

import feeds  # noqa: E402

MODELS = ("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50", "shufflenet", "squeezenet", "vgg19",
          "zfnet512", "resnet50_v15", "bert_base", "bert_small", "minilm", "gpt2_gen_small", "gpt2_gen", "lstm_lm",
          "scan_lm", "mlp", "vad")
LEAST_REPEAT, MOST_REPEAT = 5, 2000


def measure_onnxruntime(model, source, threads, seconds):
    """Runs in a child: prints {"min", "p50", "repeat"}."""
    import numpy as np
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    with np.load(source) as arrays:
        feed = {name: arrays[name] for name in arrays.files}
    times = []
    for _ in range(2):
        session.run(None, feed)
    begin = time.perf_counter()
    while len(times) < LEAST_REPEAT or (time.perf_counter() - begin < seconds and len(times) < MOST_REPEAT):
        start = time.perf_counter()
        session.run(None, feed)
        times.append(time.perf_counter() - start)
    print(json.dumps({"min": min(times), "p50": statistics.median(times), "repeat": len(times)}))


def call(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"latency: {' '.join(command)} ended with {done.returncode}: {done.stderr.strip()[-400:]}")
    return json.loads(done.stdout)


class Yardstick:
    """The files of one model, and both sides' ways to measure it."""

    def __init__(self, options, home, name):
        self.options, self.home, self.name = options, home, name
        case = "sentences" if name == "minilm" else feeds.BENCH_CASES.get(name, next(iter(feeds.FEEDS.get(name, [""]))))
        self.model = os.path.join(options.models, f"{name}.onnx")
        self.source = os.path.join(options.models, f"{name}.{case}.npz")
        call(options.layover, "--home", home, "--json", "register", name, self.model)

    def onnxruntime(self, threads):
        return call(sys.executable, os.path.abspath(__file__), "--child", self.model, self.source, str(threads),
                    str(self.options.seconds))

    def layover(self, threads, repeat):
        return call(self.options.layover, "--home", self.home, "--json", "bench", self.name, "--input", self.source,
                    "--threads", str(threads), "--repeat", str(repeat))

    def compare(self, threads):
        """{"layover": (min, median), "onnxruntime": (min, median)} in seconds."""
        rounds = {"layover": [], "onnxruntime": []}
        for _ in range(self.options.rounds):
            theirs = self.onnxruntime(threads)
            rounds["onnxruntime"].append(theirs)
            rounds["layover"].append(self.layover(threads, theirs["repeat"]))
        return {side: (min(one["min"] for one in found), statistics.median(one["p50"] for one in found))
                for side, found in rounds.items()}


def geometric_mean(numbers):
    return math.exp(statistics.fmean(map(math.log, numbers)))


def make_models(folder, names):
    """Those that are not there yet: a model is complete when its inputs are there."""
    os.makedirs(folder, exist_ok=True)
    there = {file.split(".")[0] for file in os.listdir(folder) if file.endswith(".npz")}
    missing = [name for name in names if name not in there]
    made = [name for name in missing if name != "minilm"]
    example = os.path.join(ROOT, "examples", "minilm", "minilm.py")
    models = os.path.join(ROOT, "tests", "models")
    commands = [[f"{models}/make_models.py", folder, *made], [f"{models}/feeds.py", folder, *made]] if made else []
    if "minilm" in missing:
        commands += [[example, "export", f"{folder}/minilm.onnx"], [example, "encode", f"{folder}/minilm.sentences.npz"]]
    for command in commands:
        subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL)


def print_table(results):
    print("| model | threads | layover ms (min / median) | onnxruntime ms (min / median) | ratio of minima | of medians |")
    print("| --- | --- | --- | --- | --- | --- |")
    for row in results:
        ours, theirs = row["layover"], row["onnxruntime"]
        print(f"| {row['model']} | {row['threads']} | {ours[0] * 1e3:.3f} / {ours[1] * 1e3:.3f} "
              f"| {theirs[0] * 1e3:.3f} / {theirs[1] * 1e3:.3f} "
              f"| {ours[0] / theirs[0]:.2f} | {ours[1] / theirs[1]:.2f} |")
    for threads in sorted({row["threads"] for row in results}):
        rows = [row for row in results if row["threads"] == threads]
        means = [geometric_mean([row["layover"][i] / row["onnxruntime"][i] for row in rows]) for i in (0, 1)]
        print(f"| geometric mean | {threads} | | | {means[0]:.2f} | {means[1]:.2f} |")


def main():
    if sys.argv[1:2] == ["--child"]:
        model, source, threads, seconds = sys.argv[2:]
        measure_onnxruntime(model, source, int(threads), float(seconds))
        return
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--layover", default=os.environ.get("LAYOVER_BIN", f"{ROOT}/build/tools/layover"))
    parser.add_argument("--models", default=f"{ROOT}/.cache/test-models", help="folder of the models; made when empty")
    parser.add_argument("--only", nargs="+", choices=MODELS, default=MODELS)
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5, help="alternations (default 5)")
    parser.add_argument("--seconds", type=float, default=1.0, help="onnxruntime's time per round (default 1)")
    parser.add_argument("--output", help="write the figures as JSON, too")
    options = parser.parse_args()
    make_models(options.models, options.only)
    results = []
    with tempfile.TemporaryDirectory() as home:
        for name in options.only:
            yardstick = Yardstick(options, home, name)
            for threads in options.threads:
                results.append({"model": name, "threads": threads, **yardstick.compare(threads)})
                print(f"{name} at {threads}: done", file=sys.stderr, flush=True)
    print_table(results)
    if options.output:
        with open(options.output, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
