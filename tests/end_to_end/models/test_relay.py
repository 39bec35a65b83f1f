"""Relay programs: right results, the same bits after stops on other devices, and bad programs in one sentence."""
import os

import numpy as np
import pytest

from harness import REFUSED, ROOT, SUSPENDED, Home, load, same_bits, write_npz

PROGRAMS = os.path.join(ROOT, "examples", "relay")
STOPS = 5


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def tree_lstm(words, depth, w, u, uf, b):
    used = 0

    def encode(level):
        nonlocal used
        word, used = words[used], used + 1
        below = [encode(level - 1) for _ in range(2)] if level else []
        gates = w @ word + b
        h = sum((state for state, _ in below), np.zeros(4, np.float32))
        memory = sum((sigmoid(gates[12:] + uf @ state) * kept for state, kept in below), np.zeros(4, np.float32))
        i, o, update = np.split(gates[:12] + u @ h, 3)
        c = sigmoid(i) * np.tanh(update) + memory
        return sigmoid(o) * np.tanh(c), c

    h, c = encode(int(depth))
    return [h[None], c[None], np.int32(used)]


def lists(n):
    down = np.arange(int(n), 0, -1)
    marks = down * 7 % 1000
    even = marks[marks % 2 == 0]
    dots = np.minimum(down, down[::-1])
    return [np.int32(len(even) + min(10, int(n))), np.int32(even.sum()), np.int32(dots.max()), np.int32(1)]


def rnn(xs, wx, wh, b, h):
    states = []
    for x in xs:
        h = np.tanh(x @ wx.T + h @ wh.T + b)
        states.append(h)
    return [h, *states]


def beam(scores, k, length):
    beam = [(np.float32(0), (0,))]
    for _ in range(int(length)):
        more = [(s + scores[t[-1], n], (*t, n)) for s, t in beam for n in range(4) if scores[t[-1], n] >= -50]
        beam = sorted(more, key=lambda one: -one[0])[:int(k)]
    return [beam[0][0], *map(np.int32, beam[0][1])]


def primes(n):
    found = [np.int32(i) for i in range(2, int(n) + 1) if all(i % k for k in range(2, i))]
    return [np.int32(len(found)), *found]


def feeds():
    random = np.random.default_rng(1)
    shapes = {"words": (15, 4), "w": (16, 4), "u": (12, 4), "uf": (4, 4), "b": (16,)}
    tree = {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    tree["depth"] = np.int32(3)
    cell = {name: random.standard_normal(shape).astype(np.float32) for name, shape in
            {"wx": (4, 4), "wh": (4, 4), "b": (4,), "start": (1, 4)}.items()}
    rows = list(random.standard_normal((3, 1, 4)).astype(np.float32))
    scores = np.log(random.random((4, 4))).astype(np.float32)
    scores[0, 1] = scores[2, 3] = -100
    squares = np.array([2.0, 9.0, 1e6])
    return {
        "tree_lstm": (tree, tree_lstm(**tree)),
        "interpreter": ({"n": np.float32(5), "x": np.float32(6)}, [np.float32(120), np.float32(9)]),
        "newton": ({"a": squares, "tolerance": np.float64(1e-12)}, [np.sqrt(squares), np.int32(16)]),
        "rnn": ({**{f"xs.{i}": row for i, row in enumerate(rows)}, **cell}, rnn(rows, *cell.values())),
        "beam": ({"scores": scores, "k": np.int32(3), "length": np.int32(4)}, beam(scores, 3, 4)),
        "references": ({"n": np.int32(30)}, primes(30)),
        "lists": ({"n": np.int32(100_000)}, lists(100_000)),
        "parity": ({"n": np.int32(1_000_001)}, [np.False_, np.True_]),
    }


FEEDS = feeds()


@pytest.mark.parametrize("name", FEEDS)
def test_programs_are_right_and_can_stop_anywhere(tmp_path, name):
    """Long lists and deep recursion need no more frames, and neither do checkpoints of them need the stack."""
    home, (inputs, expected) = Home(tmp_path / "home"), FEEDS[name]
    source, straight, pieces = (str(tmp_path / file) for file in ("in.npz", "straight.npz", "pieces.npz"))
    write_npz(source, **inputs)
    home.call("register", name, os.path.join(PROGRAMS, f"{name}.relay"))
    result = home.call("run", name, "--input", source, "--output", straight, "--stats").json
    for got, wanted in zip(load(straight).values(), expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5)
        assert got.dtype == wanted.dtype and got.shape == wanted.shape
    instructions, checkpoint, done = result["instructions"], None, 0
    long = instructions > 1_000_000  # sim takes its time for each kernel
    devices = ("cpu",) if long else ("cpu", "sim:0")
    stops = [instructions // 2] if long else [1 + i * (instructions - 2) // (STOPS - 1) for i in range(STOPS)]
    for i, stop in enumerate(stops):
        begin = ["resume", checkpoint] if checkpoint else ["run", name, "--input", source]
        target = str(tmp_path / f"{i}.lvc")
        home.call(*begin, "--output", pieces, "--device", devices[i % len(devices)], "--suspend-after", stop - done,
                  "--checkpoint", target, expect=SUSPENDED)
        checkpoint, done = target, stop
    home.call("resume", checkpoint, "--output", pieces)
    same_bits(straight, pieces)


BAD = {
    "def @main() {\n  1 + 2f }": ("line 2, column 5", "add"),
    "def @main() {\n  match (Nil) { Nil => 1 } }": ("line 2, column 3", "no arm for Cons(_, _)"),
    "def @main() { nn.magic(1f) }": ("line 1, column 15", "no operator or constructor nn.magic"),
    "def @main() { " + "(" * 100_000 + "1" + ")" * 100_000 + " }": ("line 1, column 526", "nested deeper than 512"),
    "def @main() { 1 }\n\x00\xff": ("line 2, column 1", "0x00"),
    "def @main(%x: int32) {\n\n  %y }": ("line 3, column 3", "no variable %y"),
}


def test_bad_programs_are_refused_in_one_sentence(tmp_path):
    home, path = Home(tmp_path / "home"), tmp_path / "bad.relay"
    for program, words in BAD.items():
        path.write_bytes(program.encode("latin-1"))
        home.refuses("register", "bad", path, code=REFUSED, words=words)


def test_a_program_is_known_by_its_content(tmp_path):
    home, path, source = Home(tmp_path / "home"), tmp_path / "program.txt", tmp_path / "x.npz"
    path.write_text('#[version = "0.0.5"]\ndef @double(%x: Tensor[(2, 2), float32]) { add(%x, %x) }\n')
    write_npz(source, x=np.ones((2, 2), np.float32))
    home.call("register", "double", path)
    home.call("run", "double", "--function", "double", "--input", source, "--output", tmp_path / "out.npz")
    assert (load(tmp_path / "out.npz")["output"] == 2).all()
