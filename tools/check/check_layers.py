#!/usr/bin/env python3
"""check_layers.py [ROOT]: who may include whom, and which library's headers may be seen where."""
import os
import re
import sys

from c_source import read_sources
from check_circles import check_circles
from check_parts import check_parts

# Folder: the folders it may include from, itself apart.
LAYERS = {
    "base": (),
    "kernels": ("base",),
    "vm": ("base", "kernels"),
    "serialize": ("base", "kernels", "vm"),
    "compiler": ("base", "kernels", "vm"),
    "store": ("base",),
    "scheduler": ("base", "kernels", "vm", "serialize", "store"),
}
EVERYTHING = ("tools", "tests", "bench", "examples")
FOLDERS = (*LAYERS, *EVERYTHING, "include")
# Single headers that a folder may include beyond its layers: hashes and bytes, not objects.
ALSO = {"store": ("serialize/chunk/chunk.h", "serialize/container/container.h")}
# Folders that may include less than the folder around them, and only the headers of libc that PURE has: the scheduler's
# policy and its machines do no I/O.
NARROW = {"scheduler/policy/": ("base/", "scheduler/policy/"),
          "scheduler/control/machines/": ("base/", "scheduler/control/machines/", "store/jobs/job_state.h")}
# Inside a folder: its rooms from the lowest to the highest; a room may include those before it. sim,
# process and cuda stand above cpu, because sim runs cpu's kernels and cuda shares some of its headers. "" is the folder itself.
ROOMS = {
    "kernels": "device scalar tensor operator arguments shape_rules planning expansions plugin cpu/core cpu/loops cpu/movement "
               "cpu/elementwise cpu/dnnl cpu/matmul cpu/vision cpu/conv cpu/quantized cpu/bytes cpu/pool cpu/normalization cpu/reduction cpu/signal "
               "cpu/generation cpu/strings cpu/attention cpu/recurrent cpu/device sim process native cuda/driver cuda/runtime "
               "cuda/planners cuda/device cuda/library cuda/plugin registry".split(),
    "vm": "instruction objects code native assembly residency execution relax".split(),
    "serialize": "chunk container relax relay arrays checkpoint".split(),
    "compiler": ["ir", "frontend/base", "frontend/nodes", "frontend", "passes", "passes/integers", "passes/infer", "passes/images", "relay/text", "relay", "nnvm", "lower", ""],
    "store": ["", *"home database accounts chunks contents models jobs weights upkeep".split()],  # "": the generated schema_scripts.h
    "scheduler": "policy simulate executor node control/machines control/parts control control/adapters control/state control/jobs control/slices control/devices control/requests control/drive http/client http/server http/inference jobs migration http/page http/routes service daemon".split(),
    "tools": "check generate tuning relax models remote library python/extension client run cli".split(),
}
# An internal header belongs to the house that its folder is a room of.
HOUSES = ("store", "vm", "serialize", "kernels/cpu", "kernels/cuda", "kernels", "compiler", "scheduler")
PURE = re.compile(r"(assert|inttypes|limits|stdbool|stddef|stdint|string)\.h")
# A folder below another that only these may look into; everyone else goes through the device table.
PRIVATE = {"kernels/cpu/": ("kernels",), "kernels/cuda/": ("kernels",), "kernels/sim/": ("kernels",)}

# Headers of libraries: pattern, where they may be included (path prefixes), what they belong to.
LIBRARIES = (
    (r"(oneapi/dnnl/)?dnnl\w*\.h", ("kernels/cpu/",), "oneDNN"),
    (r"(cuda|cudnn|cublas|nvrtc)\w*\.h", ("kernels/cuda/",), "CUDA"),
    (r"\w*intrin\.h|cpuid\.h|arm_neon\.h", ("kernels/cpu/", "serialize/chunk/byte_planes", "base/digest_pair"), "vector instructions"),
    (r"Python\.h", ("tools/python/",), "Python"),
    (r"omp\.h", ("kernels/cpu/",), "OpenMP"),
    (r"zstd\w*\.h|zdict\.h", ("serialize/",), "zstd"),
    (r"sqlite3\w*\.h", ("store/",), "SQLite"),
    (r"protobuf-c/.*|.*\.pb-c\.h", ("compiler/",), "protobuf-c"),
    (r"zlib\.h", ("serialize/",), "zlib"),
    (r"xxhash\.h|xxh_x86dispatch\.h", ("base/digest.c",), "digests"),
    (r"openssl/.*", ("base/library/crypto_library.h",), "OpenSSL"),
    (r"json-c/.*|json\.h", ("compiler/", "scheduler/", "tools/"), "json-c"),
    (r"microhttpd\.h|curl/.*", ("scheduler/http/",), "HTTP"),
    (r"dlpack/.*", ("kernels/", "include/", "vm/"), "DLPack"),
    (r"dlfcn\.h|elf\.h|link\.h", ("base/library/shared_library.c", "serialize/relax/relax_elf.c", "kernels/", "tools/"), "libraries opened at run time"),
    (r"cmocka\.h", (), "cmocka"),
)
LIBC = re.compile(r"(arpa|linux|net|netinet|sys)/[\w/]+\.h|(assert|ctype|dirent|endian|errno|fcntl|fenv|float|ftw|"
                  r"getopt|glob|inttypes|limits|locale|malloc|math|netdb|poll|pthread|pwd|sched|semaphore|setjmp|signal|"
                  r"spawn|stdalign|stdarg|stdatomic|stdbool|stddef|stdint|stdio|stdlib|stdnoreturn|string|strings|"
                  r"termios|time|ucontext|unistd|wchar)\.h")


