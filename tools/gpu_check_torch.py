#!/usr/bin/env python3
"""gpu_check_torch.py cpu|cuda SPEC OPERATORS.jsonl: the operators that layover-conformance timed, in PyTorch's eager mode.

Prints a row of a Markdown table for each; one that this PyTorch refuses, such as float16 on some processors, says so.
Measured alike: one launch between two events (the clock on cpu), the best of many.
"""
import json
import re
import sys
import time

import torch
from torch.nn import functional

REPETITIONS_MIN, REPETITIONS_MAX, SECONDS = 5, 1000, 0.005


def parse_attributes(text):
    pairs = re.findall(r'(\w+)=(\[[^\]]*\]|"[^"]*"|[^,}]+)', text)
    return {name: json.loads(value) for name, value in pairs}


def parse_shapes(text):
    return [[int(size) for size in sizes.split(",") if size] for sizes in re.findall(r"\w+\[([\d,]*)\]", text)]


def conv(attributes, x, weight, bias=None):
    top, left, bottom, right = attributes.get("pads", [0, 0, 0, 0])
    assert (top, left) == (bottom, right), "uneven padding"
    return functional.conv2d(x, weight, bias, attributes.get("strides", 1), (top, left), groups=attributes.get("group", 1))


def gemm(attributes, a, b, c):
    return torch.addmm(c, a.t() if attributes.get("transA") else a, b.t() if attributes.get("transB") else b)


# What each row of the list calls; further operators are left out.
CALLS = {
    "MatMul": lambda attributes, a, b: torch.matmul(a, b),
    "Gemm": gemm,
    "Conv": conv,
    "FusedConv": lambda attributes, x, weight, bias, rest: torch.relu(conv(attributes, x, weight, bias) + rest),
    "FusedMatMul": lambda attributes, a, b, bias: functional.gelu(torch.matmul(a, b) + bias),
    "FusedAttention": lambda attributes, q, k, v: functional.scaled_dot_product_attention(q, k, v, scale=attributes["scale"]),
    "Softmax": lambda attributes, x: torch.softmax(x, attributes.get("axis", -1)),
    "LayerNormalization": lambda attributes, x, scale, bias: functional.layer_norm(x, scale.shape, scale, bias),
}


def time_once(call, kind):
    """Nanoseconds."""
    if kind == "cpu":
        start = time.perf_counter_ns()
        call()
        return time.perf_counter_ns() - start
    before, after = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    before.record()
    call()
    after.record()
    after.synchronize()
    return before.elapsed_time(after) * 1e6


def measure(call, kind):
    start = time.perf_counter()
    time_once(call, kind)  # to warm up
    best = []
    while len(best) < REPETITIONS_MIN or (time.perf_counter() - start < SECONDS and len(best) < REPETITIONS_MAX):
        best.append(time_once(call, kind))
    return min(best)


def main():
    kind, spec, path = sys.argv[1:]
    torch.set_num_threads(1)  # as layover-conformance on cpu
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    with open(path, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file if line.startswith("{") and line.endswith("}\n")]
    for row in rows:
        if row.get("operator") not in CALLS:
            continue
        dtype, attributes = getattr(torch, row["dtype"]), parse_attributes(row["attributes"])
        tensors = [torch.randn(shape, device=kind).to(dtype) for shape in parse_shapes(row["inputs"])]
        try:
            with torch.inference_mode():
                ns = measure(lambda: CALLS[row["operator"]](attributes, *tensors), kind)
            result = f"{ns / 1000:.1f} us; Layover takes {row['ns'] / ns:.2f} x that"
        except RuntimeError as error:
            result = "not measured: " + str(error).split("\n", 1)[0].replace("|", "/")
        shapes = re.sub(r":\S*", "", row["inputs"])  # without the ranges of their elements
        print(f"| {row['operator']} {row['dtype']}, {shapes}, in PyTorch {torch.__version__} | {spec} | {result} | 1.0 x |", flush=True)


if __name__ == "__main__":
    main()
