#!/usr/bin/env python3
"""gpu_check_torch_models.py cpu|cuda SPEC FOLDER RESULTS: the models of bench/card_models.py in PyTorch's eager mode.

RESULTS has a line for each case that `layover bench` timed: MODEL CASE MEDIAN_MILLISECONDS. Prints a row of a Markdown table for
each; one that this PyTorch refuses, such as float16 on some processors, says so.
Measured alike: inputs in host memory, from there to the device and through the model until the device is done; the
median of many runs. The weights are random and the architectures the same; outputs are not compared.
"""
import json
import os
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional

WARM_UP_RUNS, RUNS_MIN, RUNS_MAX, SECONDS = 3, 5, 50, 5


class Bottleneck(nn.Module):
    def __init__(self, before, inner, after, stride, widens):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(before, inner, 1, bias=False), nn.BatchNorm2d(inner)
        self.conv2, self.norm2 = nn.Conv2d(inner, inner, 3, stride, 1, bias=False), nn.BatchNorm2d(inner)
        self.conv3, self.norm3 = nn.Conv2d(inner, after, 1, bias=False), nn.BatchNorm2d(after)
        self.shortcut = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)) if widens else None

    def forward(self, x):
        y = functional.relu(self.norm1(self.conv1(x)), inplace=True)
        y = functional.relu(self.norm2(self.conv2(y)), inplace=True)
        y = self.norm3(self.conv3(y))
        y += x if self.shortcut is None else self.shortcut(x)
        return functional.relu(y, inplace=True)


class ResNet(nn.Module):
    def __init__(self, blocks, width, image, classes):
        super().__init__()
        self.image = image
        self.stem, self.norm = nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width)
        layers, before = [], width
        for stage, count in enumerate(blocks):
            inner, after = width << stage, 4 * width << stage
            for block in range(count):
                layers.append(Bottleneck(before, inner, after, 2 if stage > 0 and block == 0 else 1, block == 0))
                before = after
        self.layers, self.out = nn.Sequential(*layers), nn.Linear(before, classes)

    def inputs(self, batch):
        return [torch.randn(batch, 3, self.image, self.image)]

    def forward(self, x):
        x = functional.relu(self.norm(self.stem(x)), inplace=True)
        x = self.layers(functional.max_pool2d(x, 3, 2, 1))
        return self.out(functional.adaptive_avg_pool2d(x, 1).flatten(1))


class BertLayer(nn.Module):
    def __init__(self, width, heads, inner):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.f1, self.f2 = nn.Linear(width, inner), nn.Linear(inner, width)
        self.norm1, self.norm2 = nn.LayerNorm(width, eps=1e-12), nn.LayerNorm(width, eps=1e-12)

    def forward(self, x, penalty):
        batch, length, width = x.shape
        q, k, v = (linear(x).view(batch, length, self.heads, -1).transpose(1, 2) for linear in (self.q, self.k, self.v))
        context = functional.scaled_dot_product_attention(q, k, v, attn_mask=penalty)
        x = self.norm1(self.o(context.transpose(1, 2).reshape(batch, length, width)) + x)
        return self.norm2(self.f2(functional.gelu(self.f1(x))) + x)


class Bert(nn.Module):
    def __init__(self, layers, width, heads, inner, vocabulary, positions):
        super().__init__()
        self.vocabulary = vocabulary
        self.token, self.segment = nn.Embedding(vocabulary, width), nn.Embedding(2, width)
        self.position, self.norm = nn.Embedding(positions, width), nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.ModuleList(BertLayer(width, heads, inner) for _ in range(layers))
        self.pool = nn.Linear(width, width)

    def inputs(self, batch, length):
        shape = (batch, length)
        return [torch.randint(self.vocabulary, shape), torch.ones(shape, dtype=torch.int64), torch.zeros(shape, dtype=torch.int64)]

    def forward(self, ids, mask, types):
        penalty = (1 - mask[:, None, None].to(self.token.weight.dtype)) * -10000
        places = torch.arange(ids.shape[1], device=ids.device)
        x = self.norm(self.token(ids) + self.segment(types) + self.position(places))
        for layer in self.layers:
            x = layer(x, penalty)
        return x, torch.tanh(self.pool(x[:, 0]))


