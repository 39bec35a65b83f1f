"""test_installed.py BUILD SOURCE CC CXX PKG_CONFIG: the examples in C and C++ are built against the installed library, as a
user does it with pkg-config, and give the same output: one in its own process, one as a job of an installed daemon."""
import os
import shlex
import subprocess
import sys
import tempfile
import time

READY_S = 60
STRICT = ["-Wall", "-Wextra", "-Werror", "-O1"]


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{' '.join(map(str, command))}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def find(root, name):
    return next(os.path.join(folder, name) for folder, _, files in os.walk(root) if name in files)


def install(build, root):
    run("meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", root,
        "--tags", "devel,runtime")


def flags(pkg_config, root):
    """What pkg-config says about the installed tree, and the environment to run programs of it."""
    folder = os.path.dirname(find(root, "layover.pc"))
    environment = {**os.environ, "PKG_CONFIG_PATH": folder, "PKG_CONFIG_SYSROOT_DIR": root,
                   "PKG_CONFIG_ALLOW_SYSTEM_CFLAGS": "1"}
    words = shlex.split(run(pkg_config, "--cflags", "--libs", "layover", env=environment))
    return words, {**os.environ, "LD_LIBRARY_PATH": os.path.dirname(find(root, "liblayover.so.0"))}


def serve(root, home, environment):
    """A daemon of the installed tree, that answers at the socket of its home."""
    program = find(root, "layover")
    daemon = subprocess.Popen([program, "--home", home, "serve", "--device", "cpu"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, env=environment)
    end = time.monotonic() + READY_S
    while not os.path.exists(os.path.join(home, "daemon")):
        assert daemon.poll() is None and time.monotonic() < end, "the daemon did not begin"
        time.sleep(0.01)
    return daemon


def output_of(text):
    return text.split(" = ")[1].strip()


def main():
    build, source, cc, cxx, pkg_config = sys.argv[1:]
    examples, model = os.path.join(source, "examples"), os.path.join(source, "examples", "loop", "loop.onnx")
    with tempfile.TemporaryDirectory() as folder:
        root, home = os.path.join(folder, "root"), os.path.join(folder, "home")
        install(build, root)
        words, environment = flags(pkg_config, root)
        programs = {}
        for name, compiler, standard in (("c/stop_and_go_on.c", cc, "-std=c11"), ("cpp/submit_job.cpp", cxx, "-std=c++17")):
            programs[name] = os.path.join(folder, os.path.basename(name) + ".program")
            run(*shlex.split(compiler), standard, *STRICT, os.path.join(examples, name), *words, "-o", programs[name])
        alone = run(programs["c/stop_and_go_on.c"], model, env=environment)
        daemon = serve(root, home, environment)
        try:
            job = run(programs["cpp/submit_job.cpp"], model, os.path.join(home, "socket"), env=environment)
        finally:
            daemon.terminate()
            daemon.wait()
    assert job.startswith("job: suspended\njob: succeeded\ny[0] = "), job
    assert output_of(alone) == output_of(job), (alone, job)
    print(alone + job)


if __name__ == "__main__":
    main()
