#!/usr/bin/env python3
"""demo.py LAYOVER TEXT FOLDER: two tenants embed a text on one daemon that is killed half way, and move to another.

Each tenant submits a batch job, once undisturbed. Then both again: one is suspended mid-run, the daemon is killed
with -9 and started anew, the suspended job goes on on the pretend accelerator sim:0, the other one by itself. Then a
second daemon with a home of its own is started, and a running job moves there and finishes there. All of them must
give the bits of the undisturbed jobs.
"""
import json
import os
import shutil
import subprocess
import sys
import time

import numpy as np

import minilm
import onnx_graph
import reference
from weights import load_weights

ITEMS = 500
BATCH = 4
LONG = 8  # times as much for the job that moves
TENANTS = ("alice", "bob")


class Layover:
    """One home, its daemon, and the command line that speaks to it."""

    def __init__(self, binary, home, prompt="$"):
        self.command = [os.path.abspath(binary), "--home", home, "--json"]
        self.prompt = prompt
        self.daemon = self.listen = None

    def call(self, *arguments, tenant=None, show=True):
        """Runs one command, shows it, and returns the lines of JSON that it printed."""
        whole = [*arguments, *(["--tenant", tenant] if tenant else [])]
        if show:
            shown = ["…" if before == "--token" else word for before, word in zip([None, *whole], whole)]
            print(f"{self.prompt} layover {' '.join(shown)}", flush=True)
        done = subprocess.run([*self.command, *whole], stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"demo: layover {arguments[0]} ended with {done.returncode}")
        return [json.loads(line) for line in done.stdout.splitlines()]

    def start(self):
        serve = ["serve", "--device", "cpu", "--device", "sim:0", "--listen", "127.0.0.1:0"]
        print(f"{self.prompt} layover {' '.join(serve)} &", flush=True)
        self.daemon = subprocess.Popen([*self.command, *serve], stdout=subprocess.PIPE, text=True)
        line = self.daemon.stdout.readline()
        if not line:
            sys.exit("demo: the daemon does not start")
        ready = json.loads(line)
        self.listen = ready["listen"]
        print(f"  ready: process {ready['pid']}\n")

    def kill(self):
        print(f"{self.prompt} kill -9 {self.daemon.pid}")
        self.daemon.kill()
        self.daemon.wait()

    def stop(self):
        self.daemon.terminate()
        if self.daemon.wait() != 0:
            sys.exit("demo: the daemon did not end cleanly")

    def job(self, job):
        return self.call("job", job, show=False)[-1]

    def wait(self, job, wanted):
        """Until wanted(job) is true; a bar shows how far it is."""
        while True:
            found = self.job(job)
            if sys.stdout.isatty():
                done, total = found["items_done"], found["items_total"]
                print(f"\r  [{'#' * (40 * done // total):40}] {done} of {total} items ", end="", flush=True)
            if wanted(found) or found["ended"]:
                if sys.stdout.isatty():
                    print("\r" + " " * 80, end="\r")
                return found
            time.sleep(0.05)


