#!/usr/bin/env python3
"""From the start of a process to its first output, and what memory it takes, beside onnxruntime; then two at once.

Layover's time is that of a whole `layover run` in a home that has run the model before, from the start of the process
until it has ended, its outputs in a new file. onnxruntime's is taken inside a process that has imported everything
and read the inputs: a new session and its first run, from the same file. Sides alternate; times are the least of all
rounds with files in the page cache. Memory is the most that the process had resident (onnxruntime's with Python's).
Throughput: `layover bench --executions 2` against `--executions 1`, one thread each; and two processes, each with a
home of its own, against one: what the machine allows to two who share nothing. Sides alternate, best of all rounds.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

from comparison import call, geometric_mean, open_session, read_feed, write_results
from yardsticks import add_options, make_models, model_files

EXECUTIONS_SECONDS = 0.5  # of the longer measurement of throughput, about


def measure_onnxruntime(model, source, threads):
    """Runs in a child: prints {"seconds"}."""
    import onnxruntime  # noqa: F401: what importing it takes is no session's

    feed = read_feed(source)
    start = time.perf_counter()
    open_session(model, threads).run(None, feed)
    print(json.dumps({"seconds": time.perf_counter() - start}))


def run_process(*command):
    """(seconds from start to end, most bytes resident, standard output)"""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    output, complaint = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}: {complaint.strip()[-400:]}")
    return seconds, usage.ru_maxrss << 10, output


class Yardstick:
    """One model, registered in a home of its own."""

    def __init__(self, options, home, name):
        self.options, self.home, self.second_home, self.name = options, f"{home}/one", f"{home}/two", name
        self.model, self.source = model_files(options.models, name)
        for each in (self.home, self.second_home):
            call(options.layover, "--home", each, "--json", "register", name, self.model)

    def layover(self):
        output = f"{self.home}/out.npz"
        measured = run_process(self.options.layover, "--home", self.home, "--json", "run", self.name, "--input",
                               self.source, "--output", output, "--threads", str(self.options.threads))
        os.unlink(output)  # else the next round pays for taking it away, which a first output does not
        return measured

    def onnxruntime(self):
        _, resident, output = run_process(sys.executable, os.path.abspath(__file__), "--child", self.model, self.source,
                                          str(self.options.threads))
        return json.loads(output)["seconds"], resident

    def start_bench(self, home, repeat, executions=1):
        return subprocess.Popen([self.options.layover, "--home", home, "--json", "bench", self.name, "--input",
                                 self.source, "--repeat", str(repeat), "--executions", str(executions)],
                                stdout=subprocess.PIPE, text=True)

    def compare_two(self):
        """Runs a second of two in one process and of two processes, over those of one alone."""
        def finish(bench):
            output = bench.communicate()[0]
            if bench.returncode != 0:
                sys.exit(f"{' '.join(bench.args)} ended with {bench.returncode}")
            return json.loads(output)

        def rate(*benches):
            return sum(finish(bench)["per_second"] for bench in benches)

        once = finish(self.start_bench(self.home, 1))["min"]
        repeat = max(3, int(EXECUTIONS_SECONDS / once))
        rounds = [(rate(self.start_bench(self.home, repeat)), rate(self.start_bench(self.home, repeat, 2)),
                   rate(*(self.start_bench(home, repeat) for home in (self.home, self.second_home))))
                  for _ in range(self.options.rounds)]
        alone, together, apart = (max(rates) for rates in zip(*rounds))
        return together / alone, apart / alone

    def compare(self):
        os.sync()  # what registering wrote, and taking the last model's homes away, is not written behind the rounds
        first = self.layover()[0]
        rounds = [(self.onnxruntime(), self.layover()) for _ in range(self.options.rounds)]
        together, apart = self.compare_two()
        return {"model": self.name, "first_run": first,
                "layover": min(ours[0] for _, ours in rounds), "onnxruntime": min(theirs[0] for theirs, _ in rounds),
                "layover_bytes": max(ours[1] for _, ours in rounds),
                "onnxruntime_bytes": max(theirs[1] for theirs, _ in rounds), "two_at_once": together,
                "two_processes": apart}


def print_table(results):
    print("| model | first run ever ms | layover ms | onnxruntime ms | ratio | layover MB | onnxruntime MB | ratio "
          "| two at once | as two processes |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    ratios = {"time": [], "memory": []}
    for row in results:
        ratios["time"].append(row["layover"] / row["onnxruntime"])
        ratios["memory"].append(row["layover_bytes"] / row["onnxruntime_bytes"])
        print(f"| {row['model']} | {row['first_run'] * 1e3:.1f} | {row['layover'] * 1e3:.1f} "
              f"| {row['onnxruntime'] * 1e3:.1f} | {ratios['time'][-1]:.2f} | {row['layover_bytes'] / 1e6:.0f} "
              f"| {row['onnxruntime_bytes'] / 1e6:.0f} | {ratios['memory'][-1]:.2f} | {row['two_at_once']:.2f} "
              f"| {row['two_processes']:.2f} |")
    print(f"| geometric mean | | | | {geometric_mean(ratios['time']):.2f} | | | {geometric_mean(ratios['memory']):.2f} | | |")


def main():
    if sys.argv[1:2] == ["--child"]:
        model, source, threads = sys.argv[2:]
        measure_onnxruntime(model, source, int(threads))
        return
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    add_options(parser)
    parser.add_argument("--threads", type=int, default=1, help="of each side (default 1)")
    options = parser.parse_args()
    make_models(options.models, options.only)
    results = []
    for name in options.only:
        with tempfile.TemporaryDirectory() as home:
            results.append(Yardstick(options, home, name).compare())
        print(f"{name}: done", file=sys.stderr, flush=True)
    print_table(results)
    write_results(options.output, results)


if __name__ == "__main__":
    main()
