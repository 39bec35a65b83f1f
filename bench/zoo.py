#!/usr/bin/env python3
"""Latency of Layover against onnxruntime and OpenVINO on models that other people's tools wrote, by kind, at 1 and 2 threads.

Models are made once, with the packages in tests/zoo/requirements.txt, into a folder outside the tree. Each is run once for its
answers, then the two alternate as in latency.py. A model that Layover refuses or answers otherwise has a row that says so.
--openvino measures plain models with OpenVINO, too; --opening compares registration with the creation of a session instead.
"""
import argparse
import os
import tempfile

from comparison import Pair, add_common_options, call, geometric_mean, open_session, read_feed, say_measured, write_results

CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "layover-zoo")
TOLERANCE = {"plain": 1e-3, "half": 0.02, "quantised": 0.08}  # of an output's largest value


def files_of(folder, recipe):
    return os.path.join(folder, f"{recipe.name}.onnx"), os.path.join(folder, f"{recipe.name}.npz")


def make(folder, recipe):
    """Writes the model and its inputs, unless they are there. The inputs are written last."""
    import hollow
    import numpy as np
    import onnx

    model_path, inputs_path = files_of(folder, recipe)
    if os.path.exists(inputs_path):
        return
    os.makedirs(folder, exist_ok=True)
    model, specs = recipe.make()
    onnx.save(model, model_path)
    given = {value.name for value in model.graph.input} - {value.name for value in model.graph.initializer}
    inputs = hollow.make_inputs(recipe.name, specs)
    if len(given) == 1 and len(inputs) == 1:  # a package's model names its input as it likes
        inputs = {given.pop(): array for array in inputs.values()}
    np.savez(f"{inputs_path}.new.npz", **inputs)
    os.replace(f"{inputs_path}.new.npz", inputs_path)


def differs(pair, folder, tolerance):
    """How far Layover's outputs are from onnxruntime's, if too far."""
    import numpy as np

    session, output = open_session(pair.model, 1), os.path.join(folder, "out.npz")
    call(pair.options.layover, "--home", pair.home, "--json", "run", pair.name, "--input", pair.source, "--output", output)
    made = read_feed(output)
    for name, wanted in zip((one.name for one in session.get_outputs()), session.run(None, read_feed(pair.source))):
        if wanted.dtype.kind == "f" and wanted.size:
            off = np.abs(made[name].astype("f8") - wanted).max() / max(np.abs(wanted).max(), 1e-9)
            if not off <= tolerance:
                return f"output {name} is off by {off:.3g} of its largest value"
    return None


def measure(options, recipe, results):
    row = {"model": recipe.name, "kind": recipe.kind, "tool": recipe.tool}
    before = len(results)
    try:
        make(options.folder, recipe)
        if options.make:
            return
        with tempfile.TemporaryDirectory() as folder:
            pair = Pair(options, os.path.join(folder, "home"), recipe.name, *files_of(options.folder, recipe))
            wrong = differs(pair, folder, TOLERANCE[recipe.tolerance])
            if wrong:
                raise ValueError(wrong)
            if options.opening:
                size = os.path.getsize(pair.model)
                results.append({**row, "bytes": size, **pair.compare_opening(folder)})
                return
            beside = options.openvino and recipe.kind != "quantised" and pair.opens("openvino")
            peers = ("onnxruntime", "openvino") if beside else ("onnxruntime",)
            for threads in options.threads:
                results.append({**row, "threads": threads, **pair.compare(threads, peers)})
    except (Exception, SystemExit) as error:  # a tool's own: the next model is measured all the same
        results.append({**row, "problem": " ".join(str(error).split())[-200:]})
    finally:
        say_measured(recipe.name, results[before:])


def ratio(row, peer):
    return row["layover"][0] / row[peer][0]


def print_problems(results):
    for row in results:
        if "problem" in row:
            print(f"| {row['kind']} | {row['model']} | | not measured: {row['problem']} | | |")


def print_opening(results):
    print("| kind | model | MB | registered s | session created s | ratio |")
    print("| --- | --- | --- | --- | --- | --- |")
    measured = [row for row in results if "problem" not in row]
    for row in sorted(measured, key=lambda row: row["bytes"]):
        print(f"| {row['kind']} | {row['model']} | {row['bytes'] / 1e6:.1f} | {row['registered']:.3f} | {row['opened']:.3f} "
              f"| {row['registered'] / row['opened']:.2f} |")
    print_problems(results)


def print_rows(rows, peer, title):
    print(f"| kind | model | threads | layover ms | {title} ms | ratio of minima |")
    print("| --- | --- | --- | --- | --- | --- |")
    for row in rows:
        print(f"| {row['kind']} | {row['model']} | {row['threads']} | {row['layover'][0] * 1e3:.3f} "
              f"| {row[peer][0] * 1e3:.3f} | {ratio(row, peer):.2f} |")


def print_means(kind, rows, peer):
    for threads in sorted({row["threads"] for row in rows}):
        ratios = [ratio(row, peer) for row in rows if row["threads"] == threads]
        print(f"| {kind} | geometric mean of {len(ratios)} | {threads} | | | {geometric_mean(ratios):.2f} (most {max(ratios):.2f}) |")


def print_table(results):
    measured = [row for row in results if "problem" not in row]
    print_rows(sorted(measured, key=lambda row: (row["kind"], row["model"], row["threads"])), "onnxruntime", "onnxruntime")
    for kind in sorted({row["kind"] for row in measured}):
        print_means(kind, [row for row in measured if row["kind"] == kind], "onnxruntime")
    print_means("all", measured, "onnxruntime")
    print_problems(results)
    beside = [row for row in measured if "openvino" in row]
    if beside:
        print()
        print_rows(beside, "openvino", "OpenVINO")
        print_means("all", beside, "openvino")


def main():
    from zoo_models import RECIPES

    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    add_common_options(parser)
    parser.add_argument("--folder", default=CACHE, help=f"where the models are kept (default {CACHE})")
    parser.add_argument("--make", action="store_true", help="makes the models and measures nothing")
    parser.add_argument("--only", nargs="+", choices=[recipe.name for recipe in RECIPES])
    parser.add_argument("--kind", nargs="+", choices=sorted({recipe.kind for recipe in RECIPES}))
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--seconds", type=float, default=1.0, help="onnxruntime's time per round (default 1)")
    parser.add_argument("--openvino", action="store_true", help="measures OpenVINO on what is not quantised, too")
    parser.add_argument("--opening", action="store_true", help="measures registration and the creation of a session instead")
    options = parser.parse_args()
    results = []
    for recipe in RECIPES:
        if (not options.only or recipe.name in options.only) and (not options.kind or recipe.kind in options.kind):
            measure(options, recipe, results)
    (print_opening if options.opening else print_table)(results)
    write_results(options.output, results)


if __name__ == "__main__":
    main()
