"""layover.from_torch. Skipped where torch is absent: it is no dependency."""
import importlib.util
import os
import sys

import numpy as np
import pytest
from harness import binary

torch = pytest.importorskip("torch")
sys.path.insert(0, os.path.join(os.path.dirname(binary()), "python"))

import layover  # noqa: E402

DYNAMO = [False, True] if importlib.util.find_spec("onnxscript") else [False]


@pytest.fixture
def net():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
                               torch.nn.Dropout(0.5), torch.nn.Linear(8, 5)).eval()


@pytest.mark.parametrize("dynamo", DYNAMO)
def test_a_module_gives_what_torch_gives(net, dynamo):
    dynamic = {"dynamic_shapes": ({0: torch.export.Dim("batch")},)} if dynamo else {"dynamic_axes": {"x": {0: "batch"}}}
    model = layover.from_torch(net, (torch.zeros(2, 3, 16, 16),), input_names=["x"], dynamo=dynamo, **dynamic)
    assert model.inputs[0].name == "x" and model.inputs[0].shape[1:] == (3, 16, 16)
    for count in (2, 7):
        x = torch.rand(count, 3, 16, 16)
        np.testing.assert_allclose(model(x), net(x).detach().numpy(), rtol=1e-4, atol=1e-5)


def test_what_is_no_module():
    with pytest.raises(TypeError, match="torch.nn.Module"):
        layover.from_torch(len, (torch.zeros(1),))
