#!/usr/bin/env python3
"""run_tests.py [PART ... | --changed]: builds, runs every test, and closes with 'N passed, N failed'.

Parts: plain (gcc, release), asan (clang, address and undefined), tsan (clang, threads), the folders of tests/end_to_end
(commands, models, nodes, service: the command line, against onnxruntime), hostile (wrong input, with the sanitizers'
build), limits (how long one tenant waits beside another, with nothing else on the machine). Without names all of them.
--changed: of plain and the folders, what the changes since the branch left main can break, within three minutes; what
that leaves out is named.
Minutes each, and only by name: looks (how long a kernel runs without looking at the stop: the kernels are compiled once
more), adding (the diffs of docs/adding.md are built and their cases run), page (the daemon's page in Chromium, of Debian's
packages chromium and chromium-driver), packages (Debian's packages are built, and installed in a bare Debian by root).
"""
import collections
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree

import changed_tests

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LOGS = os.path.join(ROOT, ".cache", "test-logs")
MEMORY_FOLDER_MIN = 4 << 30  # bytes
# How many tests run at a time. Tests wait for disks, processes and clocks, so one more than there are processors keeps the
# processors busy. While two parts run side by side, each runs TESTERS_BESIDE at a time.
TESTERS = (os.cpu_count() or 1) + 1
LANES = 2  # parts side by side
TESTERS_BESIDE = (os.cpu_count() or 1) // 2 + 1
TESTERS_MAX = 4  # each has daemons and models of its own in memory
# oneDNN's OpenMP runtime is not instrumented, so kernels and what runs them would only give false alarms.
THREAD_SUITES = ("base", "vm", "serialize", "store", "scheduler")
# Kernels for GPUs are compiled once, by the plain build: no sanitizer sees them, and nvcc takes its time.
NO_NVCC = ["-Dcuda=disabled"]
# Each architecture takes the assembler a minute.
NEWEST_GPU = "-Dgpu_architectures=90a"
# The sanitizers' builds run these suites, and end-to-end tests run their code as it is released: the plain build leaves
# them out. The suite "sanitized" takes minutes; the thread sanitizer's build runs it.
SANITIZED_SUITES = ("base", "serialize", "store", "scheduler", "sanitized")
LOOKS_SUITE = "looks"


def without(*suites):
    return [word for suite in suites for word in ("--no-suite", suite)]


BUILDS = {
    "plain": ("build", "gcc", ["--buildtype=release", NEWEST_GPU], without(*SANITIZED_SUITES, LOOKS_SUITE)),
    # What -fsanitize=null and object-size would say, the address sanitizer says when the memory is touched.
    "asan": ("build-asan", "clang", ["--buildtype=plain", "-Doptimization=1", "-Dc_args=-gline-tables-only -fno-omit-frame-pointer "
                                     "-fno-sanitize=null,object-size -fno-sanitize-recover=all", "-Db_sanitize=address,undefined",
                                     "-Db_lundef=false", *NO_NVCC],
             ["--timeout-multiplier", "5", *without("tidy", "levels", "documents", "sanitized")]),
    "tsan": ("build-tsan", "clang", ["--buildtype=plain", "-Doptimization=1", "-Dc_args=-gline-tables-only", "-Db_sanitize=thread",
                                     "-Db_lundef=false", *NO_NVCC],
             ["--timeout-multiplier", "5", *without("single"),
              *(word for suite in THREAD_SUITES for word in ("--suite", suite))]),
}
# clang 14 misreads where glibc keeps a thread's variables of a library that was opened later (OpenMP, with oneDNN), and
# its search for leaks then ends with a fault of its own; without the interception it does not look there.
# Freed memory waits until 16 MiB more are freed, not 256: the store's fault tests fork thousands of times, and each child
# has its own copy of every page that it writes.
SANITIZERS = {
    "ASAN_OPTIONS": "detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1:allocator_may_return_null=1:"
                    "intercept_tls_get_addr=0:quarantine_size_mb=16",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "TSAN_OPTIONS": "halt_on_error=1:allocator_may_return_null=1",
}
# It measures times against limits, so no other test runs beside it.
LIMITS = "tests/end_to_end/service/test_hostile_tenant.py"
ALONE = ("limits",)
ADDING = "tests/end_to_end/commands/test_adding.py::test_the_cases_of_a_diff_run"
PAGE = "tests/end_to_end/page"
PACKAGES = "tests/end_to_end/packages"
BY_NAME = ("looks", "adding", "page", "packages")
# Part: (whose binary, what pytest runs, more environment)
END_TO_END = {
    "nodes": ("plain", ["tests/end_to_end/nodes"], {}),
    "models": ("plain", ["tests/end_to_end/models"], {}),
    "service": ("plain", ["tests/end_to_end/service", f"--ignore={LIMITS}"], {}),
    "commands": ("plain", ["tests/end_to_end/commands", f"--deselect={ADDING}"], {}),
    "adding": ("plain", [ADDING], {}),
    "page": ("plain", [PAGE], {}),
    "packages": ("plain", [PACKAGES], {}),
    "hostile": ("asan", ["tests/end_to_end/commands/test_bad_input.py", "tests/end_to_end/commands/test_usage.py",
                         "tests/end_to_end/service/test_daemon_bad_input.py", "tests/end_to_end/service/test_isolation.py"],
                {"LAYOVER_MUTATIONS": "12"}),
    "limits": ("plain", [LIMITS], {}),
}
# Two parts that use the same build do not build at the same time: the second finds all of it done.
BUILDING = collections.defaultdict(threading.Lock)
# With nothing in the cache yet, each file would be preprocessed for the cache and once more for the compiler.
CACHING = {"CCACHE_DEPEND": "1"}
# A case's verdict; cmocka's summary ("[  FAILED  ] 1 test(s), listed below:", "[  ERROR   ] --- ...") is none.
CASE = re.compile(r"^\[ +(OK|FAILED|ERROR) +\] ([A-Za-z_]\S*)", re.MULTILINE)


