#!/usr/bin/env python3
"""make.py [NAME ...]: makes the zoo's graphs and onnxruntime's answers again, all of them or those of these names.

It needs the packages in requirements.txt beside it, which the tests don't. Writes graphs/NAME.onnx, graphs/NAME.npz and
the rows of zoo.json. A graph whose recipe fails is named and left as it was.
"""
import fnmatch
import json
import os
import sys
import traceback

import numpy as np
import onnx

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, FOLDER)
os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", TQDM_DISABLE="1")

import hollow  # noqa: E402
from zoo_check import GRAPH_BYTES, GRAPHS, TABLE, read_table, sample  # noqa: E402

FILL_BYTES = 8 << 20
SAMPLE = 256  # elements of an output that are kept, at most


def run_onnxruntime(content, inputs):
    """{output: array}; a sequence of maps with the same keys becomes two arrays, the keys and the values of each map."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    outputs = {}
    for output, value in zip(session.get_outputs(), session.run(None, inputs)):
        if isinstance(value, list) and value and isinstance(value[0], dict):
            assert all(list(one) == list(value[0]) for one in value)
            outputs[f"{output.name}.keys"] = np.array(list(value[0]))
            outputs[f"{output.name}.values"] = np.array([list(one.values()) for one in value])
        else:
            outputs[output.name] = np.asarray(value)
    return outputs


def check_answers(outputs):
    """Answers that any program would give say nothing."""
    for name, array in outputs.items():
        if array.dtype.kind == "f":
            assert np.isfinite(array.astype("f8")).all(), f"{name} is not finite"
    floats = [array for array in outputs.values() if array.dtype.kind == "f" and array.size > 1]
    assert not floats or max(np.ptp(array.astype("f8")) for array in floats) > 1e-3, "every output is nearly constant"


def text_arrays(outputs):
    """numpy writes objects with pickle; texts are written as texts."""
    return {name: array.astype(str) if array.dtype == object else array for name, array in outputs.items()}


def write(name, recipe, model, specs):
    """One graph: without weights, with answers."""
    hollow.hollow(model)
    content = model.SerializeToString()
    if len(content) > GRAPH_BYTES:
        hollow.shorten(model)
        content = model.SerializeToString()
    assert len(content) <= GRAPH_BYTES, f"{len(content)} bytes; a graph has at most {GRAPH_BYTES}"
    hollow.fill(model, name)
    filled = model.SerializeToString()
    assert len(filled) <= FILL_BYTES, f"{len(filled)} bytes with weights; at most {FILL_BYTES}"
    wanted = {value.name for value in model.graph.input} - {value.name for value in model.graph.initializer}
    assert wanted == set(specs), f"it takes {sorted(wanted)}, given are {sorted(specs)}"
    inputs = hollow.make_inputs(name, specs)
    feed = {key: array.astype(object) if array.dtype.kind == "U" else array for key, array in inputs.items()}
    outputs = text_arrays(run_onnxruntime(filled, feed))
    check_answers(outputs)
    answers = {f"shape:{key}": np.array(array.shape, np.int64) for key, array in outputs.items()}
    answers |= {key: sample(array, min(array.size, SAMPLE)) for key, array in outputs.items()}
    with open(os.path.join(GRAPHS, f"{name}.onnx"), "wb") as file:
        file.write(content)
    np.savez_compressed(os.path.join(GRAPHS, f"{name}.npz"), **answers)
    return {"tool": recipe.tool, "kind": recipe.kind, "tolerance": recipe.tolerance, "inputs": specs}


def all_recipes():
    import recipes_builder
    import recipes_convolution
    import recipes_models
    import recipes_optimized
    import recipes_other
    import recipes_quantized
    import recipes_script
    import recipes_sequence
    import recipes_tables
    import recipes_tensorflow

    found = {}
    for module in (recipes_convolution, recipes_sequence, recipes_models, recipes_optimized, recipes_quantized,
                   recipes_tables, recipes_script, recipes_builder, recipes_other, recipes_tensorflow):
        for recipe in module.RECIPES:
            assert recipe.name not in found, recipe.name
            found[recipe.name] = recipe
    return found


def write_table(table):
    with open(TABLE, "w", encoding="utf-8") as file:
        rows = [f"{json.dumps(name)}: {json.dumps(table[name])}" for name in sorted(table)]
        file.write("{\n" + ",\n".join(rows) + "\n}\n")


def main():
    recipes, table, failed = all_recipes(), read_table(), []
    wanted = [name for name in recipes if not sys.argv[1:] or any(fnmatch.fnmatch(name, word) for word in sys.argv[1:])]
    for name in wanted:
        try:
            model, specs = recipes[name].make()
            table[name] = write(name, recipes[name], onnx.ModelProto.FromString(model.SerializeToString()), specs)
            size = os.path.getsize(os.path.join(GRAPHS, f"{name}.onnx"))
            print(f"{name}: {size} bytes, {len(model.graph.node)} nodes", flush=True)
        except Exception as error:  # a tool's own: the next graph is made all the same
            failed.append(name)
            if os.environ.get("ZOO_TRACE"):
                traceback.print_exc()
            print(f"FAILED {name}: {type(error).__name__}: {str(error)[:300]}", flush=True)
        write_table(table)
    print(f"{len(wanted) - len(failed)} passed, {len(failed)} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
