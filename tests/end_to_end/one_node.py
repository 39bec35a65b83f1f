"""Models of a single node: made of arrays, computed by onnxruntime, compared with Layover's runs."""
import numpy as np
import onnxruntime
import stops
from harness import write_unchecked
from onnx import TensorProto, helper


def name_of(case):
    """The id of a parameter of a test: an operator's name stands for itself, other values have none."""
    return case if isinstance(case, str) else None


def byte_weights(random, *shape):
    """int8 weights of products with bytes. onnxruntime's kernels for processors without VNNI add two products in 16 bits,
    which saturate where the weights have more than seven bits."""
    return random.integers(-64, 64, shape).astype(np.int8)


def type_of(array):
    return TensorProto.STRING if array.dtype.kind == "U" else helper.np_dtype_to_tensor_dtype(array.dtype)


def model_of(operator, arrays, attributes, outputs, domain="com.microsoft", version=1):
    """The model, and its inputs by name. outputs: how many, or a list of which ones; an array that is None is left out."""
    names = ["" if array is None else f"x{i}" for i, array in enumerate(arrays)]
    given = {name: np.asarray(array) for name, array in zip(names, arrays) if name}
    inputs = [helper.make_tensor_value_info(name, type_of(array), array.shape) for name, array in given.items()]
    wanted = outputs if isinstance(outputs, list) else list(range(outputs))
    node = helper.make_node(operator, names, [f"y{i}" if i in wanted else "" for i in range(wanted[-1] + 1)], domain=domain,
                            **attributes)
    graph = helper.make_graph([node], "g", inputs, [helper.make_empty_tensor_value_info(f"y{i}") for i in wanted])
    imports = [helper.make_opsetid("", 20), helper.make_opsetid(domain, version)]
    return helper.make_model(graph, opset_imports=imports, ir_version=9), given


def expected(model, given, options=None):
    """onnxruntime's outputs by name."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    feed = {name: array.astype(object) if array.dtype.kind == "U" else array for name, array in given.items()}
    return {output.name: array for output, array in zip(session.get_outputs(), session.run(None, feed))}


def outputs_of(home, folder, model, given):
    """Registers the model as m, runs it once, and returns its outputs by name."""
    return stops.run(*stops.stored(home, write_unchecked(folder / "m.onnx", model)), given)[0]


def assert_near(made, wanted):
    """Each wanted output is there, with its shape and type, and near."""
    for name, array in wanted.items():
        assert (made[name].shape, made[name].dtype) == (array.shape, array.dtype), name
        np.testing.assert_allclose(made[name], array, rtol=1e-4, atol=1e-4, err_msg=name)


def run_with_stops(home, folder, model, given):
    """Runs the model as it is, then stopped at every instruction: the bits are the same. Returns its outputs by name."""
    models = stops.stored(home, write_unchecked(folder / "m.onnx", model), count=2)
    outputs, instructions = stops.run(models[0], given)
    cut, count = stops.run_cut(models, given)
    assert count == instructions - 1
    stops.assert_same(cut, outputs)
    return outputs


def check(home, folder, model, given, wanted, rtol=1e-4, atol=2e-5):
    """Runs the model with stops, and compares its outputs with the wanted ones."""
    made = run_with_stops(home, folder, model, given)
    assert sorted(made) == sorted(wanted)
    for name, array in wanted.items():
        if array.dtype.kind in "OU":
            assert made[name].tolist() == array.tolist(), name
            continue
        assert (made[name].shape, made[name].dtype) == (array.shape, array.dtype), name
        if array.dtype.kind == "f":
            np.testing.assert_allclose(made[name], array, rtol=rtol, atol=atol, err_msg=name)
        else:  # within one step of a quantized output
            assert np.abs(made[name].astype(np.int64) - array.astype(np.int64)).max(initial=0) <= (array.dtype.itemsize < 4), name
