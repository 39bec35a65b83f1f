#!/usr/bin/env python3
"""compare.py [--count N] [--seed S] [--jobs J] [--folder F]: random ONNX graphs through Layover, onnx's reference evaluator and
onnxruntime.

    .venv/bin/python tests/random_models/compare.py --count 100000 --seed 1 --jobs 2

Graph number N of a seed is always the same one. A share of the graphs also runs on sim:0 and is stopped and moved between the
devices. What two witnesses see differently from Layover, and what deviations.py has no reason for, is a difference: its smallest
part is written into the folder, with the command that shows it again. A run that was interrupted goes on where it was; --fresh
begins anew. --case N judges one graph. The exit code is 1 when there is a difference.
"""
import argparse
import collections
import json
import os
import shutil
import subprocess
import sys
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BLOCK = 100  # graphs that a worker is given at once
SILENCE_SECONDS_MAX = 180
SAVED_PER_CAUSE_MAX = 5


def command_of(seed, number):
    return f".venv/bin/python tests/random_models/compare.py --seed {seed} --case {number}"


# ---- the worker: a process of its own, for a witness may crash ----
def work(seed, folder):
    from verdicts import Judge
    judge, saved = Judge(seed), collections.Counter()
    for line in sys.stdin:
        low, high = map(int, line.split())
        tally, found = collections.Counter(), []
        for number in range(low, high):
            print(number, flush=True)
            case, verdict = judge.judge(number)
            tally[verdict.key] += 1
            if verdict.kind == "difference":
                found.append({"number": number, "cause": verdict.cause, "detail": verdict.detail[:300]})
                saved[verdict.cause] += 1
                if saved[verdict.cause] <= SAVED_PER_CAUSE_MAX:
                    save(folder, seed, case, verdict)
        print(json.dumps({"low": low, "high": high, "tally": tally, "found": found}), flush=True)
    judge.close()


def save(folder, seed, case, verdict):
    import blame
    path = os.path.join(folder, f"{seed}-{case.number}")
    with open(f"{path}.whole.onnx", "wb") as file:
        file.write(case.data)
    blame.save(path, *verdict.part, case.values)
    with open(f"{path}.txt", "w", encoding="utf-8") as file:
        file.write(f"{verdict.cause}: {verdict.detail}\n{command_of(seed, case.number)}\n")


# ---- the supervisor ----
class Run:
    def __init__(self, options):
        self.options = options
        self.log = os.path.join(options.folder, f"progress-{options.seed}.jsonl")
        self.lock = threading.Lock()
        self.tally, self.found, self.done = collections.Counter(), [], 0
        self.began, self.fresh_done = time.monotonic(), 0
        done = self._read_log()
        self.blocks = collections.deque(self._missing(done))

    def _read_log(self):
        """Ranges that an earlier call has done."""
        if self.options.fresh or not os.path.exists(self.log):
            shutil.rmtree(self.options.folder, ignore_errors=True)
            os.makedirs(self.options.folder)
            return []
        with open(self.log, encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        rows = [row for row in rows if row["high"] <= self.options.count]
        for row in rows:
            self._add(row)
        return [(row["low"], row["high"]) for row in rows]

    def _missing(self, done):
        at = 0
        for low, high in sorted(done) + [(self.options.count, self.options.count)]:
            while at < low:
                yield at, min(at + BLOCK, low)
                at = min(at + BLOCK, low)
            at = max(at, high)

    def _add(self, row):
        self.tally.update(row["tally"])
        self.found += row["found"]
        self.done += row["high"] - row["low"]

    def finish(self, row):
        with self.lock:
            self._add(row)
            self.fresh_done += row["high"] - row["low"]
            with open(self.log, "a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            rate = self.fresh_done / (time.monotonic() - self.began)
            if row["high"] % (10 * BLOCK) == 0:
                print(f"{self.done} of {self.options.count}, {rate:.0f} a second, {len(self.found)} differences", flush=True)

    def take(self):
        with self.lock:
            return self.blocks.popleft() if self.blocks else None

    def give_back(self, block):
        with self.lock:
            if block[0] < block[1]:
                self.blocks.appendleft(block)


class Worker(threading.Thread):
    """A thread that feeds one worker process and starts another when it dies."""

    def __init__(self, run):
        super().__init__()
        self.run_, self.process = run, None

    def run(self):
        for block in iter(self.run_.take, None):
            if not self.process or self.process.poll() is not None:
                options = self.run_.options
                self.process = subprocess.Popen(
                    [sys.executable, os.path.abspath(__file__), "--worker", "--seed", str(options.seed), "--folder", options.folder],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self._do(block)
        if self.process:
            self.process.stdin.close()
            self.process.wait()

    def _do(self, block):
        self.process.stdin.write(f"{block[0]} {block[1]}\n")
        self.process.stdin.flush()
        at = block[0]
        while True:
            watch = threading.Timer(SILENCE_SECONDS_MAX, self.process.kill)
            watch.start()
            line = self.process.stdout.readline()
            watch.cancel()
            if not line:
                break
            if line.startswith("{"):
                self.run_.finish(json.loads(line))
                return
            at = int(line)
        # The graphs before it are done again, without it.
        self.process.wait()
        self.run_.finish({"low": at, "high": at + 1, "tally": {"a witness crashed or hung": 1}, "found": []})
        self.run_.give_back((at + 1, block[1]))
        self.run_.give_back((block[0], at))


def compare(options):
    run = Run(options)
    workers = [Worker(run) for _ in range(options.jobs)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for key, count in sorted(run.tally.items(), key=lambda item: -item[1]):
        print(f"{count:8} {key}")
    for item in run.found[:40]:
        print(f"difference: {item['cause']}: {item['detail']}\n  {command_of(options.seed, item['number'])}")
    print(f"{run.done} graphs, {len(run.found)} differences; files in {options.folder}")
    return 1 if run.found else 0


def judge_one(options):
    from verdicts import Judge
    judge = Judge(options.seed)
    case, verdict = judge.judge(options.case)
    judge.close()
    print(f"{verdict.key}: {verdict.detail}")
    if verdict.part:
        os.makedirs(options.folder, exist_ok=True)
        save(options.folder, options.seed, case, verdict)
        from onnx import printer
        print(printer.to_text(verdict.part[0]))
        print(f"{options.folder}/{options.seed}-{case.number}.onnx")
    return 1 if verdict.kind == "difference" else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--case", type=int)
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--folder", default=os.path.join(ROOT, ".cache", "random-models"))
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(options.seed, options.folder)
        return 0
    return judge_one(options) if options.case is not None else compare(options)


if __name__ == "__main__":
    sys.exit(main())
