"""--check-finite: the first kernel whose result is not finite ends the run, by name, on any device and in a daemon."""
import numpy as np
import pytest
from daemon import Daemon
from graph_builder import FLOAT, GraphBuilder, value
from harness import REFUSED, SUSPENDED, load, write_model, write_npz

# The last runs plain operators and the host's kernels; a queued kernel is asked once it is done.
DEVICES = ("cpu", "sim:0", "sim:0,lag=100", "sim:0,lacks=*")
# Operator: (more inputs, x, what comes of x's second element)
MAKERS = {
    "Sqrt": ([], [4, -1], "nan"),
    "Log": ([], [1, 0], "-inf"),
    "Exp": ([], [1, 1000], "inf"),
    "Div": ([[1, 0]], [1, 0], "nan"),
    "Softmax": ([], [1, float("inf")], "nan"),
}


def make_model(operator):
    """Its bad element never reaches the output: Slice leaves it out."""
    g = GraphBuilder("maker")
    made = g.op(operator, "x", *map(g.float_constant, MAKERS[operator][0]))
    g.op("Slice", made, g.constant([0]), g.constant([1]), name="y")
    return g.model([value("x", FLOAT, [2])], [value("y", FLOAT, [1])])


@pytest.fixture
def makers(home, tmp_path):
    for operator, (_, numbers, _) in MAKERS.items():
        home.call("register", operator.lower(), write_model(tmp_path / f"{operator}.onnx", make_model(operator)))
        write_npz(tmp_path / f"{operator}.npz", x=np.array(numbers, "f4"))
    return home


def refuses_all(home, folder, device):
    for operator, (_, _, what) in MAKERS.items():
        call = ["run", operator.lower(), "--input", folder / f"{operator}.npz", "--device", device, "--output"]
        home.call(*call, folder / "plain.npz")
        refused = home.refuses(*call, folder / "checked.npz", "--check-finite", words=[operator])
        assert f"gave {what} at element" in refused.err or f"gave -{what} at element" in refused.err, refused.err
        assert not (folder / "checked.npz").exists()


@pytest.mark.parametrize("device", DEVICES)
def test_an_embedded_run_names_the_kernel(makers, tmp_path, device):
    refuses_all(makers, tmp_path, device)


@pytest.mark.parametrize("device", DEVICES)
def test_a_daemon_names_the_kernel(makers, tmp_path, device):
    with Daemon(makers, "--device", device):
        refuses_all(makers, tmp_path, device.split(",")[0])


def test_a_job_of_a_daemon_fails_alone(makers, tmp_path):
    arrays = load(tmp_path / "Sqrt.npz")
    with Daemon(makers, "--device", "cpu", "--device", "sim:0") as daemon:
        for device in ("cpu", "sim:0"):
            bad = daemon.submit("sqrt", arrays, device=device, check_finite=True)
            good = daemon.submit("sqrt", {"x": np.array([4, 9], "f4")}, device=device, check_finite=True)
            unchecked = daemon.submit("sqrt", arrays, device=device)
            found = daemon.wait(bad, lambda it: it["ended"])
            why = [event["why"] for event in found["events"] if event.get("state") == "failed"]
            assert found["state"] == "failed" and len(why) == 1 and "Sqrt gave" in why[0], found
            np.testing.assert_array_equal(daemon.finished(good)["y"], np.array([2], "f4"))
            np.testing.assert_array_equal(daemon.finished(unchecked)["y"], np.array([2], "f4"))


def test_a_resumed_run_is_checked_too(home, tmp_path):
    """What comes to be after the resume, wherever it began."""
    g = GraphBuilder("twice")
    g.op("Exp", g.op("Concat", "x", "x", axis=0), name="y")
    home.call("register", "twice", write_model(tmp_path / "m.onnx", g.model(
        [value("x", FLOAT, [2])], [value("y", FLOAT, [4])])))
    source = write_npz(tmp_path / "in.npz", x=np.array([1, 1000], "f4"))
    output, checkpoint = tmp_path / "o.npz", tmp_path / "c.lvc"
    home.call("run", "twice", "--input", source, "--output", output, "--suspend-after", 1, "--checkpoint", checkpoint,
              expect=SUSPENDED)
    for device in DEVICES:
        home.refuses("--quiet", "resume", checkpoint, "--output", output, "--device", device, "--check-finite",
                     code=REFUSED, words=["Exp", "inf at element 1"])
        assert not output.exists()
