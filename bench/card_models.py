#!/usr/bin/env python3
"""card_models.py FOLDER: models of full size to time on a card, small enough to be carried to it.

FOLDER/NAME.onnx        an architecture. Its large weights lie in the file weights.DTYPE beside it, each from another
                        offset on, so that no two of them are equal.
FOLDER/DTYPE.block      random numbers; that file is this one over and over
FOLDER/blocks           lines of DTYPE and how often
FOLDER/NAME.CASE.npz    inputs
FOLDER/models.json      what there is, for tools/gpu_check_torch_models.py to build the same

What a model takes does not depend on its weights' values, as long as they stay finite.
"""
import json
import math
import os
import sys

import ml_dtypes
import numpy as np
from onnx import AttributeProto, TensorProto, numpy_helper

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "models"))

import networks  # noqa: E402
from graph_builder import FLOAT, GraphBuilder, value  # noqa: E402

BLOCK_BYTES, STEP_BYTES, PLACED_ELEMENTS_MIN = 1 << 20, 8 << 10, 4096
WEIGHT_DEVIATION, REPEATED_ELEMENTS = 0.02, 4096  # gzip finds inputs that repeat within 32 KiB
DTYPES = {"float32": (FLOAT, np.float32), "float16": (TensorProto.FLOAT16, np.float16),
          "bfloat16": (TensorProto.BFLOAT16, ml_dtypes.bfloat16)}


class PlacedBuilder(GraphBuilder):
    """Large random weights are not drawn: they begin somewhere in a file beside the model."""

    def random_weight(self, name, shape, scale):
        if math.prod(shape) < PLACED_ELEMENTS_MIN:
            return super().random_weight(name, shape, scale)
        tensor = TensorProto(name=name, data_type=FLOAT, dims=shape, data_location=TensorProto.EXTERNAL)
        placed = sum(other.data_location == TensorProto.EXTERNAL for other in self.root.weights)
        if placed >= BLOCK_BYTES // STEP_BYTES:
            raise ValueError(f"{name}: more than {placed} weights would not all differ")
        tensor.external_data.add(key="offset", value=str(placed * STEP_BYTES))
        self.root.weights.append(tensor)
        return name


