"""Stopping anywhere and going on in another process, or on another device, changes no bit of the outputs."""
import os
import signal
import sys
import time

import numpy as np
import pytest

import stops
from conftest import LARGE, SMALL
from feeds import FEEDS
from harness import INTERRUPTED, ROOT, SUSPENDED, USAGE, assert_close, finish, load, same_bits, write_model, write_npz

sys.path.append(os.path.join(ROOT, "bench"))

import networks  # noqa: E402
from card_models import TypedModel  # noqa: E402

POINTS = 50
PROCESSES = 6  # points of the same run where each piece is a process of its own
LONG = os.environ.get("LAYOVER_LONG_TESTS") == "1"
# Each pair of neighbours once: from cpu to cpu, to sim, from sim to sim, back to cpu.
ROUND = ("cpu", "cpu", "sim:0", "sim:0")
WEIGHTS = {"resnet50": 102_000_000, "squeezenet": 4_900_000, "mlp": 2_100_000, "bert_small": 18_000_000,
           "gpt2_gen_small": 23_000_000, "scan_lm": 30_000_000, "vad": 1_600_000, "minilm": 90_000_000}


def first_case(name):
    return next(iter(FEEDS.get(name, {"sentences": None})))


def spread(instructions, points):
    """Instruction counts to stop after: near both ends, and evenly between."""
    last = instructions - 1
    ends = [1, 2, 3, last - 1, last]
    between = [1 + round(i * (last - 1) / (points - 1)) for i in range(points)]
    return sorted({point for point in ends + between if 0 < point <= last})


def run_in_pieces(home, name, source, instructions, points, folder, devices=("cpu",)):
    """Stops at each of the counts, each piece in a process of its own; returns the output's path."""
    output, checkpoint, done = folder / "pieces.npz", None, 0
    output.unlink(missing_ok=True)
    for i, stop in enumerate(points):
        device, target = devices[i % len(devices)], folder / f"{i % 2}.lvc"
        begin = ["resume", checkpoint] if checkpoint else ["run", name, "--input", source]
        result = home.call(*begin, "--output", output, "--device", device, "--suspend-after", stop - done,
                           "--checkpoint", target, expect=SUSPENDED).json
        assert result["state"] == "suspended" and result["instructions"] == stop
        assert not os.path.exists(output)
        assert result["checkpoint_bytes"] == os.path.getsize(target)
        checkpoint, done = target, stop
    result = home.call("resume", checkpoint, "--output", output, "--device", devices[len(points) % len(devices)]).json
    assert result["state"] == "succeeded" and result["instructions"] == instructions
    return output


