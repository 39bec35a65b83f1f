#!/usr/bin/env python3
"""migration.py [--live MIB] [--change MIB_PER_S] [--rate MBIT] [--jobs N] [--repeat R]: moves jobs between two daemons.

A job with much live memory that changes while it moves: how long it is stopped, what crosses, and beside it the same job
suspended, written to a file, carried over and resumed (stop-and-copy). Then many small jobs drained to the other node.
As root the daemons stand in two network namespaces joined by veth; else both on loopback, and the output says so.

LAYOVER_BIN names the binary (default: build/tools/layover)."""
import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

BINARY = os.environ.get("LAYOVER_BIN", "build/tools/layover")
TENSOR_MIB = 4
CALIBRATION = 20_000_000


def program(tensors, spin):
    """Tensors that are all live; one after the other gets a new value, with a pause of `spin` rounds between two."""
    lines = [f"primitive %random = RandomUniform {{shape=[{TENSOR_MIB << 18}]}}", "primitive %add = Add",
             "function main(a: float32[n]) -> (y: float32[n]) exported last_uses {"]
    lines += [f"    InvokePacked %random -> r{k}" for k in range(10, 10 + tensors)]
    lines += ["    LoadConsti 0 -> r1", "head:"]
    for k in range(10, 10 + tensors):
        lines += ["    InvokePacked %random -> r3", f"    InvokePacked %add r{k}, r3 -> r{k}", "    LoadConsti 0 -> r2",
                  f"wait{k}:", "    IntOp add, r2, 1 -> r2", f"    If r2, {spin}, go{k}, wait{k}", f"go{k}:"]
    lines += ["    IntOp add, r1, 1 -> r1", "    If r1, 1000000, done, head", "done:", "    Ret r0", "}"]
    return "\n".join(lines) + "\n"


SPIN = """function main(a: float32[n]) -> (y: float32[n]) exported {
    LoadConsti 0 -> r1
head:
    IntOp add, r1, 1 -> r1
    If r1, %d, done, head
done:
    Ret r0
}
"""


class Node:
    def __init__(self, folder, name, prefix, address):
        self.home, self.name, self.prefix, self.address = os.path.join(folder, name), name, prefix, address
        self.process = None

    def start(self):
        self.process = subprocess.Popen(
            [*self.prefix, BINARY, "--home", self.home, "--json", "serve", "--listen", f"{self.address}:0"],
            stdout=subprocess.PIPE, text=True)
        self.listen = json.loads(self.process.stdout.readline())["listen"]

    def call(self, *arguments, lines=False):
        done = subprocess.run([*self.prefix, BINARY, "--home", self.home, "--json", *arguments], text=True, check=True,
                              stdout=subprocess.PIPE)
        parsed = [json.loads(line) for line in done.stdout.splitlines()]
        return parsed if lines else parsed[0] if parsed else None

    def stop(self):
        if self.process:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


class Pair:
    """Two daemons that know each other; plain HTTP is for this machine alone, so there is TLS between namespaces."""

    def __init__(self, folder, rate):
        self.spaces = os.geteuid() == 0 and shutil.which("ip") is not None
        self.names = [f"lay{os.getpid()}{side}" for side in "ab"]
        prefixes, addresses = [[], []], ["127.0.0.1", "127.0.0.1"]
        if self.spaces:
            prefixes = [["ip", "netns", "exec", name] for name in self.names]
            addresses = ["10.77.0.1", "10.77.0.2"]
            self._join(addresses, rate)
        self.nodes = [Node(folder, name, prefix, address)
                      for name, prefix, address in zip("ab", prefixes, addresses)]
        for node in self.nodes:
            self._serve(folder, node)
        tokens = [node.call("token", "create", "--role", "node")["token"] for node in self.nodes]
        for here, there, token in ((0, 1, tokens[1]), (1, 0, tokens[0])):
            other = self.nodes[there]
            trust = ["--fingerprint", other.key] if other.key else []
            self.nodes[here].call("node", "add", other.name, other.url, "--token", token, *trust)

    def _serve(self, folder, node):
        certificate, key = (os.path.join(folder, f"{node.name}.{end}") for end in ("crt", "key"))
        run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "1",
            "-subj", f"/CN={node.name}")
        node.process = subprocess.Popen(
            [*node.prefix, BINARY, "--home", node.home, "--json", "serve", "--listen", f"{node.address}:0", "--tls-cert",
             certificate, "--tls-key", key], stdout=subprocess.PIPE, text=True)
        ready = json.loads(node.process.stdout.readline())
        node.key, node.url = ready["fingerprint"], f"https://{ready['listen']}"

    def _join(self, addresses, rate):
        for name in self.names:
            run("ip", "netns", "add", name)
        ends = [f"{name}v" for name in self.names]
        run("ip", "link", "add", ends[0], "netns", self.names[0], "type", "veth", "peer", "name", ends[1], "netns",
            self.names[1])
        for name, end, address in zip(self.names, ends, addresses):
            run("ip", "-n", name, "addr", "add", f"{address}/24", "dev", end)
            run("ip", "-n", name, "link", "set", end, "up")
            run("ip", "-n", name, "link", "set", "lo", "up")
            if rate:
                run("tc", "-n", name, "qdisc", "add", "dev", end, "root", "tbf", "rate", f"{rate}mbit", "burst", "1mb",
                    "latency", "100ms")

    def close(self):
        for node in getattr(self, "nodes", ()):
            node.stop()
        for name in self.names if self.spaces else ():
            subprocess.run(["ip", "netns", "del", name], check=False)


