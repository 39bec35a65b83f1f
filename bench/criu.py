#!/usr/bin/env python3
"""A process that computes, stopped and resumed: by CRIU with everything in it, by Layover with what is alive.

Both run the same model in the middle of the same loop: 24 matrix products of 1024 x 1024 random weights (101 MB) with
a Tanh behind each, round after round. On one side a Python process with onnxruntime, which `criu dump` writes to a
folder and `criu restore` brings back; on the other `layover run`, which SIGUSR1 lets write a checkpoint and end, and
`layover resume`, which is timed to the end of its first instruction and of its own next checkpoint. The page cache is
warm. The sides alternate; a figure is the least / the median. Needs root, and criu 4.1 or later.
"""
import argparse
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "models"))

LAYERS, WIDTH, FOREVER = 24, 1024, 1 << 40
BEFORE_S, DEADLINE_S, SUSPENDED = 0.5, 60, 85


def make_models(folder):
    """body.onnx: one round; loop.onnx: rounds of the same weights."""
    import numpy as np
    import onnx
    from graph_builder import BOOL, FLOAT, INT64, GraphBuilder, value

    def layers(g, x):
        for i in range(LAYERS):
            x = g.op("Tanh", g.op("MatMul", x, f"w{i}"), **({"name": "y"} if i == LAYERS - 1 else {}))

    def weights(g):
        for i in range(LAYERS):
            g.random_weight(f"w{i}", (WIDTH, WIDTH), 2 * WIDTH ** -0.5)

    row = [1, WIDTH]
    g = GraphBuilder("body", 7)
    weights(g)
    layers(g, "x")
    onnx.save(g.model([value("x", FLOAT, row)], [value("y", FLOAT, row)]), f"{folder}/body.onnx")
    g = GraphBuilder("loop", 7)
    weights(g)
    body = g.child("round")
    layers(body, "before")
    body.op("Identity", "go_on", name="goes_on")
    body = body.subgraph([value("i", INT64, []), value("go_on", BOOL, []), value("before", FLOAT, row)],
                         [value("goes_on", BOOL, []), value("y", FLOAT, row)])
    g.op("Loop", "rounds", "", "x", name=["last"], body=body)
    onnx.save(g.model([value("rounds", INT64, []), value("x", FLOAT, row)], [value("last", FLOAT, row)]),
              f"{folder}/loop.onnx")
    np.savez(f"{folder}/in.npz", rounds=np.array(FOREVER), x=np.full(row, 0.5, np.float32))


def compute(folder):
    """The other side's process: counts its rounds in a file."""
    import numpy as np
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(f"{folder}/body.onnx", options, providers=["CPUExecutionProvider"])
    x, count = np.full((1, WIDTH), 0.5, np.float32), os.open(f"{folder}/count", os.O_RDWR | os.O_CREAT)
    for i in range(FOREVER):
        (x,) = session.run(None, {"x": x})
        os.pwrite(count, i.to_bytes(8, "little"), 0)


def read_count(folder):
    try:
        with open(f"{folder}/count", "rb") as file:
            return int.from_bytes(file.read(8), "little")
    except FileNotFoundError:
        return 0


def wait_for(wanted):
    end = time.monotonic() + DEADLINE_S
    while not wanted():
        if time.monotonic() > end:
            sys.exit("criu: nothing moves")
        time.sleep(0.01)


def timed(*command, expect=0, **options):
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    seconds = time.perf_counter() - start
    if done.returncode != expect:
        sys.exit(f"criu: {' '.join(command)} ended with {done.returncode}: {done.stderr.strip()[-600:]}")
    return seconds


def image_process(criu, folder):
    """(seconds of the dump, of the restore, bytes)"""
    images = f"{folder}/images"
    shutil.rmtree(images, ignore_errors=True)
    os.mkdir(images)
    child = subprocess.Popen([sys.executable, __file__, "--compute", folder], stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    wait_for(lambda: read_count(folder) > 10)
    time.sleep(BEFORE_S)
    dumped = timed(*criu, "dump", "-t", str(child.pid), "-D", images, "--file-locks", "-o", "dump.log")
    child.wait()
    count, size = read_count(folder), sum(entry.stat().st_size for entry in os.scandir(images))
    restored = timed(*criu, "restore", "-d", "-D", images, "--file-locks", "-o", "restore.log",
                     "--pidfile", "pid")
    wait_for(lambda: read_count(folder) > count)
    with open(f"{images}/pid", encoding="ascii") as file:
        os.kill(int(file.read()), signal.SIGKILL)
    os.unlink(f"{folder}/count")
    return dumped, restored, size


def checkpoint_execution(layover, folder):
    """The same."""
    files = [f"{folder}/{name}" for name in ("in.npz", "out.npz", "1.lvc", "2.lvc")]
    child = subprocess.Popen([*layover, "run", "loop", "--input", files[0], "--output", files[1], "--threads", "1",
                              "--checkpoint", files[2]], stdout=subprocess.DEVNULL)
    time.sleep(2 * BEFORE_S)
    start = time.perf_counter()
    child.send_signal(signal.SIGUSR1)
    if child.wait() != SUSPENDED:
        sys.exit(f"criu: layover run ended with {child.returncode}")
    suspended = time.perf_counter() - start
    resumed = timed(*layover, "resume", files[2], "--output", files[1], "--threads", "1", "--suspend-after", "1",
                    "--checkpoint", files[3], expect=SUSPENDED)
    return suspended, resumed, os.stat(files[2]).st_size


def show(name, one, two):
    ratio = min(two) / min(one)
    print(f"| {name} | {min(one):.4g} / {statistics.median(one):.4g} | {min(two):.4g} / {statistics.median(two):.4g} "
          f"| {ratio:.3g} (1/{1 / ratio:.3g}) |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--criu", default="criu", help="the command, with what must stand before it")
    parser.add_argument("--layover", default=os.environ.get("LAYOVER_BIN", "build/tools/layover"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", help="where to work; default: a temporary one")
    parser.add_argument("--compute", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.compute:
        compute(options.compute)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        layover = [os.path.abspath(options.layover), "--home", f"{folder}/home", "--quiet"]
        make_models(folder)
        timed(*layover, "register", "loop", f"{folder}/loop.onnx")
        ours, theirs = [], []
        for _ in range(options.rounds):
            theirs.append(image_process(options.criu.split(), folder))
            ours.append(checkpoint_execution(layover, folder))
    print("| | CRIU | Layover | ratio |\n| --- | --- | --- | --- |")
    for i, name in enumerate(("suspend, s", "resume in a new process, s", "bytes")):
        show(name, [row[i] for row in theirs], [row[i] for row in ours])


if __name__ == "__main__":
    main()
