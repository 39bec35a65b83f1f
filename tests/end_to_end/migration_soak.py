#!/usr/bin/env python3
"""migration_soak.py [--kills 100] [--seed 1]: jobs move between two daemons that are killed at random moments.

Each round submits a job of some kind at one of two nodes, moves it up to three times, and kills either side or both
meanwhile; they come back, and the pair must settle without a person: one owner, never two nodes that run it, the outputs of an
undisturbed run, and nothing left behind. The same seed draws the same rounds; the moments depend on the machine.
LAYOVER_BIN names the binary.
"""
import argparse
import collections
import contextlib
import pathlib
import random
import sys
import tempfile
import time

from daemon import Refused, equal
from harness import DONE, Home
from migration import FAST, KINDS, SLOW, Node, Pair, check_history, undisturbed, watched

BEGIN_S = 0.15  # a migration takes less than half of that
DOWN_S = 0.6


class Soak:
    def __init__(self, pair, expected, seed):
        self.pair, self.expected, self.random = pair, expected, random.Random(seed)
        self.kills, self.rounds, self.outcomes = 0, 0, collections.Counter()

    def kill(self, job, source, target):
        """Either side or both, which stay away for a while."""
        victims = self.random.choice([[source], [target], [source, target]])
        for node in victims:
            node.kill()
        self.kills += len(victims)
        for node in self.random.sample(victims, len(victims)):
            time.sleep(self.random.uniform(0, DOWN_S))
            node.start()
        return "+".join(sorted("source" if node is source else "target" for node in victims))

    def begin(self, kind, source):
        for node in self.pair.nodes:
            if node.device != SLOW:
                node.end()
                node.start(device=SLOW)
        job = self.pair.submit(kind, source)
        if self.random.random() < 0.8:
            source.wait(job, lambda it: it["state"] == "running")
        if self.random.random() < 0.25:
            source.suspend(job)
        return job

    def move(self, job, source):
        """Once, with one or two kills meanwhile; the owner then."""
        target, before = self.pair.other(source), source.state(job)
        options = {"bandwidth": 2000000} if self.random.random() < 0.3 else {}
        with watched(self.pair, job):
            with contextlib.suppress(Refused):  # a job that has just ended does not move
                source.begin(job, target, **options)
            time.sleep(self.random.uniform(0, BEGIN_S))
            hit = self.kill(job, source, target)
            if self.random.random() < 0.3:
                time.sleep(self.random.uniform(0, BEGIN_S))
                self.kill(job, source, target)
            owner = self.pair.settle(job)
        assert (owner.state(job) == "suspended") is (before == "suspended"), owner.job(job)
        self.outcomes[f"{hit}: {'moved' if owner is target else 'stayed'}"] += 1
        return owner

    def round(self):
        kind, owner = self.random.choice(sorted(KINDS)), self.random.choice(self.pair.nodes)
        job = self.begin(kind, owner)
        for _ in range(self.random.choice([1, 1, 2, 3])):
            if not owner.job(job)["ended"]:
                owner = self.move(job, owner)
        self.finish(job, owner, kind)
        self.rounds += 1

    def finish(self, job, owner, kind):
        if not owner.job(job)["ended"]:
            owner.end()
            owner.start(device=FAST)
            if owner.job(job)["state"] == "suspended":
                owner.change(job, "resume")
        equal(owner.finished(job), self.expected[kind])
        check_history(owner, job)
        assert self.pair.owner(job) is owner
        owner.home.call("rm-job", job)

    def look_for_leftovers(self):
        for node in self.pair.nodes:
            assert node.end() == DONE, node.name
            node.home.is_clean()
            node.home.call("gc")
            node.home.is_clean()
            assert node.unsettled() == []
            assert node.home.call("fsck").json["chunks"] == self.pair.chunks[node], node.name
        for node in self.pair.nodes:
            node.start(device=SLOW)


def run(folder, kills, seed, say=lambda text: None):
    expected = undisturbed(folder)
    with Pair(Node(Home(folder / "a"), "a"), Node(Home(folder / "b"), "b"), both_have_it=True) as pair:
        soak = Soak(pair, expected, seed)
        while soak.kills < kills:
            try:
                soak.round()
                if soak.rounds % 10 == 0:
                    soak.look_for_leftovers()
            except BaseException:
                say(f"seed {seed}, round {soak.rounds + 1}, after {soak.kills} kills; the homes: {folder}")
                raise
            say(f"{soak.kills} kills, {soak.rounds} rounds: {dict(sorted(soak.outcomes.items()))}")
        soak.look_for_leftovers()
    return soak


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    start = time.monotonic()
    soak = run(pathlib.Path(tempfile.mkdtemp(prefix="layover-soak.")), arguments.kills, arguments.seed,
               lambda text: print(text, flush=True))
    print(f"{soak.kills} kills in {soak.rounds} rounds, {time.monotonic() - start:.0f} s: all settled")


if __name__ == "__main__":
    sys.exit(main())
