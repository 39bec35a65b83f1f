#!/usr/bin/env python3
"""Latency of Layover against onnxruntime, model by model, at 1 and 2 threads, in one run.

The two alternate, each measurement in a process of its own, so that neither's spinning threads disturb the other
and slow moments of the machine hit both. A cell is the least of all times / the median of the rounds' medians, in
milliseconds; a ratio below 1 means that Layover is faster.
"""
import argparse
import json
import os
import statistics
import sys
import tempfile
import time

from yardsticks import (add_options, call, geometric_mean, make_models, model_files, open_session, read_feed,
                        write_results)

LEAST_REPEAT, MOST_REPEAT = 5, 2000


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


class Yardstick:
    """The files of one model, and both sides' ways to measure it."""

    def __init__(self, options, home, name):
        self.options, self.home, self.name = options, home, name
        self.model, self.source = model_files(options.models, name)
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
    add_options(parser)
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--seconds", type=float, default=1.0, help="onnxruntime's time per round (default 1)")
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
    write_results(options.output, results)


if __name__ == "__main__":
    main()