class Count:
    def __init__(self):
        self.passed = 0
        self.failed = []

    def add(self, name, passed):
        if passed:
            self.passed += 1
        else:
            self.failed.append(name)

    def include(self, other):
        self.passed += other.passed
        self.failed += other.failed


def say(text):
    print(f"[{time.strftime('%H:%M:%S')}] {text}", flush=True)


def run_logged(name, command, environment=None):
    """Runs a command with its output in a log and says the processor time of its processes; returns (exit status, log path)."""
    path = os.path.join(LOGS, f"{name}.log")
    with open(path, "w", encoding="utf-8") as log:
        process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **(environment or {})}, stdout=log,
                                   stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    say(f"{name}: used {used.ru_utime + used.ru_stime:.0f} s of processors")
    return process.returncode, path


def show_end(path, lines=60):
    with open(path, encoding="utf-8", errors="replace") as log:
        sys.stdout.write("".join(log.readlines()[-lines:]))


def introspect(folder, what):
    return json.loads(subprocess.run(["meson", "introspect", what, folder], cwd=ROOT, check=True, capture_output=True,
                                     text=True).stdout)


def files_of(folder, targets, identities):
    """The names by which ninja builds those of the folder's targets that have these identities."""
    build_folder = os.path.join(ROOT, folder)
    return [os.path.relpath(name, build_folder) for target in targets if target["id"] in identities for name in target["filename"]]


def suites_of(options, word):
    return {value for before, value in zip(options, options[1:]) if before == word}


def is_run(test, options):
    """Whether `meson test` with these options runs a test."""
    suites = {suite.split(":")[-1] for suite in test["suite"]}
    chosen = suites_of(options, "--suite")
    return not suites & suites_of(options, "--no-suite") and (not chosen or bool(suites & chosen))


def objects_of(folder):
    """All objects that the C compiler makes in the folder, but for the benchmarks'."""
    lines = subprocess.run(["ninja", "-C", folder, "-t", "targets", "rule", "c_COMPILER"], cwd=ROOT, check=True,
                           capture_output=True, text=True).stdout.splitlines()
    return [line for line in lines if line.endswith(".o") and not line.startswith("bench/")]


def plain_targets(folder, options):
    """All of it, but for programs that only tests need which do not run."""
    targets, tests = introspect(folder, "--targets"), introspect(folder, "--tests")
    needed, unneeded = ({identity for test in tests if is_run(test, options) == runs for identity in test["depends"]}
                        for runs in (True, False))
    tested = {target["id"] for target in targets if target["defined_in"].startswith(os.path.join(ROOT, "tests", ""))}
    built = {target["id"] for target in targets if target["build_by_default"]} | needed
    return files_of(folder, targets, built - ((unneeded - needed) & tested))