def prepare(text):
    """The model and each tenant's inputs; returns the sentences and the inputs."""
    if not os.path.exists("minilm.onnx"):
        with open("minilm.onnx.new", "wb") as file:
            file.write(onnx_graph.build_model(load_weights()).SerializeToString(deterministic=True))
        os.replace("minilm.onnx.new", "minilm.onnx")
    sentences = minilm.read_sentences(text)
    feed = minilm.encode_sentences(sentences)
    repeats = max(ITEMS // len(sentences), 1)
    feeds = {"alice": {name: np.tile(array, (repeats, 1)) for name, array in feed.items()}}
    feeds["bob"] = {name: array[::-1] for name, array in feeds["alice"].items()}
    for tenant, arrays in feeds.items():
        np.savez(f"{tenant}.npz", **arrays)
    print(f"model: all-MiniLM-L6-v2 from its trained weights, minilm.onnx, {os.path.getsize('minilm.onnx'):,} bytes")
    print(f"text: {text}, {len(sentences)} sentences, {repeats} times, so that jobs last for some seconds: "
          f"{repeats * len(sentences)} items; bob's in reverse\n")
    return sentences, feed


def feed_of(arrays):
    return [(name, arrays[name]) for name in arrays.files]


def submit(layover, tenant, path=None):
    [answer] = layover.call("submit", "minilm", "--input", path or f"{tenant}.npz", "--items", "--batch", str(BATCH),
                            tenant=tenant)
    return answer["job"]


def read_result(layover, job, tenant, path):
    found = layover.wait(job, lambda it: it["ended"])
    if found["state"] != "succeeded":
        sys.exit(f"demo: job {job} is {found['state']}: {found['why']}")
    layover.call("result", job, "--output", path, tenant=tenant)
    with np.load(path) as arrays:
        return {name: arrays[name] for name in arrays.files}


def run_undisturbed(layover):
    print("undisturbed, to compare with:")
    results = {}
    for tenant in TENANTS:
        results[tenant] = read_result(layover, submit(layover, tenant), tenant, f"{tenant}.straight.npz")
    print()
    return results


def run_disturbed(layover):
    print("both at once, and disturbed:")
    jobs = {tenant: submit(layover, tenant) for tenant in TENANTS}
    layover.wait(jobs["alice"], lambda it: it["items_done"] >= it["items_total"] // 3)
    layover.call("suspend", jobs["alice"], tenant="alice")
    for tenant, job in jobs.items():
        found = layover.job(job)
        print(f"  {tenant}: {found['state']}, {found['items_done']} of {found['items_total']} items done")
    print()
    layover.kill()
    layover.start()
    for tenant, job in jobs.items():
        found = layover.job(job)
        print(f"  {tenant}: {found['state']}, {found['items_done']} of {found['items_total']} items stored")
    print()
    layover.call("resume", jobs["alice"], "--device", "sim:0", tenant="alice")
    return {tenant: read_result(layover, jobs[tenant], tenant, f"{tenant}.disturbed.npz") for tenant in TENANTS}


def connect(west, east):
    """Each lets the other in, and knows where it is."""
    for here, there, name in ((west, east, "east"), (east, west, "west")):
        [made] = there.call("token", "create", "--role", "node", show=False)
        here.call("node", "add", name, f"http://{there.listen}", "--token", made["token"])


def run_moved(west, east):
    """One job that runs moves to the other home, with its model, and finishes there."""
    print("a second home with a daemon of its own, and a job that moves there while it runs:")
    east.start()
    for tenant in TENANTS:
        east.call("tenant", "add", tenant, show=False)
    connect(west, east)
    with np.load("alice.npz") as arrays:
        np.savez("alice.long.npz", **{name: np.tile(array, (LONG, 1)) for name, array in feed_of(arrays)})
    job = submit(west, "alice", "alice.long.npz")
    west.wait(job, lambda it: it["items_done"] > 0)
    [moved] = west.call("migrate", job, "--to", "east", tenant="alice")
    print(f"  {moved['rounds']} rounds while it ran, {moved['bytes_sent']:,} bytes with the model, "
          f"{moved['seconds']:.1f} s; stopped for {moved['downtime_ms']:.1f} ms")
    for where, layover in (("west", west), ("east", east)):
        found = layover.job(job)
        print(f"  at {where} it is {found['state']}, {found['items_done']} of {found['items_total']} items")
    found = east.wait(job, lambda it: it["ended"])
    print(f"  at east it is {found['state']}; its results are asked for where it was submitted:")
    west.call("result", job, "--output", "alice.moved.npz", tenant="alice")
    print()
    with np.load("alice.moved.npz") as arrays:
        return {"alice": dict(feed_of(arrays))}


def compare(straight, disturbed):
    for tenant in disturbed:
        one, two = straight[tenant], disturbed[tenant]
        if sorted(one) != sorted(two) or any(one[name].tobytes() != two[name].tobytes() for name in one):
            sys.exit(f"demo: {tenant}'s outputs differ from the undisturbed ones")
        print(f"  {tenant}: {sum(array.size for array in two.values()):,} numbers, every bit as undisturbed")


def show_neighbours(sentences, feed, embedding):
    error = float(np.abs(embedding - reference.embed(load_weights(), **feed)).max())
    print(f"largest difference from the same model in numpy (float64): {error:.1e}\n")
    if error > 1e-3:
        sys.exit("demo: that is too much")
    nearest = minilm.find_nearest(embedding.astype(np.float64), 1)
    print("each sentence and the one nearest to it:")
    for sentence, [(index, score)] in zip(sentences, nearest):
        print(f"  {score:5.2f}  {sentence}\n         {sentences[index]}")


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    binary, text, folder = (os.path.abspath(argument) for argument in sys.argv[1:])
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    for home in ("home", "home.east"):
        shutil.rmtree(home, ignore_errors=True)
    sentences, feed = prepare(text)
    layover, east = Layover(binary, "home"), Layover(binary, "home.east", "east$")
    layover.start()
    try:
        for tenant in TENANTS:
            layover.call("tenant", "add", tenant)
            [model] = layover.call("register", "minilm", "minilm.onnx", tenant=tenant)
        print(f"  executable {model['executable'][:16]}…, {model['bytes_raw']:,} bytes stored as "
              f"{model['bytes_stored']:,}\n")
        straight = run_undisturbed(layover)
        disturbed = run_disturbed(layover)
        compare(straight, disturbed)
        print()
        expected = {name: np.concatenate([array] * LONG) for name, array in straight["alice"].items()}
        compare({"alice": expected}, run_moved(layover, east))
        print()
        layover.stop()
        east.stop()
    finally:
        for one in (layover, east):
            if one.daemon and one.daemon.poll() is None:
                one.daemon.kill()
    show_neighbours(sentences, feed, disturbed["alice"]["embedding"][:len(sentences)])


if __name__ == "__main__":
    main()
