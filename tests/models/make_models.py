#!/usr/bin/env python3
"""make_models.py OUTDIR [NAME ...]: writes the yardstick models as OUTDIR/NAME.onnx, the same bytes each time.

Without names those that tests use. feeds.py then writes inputs and expected outputs.
"""
import os
import sys

import control_flow
import light_networks
import networks
from graph_builder import model_bytes

MODELS = {
    "mlp": networks.mlp,
    "resnet50": lambda: light_networks.load("resnet50"),
    "squeezenet": lambda: light_networks.load("squeezenet"),
    "bert_small": networks.bert,
    "gpt2_gen_small": lambda: networks.gpt2_gen(4, 256, 4, 5000, 512, seed=14),
    "gpt2_gen_tiny": lambda: networks.gpt2_gen(2, 16, 2, 50, 64, seed=15),
    "scan_lm": networks.scan_lm,
    "vad": networks.vad,
    **control_flow.MODELS,
}
# Large ones, for bench/ only.
BENCH_MODELS = {
    **{name: lambda name=name: light_networks.load(name)
       for name in ("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "shufflenet", "vgg19", "zfnet512")},
    "resnet50_v15": networks.resnet50,
    "bert_base": lambda: networks.bert(12, 768, 12, 3072, 30522, 512, seed=3),
    "gpt2_gen": lambda: networks.gpt2_gen(12, 768, 12, 50257, 1024, seed=4),
    "lstm_lm": networks.lstm_lm,
}
ALL_MODELS = {**MODELS, **BENCH_MODELS}


def write_models(folder, names):
    os.makedirs(folder, exist_ok=True)
    for name in names:
        content = model_bytes(ALL_MODELS[name]())
        path = os.path.join(folder, f"{name}.onnx")
        with open(f"{path}.new", "wb") as file:
            file.write(content)
        os.replace(f"{path}.new", path)
        print(f"{name}: {len(content)} bytes", flush=True)


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    unknown = [name for name in sys.argv[2:] if name not in ALL_MODELS]
    if unknown:
        sys.exit(f"make_models.py: {unknown[0]}: no such model; there are {', '.join(ALL_MODELS)}")
    write_models(sys.argv[1], sys.argv[2:] or list(MODELS))


if __name__ == "__main__":
    main()