def needed_targets(part):
    """What the tests that a part's build serves need. The plain build also makes all that is installed or measured, the
    sanitizer's that runs nearly all suites also compiles the rest, for the compiler's warnings, and links none of it."""
    folder, _, _, options = BUILDS[part]
    if part == "plain":
        return plain_targets(folder, options)
    programs = files_of(folder, introspect(folder, "--targets"),
                        {identity for test in introspect(folder, "--tests") if is_run(test, options)
                         for identity in test["depends"]})
    if any(builder == part for builder, _, _ in END_TO_END.values()):
        programs.append("tools/layover")
    return programs if "--suite" in options else programs + objects_of(folder)


def configure(part):
    """Makes the part's folder, or brings it to what the build files say now: (exit status, log path)."""
    folder, compiler, options, _ = BUILDS[part]
    if os.path.exists(os.path.join(ROOT, folder, "build.ninja")):
        return run_logged(f"{part}-setup", ["ninja", "-C", folder, "build.ninja"])
    shutil.rmtree(os.path.join(ROOT, folder), ignore_errors=True)
    cached = f"ccache {compiler}" if shutil.which("ccache") else compiler
    linker = {"CC_LD": "lld"} if compiler == "clang" else {}  # half of the time that GNU's takes, for 60 programs
    return run_logged(f"{part}-setup", ["meson", "setup", folder, *options], {"CC": cached, **linker})


def build(part, count, targets=None):
    """Builds what a part needs, or the named targets."""
    folder, compiler, _, _ = BUILDS[part]
    with BUILDING[folder]:
        say(f"{part}: building with {compiler} in {folder}/")
        status, log = configure(part)
        if status == 0:
            wanted = needed_targets(part) if targets is None else targets
            status, log = run_logged(f"{part}-build", ["ninja", "-C", folder, *wanted], CACHING)
    if status != 0:
        show_end(log)
        count.add(f"{part}: build ({log})", False)
    return status == 0


def count_meson_log(path, part, count):
    """Counts the cases that a test program names; a program that names none is one case."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            entry = json.loads(line)
            name, result = f"{part}: {entry['name']}", entry["result"]
            if result == "SKIP":
                continue
            cases = CASE.findall(f"{entry.get('stdout', '')}\n{entry.get('stderr', '')}")
            verdicts = {}
            for verdict, case in cases:
                if not verdict == "OK" or case not in verdicts:
                    verdicts[case] = verdict == "OK"
            for case, passed in verdicts.items():
                count.add(f"{name}: {case}", passed)
            succeeded = result in ("OK", "EXPECTEDFAIL")
            if not verdicts or (not succeeded and all(verdicts.values())):
                count.add(f"{name} ({result})", succeeded)


def memory_folder():
    """Where the tests' files are in memory, when there is room: thousands of homes are made, and a sync waits for the
    disk. What a power cut leaves is simulated by the tests themselves. None: the system's."""
    folder = "/dev/shm"
    roomy = os.path.isdir(folder) and os.access(folder, os.W_OK) and shutil.disk_usage(folder).free >= MEMORY_FOLDER_MIN
    return folder if roomy else None


def run_meson(part, count, testers):
    if build(part, count):
        test_meson(part, count, BUILDS[part][3], testers)


def test_meson(part, count, options, testers=TESTERS):
    """meson test with these words; counts what its log says."""
    folder = BUILDS[part][0]
    log = os.path.join(ROOT, folder, "meson-logs", "testlog.json")
    if os.path.exists(log):
        os.remove(log)
    say(f"{part}: testing")
    with tempfile.TemporaryDirectory(dir=memory_folder()) as temporary:
        status, output = run_logged(f"{part}-test", ["meson", "test", "-C", folder, "--no-rebuild", "--print-errorlogs",
                                                     "--num-processes", str(testers), *options], {**SANITIZERS, "TMPDIR": temporary})
    before = count.passed + len(count.failed)
    failed_before = len(count.failed)
    if os.path.exists(log):
        count_meson_log(log, part, count)
    if count.passed + len(count.failed) == before:
        count.add(f"{part}: no test ran ({output})", False)
    elif status != 0 and len(count.failed) == failed_before:
        count.add(f"{part}: meson test ended with {status} ({output})", False)
    if status != 0:
        show_end(output)


