#!/usr/bin/env python3
"""make_cases.py FOLDER: the backend test cases that come with the onnx package, for layover-onnx-suite.

FOLDER/<kind>/<case>/ holds model.onnx, values (below) and the tensors it names, N.pb, each a TensorProto. The same
package gives the same bytes. Lines of values, in order:
    tolerance RELATIVE ABSOLUTE
    set                          a data set begins
    input|output tensor N
    input|output list N…         a sequence (of nothing: an empty one)
    input|output none            an optional without a value
"""
import os
import shutil
import sys
import warnings

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")


class Case:
    """The folder of one case under way."""

    def __init__(self, folder, relative, absolute):
        os.makedirs(folder)
        self.folder, self.tensors = folder, 0
        self.lines = [f"tolerance {relative!r} {absolute!r}"]

    def write(self, name, data):
        with open(os.path.join(self.folder, name), "wb") as file:
            file.write(data)

    def tensor(self, value):
        proto = value if isinstance(value, onnx.TensorProto) else numpy_helper.from_array(np.asarray(value))
        self.write(f"{self.tensors}.pb", proto.SerializeToString(deterministic=True))
        self.tensors += 1
        return str(self.tensors - 1)

    def value(self, way, value):
        if value is None:
            self.lines.append(f"{way} none")
        elif isinstance(value, (list, tuple)):
            self.lines.append(" ".join([f"{way} list", *map(self.tensor, value)]))
        else:
            self.lines.append(f"{way} tensor {self.tensor(value)}")

    def data_set(self, inputs, outputs):
        self.lines.append("set")
        for value in inputs:
            self.value("input", value)
        for value in outputs:
            self.value("output", value)

    def finish(self):
        self.write("values", ("\n".join(self.lines) + "\n").encode())


def read_value(path, kind):
    """A value of a case on disk: TensorProto, list or None."""
    with open(path, "rb") as file:
        data = file.read()
    if kind.WhichOneof("value") == "sequence_type":
        return numpy_helper.to_list(onnx.SequenceProto.FromString(data))
    if kind.WhichOneof("value") == "optional_type":
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(data))
    return onnx.TensorProto.FromString(data)


def data_sets_on_disk(folder, graph):
    for number in range(len(os.listdir(folder))):
        place = os.path.join(folder, f"test_data_set_{number}")
        if not os.path.isdir(place):
            return
        yield [[read_value(os.path.join(place, f"{way}_{i}.pb"), port.type)
                for i, port in enumerate(ports) if os.path.exists(os.path.join(place, f"{way}_{i}.pb"))]
               for way, ports in (("input", graph.input), ("output", graph.output))]


def make_case(case, folder):
    made = Case(folder, case.rtol, case.atol)
    model = case.model
    if case.model_dir:
        model = onnx.load(os.path.join(case.model_dir, "model.onnx"))
    made.write("model.onnx", model.SerializeToString(deterministic=True))
    sets = data_sets_on_disk(case.model_dir, model.graph) if case.model_dir else case.data_sets
    for inputs, outputs in sets:
        made.data_set(inputs, outputs)
    made.finish()


def main():
    out = sys.argv[1]
    warnings.simplefilter("ignore")  # the cases' own values overflow where they mean to
    shutil.rmtree(out, ignore_errors=True)
    count = 0
    for kind in KINDS:
        for case in load_model_tests(kind=kind):
            make_case(case, os.path.join(out, kind, case.name))
            count += 1
    print(f"{count} cases of onnx {onnx.__version__} in {out}")


if __name__ == "__main__":
    main()
