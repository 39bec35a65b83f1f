"""The models that Layover is measured by against onnxruntime, and what the comparisons share."""
import json
import math
import os
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "models"))

import feeds  # noqa: E402

MODELS = ("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50", "shufflenet", "squeezenet", "vgg19",
          "zfnet512", "resnet50_v15", "bert_base", "bert_small", "minilm", "gpt2_gen_small", "gpt2_gen", "lstm_lm",
          "scan_lm", "mlp", "vad")


def add_options(parser):
    """Those of every comparison: where the program and the models are, and which of them."""
    parser.add_argument("--layover", default=os.environ.get("LAYOVER_BIN", f"{ROOT}/build/tools/layover"))
    parser.add_argument("--models", default=f"{ROOT}/.cache/test-models", help="folder of the models; made when empty")
    parser.add_argument("--only", nargs="+", choices=MODELS, default=MODELS)
    parser.add_argument("--rounds", type=int, default=5, help="alternations (default 5)")
    parser.add_argument("--output", help="write the figures as JSON, too")


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


def call(*command):
    """Runs a command that prints one JSON object."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()[-400:]}")
    return json.loads(done.stdout)


def open_session(model, threads):
    """onnxruntime's, with its processor's provider alone."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def read_feed(source):
    import numpy as np

    with np.load(source) as arrays:
        return {name: arrays[name] for name in arrays.files}


def geometric_mean(numbers):
    return math.exp(statistics.fmean(map(math.log, numbers)))


def write_results(path, results):
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