def wait_for(node, job, states, limit=120):
    end = time.monotonic() + limit
    while time.monotonic() < end:
        if node.call("job", job)["state"] in states:
            return
        time.sleep(0.002)
    raise TimeoutError(f"{job} is {node.call('job', job)['state']}")


def register(node, folder, name, text):
    path = os.path.join(folder, f"{name}.lva")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    node.call("register", name, path)


def calibrate(node, folder, feed):
    """Rounds of the pause loop in a second."""
    register(node, folder, "spin", SPIN % CALIBRATION)
    began = time.monotonic()
    node.call("submit", "spin", "--input", feed, "--wait")
    return CALIBRATION / (time.monotonic() - began)


def changing(node, folder, feed, options):
    tensors = options.live // TENSOR_MIB
    pause = TENSOR_MIB / options.change - 0.012  # the rest is the new value itself
    spin = max(1, int(calibrate(node, folder, feed) * pause))
    register(node, folder, "changing", program(tensors, spin))
    job = node.call("submit", "changing", "--input", feed)["job"]
    wait_for(node, job, ("running",))
    time.sleep(tensors * 0.02 + 3)  # all of it is there
    return job


def stop_and_copy(source, target, folder, job):
    path = os.path.join(folder, "carried.lvc")
    began = time.monotonic()
    source.call("suspend", job)
    source.call("checkpoint", job, "-o", path, "--with-model", "--release")
    target.call("restore", path)
    wait_for(target, job, ("running", "succeeded"))
    seconds = time.monotonic() - began
    os.unlink(path)
    return seconds


def measure_big(pair, folder, feed, options):
    source, target = pair.nodes
    job = changing(source, folder, feed, options)
    for attempt in range(options.repeat):
        here, there = (source, target) if attempt % 2 == 0 else (target, source)
        moved = here.call("migrate", job, "--to", there.name)
        print(f"live migration of {options.live} MiB, {options.change} MiB/s change: stopped {moved['downtime_ms']:.1f} ms, "
              f"{moved['rounds']} rounds, {moved['bytes_sent'] / 2**20:.0f} MiB sent "
              f"({moved['bytes_sent'] / (options.live * 2**20):.2f} of what is live), {moved['seconds']:.2f} s", flush=True)
        time.sleep(2)
        yield moved
    here, there = (source, target) if options.repeat % 2 == 0 else (target, source)
    seconds = stop_and_copy(here, there, folder, job)
    print(f"stop-and-copy of the same job: stopped {seconds * 1e3:.0f} ms", flush=True)
    yield {"stop_and_copy": seconds}
    there.call("cancel", job)


def measure_drain(pair, folder, feed, options):
    source, target = pair.nodes
    register(source, folder, "small", SPIN % 2_000_000_000)
    jobs = [source.call("submit", "small", "--input", feed)["job"] for _ in range(options.jobs)]
    time.sleep(1)
    began = time.monotonic()
    source.call("drain", "--to", target.name)
    seconds = time.monotonic() - began
    down = []
    for job in jobs:
        # the same machine, so the same clock: from held there to queued here
        held = [event["time"] for event in source.call("job", job)["events"] if event["state"] == "held"][-1]
        owned = [event["time"] for event in target.call("job", job)["events"] if event["state"] == "queued"][0]
        down.append((owned - held) * 1e3)
    print(f"{options.jobs} small jobs drained in {seconds:.2f} s; each from held to owned: median "
          f"{statistics.median(down):.1f} ms, most {max(down):.1f} ms", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--live", type=int, default=1024, help="MiB")
    parser.add_argument("--change", type=int, default=50, help="MiB/s")
    parser.add_argument("--rate", type=int, default=0, help="Mbit/s of the link; 0: as it is")
    parser.add_argument("--jobs", type=int, default=64)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--folder", help="where homes are made")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="layover-migration.", dir=options.folder)
    feed = os.path.join(folder, "in.npz")
    import numpy  # pylint: disable=import-outside-toplevel
    numpy.savez(feed, a=numpy.ones(4, numpy.float32))
    pair = None
    try:
        pair = Pair(folder, options.rate)
        print("two namespaces joined by veth" if pair.spaces else "both on loopback: not root", flush=True)
        results = list(measure_big(pair, folder, feed, options))
        best = min(result["downtime_ms"] for result in results[:-1])
        print(f"stopped {best:.1f} ms at best: {best / 1e3 / results[-1]['stop_and_copy']:.3f} of stop-and-copy")
        measure_drain(pair, folder, feed, options)
    finally:
        if pair:
            pair.close()
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
