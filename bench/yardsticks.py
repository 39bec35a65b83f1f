"""The models that Layover is measured by against onnxruntime: their files, and the options that choose among them."""
import os
import subprocess
import sys

from comparison import ROOT, add_common_options

sys.path.insert(0, os.path.join(ROOT, "tests", "models"))

import feeds  # noqa: E402

MODELS = ("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50", "shufflenet", "squeezenet", "vgg19",
          "zfnet512", "resnet50_v15", "bert_base", "bert_small", "minilm", "gpt2_gen_small", "gpt2_gen", "lstm_lm",
          "scan_lm", "mlp", "vad")


def add_options(parser):
    """Those of every comparison: where the program and the models are, and which of them."""
    add_common_options(parser)
    parser.add_argument("--models", default=f"{ROOT}/.cache/test-models", help="folder of the models; made when empty")
    parser.add_argument("--only", nargs="+", choices=MODELS, default=MODELS)


def make_models(folder, names):
    """Those that are not there yet: a model is complete when its inputs are there."""
    os.makedirs(folder, exist_ok=True)
    there = {file.split(".")[0] for file in os.listdir(folder) if file.endswith(".npz")}
    missing = [name for name in names if name not in there]
    made = [name for name in missing if name != "minilm"]
    example = os.path.join(ROOT, "examples", "minilm", "minilm.py")
    models = os.path.join(ROOT, "tests", "models")
    commands = [[f"{models}/make_models.py", folder, *made], [f"{models}/feeds.py", folder, *made]] if made else []
    if "minilm" in missing:
        commands += [[example, "export", f"{folder}/minilm.onnx"], [example, "encode", f"{folder}/minilm.sentences.npz"]]
    for command in commands:
        subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL)


def model_files(folder, name):
    """The model and its ordinary inputs."""
    case = "sentences" if name == "minilm" else feeds.BENCH_CASES.get(name, next(iter(feeds.FEEDS.get(name, [""]))))
    return os.path.join(folder, f"{name}.onnx"), os.path.join(folder, f"{name}.{case}.npz")
