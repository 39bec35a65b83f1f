"""Outputs come in answers of a bounded size, which numpy and the command line read."""
import io
import zipfile

import harness
import numpy as np
from daemon import Daemon, equal

ITEMS = 60000  # of 40 bytes each: more than one answer, by rows and by what is held in memory


def test_many_outputs_come_in_several_answers(tmp_path, models):
    home = harness.Home(tmp_path / "home")
    home.call("register", "mlp", f"{models}/mlp.onnx")
    data = np.random.default_rng(3).standard_normal((ITEMS, 784), dtype=np.float32)
    with Daemon(home) as daemon:
        job = daemon.submit("mlp", {"x": data}, items=True, batch=256)
        found = daemon.finished(job)
        first, head = daemon.answer("GET", f"/v1/jobs/{job}/outputs")
        assert 0 < int(head["Layover-Next"]) == int(head["Layover-Outputs"]) <= 10000
        with zipfile.ZipFile(io.BytesIO(first)) as members:
            assert members.testzip() is None
        name, = found
        with np.load(io.BytesIO(first)) as arrays:
            rows = arrays[name]
        assert 0 < len(rows) < ITEMS and rows.tobytes() == found[name][:len(rows)].tobytes()
        assert found[name].shape[0] == ITEMS
        home.call("result", job, "-o", tmp_path / "out.npz")
        with np.load(tmp_path / "out.npz") as arrays:
            equal(dict(arrays), found)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "out.npz"]
        assert daemon.end() == harness.DONE
