#!/usr/bin/env python3
"""Latency of Layover against onnxruntime, model by model, at 1 and 2 threads, in one run.

The two alternate, each measurement in a process of its own, so that neither's spinning threads disturb the other
and slow moments of the machine hit both. A cell is the least of all times / the median of the rounds' medians, in
milliseconds; a ratio below 1 means that Layover is faster.
"""
import argparse
import tempfile

from comparison import Pair, geometric_mean, say_measured, write_results
from yardsticks import add_options, make_models, model_files


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
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    add_options(parser)
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--seconds", type=float, default=1.0, help="onnxruntime's time per round (default 1)")
    options = parser.parse_args()
    make_models(options.models, options.only)
    results = []
    with tempfile.TemporaryDirectory() as home:
        for name in options.only:
            pair = Pair(options, home, name, *model_files(options.models, name))
            for threads in options.threads:
                results.append({"model": name, "threads": threads, **pair.compare(threads)})
                say_measured(name, results[-1:])
    print_table(results)
    write_results(options.output, results)


if __name__ == "__main__":
    main()
