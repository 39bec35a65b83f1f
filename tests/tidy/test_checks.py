"""The checks themselves: each rule finds what breaks it and leaves alone what only looks like it."""
import os
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools", "check"))
sys.path.insert(0, os.path.join(ROOT, "tools", "generate"))

import check_circles  # noqa: E402
import check_documents  # noqa: E402
import check_layers  # noqa: E402
import check_style  # noqa: E402
import cuda_kernels  # noqa: E402
import wrap_markdown  # noqa: E402


class Tree:
    def __init__(self, **files):
        self.folder = tempfile.TemporaryDirectory()
        self.root = self.folder.name
        for path, text in files.items():
            full = os.path.join(self.root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as file:
                file.write(text)

    def problems(self, check):
        with self.folder:
            return check(self.root)


def layers(path, text, **others):
    return [what for _, _, what in Tree(**{path: text}, **others).problems(check_layers.check_tree)]


def style(path, text):
    found = Tree(**{path: text}).problems(lambda root: check_style.check_tree(root, with_format=False))
    return [(line, what) for _, line, what in found if "has no tests" not in what]


def documents(root):
    paths = check_style.find_files(root, "")
    return check_documents.check_documents(root, paths, check_style.read_texts(root, paths))


class Layers(unittest.TestCase):
    def test_upward_includes_are_found(self):
        header = {"vm/instruction/frame.h": ""}
        self.assertIn("kernels/ may include only base", layers("kernels/a.c", '#include "vm/instruction/frame.h"\n', **header)[0])
        self.assertEqual(layers("serialize/a.c", '#include "vm/instruction/frame.h"\n', **header), [])

    def test_libraries_stay_where_they_belong(self):
        self.assertIn("SQLite", layers("vm/a.c", "#include <sqlite3.h>\n")[0])
        self.assertEqual(layers("store/a.c", "#include <sqlite3.h>\n"), [])
        self.assertIn("LIBRARIES", layers("vm/a.c", "#include <gtk/gtk.h>\n")[0])
        self.assertEqual(layers("vm/a.c", "#include <sys/mman.h>\n#include <string.h>\n"), [])

    def test_store_sees_hashes_and_bytes_only(self):
        headers = {"serialize/chunk/chunk.h": "", "serialize/checkpoint/checkpoint.h": ""}
        self.assertEqual(layers("store/a.c", '#include "serialize/chunk/chunk.h"\n', **headers), [])
        self.assertEqual(len(layers("store/a.c", '#include "serialize/checkpoint/checkpoint.h"\n', **headers)), 1)

    def test_the_policy_is_pure(self):
        headers = {"base/clock.h": "", "vm/instruction/frame.h": "", "scheduler/policy/b.h": ""}
        self.assertIn("only base", layers("scheduler/policy/a.c", '#include "vm/instruction/frame.h"\n', **headers)[0])
        self.assertIn("clock", layers("scheduler/policy/a.c", "#include <time.h>\n")[0])
        self.assertEqual(layers("scheduler/policy/a.c", '#include "scheduler/policy/b.h"\n#include <stdint.h>\n',
                                **headers), [])
        self.assertEqual(layers("scheduler/a.c", '#include "vm/instruction/frame.h"\n#include <time.h>\n', **headers), [])

    def test_internal_headers_stay_at_home(self):
        header = {"store/a_internal.h": ""}
        self.assertIn("alone", layers("tools/b.c", '#include "store/a_internal.h"\n', **header)[0])
        self.assertEqual(layers("tests/store/b.c", '#include "store/a_internal.h"\n', **header), [])

    def test_an_internal_header_belongs_to_its_house(self):
        header = {"store/jobs/a_internal.h": ""}
        self.assertEqual(layers("store/upkeep/b.c", '#include "store/jobs/a_internal.h"\n', **header), [])
        self.assertIn("belongs to store/", layers("scheduler/node/b.c", '#include "store/jobs/a_internal.h"\n', **header)[0])

    def test_a_part_is_written_by_those_that_its_header_names(self):
        control = "scheduler/control/"
        part = "/* A part. Writers: slices/, jobs/a.c. */\ntypedef struct JobPart {\n    int x;\n} JobPart;\n"
        others = {control + "parts/job_part.h": part, control + "slices/b.c": "void b(Job *job) { job->part.x++; }\n",
                  control + "state/control_job.h": "struct ControlJob {\n    JobPart part;\n};\n"}
        writes = "void f(Job *job) { job->part.list[3].x |= 1; }\n"
        reads = "int f(Job *job) { return job->part.x == 1 && job->other.x != 2; }\n"
        self.assertEqual(layers(control + "jobs/a.c", writes, **others), [])
        self.assertEqual(layers(control + "jobs/a.c", reads, **others), ["jobs/a.c is named as a writer and writes nothing"])
        others[control + "jobs/a.c"] = writes
        self.assertEqual(layers(control + "jobs/c.c", reads, **others), [])
        self.assertIn("writes the part part", layers(control + "jobs/c.c", writes, **others)[0])

    def test_circles_between_files_are_found(self):
        header = '#include "base/b.h"\n'
        circle = {"base/a.h": "", "base/b.h": "", "base/b.c": '#include "base/b.h"\n#include "base/a_internal.h"\n'}
        self.assertEqual(layers("base/a_internal.h", "#pragma once\n", **circle), [])
        self.assertIn("base/a, base/b", layers("base/a_internal.h", header, **{**circle, "base/a.c": ""})[0])
        through_c = {"base/b.h": "", "base/a.h": "", "base/b.c": '#include "base/a.h"\n'}
        self.assertIn("base/a, base/b", layers("base/a.c", header, **through_c)[0])
        self.assertEqual(layers("base/c.c", header + '#include "base/a.h"\n', **through_c), [])

    def test_a_said_circle_may_neither_grow_nor_move(self):
        said = sorted(next(iter(check_circles.SAID)))
        ring = {f"{unit}.h": f'#include "{said[i - 1]}.h"\n' for i, unit in enumerate(said)}
        first = f"{said[0]}.h"
        self.assertEqual(layers(first, ring.pop(first), **ring), [])
        more = {**ring, f"{os.path.dirname(said[0])}/more.h": f'#include "{first}"\n'}
        text = f'#include "{said[-1]}.h"\n#include "{os.path.dirname(said[0])}/more.h"\n'
        self.assertIn("a circle between files", layers(first, text, **more)[0])

    def test_rooms_have_floors(self):
        headers = {"store/database/a.h": "", "store/jobs/b.h": ""}
        self.assertIn("stands above", layers("store/database/c.c", '#include "store/jobs/b.h"\n', **headers)[0])
        self.assertEqual(layers("store/jobs/c.c", '#include "store/database/a.h"\n', **headers), [])
        self.assertIn("no row of ROOMS", layers("store/attic/c.c", '#include "store/database/a.h"\n', **headers)[0])

    def test_an_include_in_a_comment_or_by_a_short_path(self):
        self.assertEqual(layers("vm/a.c", '/*\n#include "store/x.h"\n*/\n'), [])
        self.assertIn("full path", layers("vm/a.c", '#include "frame.h"\n')[0])
        self.assertIn("does not exist", layers("vm/a.c", '#include "vm/gone.h"\n')[0])


class Folders(unittest.TestCase):
    @staticmethod
    def problems(files):
        found = Tree(**files).problems(lambda root: check_style.check_tree(root, with_format=False))
        return [what for _, _, what in found]

    def test_a_test_stands_where_its_file_does(self):
        code = {"store/jobs/a.c": "int a;\n"}
        self.assertIn("has no tests/store/jobs/test_a.c", self.problems({**code, "tests/store/test_a.c": "int a;\n"}))
        self.assertEqual(self.problems({**code, "tests/store/jobs/test_a.c": "int a;\n"}), [])
        self.assertEqual(self.problems({"compiler/ir/a.c": "int a;\n", "tests/compiler/ir/test_a.c": "int a;\n"}), [])

    def test_a_folder_has_a_limit(self):
        def headers(count):
            return {f"store/jobs/a{i}.h": "#pragma once\n/* What it is. */\n" for i in range(count)}

        self.assertEqual(self.problems(headers(check_style.FOLDER_FILES)), [])
        self.assertIn("store/jobs/ has 46 files", self.problems(headers(check_style.FOLDER_FILES + 1))[0])

    def test_every_file_counts_but_data(self):
        def scripts(folder):
            return {f"{folder}/test_{i}.py": "" for i in range(check_style.FOLDER_FILES + 1)}

        self.assertIn("tests/end_to_end/ has 46 files", self.problems(scripts("tests/end_to_end"))[0])
        self.assertEqual(self.problems(scripts("tests/golden/passes")), [])


class Style(unittest.TestCase):
    def test_banned_calls_are_found_where_they_are(self):
        self.assertEqual(style("vm/a.c", "\nint f(void) { return atoi(x); }\n")[0][0], 2)
        self.assertIn("malloc", style("vm/a.c", "void f(void) { g(malloc(3)); }\n")[0][1])
        self.assertEqual(style("base/allocator.c", "void f(void) { g(malloc(3)); }\n"), [])
        self.assertIn("printf", style("vm/a.c", "void f(void) { printf(x); }\n")[0][1])

    def test_members_comments_strings_and_longer_names_are_no_calls(self):
        self.assertEqual(style("vm/a.c", 'void f(void) { d->free(x); d.malloc(1); my_printf("exit(1)"); } /* goto */\n'), [])

    def test_line_comments_but_not_addresses_in_strings(self):
        self.assertEqual(len(style("vm/a.c", "int a; // why\n")), 1)
        self.assertEqual(style("vm/a.c", 'const char *a = "http://x"; /* http://y */\n'), [])

    def test_goto(self):
        self.assertEqual(len(style("vm/a.c", "void f(void) { goto end; end:; }\n")), 1)
        self.assertEqual(style("vm/execution/interpreter.c", "void f(void) { goto *labels[1]; }\n"), [])

    def test_long_functions_and_files(self):
        def body(count):
            return "int f(int a) {\n" + "    a++;\n" * count + "}\n"

        self.assertEqual(style("vm/a.c", body(68)), [])
        self.assertIn("f has 71 lines", style("vm/a.c", body(69))[0][1])
        self.assertEqual(style("vm/a.c", "static const int a[] = {\n" + "1,\n" * 100 + "};\n"), [])
        self.assertIn("501 lines", style("vm/a.c", "int a;\n" * 501)[0][1])

    def test_headers_begin_with_pragma_and_comment(self):
        self.assertEqual(style("vm/a.h", "#pragma once\n/* What it is. */\n"), [])
        self.assertEqual(len(style("vm/a.h", "#ifndef A\n#define A\n#endif\n")), 2)

    def test_type_names(self):
        self.assertEqual(len(style("vm/a.c", "typedef struct { int a; } thing_t;\n")), 1)
        self.assertEqual(style("vm/a.c", "uint32_t a;\n"), [])

    def test_retired_words_in_names(self):
        for retired in check_style.RETIRED:
            word = retired.rstrip("$")
            camel = "".join(part.capitalize() for part in word.split("_"))
            for name in (word, f"job_{word}", word.upper(), f"Job{camel}", camel, *([] if "$" in retired else [f"{word}_count"])):
                found = style("vm/a.c", f"\nint {name};\n")
                self.assertEqual(found[0][0], 2, name)
                self.assertIn(f"'{word}' is retired", found[0][1], name)
            self.assertIn("is retired", style(f"vm/{word}.def", "")[0][1])

    def test_retired_words_in_texts_and_longer_words(self):
        self.assertEqual(style("vm/a.c", 'const char *text = "incoming"; /* an outgoing parcel */\nint let_go, parcelled, control_keep_output;\n'), [])

    def test_base_names_are_unique_and_tests_exist(self):
        tree = Tree(**{"vm/a.c": "", "store/a.c": "", "tests/vm/test_a.c": ""})
        found = tree.problems(lambda root: check_style.check_tree(root, with_format=False))
        self.assertEqual(sorted(what for _, _, what in found),
                         ["has no tests/store/test_a.c", "the base name a is also in store/"])

    def test_lists_of_sources_are_sorted(self):
        names = ["b.c", "a.c", "c/a.c", "d.c", "e.c"]
        listed = "x = files(\n" + "".join(f"  '{name}',\n" for name in names) + ")\n"
        self.assertEqual(style("vm/meson.build", listed)[0][0], 2)
        self.assertIn("not sorted", style("vm/meson.build", listed)[0][1])
        self.assertEqual(style("vm/meson.build", "x = files(\n  'a.c', 'b.c', 'd.c', 'e.c',\n  'c/a.c',\n)\n"), [])
        self.assertEqual(style("vm/meson.build", "x = files('b.c', 'a.c')\n"), [])

    def test_words(self):
        word = "TO" + "DO"
        self.assertEqual(len(style("docs/a.md", f"{word}: write this\n")), 1)

    def test_documents_are_short_in_lines_and_size(self):
        long = "word " * 21 + "\n"
        self.assertIn("105 columns", style("docs/a.md", f"short\n{long}")[0][1])
        self.assertEqual(style("docs/a.md", f"| {long}\n```\n{long}```\nshort\n"), [])
        self.assertEqual(style("docs/a.md", f"```\n```\n{long}")[0][0], 3)
        self.assertIn("split it", style("docs/a.md", "word\n" * 5000)[0][1])
        self.assertEqual(style("docs/a/b.md", "word\n" * 4000), [])
        self.assertEqual(style("vm/notes.md", long), [])

    def test_documents_name_what_is_there(self):
        def names(text):
            tree = Tree(**{"docs/a.md": text, "vm/code/run.h": "#pragma once\n/* run_it runs. */\n", "README.md": "# Top\n"})
            return [what for _, _, what in tree.problems(documents)]
        self.assertEqual(names("`run.h`, `code/run.h`, `vm/code/run.h`, `vm/code/`, `run`, `run_it`, `model.onnx`\n"), [])
        self.assertIn("not in the tree", names("`walk.h`\n")[0])
        self.assertIn("elsewhere", names("`vm/run.h`\n")[0])
        self.assertIn("the folder vm/data/", names("`vm/data/`\n")[0])
        self.assertEqual(names("`run_it` runs, `--run_all` is no function\n"), [])
        self.assertIn("no source", names("`walk_it` walks\n")[0])

    def test_words_of_the_glossary_stand_in_the_headers_that_it_names(self):
        def words(row):
            header = {"vm/code/run.h": "#pragma once\n/* A run is in_doubt. */\n"}
            tree = Tree(**{"docs/architecture.md": f"| walk | x | `run.h` |\n## Words\n{row}\n", **header})
            return [what for _, _, what in tree.problems(documents)]
        self.assertEqual(words("| run, in doubt | a thing | `run.h` |"), [])
        self.assertIn("the word walk", words("| run, walk | a thing | `run.h` |")[0])

    def test_documents_link_to_what_is_there(self):
        def links(text):
            tree = Tree(**{"docs/a.md": f"# First part: words\n{text}\n", "docs/b.md": "## A `b`\n"})
            return [what for _, _, what in tree.problems(documents)]
        self.assertEqual(links("[b](b.md), [c](b.md#a-b), [d](#first-part-words), [e](https://e.org/x)"), [])
        self.assertIn("not in the tree", links("[b](c.md)")[0])
        self.assertIn("does not have", links("[b](b.md#b)")[0])


class WrapMarkdown(unittest.TestCase):
    def test_paragraphs_and_items_are_wrapped_and_the_rest_is_left(self):
        long = " ".join(["word"] * 30)
        for text in ("# " + long, "| " + long, "```\n" + long + "\n```", "short\n\nlines"):
            self.assertEqual(wrap_markdown.wrap(text.split("\n")), text.split("\n"))
        wrapped = wrap_markdown.wrap([long, "- " + long, "  " + long])
        self.assertTrue(all(len(line) <= 100 for line in wrapped))
        self.assertEqual([line[:2] for line in wrapped], ["wo", "wo", "- ", "  ", "  ", "  "])
        self.assertEqual(wrap_markdown.wrap(wrapped), wrapped)


class CudaKernels(unittest.TestCase):
    REPORT = """
ptxas info    : Compiling entry function 'one' for 'sm_80'
ptxas info    : Function properties for one
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used {registers} registers, used 1 barriers
ptxas info    : Function properties for called
    0 bytes stack frame, {spills} bytes spill stores, 0 bytes spill loads
"""

    def problems(self, registers, spills, names=("one",)):
        with tempfile.TemporaryDirectory() as folder:
            report, table = os.path.join(folder, "report"), os.path.join(folder, "table")
            with open(report, "w", encoding="utf-8") as file:
                file.write(self.REPORT.format(registers=registers, spills=spills))
            with open(table, "w", encoding="utf-8") as file:
                file.write("".join(f"CUDA_KERNEL({name.upper()}, {name}, Params)\n" for name in names))
            return cuda_kernels.check(report, table)

    def test_registers_spills_and_missing_kernels(self):
        self.assertEqual(len(self.problems(128, 0)), 0)
        self.assertIn("129 registers", self.problems(129, 0)[0])
        self.assertIn("8 bytes spill stores", self.problems(20, 8)[0])
        self.assertIn("not in the module", self.problems(20, 0, ("one", "two"))[0])
        self.assertIn("nothing was compiled", self.problems(20, 0, ())[0])


if __name__ == "__main__":
    unittest.main()
