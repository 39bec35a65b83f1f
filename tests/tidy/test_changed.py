"""What a change can break: tools/changed_tests.py on a small tree of its own; and how tools/run_tests.py orders its parts."""
import glob
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools"))

import changed_tests  # noqa: E402
import run_tests  # noqa: E402


def target(identity, *sources):
    return {"id": identity, "target_sources": [{"sources": [os.path.join(ROOT, path) for path in sources]}]}


def program(name, suite, *depends):
    return {"name": name, "suite": [f"layover:{suite}"], "depends": list(depends)}


TARGETS = [
    target("vm-lib", "vm/execution/frame_walk.c", "vm/objects/closures.c"),
    target("layover", "tools/cli/layover.c"),
    target("vm-tests", "tests/support/test_support.c", "tests/vm/execution/test_frame_walk.c", "tests/vm/vm_fixtures.c"),
    target("store-tests", "tests/support/test_support.c", "tests/store/jobs/test_rows.c"),
    target("control-tests", "tests/scheduler/control/test_turns.c", "tests/scheduler/bench_fixtures.c"),
    target("http-tests", "tests/scheduler/http/test_pages.c", "tests/scheduler/bench_fixtures.c"),
    target("conformance-lib", "tests/conformance/references/reference_sum.c"),
    target("conformance-tests", "tests/conformance/test_sums.c"),
]
TESTS = [program("vm", "vm", "vm-tests"), program("isa.md", "vm"), program("store", "store", "store-tests"),
         program("control", "scheduler", "control-tests", "layover"), program("http", "scheduler", "http-tests"),
         program("http.md", "scheduler"), program("conformance", "conformance", "conformance-tests"),
         program("style", "tidy"), program("fuzz_npz", "fuzz"), program("tools", "tools")]
SECONDS = {"vm": 4, "store": 30, "control": 30, "http": 20, "conformance": 40, "nodes/test_a.py": 20, "nodes/test_b.py": 25}


def select(*paths, root=ROOT, budget_s=1000):
    with mock.patch.object(changed_tests, "SECONDS", SECONDS):
        return changed_tests.select(paths, TARGETS, TESTS, root, budget_s)


class Selecting(unittest.TestCase):
    def test_documents_run_the_checks_alone(self):
        self.assertEqual(select("docs/store.md", "CONTRIBUTING.md", ".clang-tidy").tests, ["style"])

    def test_a_generated_document_is_compared(self):
        self.assertEqual(select("docs/isa.md").tests, ["style", "isa.md"])

    def test_a_file_runs_the_program_that_tests_its_folder_and_the_quick_ones_above(self):
        quick = {"style", "http.md", "tools", "fuzz_npz"}
        self.assertEqual(set(select("scheduler/control/turns.c", budget_s=40).tests), {"control", *quick})
        self.assertEqual(set(select("vm/objects/closures.h", budget_s=10).tests), {"vm", "isa.md", *quick})

    def test_others_above_run_while_there_is_time_and_are_not_named(self):
        chosen = select("vm/objects/closures.h", budget_s=60)
        self.assertEqual({"http", "store", "control"} & set(chosen.tests), {"http", "control"})
        self.assertEqual(chosen.left_out, [])
        self.assertEqual({"http", "store", "control"} & set(select("vm/objects/closures.h").tests), {"http", "control"})
        self.assertLessEqual({"http", "control", "store"}, set(select("base/text.c").tests))

    def test_a_test_runs_its_own_program(self):
        self.assertIn("store", select("tests/store/jobs/test_rows.c").tests)
        self.assertEqual(set(select("tests/scheduler/bench_fixtures.c").tests) & {"control", "http", "store", "vm"}, {"control", "http"})

    def test_what_programs_share_runs_all_of_them(self):
        self.assertLessEqual({"vm", "store"}, set(select("tests/support/test_support.c").tests))

    def test_a_library_of_tests_runs_the_programs_of_its_folder(self):
        self.assertIn("conformance", select("tests/conformance/references/reference_sum.c").tests)
        self.assertIn("conformance", select("kernels/cpu/sums.c").tests)

    def test_data_runs_what_reads_it(self):
        self.assertEqual(select("tests/programs/lists.lva").tests, ["style", "vm"])
        self.assertEqual(select("tests/fuzz/corpus/npz/a").tests, ["style", "fuzz_npz"])

    def test_the_root_recipe_reaches_everything_quick(self):
        self.assertEqual(set(select("meson.build", budget_s=5).tests), {"style", "vm", "isa.md", "http.md", "tools", "fuzz_npz"})

    def test_end_to_end_tests_run_themselves_and_helpers_who_imports_them(self):
        with tempfile.TemporaryDirectory() as root:
            for path, text in {"nodes/test_a.py": "from pairs import two\n", "nodes/test_b.py": "import os\nimport pairs\n",
                               "nodes/test_c.py": "# import pairs\nfrom pairs_of import a\n", "pairs.py": "two = 2\n"}.items():
                full = os.path.join(root, changed_tests.END_TO_END, path)
                os.makedirs(os.path.dirname(full), exist_ok=True)
                with open(full, "w", encoding="utf-8") as file:
                    file.write(text)
            a, b, c = (f"{changed_tests.END_TO_END}/nodes/test_{letter}.py" for letter in "abc")
            self.assertEqual(select(c, root=root).end_to_end, [c])
            self.assertEqual(select(f"{changed_tests.END_TO_END}/pairs.py", root=root).end_to_end, [a, b])
            self.assertEqual(select(a, "tests/end_to_end/nodes/test_gone.py", root=root).end_to_end, [a])
            short = select(f"{changed_tests.END_TO_END}/pairs.py", root=root, budget_s=30)
            self.assertEqual((short.end_to_end, short.left_out), ([a], [b]))

    def test_the_dearest_is_left_out_and_named(self):
        chosen = select("scheduler/control/turns.c", "store/jobs/rows.c", "kernels/a.c", budget_s=75)
        self.assertEqual(chosen.left_out, ["conformance"])
        self.assertLessEqual({"store", "control"}, set(chosen.tests))

    def test_one_test_is_never_left_out(self):
        self.assertIn("store", select("tests/store/jobs/test_rows.c", budget_s=1).tests)