class Gpt2Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.fc, self.fc2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, past, visible):
        batch, length, width = x.shape
        parts = self.qkv(self.norm1(x)).split(width, dim=2)
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in parts)
        if past is not None:
            k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
        context = functional.scaled_dot_product_attention(q, k, v, attn_mask=visible)
        x = x + self.proj(context.transpose(1, 2).reshape(batch, length, width))
        return x + self.fc2(functional.gelu(self.fc(self.norm2(x)), approximate="tanh")), (k, v)


class Gpt2(nn.Module):
    """Greedy generation; whether to go on is asked after each token, as the other side's loop does."""

    def __init__(self, layers, width, heads, vocabulary, positions):
        super().__init__()
        self.vocabulary = vocabulary
        self.token, self.position = nn.Embedding(vocabulary, width), nn.Embedding(positions, width)
        self.layers = nn.ModuleList(Gpt2Layer(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def inputs(self, prompt, tokens):
        self.tokens = tokens
        return [torch.randint(self.vocabulary, (1, prompt))]

    def forward(self, ids):
        pasts, tokens, log_probabilities = [None] * len(self.layers), ids, []
        for _ in range(self.tokens):
            total = ids.shape[1]
            places = torch.arange(total, device=ids.device)
            queries = places[total - tokens.shape[1]:]
            x = self.token(tokens) + self.position(queries)
            for i, layer in enumerate(self.layers):
                x, pasts[i] = layer(x, pasts[i], places[None] <= queries[:, None])
            logits = self.head(self.norm(x)[:, -1])
            tokens = logits.argmax(-1, keepdim=True)
            log_probabilities.append(functional.log_softmax(logits, -1).amax(1))
            ids = torch.cat([ids, tokens], dim=1)
            if tokens.item() == -1:
                break
        return ids, torch.stack(log_probabilities)


ARCHITECTURES = {"resnet": ResNet, "bert": Bert, "gpt2": Gpt2}


def time_once(model, inputs, kind):
    start = time.perf_counter()
    model(*(tensor.to(kind) for tensor in inputs))
    if kind == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


def measure(model, parameters, dtype, kind):
    inputs = [tensor.to(dtype) if tensor.is_floating_point() else tensor for tensor in model.inputs(**parameters)]
    times, start = [], time.perf_counter()
    for _ in range(WARM_UP_RUNS):
        time_once(model, inputs, kind)
    while len(times) < RUNS_MIN or (time.perf_counter() - start < SECONDS and len(times) < RUNS_MAX):
        times.append(time_once(model, inputs, kind))
    return statistics.median(times)


def compare(entry, cases, kind):
    """What to say of each case, from the milliseconds that Layover takes."""
    dtype = getattr(torch, entry["dtype"])
    model = ARCHITECTURES[entry["architecture"]](**entry["sizes"]).eval().to(device=kind, dtype=dtype)
    for case, layover_ms in cases.items():
        try:
            with torch.inference_mode():
                ms = measure(model, entry["cases"][case], dtype, kind) * 1e3
        except RuntimeError as error:
            yield case, "not measured: " + str(error).split("\n", 1)[0].replace("|", "/")
        else:
            yield case, f"p50 {ms:.3f} ms; Layover takes {layover_ms / ms:.2f} x that"


def main():
    kind, spec, folder, path = sys.argv[1:]
    torch.set_num_threads(1)  # as layover bench on cpu
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    timed = {}
    with open(path, encoding="utf-8") as file:
        for model, case, ms in map(str.split, file):
            timed.setdefault(model, {})[case] = float(ms)
    with open(os.path.join(folder, "models.json"), encoding="utf-8") as file:
        entries = json.load(file)
    for entry in entries:
        for case, result in compare(entry, timed[entry["name"]], kind) if entry["name"] in timed else ():
            print(f"| model {entry['name']}.{case}, in PyTorch {torch.__version__} | {spec} | {result} | 1.0 x |", flush=True)


if __name__ == "__main__":
    main()
