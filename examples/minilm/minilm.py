#!/usr/bin/env python3
"""Sentence embeddings with all-MiniLM-L6-v2, around whatever runs the model."""
import argparse
import os

import numpy as np

from tokenizer import Tokenizer
from weights import LONGEST, load_weights, package_file

DEFAULT_TEXT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sentences.txt")


def read_sentences(path):
    with open(path, encoding="utf-8") as file:
        sentences = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    if not sentences:
        raise SystemExit(f"minilm: {path} holds no sentence")
    return sentences


def encode_sentences(sentences):
    """Ids and mask [sentences, longest], padded with zeros behind."""
    tokenizer = Tokenizer(package_file("vocab.txt"), LONGEST)
    rows = [tokenizer.encode(sentence) for sentence in sentences]
    ids = np.zeros((len(rows), max(map(len, rows))), np.int64)
    mask = np.zeros_like(ids)
    for i, row in enumerate(rows):
        ids[i, :len(row)] = row
        mask[i, :len(row)] = 1
    return {"input_ids": ids, "attention_mask": mask}


def find_nearest(embeddings, count):
    """For each row the other rows by falling similarity: [(index, cosine), ...]."""
    scores = embeddings @ embeddings.T
    np.fill_diagonal(scores, -2)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :count]
    return [[(int(j), float(scores[i, j])) for j in row] for i, row in enumerate(order)]


def command_export(options):
    from onnx_graph import build_model

    content = build_model(load_weights()).SerializeToString(deterministic=True)
    with open(f"{options.output}.new", "wb") as file:
        file.write(content)
    os.replace(f"{options.output}.new", options.output)
    print(f"{options.output}: all-MiniLM-L6-v2, {len(content)} bytes")


def command_encode(options):
    feed = encode_sentences(read_sentences(options.text))
    np.savez(options.output, **feed)
    rows, length = feed["input_ids"].shape
    print(f"{options.output}: {rows} sentences, {int(feed['attention_mask'].sum())} tokens, padded to {length}")


def command_reference(options):
    from reference import embed

    with np.load(options.input) as feed:
        embedding = embed(load_weights(), feed["input_ids"], feed["attention_mask"])
    np.savez(options.output, embedding=embedding.astype(np.float32))
    print(f"{options.output}: {embedding.shape[0]} embeddings from numpy")


def command_nearest(options):
    sentences = read_sentences(options.text)
    with np.load(options.embeddings) as outputs:
        embeddings = outputs["embedding"].astype(np.float64)
    if len(embeddings) != len(sentences):
        raise SystemExit(f"minilm: {options.embeddings} has {len(embeddings)} rows, "
                         f"{options.text} {len(sentences)} sentences")
    for i, nearest in list(enumerate(find_nearest(embeddings, options.count)))[::options.every]:
        print(sentences[i])
        for j, score in nearest:
            print(f"    {score:5.2f}  {sentences[j]}")


def main():
    parser = argparse.ArgumentParser(prog="minilm.py", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    export = verbs.add_parser("export", help="write the ONNX model")
    export.add_argument("output")
    encode = verbs.add_parser("encode", help="turn sentences, one a line, into the model's inputs")
    encode.add_argument("text", nargs="?", default=DEFAULT_TEXT)
    encode.add_argument("output")
    reference = verbs.add_parser("reference", help="run the model in numpy")
    reference.add_argument("input")
    reference.add_argument("output")
    nearest = verbs.add_parser("nearest", help="print each sentence with those nearest to it")
    nearest.add_argument("embeddings")
    nearest.add_argument("text", nargs="?", default=DEFAULT_TEXT)
    nearest.add_argument("--count", type=int, default=2, help="how many to print for each (default 2)")
    nearest.add_argument("--every", type=int, default=1, help="show every n-th sentence only (default 1)")
    options = parser.parse_args()
    {"export": command_export, "encode": command_encode, "reference": command_reference,
     "nearest": command_nearest}[options.verb](options)


if __name__ == "__main__":
    main()
