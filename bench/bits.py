#!/usr/bin/env python3
"""Whether the models that Layover is measured by keep their bits: not a measurement.

Each is stopped at K points of its run and taken up again through the bytes of a checkpoint (layover-resume-check),
and run with 1, 2, 3 and 8 threads; all outputs must be those of the undisturbed run with one thread, bit for bit,
and near onnxruntime's where nothing was lowered. Closes with 'N passed, N failed'.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

from comparison import ROOT, open_session, read_feed
from yardsticks import add_options, make_models, model_files

THREADS = (1, 2, 3, 8)
COUNTS = re.compile(r"^(\d+) passed, (\d+) failed$", re.MULTILINE)


def prepare(options, folder, name):
    """The executable, the inputs and the outputs to expect, named as layover-resume-check wants them."""
    import numpy as np

    model, source = model_files(options.models, name)
    subprocess.run([options.layover, "compile", model, "--precision", options.precision, "--quiet",
                    "-o", f"{folder}/{name}.lvx"], check=True, stdout=subprocess.DEVNULL)
    os.symlink(os.path.abspath(source), f"{folder}/{name}.case.npz")
    subprocess.run([options.layover, "--home", f"{folder}/home", "register", name, f"{folder}/{name}.lvx", "--quiet"],
                   check=True, stdout=subprocess.DEVNULL)
    if options.precision == "fp32":
        session = open_session(model, 1)
        outputs = [output.name for output in session.get_outputs()]
        np.savez(f"{folder}/{name}.case.expected.npz", **dict(zip(outputs, session.run(None, read_feed(source)))))
    else:
        run_threads(options, folder, name, 1)
        os.rename(f"{folder}/{name}.out", f"{folder}/{name}.case.expected.npz")


def resume(options, folder, name):
    """(passed, failed) of the points."""
    done = subprocess.run([options.check, "--device", "cpu", "--points", str(options.points), "--model", name, folder],
                          capture_output=True, text=True, check=False)
    counts = COUNTS.search(done.stdout)
    if not counts:
        sys.exit(f"{name}: {done.stderr.strip()}")
    if int(counts[2]):
        print(done.stdout, end="")
    return int(counts[1]), int(counts[2])


def run_threads(options, folder, name, threads):
    output = f"{folder}/{name}.out"
    subprocess.run([options.layover, "--home", f"{folder}/home", "run", name, "--quiet", "--device",
                    f"cpu:0,threads={threads}", "--threads", str(threads), "--input", f"{folder}/{name}.case.npz",
                    "--output", output], check=True, stdout=subprocess.DEVNULL)
    return {key: (value.dtype, value.shape, value.tobytes()) for key, value in read_feed(output).items()}


def compare_threads(options, folder, name):
    """(passed, failed) of the numbers of threads above the first."""
    wanted = run_threads(options, folder, name, THREADS[0])
    other = [threads for threads in THREADS[1:] if run_threads(options, folder, name, threads) != wanted]
    for threads in other:
        print(f"failed: {name} has other bits with {threads} threads")
    return len(THREADS) - 1 - len(other), len(other)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    add_options(parser)
    parser.add_argument("--check", default=f"{ROOT}/build/tests/conformance/layover-resume-check")
    parser.add_argument("--points", type=int, default=50, help="of each run, at which it is stopped (default 50)")
    parser.add_argument("--precision", default="fp32", choices=("fp32", "bf16", "int8"))
    options = parser.parse_args()
    make_models(options.models, options.only)
    total = [0, 0]
    for name in options.only:
        with tempfile.TemporaryDirectory() as folder:
            prepare(options, folder, name)
            parts = (resume(options, folder, name), compare_threads(options, folder, name))
        print(f"{name}: {parts[0][0]} of {sum(parts[0])} points, {parts[1][0]} of {sum(parts[1])} numbers of threads",
              flush=True)
        for i in (0, 1):
            total[i] += parts[0][i] + parts[1][i]
    print(f"{total[0]} passed, {total[1]} failed")
    sys.exit(total[1] > 0)


if __name__ == "__main__":
    main()