class Changes(unittest.TestCase):
    def test_commits_the_working_tree_and_new_files_since_the_branch_left_main(self):
        with tempfile.TemporaryDirectory() as root:
            def git(*arguments):
                subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@a", *arguments], cwd=root, check=True,
                               capture_output=True)

            def write(path, text):
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)

            git("init", "-q", "-b", "main")
            for name in ("same", "edited", "moved", ".gitignore"):
                write(name, "ignored\n" if name == ".gitignore" else name)
            git("add", "-A")
            git("commit", "-qm", "one")
            git("checkout", "-qb", "branch")
            git("mv", "moved", "there")
            git("commit", "-qm", "two")
            write("edited", "otherwise")
            write("new name", "")
            write("ignored", "")
            git("branch", "-f", "ahead", "main")
            with mock.patch.object(changed_tests, "ROOT", root):
                self.assertEqual(changed_tests.changed_files(), ["edited", "moved", "new name", "there"])
                with self.assertRaises(SystemExit):
                    changed_tests.changed_files("no-such-branch")


class Tables(unittest.TestCase):
    def test_what_takes_long_is_there(self):
        recipes = ""
        for folder, _, files in os.walk(os.path.join(ROOT, "tests")):
            if "meson.build" in files:
                with open(os.path.join(folder, "meson.build"), encoding="utf-8") as file:
                    recipes += file.read()
        named = re.compile(r"\btest\('([^']+)'")
        names = set(named.findall(recipes))
        for name, seconds in changed_tests.SECONDS.items():
            self.assertGreater(seconds, changed_tests.QUICK_S, name)
            if name.endswith(".py"):
                self.assertTrue(os.path.exists(os.path.join(ROOT, changed_tests.END_TO_END, name)), name)
            else:
                self.assertTrue(name in names or any(name.startswith(prefix) for prefix in names if prefix.endswith(" ")), name)
        for _, readers, files in (*changed_tests.READERS, *changed_tests.BESIDE):
            for reader in readers:
                self.assertIn(reader, names)
            for file in files:
                self.assertTrue(os.path.exists(os.path.join(ROOT, changed_tests.END_TO_END, file)), file)


class Parts(unittest.TestCase):
    def test_every_part_runs_once(self):
        parts = (*run_tests.BUILDS, *run_tests.END_TO_END)
        beside, alone = run_tests.order_of([*parts, "tsan"])
        self.assertEqual(sorted(beside + alone), sorted(parts))
        self.assertEqual(alone, ["limits"])
        self.assertEqual(run_tests.order_of(["limits"]), ([], ["limits"]))

    def test_every_folder_of_end_to_end_tests_is_a_part(self):
        folder = os.path.join(ROOT, changed_tests.END_TO_END)
        with_tests = {name for name in os.listdir(folder) if glob.glob(os.path.join(folder, name, "test_*.py"))}
        self.assertLessEqual(with_tests, set(run_tests.END_TO_END))
        self.assertFalse(glob.glob(os.path.join(folder, "test_*.py")))
        for name in with_tests:
            self.assertEqual(run_tests.END_TO_END[name][1][0], f"{changed_tests.END_TO_END}/{name}")

    def test_two_parts_do_not_build_at_the_same_time(self):
        building, most = 0, 0

        def run_logged(*_):
            nonlocal building, most
            building += 1
            most = max(most, building)
            time.sleep(0.05)
            building -= 1
            return 0, None

        with mock.patch.multiple(run_tests, run_logged=run_logged, configure=lambda _: (0, None), say=lambda _: None):
            threads = [threading.Thread(target=run_tests.build, args=("plain", run_tests.Count(), [])) for _ in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(most, 1)


if __name__ == "__main__":
    unittest.main()
