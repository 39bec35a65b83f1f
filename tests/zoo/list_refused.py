#!/usr/bin/env python3
"""list_refused.py: writes refused.txt: the graphs that Layover doesn't run as onnxruntime does today, and why."""
import sys
import tempfile

from zoo_check import REFUSED
from zoo_run import Zoo


def main():
    with tempfile.TemporaryDirectory() as folder:
        zoo = Zoo(folder)
        verdicts = {name: zoo.verdict(name) for name in sorted(zoo.table)}
    wrong = {name: verdict for name, verdict in verdicts.items() if verdict}
    with open(REFUSED, "w", encoding="utf-8") as file:
        file.writelines(f"{name}: {verdict}\n" for name, verdict in wrong.items())
    print(f"{len(verdicts) - len(wrong)} passed, {len(wrong)} failed")


if __name__ == "__main__":
    sys.exit(main())