def resnet(blocks, width, image, classes, seed=16, builder=GraphBuilder):
    """As torchvision's ResNet-50: bottlenecks, the stride in their 3x3 convolution."""
    g = builder("resnet", seed)

    def statistics(name, channels, low, high):
        return g.weight(name, g.root.random.uniform(low, high, channels).astype(np.float32))

    def conv(x, name, before, channels, kernel, stride=1):
        weight = g.random_weight(f"{name}.w", (channels, before, kernel, kernel), (2 / (before * kernel ** 2)) ** 0.5)
        x = g.op("Conv", x, weight, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[kernel // 2] * 4)
        return g.op("BatchNormalization", x, statistics(f"{name}.scale", channels, 0.8, 1.2),
                    statistics(f"{name}.shift", channels, -0.1, 0.1), statistics(f"{name}.mean", channels, -0.1, 0.1),
                    statistics(f"{name}.variance", channels, 0.8, 1.2))

    x = g.op("Relu", conv("x", "stem", 3, width, 7, 2))
    x = g.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    before = width
    for stage, count in enumerate(blocks):
        inner, after = width << stage, 4 * width << stage
        for block in range(count):
            name, stride = f"s{stage}b{block}", 2 if stage > 0 and block == 0 else 1
            y = g.op("Relu", conv(x, f"{name}.1", before, inner, 1))
            y = g.op("Relu", conv(y, f"{name}.2", inner, inner, 3, stride))
            y = conv(y, f"{name}.3", inner, after, 1)
            if block == 0:
                x = conv(x, f"{name}.0", before, after, 1, stride)
            x = g.op("Relu", g.op("Add", y, x))
            before = after
    x = g.op("Flatten", g.op("GlobalAveragePool", x))
    g.op("Gemm", x, g.random_weight("out.w", (classes, before), before ** -0.5),
         g.random_weight("out.b", (classes,), 0.02), transB=1, name="y")
    return g.model([value("x", FLOAT, ["N", 3, image, image])], [value("y", FLOAT, ["N", classes])])


def _repeated(shape, dtype):
    drawn = np.random.default_rng(17).standard_normal(REPEATED_ELEMENTS)
    return np.resize(drawn, shape).astype(dtype)


def _ids(*shape, below):
    return np.random.default_rng(18).integers(0, below, shape, dtype=np.int64)


def resnet_feed(sizes, dtype, batch):
    return {"x": _repeated((batch, 3, sizes["image"], sizes["image"]), dtype)}


def bert_feed(sizes, dtype, batch, length):
    shape = (batch, length)
    return {"input_ids": _ids(*shape, below=sizes["vocabulary"]), "attention_mask": np.ones(shape, np.int64),
            "token_type_ids": np.zeros(shape, np.int64)}


def gpt2_feed(sizes, dtype, prompt, tokens):
    return {"input_ids": _ids(1, prompt, below=sizes["vocabulary"]), "max_new_tokens": np.array(tokens, np.int64)}


ARCHITECTURES = {
    "resnet": (resnet, resnet_feed),
    "bert": (networks.bert, bert_feed),
    "gpt2": (lambda **sizes: networks.gpt2_gen(seed=19, **sizes), gpt2_feed),
}
# name: architecture, sizes, element types (npz has no bfloat16 for inputs), cases
MODELS = {
    "resnet50": ("resnet", {"blocks": [3, 4, 6, 3], "width": 64, "image": 224, "classes": 1000}, ["float32", "float16"],
                 {"batch1": {"batch": 1}, "batch32": {"batch": 32}}),
    "bert_base": ("bert", {"layers": 12, "width": 768, "heads": 12, "inner": 3072, "vocabulary": 30522, "positions": 512},
                  ["float32", "float16", "bfloat16"],
                  {"batch1": {"batch": 1, "length": 128}, "batch32": {"batch": 32, "length": 128}}),
    "gpt2": ("gpt2", {"layers": 12, "width": 768, "heads": 12, "vocabulary": 50257, "positions": 1024},
             ["float32", "float16"], {"decode64": {"prompt": 16, "tokens": 64}}),
    # of the same make, for trying out what handles them
    "quick_resnet": ("resnet", {"blocks": [2, 1], "width": 16, "image": 32, "classes": 10}, ["float32", "float16"],
                     {"batch2": {"batch": 2}}),
    "quick_bert": ("bert", {"layers": 2, "width": 128, "heads": 2, "inner": 128, "vocabulary": 100, "positions": 32},
                   ["float32", "float16", "bfloat16"], {"batch2": {"batch": 2, "length": 16}}),
    "quick_gpt2": ("gpt2", {"layers": 2, "width": 64, "heads": 2, "vocabulary": 100, "positions": 32},
                   ["float32", "float16"], {"decode4": {"prompt": 3, "tokens": 4}}),
}


class TypedModel:
    """Turns a float32 model into one of another element type, in place; its placed weights get their file."""

    def __init__(self, dtype):
        self.dtype = dtype
        self.number, self.array_type = DTYPES[dtype]
        self.bytes = 0  # of that file

    def _tensor(self, tensor):
        if tensor.data_type != FLOAT:
            return
        if tensor.data_location == TensorProto.EXTERNAL:
            offset = int(tensor.external_data[0].value)
            end = offset + math.prod(tensor.dims) * np.dtype(self.array_type).itemsize
            self.bytes = max(self.bytes, end)
            tensor.external_data.add(key="location", value=f"weights.{self.dtype}")
            tensor.data_type = self.number
        else:
            with np.errstate(over="ignore"):  # what masks becomes -inf
                typed = numpy_helper.to_array(tensor).astype(self.array_type)
            tensor.CopyFrom(numpy_helper.from_array(typed, tensor.name))

    def graph(self, graph):
        for tensor in graph.initializer:
            self._tensor(tensor)
        for entry in [*graph.input, *graph.output]:
            if entry.type.tensor_type.elem_type == FLOAT:
                entry.type.tensor_type.elem_type = self.number
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.type == AttributeProto.TENSOR:
                    self._tensor(attribute.t)
                elif attribute.type == AttributeProto.GRAPH:
                    self.graph(attribute.g)
                elif node.op_type == "Cast" and attribute.name == "to" and attribute.i == FLOAT:
                    attribute.i = self.number


def write_block(folder, dtype):
    drawn = np.random.default_rng(20).standard_normal(BLOCK_BYTES // np.dtype(DTYPES[dtype][1]).itemsize)
    with open(os.path.join(folder, f"{dtype}.block"), "wb") as file:
        file.write((drawn * WEIGHT_DEVIATION).astype(DTYPES[dtype][1]).tobytes())


def write_model(folder, name, dtype):
    """Answers its entry in models.json and how many bytes its weights' file needs."""
    architecture, sizes, _, cases = MODELS[name]
    build, feed = ARCHITECTURES[architecture]
    model, typed, path = build(**sizes, builder=PlacedBuilder), TypedModel(dtype), os.path.join(folder, f"{name}_{dtype}")
    typed.graph(model.graph)
    with open(f"{path}.onnx", "wb") as file:
        file.write(model.SerializeToString(deterministic=True))  # the checker would look for the weights
    for case, parameters in cases.items():
        np.savez(f"{path}.{case}.npz", **feed(sizes, DTYPES[dtype][1], **parameters))
    entry = {"name": f"{name}_{dtype}", "architecture": architecture, "dtype": dtype, "sizes": sizes, "cases": cases}
    return entry, typed.bytes


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder, entries, sizes = sys.argv[1], [], dict.fromkeys(DTYPES, 0)
    os.makedirs(folder, exist_ok=True)
    for name, (_, _, dtypes, _) in MODELS.items():
        for dtype in dtypes:
            entry, size = write_model(folder, name, dtype)
            entries.append(entry)
            sizes[dtype] = max(sizes[dtype], size)
    for dtype in DTYPES:
        write_block(folder, dtype)
    with open(os.path.join(folder, "blocks"), "w", encoding="utf-8") as file:
        file.writelines(f"{dtype} {-(-size // BLOCK_BYTES)}\n" for dtype, size in sizes.items())
    with open(os.path.join(folder, "models.json"), "w", encoding="utf-8") as file:
        json.dump(entries, file, indent=1)


if __name__ == "__main__":
    main()
