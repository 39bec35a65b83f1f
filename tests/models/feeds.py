#!/usr/bin/env python3
"""feeds.py MODELS_DIR [NAME ...]: writes inputs and onnxruntime's outputs beside each model.

NAME.CASE.npz holds the inputs, NAME.CASE.expected.npz the outputs. The first case of a model is its ordinary one.
"""
import os
import sys

import numpy as np

# How far float outputs may be from onnxruntime's; integers and booleans must be equal.
TOLERANCES = {"gpt2_gen_small": (1e-3, 1e-4), "gpt2_gen_tiny": (1e-3, 1e-4), "scan_lm": (1e-3, 1e-4),
              "vad": (1e-3, 1e-4)}
DEFAULT_TOLERANCE = (1e-3, 1e-5)


def _normal(*shape, seed=100):
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def _integers(high, *shape, seed=101):
    return np.random.default_rng(seed).integers(0, high, shape, dtype=np.int64)


def _prompt(vocabulary, length, new_tokens):
    return {"input_ids": _integers(vocabulary, 1, length), "max_new_tokens": np.array(new_tokens, np.int64)}


def _image(name, size=224):
    return {name: _normal(1, 3, size, size)}


def _bert(batch, length, real, vocabulary=5000):
    mask = (np.arange(length)[None] < np.array(real)[:, None]).astype(np.int64)
    return {"input_ids": _integers(vocabulary, batch, length), "attention_mask": mask,
            "token_type_ids": np.zeros((batch, length), np.int64)}


def _scan(length, batch):
    return {"tokens": _integers(5000, length, batch), "h0": _normal(2, batch, 512, seed=1) * np.float32(0.1),
            "c0": _normal(2, batch, 512, seed=2) * np.float32(0.1)}


def _vad(rate, samples, batch):
    return {"audio": _normal(batch, samples), "state": _normal(2, batch, 128, seed=3) * np.float32(0.1),
            "sr": np.array(rate, np.int64)}


def _rounds(x, count):
    return {"x": x, "rounds": np.array(count, np.int64)}


def _vector(*numbers):
    return np.array(numbers, np.float32)


FEEDS = {
    "mlp": {"one": lambda: {"x": _normal(1, 784)}, "five": lambda: {"x": _normal(5, 784)},
            "none": lambda: {"x": _normal(0, 784)}},
    "resnet50": {"one": lambda: {"gpu_0/data_0": _normal(1, 3, 224, 224)}},
    "squeezenet": {"one": lambda: {"data_0": _normal(1, 3, 224, 224)}},
    "bert_small": {"long": lambda: _bert(1, 128, [128]), "padded": lambda: _bert(3, 17, [17, 9, 1])},
    "gpt2_gen_small": {"long": lambda: _prompt(5000, 16, 64), "short": lambda: _prompt(5000, 5, 3),
                       "nothing": lambda: _prompt(5000, 4, 0)},
    "gpt2_gen_tiny": {"short": lambda: _prompt(50, 3, 4), "nothing": lambda: _prompt(50, 3, 0)},
    "scan_lm": {"short": lambda: _scan(24, 1), "pair": lambda: _scan(5, 2), "long": lambda: _scan(512, 1)},
    "vad": {"wide": lambda: _vad(16000, 512, 1), "narrow": lambda: _vad(8000, 256, 1),
            "pair": lambda: _vad(16000, 700, 2)},
    "nested_if": {"large": lambda: {"x": _vector(5, 6, 7)}, "middling": lambda: {"x": _vector(1, 2)},
                  "negative": lambda: {"x": _vector(-1, -2, -3, 0)}},
    "counted_loop": {"five": lambda: _rounds(_vector(1, -2, 3), 5), "none": lambda: _rounds(_vector(1, -2, 3), 0)},
    "while_loop": {"seven": lambda: {"start": np.array(7, np.int64)}, "one": lambda: {"start": np.array(1, np.int64)}},
    "nested_loop": {"early": lambda: _rounds(_vector(1, 2), 9), "full": lambda: _rounds(_vector(0, 1), 3)},
    "two_way_scan": {"four": lambda: {"left": _normal(4, 3), "right": _normal(3, 4, seed=7)},
                     "one": lambda: {"left": _normal(1, 3), "right": _normal(3, 1, seed=7)}},
    "loop_if_scan": {"five": lambda: _rounds(_normal(3, 4), 5), "none": lambda: _rounds(_normal(3, 4), 0)},
    "local_functions": {"mixed": lambda: {"x": _vector(-2, -1, 0, 1, 2)}},
    "empty_tensors": {"empty": lambda: {"x": _normal(0, 3)}, "two": lambda: {"x": _normal(2, 3)}},
}
FEEDS |= {
    "bvlc_alexnet": {"one": lambda: _image("data_0")}, "densenet121": {"one": lambda: _image("data_0")},
    "inception_v1": {"one": lambda: _image("data_0")}, "inception_v2": {"one": lambda: _image("data_0")},
    "shufflenet": {"one": lambda: _image("gpu_0/data_0")}, "vgg19": {"one": lambda: _image("data_0")},
    "zfnet512": {"one": lambda: _image("gpu_0/data_0")}, "resnet50_v15": {"one": lambda: _image("x")},
    "bert_base": {"long": lambda: _bert(1, 128, [128], 30522)},
    "gpt2_gen": {"long": lambda: _prompt(50257, 16, 16)}, "lstm_lm": {"long": lambda: _scan(512, 1)},
}
BENCH_CASES = {"gpt2_gen_small": "long", "scan_lm": "long"}


def expected_outputs(model_path, feed, threads=1):
    """What onnxruntime makes of a feed: {output name: array}."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model_path, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, feed)))


def write_feeds(folder, names):
    for name in names:
        for case, make in FEEDS[name].items():
            feed = make()
            np.savez(os.path.join(folder, f"{name}.{case}.npz"), **feed)
            outputs = expected_outputs(os.path.join(folder, f"{name}.onnx"), feed)
            np.savez(os.path.join(folder, f"{name}.{case}.expected.npz"), **outputs)
            shapes = ", ".join(f"{key}{list(array.shape)}" for key, array in outputs.items())
            print(f"{name}.{case}: {shapes}", flush=True)


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    present = [name for name in FEEDS if os.path.exists(os.path.join(sys.argv[1], f"{name}.onnx"))]
    wanted = sys.argv[2:] or present
    unknown = [name for name in wanted if name not in present]
    if unknown:
        sys.exit(f"feeds.py: {unknown[0]}: no such model in {sys.argv[1]}; it has {', '.join(present)}")
    write_feeds(sys.argv[1], wanted)


if __name__ == "__main__":
    main()
