"""Runs one graph of the zoo with Layover and says what is wrong with it: refused, other answers, other bits behind a stop."""
import os

from zoo_check import compare, fill, read_table  # it knows where the harness is

import stops
from harness import load
from stops import layover

STRIDE = 10  # instructions between two stops


class Wrong(Exception):
    """A graph is refused, differs or does not resume; says why."""


class Zoo:
    """A home for the graphs, in a folder of its own. They run in this process."""

    def __init__(self, folder):
        self.folder, self.home, self.table = str(folder), layover.Home(os.path.join(folder, "home")), read_table()

    def told(self, what, act):
        """What act gives; its error is what is wrong with the graph."""
        try:
            return act()
        except layover.Error as error:
            raise Wrong(f"{what}: {' '.join(str(error).replace(f'{self.folder}/', '').split())}") from error

    def check(self, name):
        """Registers, runs, compares, stops at every tenth instruction and goes on; raises Wrong. Gives the instructions."""
        model, inputs = fill(name, self.folder)
        given = load(inputs)
        self.told("refused", lambda: self.home.register(name, model, prepare=False))
        models = [self.home.load(name) for _ in range(2)]
        straight, instructions = self.told("stopped", lambda: stops.run(models[0], given))
        wrong = compare(name, straight, self.table[name]["tolerance"])
        if wrong:
            raise Wrong(f"differs: {wrong}")
        cut, count = self.told("resume", lambda: stops.run_cut(models, given, STRIDE))
        if count != (instructions - 1) // STRIDE:
            raise Wrong(f"resume: {count} stops in {instructions} instructions")
        try:
            stops.assert_same(cut, straight)
        except AssertionError as other:
            raise Wrong(f"resume: {other}") from other
        return instructions

    def verdict(self, name):
        """None: all is well."""
        try:
            self.check(name)
            return None
        except Wrong as wrong:
            return str(wrong)
        finally:
            for ending in ("onnx", "case.npz"):
                path = os.path.join(self.folder, f"{name}.{ending}")
                if os.path.exists(path):
                    os.remove(path)
