"""What comparisons with onnxruntime share: both sides' measurements, each in a process of its own, in turns."""
import json
import math
import os
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LEAST_REPEAT, MOST_REPEAT = 5, 2000


def add_common_options(parser):
    parser.add_argument("--layover", default=os.environ.get("LAYOVER_BIN", f"{ROOT}/build/tools/layover"))
    parser.add_argument("--rounds", type=int, default=5, help="alternations (default 5)")
    parser.add_argument("--output", help="write the figures as JSON, too")


def call(*command):
    """Runs a command that prints one JSON object."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()[-400:]}")
    return json.loads(done.stdout)


def open_session(model, threads):
    """onnxruntime's, with its processor's provider alone."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def read_feed(source):
    import numpy as np

    with np.load(source) as arrays:
        return {name: arrays[name] for name in arrays.files}


def geometric_mean(numbers):
    return math.exp(statistics.fmean(map(math.log, numbers)))


def write_results(path, results):
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)


def measure_onnxruntime(model, source, threads, seconds):
    """Runs in a child: prints {"min", "p50", "repeat"}."""
    session, feed = open_session(model, threads), read_feed(source)
    times = []
    for _ in range(2):
        session.run(None, feed)
    begin = time.perf_counter()
    while len(times) < LEAST_REPEAT or (time.perf_counter() - begin < seconds and len(times) < MOST_REPEAT):
        start = time.perf_counter()
        session.run(None, feed)
        times.append(time.perf_counter() - start)
    print(json.dumps({"min": min(times), "p50": statistics.median(times), "repeat": len(times)}))


def run_onnxruntime(model, source, threads, seconds):
    """measure_onnxruntime() in a process of its own."""
    return call(sys.executable, os.path.abspath(__file__), "--child", model, source, str(threads), str(seconds))


class Pair:
    """One model, and both sides' ways to measure it."""

    def __init__(self, options, home, name, model, source):
        self.options, self.home, self.name, self.model, self.source = options, home, name, model, source
        call(options.layover, "--home", home, "--json", "register", name, model)

    def layover(self, threads, repeat):
        return call(self.options.layover, "--home", self.home, "--json", "bench", self.name, "--input", self.source,
                    "--threads", str(threads), "--repeat", str(repeat))

    def compare(self, threads):
        """{"layover": (min, median), "onnxruntime": (min, median)} in seconds."""
        rounds = {"layover": [], "onnxruntime": []}
        for _ in range(self.options.rounds):
            theirs = run_onnxruntime(self.model, self.source, threads, self.options.seconds)
            rounds["onnxruntime"].append(theirs)
            rounds["layover"].append(self.layover(threads, theirs["repeat"]))
        return {side: (min(one["min"] for one in found), statistics.median(one["p50"] for one in found))
                for side, found in rounds.items()}


if __name__ == "__main__" and sys.argv[1:2] == ["--child"]:
    measure_onnxruntime(sys.argv[2], sys.argv[3], int(sys.argv[4]), float(sys.argv[5]))
