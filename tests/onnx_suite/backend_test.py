#!/usr/bin/env python3
"""backend_test.py: ONNX's backend tests (onnx.backend.test) through layover.onnx_backend, all of them, by ONNX's own runner.

PYTHONPATH=build/tools/python. Fails where a case is not passed that no row of suite_unsupported.def names.
"""
import collections
import fnmatch
import os
import re
import sys
import unittest
import warnings

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "suite_unsupported.def")
# Cases that pass in layover-onnx-suite and that ONNX's runner cannot compare.
RUNNERS = [("test_loop16_seq_none", "the runner asks an array without dimensions, which is in a sequence, for its length")]


def unsupported():
    """[(pattern, reason)] of cases that are not passed."""
    with open(TABLE, encoding="utf-8") as table:
        return re.findall(r'^UNSUPPORTED\("([^"]+)", "([^"]+)"\)', table.read(), re.MULTILINE) + RUNNERS


def reason_of(name):
    """Why a case is not passed; None: it has to pass."""
    return next((reason for pattern, reason in unsupported() if fnmatch.fnmatch(name, pattern)), None)


def _cases(suite):
    for each in suite:
        if isinstance(each, unittest.TestSuite):
            yield from _cases(each)
        elif "RealModel" not in each.id() and each.id().endswith("_cpu"):  # real models are downloaded
            yield each


def main():
    import onnx.backend.test
    from layover.onnx_backend import LayoverBackend
    warnings.simplefilter("ignore")
    counts, reasons, wrong = collections.Counter(), collections.Counter(), []
    for case in _cases(onnx.backend.test.BackendTest(LayoverBackend, __name__).test_suite):
        name, result = case.id().split(".")[-1].removesuffix("_cpu"), unittest.TestResult()
        case.run(result)
        failed, reason = result.errors + result.failures, reason_of(name)
        counts["skipped" if result.skipped else "failed" if failed else "passed"] += 1
        if failed and reason:
            reasons[reason] += 1
        elif failed or (reason and not result.skipped):
            wrong.append(f"{name}: {failed[0][1].strip().splitlines()[-1] if failed else 'passes, and a row names it'}")
    print(*(f"{number:5} {reason}" for reason, number in reasons.items()), *wrong, dict(counts), sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