def _check_library(path, name):
    if path.startswith(EVERYTHING):
        return None
    if path.startswith(tuple(NARROW)) and not PURE.fullmatch(name):
        return f"<{name}>: {os.path.dirname(path)}/ does no I/O, and has no clock and no threads"
    for pattern, allowed, library in LIBRARIES:
        if re.fullmatch(pattern, name):
            if path.startswith(allowed) and allowed:
                return None
            return f"<{name}> ({library}) may be included only in {', '.join(allowed) or 'tests'}"
    if LIBC.fullmatch(name):
        return None
    return f"<{name}> is in no row of LIBRARIES in tools/check/check_layers.py"


def _check_rooms(path, name):
    folder, target = path.split("/")[0], name.split("/")[0]
    if folder != target or folder not in ROOMS:
        return None
    rooms = ROOMS[folder]
    here, there = (os.path.dirname(which)[len(folder) + 1:] for which in (path, name))
    if here not in rooms or there not in rooms:
        return f'{folder}/{here if here not in rooms else there}/ is in no row of ROOMS'
    if rooms.index(there) > rooms.index(here):
        return f'"{name}": {folder}/{there}/ stands above {folder}/{here}/'
    return None


def _check_own(path, name, exists):
    folder = path.split("/")[0]
    if re.fullmatch(r"[\w.-]+\.pb-c\.h", name):
        return _check_library(path, name)
    if "/" not in name and path.startswith("include/"):
        return None  # installed headers stand in one folder
    if "/" not in name:
        return f'"{name}": include by full path from the root'
    target = name.split("/")[0]
    if target not in FOLDERS:
        return _check_library(path, name)
    if not exists(name):
        return f'"{name}" does not exist, and no meson.build makes it'
    if name.endswith("_internal.h") and folder != "tests":
        house = next((house for house in HOUSES if name.startswith(house + "/")), os.path.dirname(name))
        if not path.startswith(house + "/"):
            return f'"{name}" belongs to {house}/ alone'
    what = _check_rooms(path, name)
    if what:
        return what
    for private, allowed in PRIVATE.items():
        if name.startswith(private) and folder not in (*allowed, *EVERYTHING):
            return f'"{name}": only {", ".join(allowed)} may look into {private}'
    for narrow, allowed in NARROW.items():
        if path.startswith(narrow) and not name.startswith(allowed):
            return f'"{name}": {narrow} may include only {", ".join(allowed)}'
    if folder in EVERYTHING or target == folder or name in ALSO.get(folder, ()):
        return None
    if target == "include" and folder != "include":
        return f'"{name}" is for users of the library'
    if target not in LAYERS.get(folder, ()):
        return f'"{name}": {folder}/ may include only {", ".join(LAYERS.get(folder, ())) or "itself"}'
    return None


def check_tree(root):
    """[(path, line, what)]"""
    def exists(name):
        if os.path.exists(os.path.join(root, name)):
            return True
        recipe = os.path.join(root, name.split("/")[0], "meson.build")
        return os.path.exists(recipe) and os.path.basename(name) in open(recipe, encoding="utf-8").read()

    sources = list(read_sources(root))
    problems = check_circles(sources) + check_parts(sources)
    for source in sources:
        if source.path.split("/")[0] not in FOLDERS:
            problems.append((source.path, 1, "stands in no folder that the layers know"))
            continue
        for line, name, is_system in source.includes():
            if is_system:
                what = _check_library(source.path, name)
            else:
                what = _check_own(source.path, name, exists)
            if what:
                problems.append((source.path, line, what))
    return problems


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    problems = check_tree(root)
    for path, line, what in problems:
        print(f"{path}:{line}: {what}")
    print(f"layers: {len(problems)} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
