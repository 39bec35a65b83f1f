#!/usr/bin/env python3
"""demo.py LAYOVER TEXT FOLDER: embeds a text, once without a break and once with two, and shows what came out.

The second run stops half way, goes on in a new process on the pretend accelerator sim:0, stops there, and is
finished by a third process on the cpu. Both runs must give the same bits.
"""
import json
import os
import shutil
import subprocess
import sys

import numpy as np

import minilm
import onnx_graph
import reference
from weights import load_weights

SUSPENDED = 85


class Layover:
    def __init__(self, binary, home):
        self.binary = os.path.abspath(binary)
        self.home = home

    def call(self, *arguments, expect=0):
        """Runs one process, shows its command line, and returns the JSON it printed."""
        print(f"$ layover {' '.join(arguments)}", flush=True)
        done = subprocess.run([self.binary, "--home", self.home, "--json", *arguments], stdout=subprocess.PIPE,
                              text=True, check=False)
        if done.returncode != expect:
            sys.exit(f"demo: layover {arguments[0]} ended with {done.returncode} instead of {expect}")
        return json.loads(done.stdout)


def prepare(text):
    """The model and the inputs; returns the sentences."""
    if not os.path.exists("minilm.onnx"):
        with open("minilm.onnx.new", "wb") as file:
            file.write(onnx_graph.build_model(load_weights()).SerializeToString(deterministic=True))
        os.replace("minilm.onnx.new", "minilm.onnx")
    sentences = minilm.read_sentences(text)
    feed = minilm.encode_sentences(sentences)
    np.savez("inputs.npz", **feed)
    print(f"model: all-MiniLM-L6-v2 from its trained weights, minilm.onnx, {os.path.getsize('minilm.onnx'):,} bytes")
    print(f"text: {text}, {len(sentences)} sentences, {int(feed['attention_mask'].sum())} tokens\n")
    return sentences, feed


def embed(layover):
    """Runs the model both ways; returns the embeddings."""
    registered = layover.call("register", "minilm", "minilm.onnx")
    print(f"  version {registered['version']}, executable {registered['executable'][:16]}…, "
          f"{registered['bytes_raw']:,} bytes stored as {registered['bytes_stored']:,}\n")
    run = ["run", "minilm", "--input", "inputs.npz"]
    straight = layover.call(*run, "--output", "straight.npz")
    print(f"  {straight['instructions']} instructions, {straight['kernel_calls']} kernel calls, "
          f"{straight['seconds']:.3f} s without a break\n")
    half, quarter = str(straight["instructions"] // 2), str(max(straight["instructions"] // 4, 1))
    first = layover.call(*run, "--output", "resumed.npz", "--suspend-after", half, "--checkpoint", "half.lvc",
                         expect=SUSPENDED)
    print(f"  that process is gone; half.lvc has {os.path.getsize('half.lvc'):,} bytes, "
          f"{first['instructions']} instructions done\n")
    layover.call("resume", "./half.lvc", "--device", "sim:0", "--output", "resumed.npz", "--suspend-after", quarter,
                 "--checkpoint", "later.lvc", expect=SUSPENDED)
    print(f"  stopped again, on sim:0; later.lvc has {os.path.getsize('later.lvc'):,} bytes\n")
    last = layover.call("resume", "./later.lvc", "--output", "resumed.npz")
    with np.load("straight.npz") as one, np.load("resumed.npz") as two:
        same = one.files == two.files and all(one[name].tobytes() == two[name].tobytes() for name in one.files)
        embedding = one["embedding"]
    if not same or last["instructions"] != straight["instructions"]:
        sys.exit("demo: the resumed run differs from the undisturbed one")
    print(f"  finished on the cpu: {last['instructions']} instructions, "
          f"{embedding.size:,} numbers, every bit as in the undisturbed run\n")
    return embedding


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    binary, text, folder = (os.path.abspath(argument) for argument in sys.argv[1:])
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    shutil.rmtree("home", ignore_errors=True)
    sentences, feed = prepare(text)
    embedding = embed(Layover(binary, "home"))
    error = float(np.abs(embedding - reference.embed(load_weights(), **feed)).max())
    print(f"largest difference from the same model in numpy (float64): {error:.1e}\n")
    if error > 1e-3:
        sys.exit("demo: that is too much")
    nearest = minilm.find_nearest(embedding.astype(np.float64), 1)
    print("each sentence and the one nearest to it:")
    for sentence, [(index, score)] in zip(sentences, nearest):
        print(f"  {score:5.2f}  {sentence}\n         {sentences[index]}")


if __name__ == "__main__":
    main()