def check_pieces(home, name, source, output, instructions, points, folder):
    """Many pieces in this process, from one device to the next; and some of them as processes."""
    models = {device: stops.opened(home, name, device) for device in set(ROUND)}
    at = spread(instructions, points)
    assert len(at) >= min(points, instructions - 1)
    stops.assert_same(stops.run_pieces([models[device] for device in ROUND], load(source), at), stops.run(models["cpu"], load(source))[0])
    same_bits(output, run_in_pieces(home, name, source, instructions, at[::max(1, len(at) // PROCESSES)], folder, ROUND))


@pytest.mark.parametrize("name", [*LARGE, "minilm"])
def test_fifty_stops(straight, tmp_path, name):
    home, source, output, instructions = straight(name, first_case(name))
    check_pieces(home, name, source, output, instructions, POINTS, tmp_path)


@pytest.mark.parametrize("name", SMALL)
def test_small_models_stop_after_each_instruction(straight, tmp_path, name):
    home, source, output, instructions = straight(name, first_case(name))
    check_pieces(home, name, source, output, instructions, 40, tmp_path)


@pytest.mark.parametrize("dtype, points", [("float16", POINTS), ("bfloat16", 10)])
def test_half_types_stop_anywhere_too(home, tmp_path, dtype, points):
    model = networks.bert(layers=1, width=32, heads=2, inner=64, vocabulary=50, positions=16)
    TypedModel(dtype).graph(model.graph)
    tokens = np.arange(10, dtype=np.int64).reshape(2, 5)
    source = write_npz(tmp_path / "half.npz", input_ids=tokens, attention_mask=np.minimum(tokens, 1),
                       token_type_ids=np.zeros_like(tokens))
    home.call("register", "half", write_model(tmp_path / "half.onnx", model))
    instructions = home.call("run", "half", "--input", source, "--output", tmp_path / "o.npz").json["instructions"]
    check_pieces(home, "half", source, tmp_path / "o.npz", instructions, points, tmp_path)


# The chain above crosses at every point; here each point is the only one, which takes minutes for all models.
@pytest.mark.parametrize("name", (*LARGE, *SMALL, "minilm") if LONG else ("mlp", "loop_if_scan"))
def test_there_and_back_from_each_of_fifty_points(straight, tmp_path, name):
    home, source, output, instructions = straight(name, first_case(name))
    for stop in spread(instructions, POINTS if LONG else 8)[:-1]:
        both = [stop, stop + max(1, (instructions - stop) // 3)]
        same_bits(output, run_in_pieces(home, name, source, instructions, both, tmp_path, ("cpu", "sim:0")))


@pytest.mark.parametrize("name", ["mlp", "squeezenet", "bert_small"])
def test_a_device_without_kernels_gives_its_own_bits_and_near_ones(straight, models, tmp_path, name):
    """It runs fused operators as their plain ones, which round in between: another determinism class than cpu's, as
    the checkpoint says. So its own runs agree to the bit, however cut; those that cross agree within the tolerance."""
    case = first_case(name)
    home, source, _, instructions = straight(name, case)
    expected, lacking, points = load(f"{models}/{name}.{case}.expected.npz"), "sim:0,lacks=*", spread(instructions, 6)
    home.call("run", name, "--input", source, "--output", tmp_path / "lacking.npz", "--device", lacking)
    assert_close(tmp_path / "lacking.npz", expected, name)
    same_bits(tmp_path / "lacking.npz", run_in_pieces(home, name, source, instructions, points, tmp_path, (lacking,)))
    classes = [home.call("inspect", tmp_path / f"{i}.lvc").json["determinism_class"] for i in range(2)]
    assert all(text.endswith(" without *") for text in classes), classes
    assert_close(run_in_pieces(home, name, source, instructions, points, tmp_path, ("cpu", lacking)), expected, name)


def test_going_on_with_other_arithmetic_is_said_once(straight, tmp_path):
    home, source, _, instructions = straight("mlp", first_case("mlp"))
    home.call("run", "mlp", "--input", source, "--output", tmp_path / "o.npz", "--suspend-after", instructions // 2,
              "--checkpoint", tmp_path / "c.lvc", expect=SUSPENDED)

    def says(device):
        done = home.call("resume", tmp_path / "c.lvc", "--output", tmp_path / "o.npz", "--device", device,
                         as_json=False)
        return done.err.count("goes on with another determinism class: ")

    assert says("cpu") == says("sim:0") == 0
    assert says("sim:0,lacks=*") == 1


@pytest.mark.parametrize("name", [*LARGE, "minilm"])
def test_a_whole_run_on_sim_gives_the_same_bits(straight, tmp_path, name):
    home, source, output, instructions = straight(name, first_case(name))
    result = home.call("run", name, "--input", source, "--output", tmp_path / "s.npz", "--device", "sim:0").json
    assert result["instructions"] == instructions
    same_bits(output, tmp_path / "s.npz")


@pytest.mark.parametrize("name", [*LARGE, "minilm"])
def test_a_checkpoint_holds_what_is_alive_and_no_weights(straight, tmp_path, name):
    home, source, output, instructions = straight(name, first_case(name))
    for point in spread(instructions, 6):
        target = tmp_path / "c.lvc"
        home.call("run", name, "--input", source, "--output", tmp_path / "o.npz", "--suspend-after", point,
                  "--checkpoint", target, expect=SUSPENDED)
        found = home.call("inspect", target).json
        live = sum(value["bytes"] for value in found["live"])
        if any(value["kind"] == "adt" for value in found["live"]):  # the tuple of outputs
            live += sum(array.nbytes for array in load(output).values())
        assert found["frames"] and found["executable"] == home.registered[name]["executable"]
        assert os.path.getsize(target) <= 1.05 * live + 65536, f"at {point}: live {live}, {found}"
        assert os.path.getsize(target) < WEIGHTS[name] or live > WEIGHTS[name]


def test_a_run_that_ends_earlier_writes_no_checkpoint(straight, tmp_path):
    home, source, output, instructions = straight("mlp", "one")
    for after in (instructions, instructions + 1, 10 ** 12):
        result = home.call("run", "mlp", "--input", source, "--output", tmp_path / "o.npz", "--suspend-after", after,
                           "--checkpoint", tmp_path / "no.lvc").json
        assert result["state"] == "succeeded" and not (tmp_path / "no.lvc").exists()
        same_bits(output, tmp_path / "o.npz")


def test_one_checkpoint_serves_many_resumes(straight, tmp_path):
    home, source, output, instructions = straight("vad", "wide")
    home.call("run", "vad", "--input", source, "--output", tmp_path / "o.npz", "--suspend-after", instructions // 2,
              "--checkpoint", tmp_path / "c.lvc", expect=SUSPENDED)
    before = open(tmp_path / "c.lvc", "rb").read()
    for threads in (1, 2):
        home.call("resume", tmp_path / "c.lvc", "--output", tmp_path / "o.npz", "--threads", threads)
        same_bits(output, tmp_path / "o.npz")
    assert open(tmp_path / "c.lvc", "rb").read() == before


def test_suspend_after_without_checkpoint_is_a_usage_error(straight, tmp_path):
    home, source, _, _ = straight("mlp", "one")
    home.refuses("run", "mlp", "--input", source, "--output", tmp_path / "o.npz", "--suspend-after", 3, code=USAGE,
                 words=["--checkpoint"])


def test_suspend_after_milliseconds(endless, tmp_path):
    result = endless.call("run", "endless", "--input", endless.input, "--output", tmp_path / "o.npz",
                          "--suspend-after-ms", 200, "--checkpoint", tmp_path / "c.lvc", expect=SUSPENDED).json
    assert result["instructions"] > 0
    more = endless.call("resume", tmp_path / "c.lvc", "--output", tmp_path / "o.npz", "--suspend-after", 1000,
                        "--checkpoint", tmp_path / "d.lvc", expect=SUSPENDED).json
    assert more["instructions"] == result["instructions"] + 1000


def test_suspend_after_no_milliseconds_is_before_the_first_instruction(straight, tmp_path):
    home, source, expected, _ = straight("mlp", "one")
    result = home.call("run", "mlp", "--input", source, "--output", tmp_path / "o.npz", "--suspend-after-ms", 0,
                       "--checkpoint", tmp_path / "c.lvc", expect=SUSPENDED).json
    assert (result["state"], result["instructions"]) == ("suspended", 0)
    home.call("resume", tmp_path / "c.lvc", "--output", tmp_path / "o.npz")
    same_bits(expected, tmp_path / "o.npz")


def started(endless, folder, *more):
    process = endless.start("run", "endless", "--input", endless.input, "--output", folder / "o.npz", *more)
    time.sleep(0.8)
    assert process.poll() is None, finish(process)
    return process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGINT])
def test_signals_suspend_to_the_checkpoint(endless, tmp_path, number):
    process = started(endless, tmp_path, "--checkpoint", tmp_path / "c.lvc")
    process.send_signal(number)
    result = finish(process)
    assert result.code == SUSPENDED and result.json["state"] == "suspended", str(result)
    assert endless.call("inspect", tmp_path / "c.lvc").json["frames"]
    endless.call("resume", tmp_path / "c.lvc", "--output", tmp_path / "o.npz", "--suspend-after", 50, "--checkpoint",
                 tmp_path / "d.lvc", expect=SUSPENDED)


@pytest.mark.parametrize("ignored", [False, True], ids=["lost", "nohup"])
def test_a_lost_terminal_suspends_what_does_not_ignore_it(endless, tmp_path, ignored):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN if ignored else signal.SIG_DFL)
    try:
        process = started(endless, tmp_path, "--checkpoint", tmp_path / "c.lvc")
    finally:
        signal.signal(signal.SIGHUP, before)
    process.send_signal(signal.SIGHUP)
    if ignored:
        time.sleep(0.3)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
    result = finish(process)
    assert result.code == SUSPENDED and result.json["state"] == "suspended", str(result)


def test_interrupt_without_checkpoint_is_130(endless, tmp_path):
    process = started(endless, tmp_path)
    process.send_signal(signal.SIGINT)
    result = finish(process)
    assert result.code == INTERRUPTED, str(result)
    assert not (tmp_path / "o.npz").exists()


def test_stop_and_continue_signals_leave_the_run_alone(endless, tmp_path):
    process = started(endless, tmp_path, "--checkpoint", tmp_path / "c.lvc")
    for number in (signal.SIGCONT, signal.SIGTSTP, signal.SIGCONT):
        process.send_signal(number)
        time.sleep(0.3)
        assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    result = finish(process)
    assert result.code == SUSPENDED, str(result)


def test_a_stopped_run_still_suspends(endless, tmp_path):
    process = started(endless, tmp_path, "--checkpoint", tmp_path / "c.lvc")
    process.send_signal(signal.SIGTSTP)
    time.sleep(0.3)
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGCONT)
    result = finish(process)
    assert result.code == SUSPENDED, str(result)
