"""What comparisons with onnxruntime and OpenVINO share: all sides' measurements, each in a process of its own, in turns."""
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
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


def open_onnxruntime(model, threads):
    session = open_session(model, threads)
    return lambda feed: session.run(None, feed)


def open_openvino(model, threads):
    """Its processor's plugin, in float32, with one stream."""
    import openvino

    hints = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"}
    return openvino.Core().compile_model(model, "CPU", hints).create_infer_request().infer


PEERS = {"onnxruntime": open_onnxruntime, "openvino": open_openvino}


def measure_peer(peer, model, source, threads, seconds):
    """Runs in a child: prints {"opened", "min", "p50", "repeat"}; opened: seconds until the model can be run."""
    begin = time.perf_counter()
    run = PEERS[peer](model, threads)
    opened = time.perf_counter() - begin
    feed, times = read_feed(source), []
    for _ in range(2):
        run(feed)
    begin = time.perf_counter()
    while len(times) < LEAST_REPEAT or (time.perf_counter() - begin < seconds and len(times) < MOST_REPEAT):
        start = time.perf_counter()
        run(feed)
        times.append(time.perf_counter() - start)
    print(json.dumps({"opened": opened, "min": min(times), "p50": statistics.median(times), "repeat": len(times)}))


def run_peer(peer, model, source, threads, seconds):
    """measure_peer() in a process of its own."""
    return call(sys.executable, os.path.abspath(__file__), "--child", peer, model, source, str(threads), str(seconds))


class Pair:
    """One model, and both sides' ways to measure it."""

    def __init__(self, options, home, name, model, source):
        self.options, self.home, self.name, self.model, self.source = options, home, name, model, source
        call(options.layover, "--home", home, "--json", "register", name, model)

    def layover(self, threads, repeat):
        return call(self.options.layover, "--home", self.home, "--json", "bench", self.name, "--input", self.source,
                    "--threads", str(threads), "--repeat", str(repeat))

    def register(self, folder):
        """Seconds of a registration in a new home in the folder, with the start of the process."""
        with tempfile.TemporaryDirectory(dir=folder) as home:
            begin = time.perf_counter()
            call(self.options.layover, "--home", home, "--json", "register", self.name, self.model)
            return time.perf_counter() - begin

    def opens(self, peer):
        """Whether the peer runs the model at all; it says why not, on stderr."""
        try:
            return bool(run_peer(peer, self.model, self.source, 1, 0))
        except SystemExit as error:
            print(f"{self.name}: not by {peer}: {str(error).strip()[-200:]}", file=sys.stderr)
            return False

    def compare(self, threads, peers=("onnxruntime",)):
        """{side: (min, median)} in seconds, of layover and the peers."""
        rounds = {"layover": [], **{peer: [] for peer in peers}}
        for _ in range(self.options.rounds):
            for peer in peers:
                rounds[peer].append(run_peer(peer, self.model, self.source, threads, self.options.seconds))
            rounds["layover"].append(self.layover(threads, rounds[peers[0]][-1]["repeat"]))
        return {side: (min(one["min"] for one in found), statistics.median(one["p50"] for one in found))
                for side, found in rounds.items()}

    def compare_opening(self, folder):
        """{"registered": seconds, "opened": seconds}: the least that registrations and onnxruntime's sessions took."""
        registered, opened = [], []
        for _ in range(self.options.rounds):
            opened.append(run_peer("onnxruntime", self.model, self.source, 1, 0)["opened"])
            registered.append(self.register(folder))
        return {"registered": min(registered), "opened": min(opened)}


def say_measured(name, rows):
    """What was measured of a model, as it comes: the tables are printed at the end, which a run that is cut does not reach."""
    for row in rows:
        times = {side: row[side] for side in ("layover", "onnxruntime", "openvino", "registered", "opened") if side in row}
        said = row.get("problem") or ", ".join(f"{side} {(time if isinstance(time, float) else time[0]) * 1e3:.3f} ms"
                                               for side, time in times.items())
        threads = f" at {row['threads']}" if "threads" in row else ""
        print(f"{name}{threads}: {said}", file=sys.stderr, flush=True)


if __name__ == "__main__" and sys.argv[1:2] == ["--child"]:
    measure_peer(*sys.argv[2:5], int(sys.argv[5]), float(sys.argv[6]))
