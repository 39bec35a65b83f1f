"""The Debian packages: built, checked by lintian, installed in a bare Debian 12, used, upgraded and purged."""
import glob
import json
import os
import shlex
import shutil
import socket
import subprocess
import time
import urllib.request

import pytest
from bare_debian import BareDebian
from harness import ROOT

FOLDER = os.path.join(ROOT, ".cache", "packages")
HOME = "/var/lib/layover"
TOOLS = ("dpkg-buildpackage", "dh", "dh_python3", "lintian", "debootstrap", "fakeroot")
LOOP = os.path.join(ROOT, "examples", "loop")


def call(*words, cwd=None, **environment):
    done = subprocess.run(words, cwd=cwd, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout[-4000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def tools():
    assert os.geteuid() == 0, "packages are installed in a chroot: run this part as root"
    if missing := [name for name in TOOLS if not shutil.which(name)]:
        call("apt-get", "-qq", "update")
        call("apt-get", "-qq", "install", "-y", "--no-install-recommends", "debhelper", "dh-python", "lintian", "debootstrap",
             "fakeroot", DEBIAN_FRONTEND="noninteractive")
        assert all(shutil.which(name) for name in missing)


@pytest.fixture(scope="module")
def packages(tools):
    """Built from a copy of the tree, or those in the folder LAYOVER_PACKAGES: {name: file}"""
    if built := os.environ.get("LAYOVER_PACKAGES"):
        return {os.path.basename(file).split("_")[0]: file for file in glob.glob(os.path.join(built, "*.deb"))}
    source = os.path.join(FOLDER, "layover")
    shutil.rmtree(source, ignore_errors=True)
    for file in glob.glob(os.path.join(FOLDER, "*.deb")):
        os.remove(file)
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, listed):
        if os.path.isfile(os.path.join(ROOT, name)):
            os.makedirs(os.path.dirname(os.path.join(source, name)), exist_ok=True)
            shutil.copy2(os.path.join(ROOT, name), os.path.join(source, name))
    call("dpkg-buildpackage", "-us", "-uc", "-b", "-Ppkg.layover.nocuda", cwd=source,
         PATH="/usr/lib/ccache:" + os.environ["PATH"],
         DEB_BUILD_OPTIONS=f"noautodbgsym parallel={os.cpu_count()}")
    return {os.path.basename(file).split("_")[0]: file for file in glob.glob(os.path.join(FOLDER, "*.deb"))}


@pytest.fixture(scope="module")
def bare(tools):
    debian = BareDebian(os.path.join(FOLDER, "bare"))
    debian.make()
    with debian.mounted():
        debian.run("apt-get", "-qq", "update")
        yield debian


class Service:
    """The daemon with the command, the user and the folders that the installed unit names."""

    def __init__(self, debian, *more):
        with open(debian.path("lib/systemd/system/layover.service"), encoding="utf-8") as file:
            rows = dict(line.split("=", 1) for line in file.read().splitlines() if "=" in line and not line.startswith("#"))
        for folder, name in (("var/lib", "StateDirectory"), ("var/log", "LogsDirectory")):
            path = os.path.join("/", folder, rows[name])
            debian.run("install", "-d", "-o", rows["User"], "-g", rows["Group"], "-m", rows[f"{name}Mode"], path)
        words = shlex.split(rows["ExecStart"].replace("%S", "/var/lib").replace("%L", "/var/log"))
        self.debian, self.user = debian, rows["User"]
        self.process = subprocess.Popen(debian.command(*words, *more, user=self.user))
        while self.process.poll() is None and not self.answers():
            time.sleep(0.05)

    def answers(self):
        return subprocess.run(self.debian.command("layover", "--home", HOME, "top", "--once", user=self.user),
                              capture_output=True, check=False).returncode == 0

    def layover(self, *words):
        return self.debian.run("layover", "--home", HOME, *words, user=self.user)

    def end(self):
        """As systemd does; returns the exit code."""
        self.process.terminate()
        return self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def install(debian, *files):
    for file in files:
        shutil.copy(file, debian.path("root"))
    debian.run("apt-get", "-qq", "install", "-y", "--no-install-recommends",
               *(f"/root/{os.path.basename(file)}" for file in files))


def renumbered(file, folder, version):
    """The package as it was in another version."""
    call("dpkg-deb", "-R", file, f"{folder}/package")
    with open(f"{folder}/package/DEBIAN/control", encoding="utf-8") as control:
        lines = [f"Version: {version}" if line.startswith("Version: ") else line for line in control.read().splitlines()]
    with open(f"{folder}/package/DEBIAN/control", "w", encoding="utf-8") as control:
        control.write("\n".join(lines) + "\n")
    return call("dpkg-deb", "-b", f"{folder}/package", folder).split("'")[-2]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def test_lintian_finds_nothing(packages):
    assert set(packages) == {"layover", "liblayover0", "liblayover-dev", "python3-layover"}
    assert call("lintian", "--allow-root", "--fail-on", "error,warning", *packages.values()) == ""


def test_a_life_in_a_bare_debian(packages, bare, tmp_path):
    before = bare.files()
    install(bare, renumbered(packages["layover"], tmp_path, "0.0.9"))
    shutil.copytree(LOOP, bare.path("srv/loop"))
    with Service(bare) as service:
        service.layover("register", "loop", "/srv/loop/loop.onnx")
        job = service.layover("submit", "loop", "--input", "/srv/loop/in.npz").split()[0]
        service.layover("suspend", job)
        assert service.end() == 0
    install(bare, packages["layover"], packages["python3-layover"], packages["liblayover-dev"], packages["liblayover0"])
    assert bare.run("layover", "--version") == f"layover {bare.run('python3', '-c', 'import layover; print(layover.__version__)')}"
    with Service(bare) as service:
        assert json.loads(service.layover("job", job, "--json"))["state"] == "suspended"
        service.layover("resume", job)
        service.layover("watch", job)
        job_output = f"{HOME}/job.npz"
        service.layover("result", job, "-o", job_output)
        service.layover("run", "loop", "--input", "/srv/loop/in.npz", "--output", f"{HOME}/run.npz")
        with open(bare.path(job_output), "rb") as one, open(bare.path(f"{HOME}/run.npz"), "rb") as other:
            assert one.read() == other.read()
        assert service.end() == 0
    bare.run("apt-get", "-qq", "purge", "-y", "layover", "python3-layover", "liblayover-dev", "liblayover0")
    bare.run("apt-get", "-qq", "autoremove", "--purge", "-y")
    shutil.rmtree(bare.path("srv/loop"))
    left = bare.files() - before
    assert left and all(name.startswith(HOME[1:]) for name in left), sorted(left)
    assert "layover" in bare.run("stat", "-c", "%U", HOME)


def test_prometheus_scrapes_the_daemon(packages, bare):
    install(bare, packages["layover"])
    bare.run("apt-get", "-qq", "install", "-y", "--no-install-recommends", "prometheus")
    at, port = free_port(), free_port()
    with Service(bare, "--listen", f"127.0.0.1:{at}") as service:
        token = json.loads(service.layover("token", "create", "--role", "admin", "--json"))["token"]
        bare.write("srv/token", token)
        bare.write("srv/prometheus.yml", f"""
scrape_configs:
  - job_name: layover
    scrape_interval: 1s
    authorization: {{credentials_file: /srv/token}}
    static_configs: [{{targets: ["127.0.0.1:{at}"]}}]
""")
        request = urllib.request.Request(f"http://127.0.0.1:{at}/metrics", headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request) as answer:
            text = answer.read()
        checked = subprocess.run(bare.command("promtool", "check", "metrics"), input=text, capture_output=True, check=False)
        assert checked.returncode == 0 and checked.stderr == b"", checked.stderr.decode()
        server = subprocess.Popen(bare.command(
            "prometheus", "--config.file=/srv/prometheus.yml", "--storage.tsdb.path=/srv/tsdb", "--log.level=error",
            f"--web.listen-address=127.0.0.1:{port}"))
        try:
            found = []
            while server.poll() is None and not found:
                try:
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?query=layover_jobs") as answer:
                        found = json.load(answer)["data"]["result"]
                except OSError:
                    pass  # it starts
                time.sleep(0.1)
            assert {"running", "queued", "suspended"} <= {row["metric"]["state"] for row in found}
        finally:
            server.kill()
            server.wait()