def run_looks(count):
    if build("plain", count, ["tests/kernels/test_kernel_looks"]):
        test_meson("plain", count, ["--suite", LOOKS_SUITE])


def run_end_to_end(part, count, testers):
    builder, targets, _ = END_TO_END[part]
    if build(builder, count):
        test_end_to_end(part, count, targets, testers)


def test_end_to_end(part, count, targets, testers=TESTERS):
    """pytest with these files; counts what its report says."""
    builder, _, environment = END_TO_END[part]
    say(f"{part}: running")
    report = os.path.join(LOGS, f"{part}.xml")
    if os.path.exists(report):
        os.remove(report)
    status, output = run_logged(
        part, [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
              "-o", "tmp_path_retention_policy=failed", "--numprocesses", str(min(testers, TESTERS_MAX)),
               "--dist", "loadfile", f"--junitxml={report}", *targets],
        {"LAYOVER_BIN": os.path.join(ROOT, BUILDS[builder][0], "tools", "layover"), **SANITIZERS, **environment})
    cases = xml.etree.ElementTree.parse(report).iter("testcase") if os.path.exists(report) else ()
    ran = 0
    for case in cases:
        if case.find("skipped") is None:
            ran += 1
            passed = case.find("failure") is None and case.find("error") is None
            count.add(f"{part}: {case.get('classname')}.{case.get('name')}", passed)
    if ran == 0:
        count.add(f"{part}: no test ran ({output})", False)
    if status != 0:
        show_end(output, 120)


def run_changed(count):
    paths = changed_tests.changed_files()
    say(f"changed: {len(paths)} files")
    if not build("plain", count, ["build.ninja"]):  # the build files may have changed
        return
    folder = BUILDS["plain"][0]
    tests, targets = introspect(folder, "--tests"), introspect(folder, "--targets")
    chosen = changed_tests.select(paths, targets, tests)
    for name in chosen.left_out:
        say(f"left out, takes too long: {name}; 'tools/test' runs it")
    needed = {target for test in tests if test["name"] in chosen.tests for target in test["depends"]}
    needed |= {target for target, sources in changed_tests.own_sources(targets).items() if sources & set(paths)}
    files = files_of(folder, targets, needed) + (["tools/layover"] if chosen.end_to_end else [])
    if files and not build("plain", count, files):
        return
    test_meson("plain", count, chosen.tests)
    if chosen.end_to_end:
        test_end_to_end("end_to_end", count, chosen.end_to_end)


def run_part(part, testers):
    """What the part counted."""
    count, begin = Count(), time.monotonic()
    if part == "looks":
        run_looks(count)
    elif part in END_TO_END:
        run_end_to_end(part, count, testers)
    else:
        run_meson(part, count, testers)
    say(f"{part}: took {time.monotonic() - begin:.0f} s")
    return count


def order_of(parts):
    """(the parts that may run side by side, those that run alone behind them), each once."""
    parts = list(dict.fromkeys(parts))
    return [part for part in parts if part not in ALONE], [part for part in parts if part in ALONE]


def run_all(parts, count):
    beside, alone = order_of(parts)
    testers = TESTERS if len(beside) < 2 else TESTERS_BESIDE
    with concurrent.futures.ThreadPoolExecutor(LANES) as lanes:
        for counted in lanes.map(lambda part: run_part(part, testers), beside):
            count.include(counted)
    for part in alone:
        count.include(run_part(part, TESTERS))


def main():
    known = (*BUILDS, *END_TO_END, "looks")
    only_changed = sys.argv[1:] == ["--changed"]
    parts = () if only_changed else sys.argv[1:] or [part for part in known if part not in BY_NAME]
    unknown = [part for part in parts if part not in known]
    if unknown:
        sys.exit(f"run_tests.py: {unknown[0]}: no such part; there are {', '.join(known)}; or --changed")
    os.makedirs(LOGS, exist_ok=True)
    count = Count()
    if only_changed:
        run_changed(count)
    else:
        run_all(parts, count)
    for name in count.failed:
        print(f"FAILED {name}")
    if count.passed == 0 and not count.failed:
        count.failed.append("nothing ran")
    print(f"{count.passed} passed, {len(count.failed)} failed", flush=True)
    sys.exit(1 if count.failed else 0)


if __name__ == "__main__":
    main()
