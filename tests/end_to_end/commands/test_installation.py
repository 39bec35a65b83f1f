"""What `meson install` puts where: each file that users, shells, compilers, systemd and man look for."""
import glob
import json
import os
import re
import subprocess

import pytest

from harness import binary

BUILD = os.path.dirname(os.path.dirname(binary()))
FILES = {
    "bin/layover", "include/layover.h", "include/layover_jobs.h", "LIB/liblayover.so", "LIB/liblayover.so.0", "LIB/layover/liblayover-cuda.so",
    "LIB/pkgconfig/layover.pc", "lib/systemd/system/layover.service", "lib/sysusers.d/layover.conf",
    "share/bash-completion/completions/layover.bash", "share/fish/vendor_completions.d/layover.fish",
    "share/layover/layover.rules.yml", "share/layover/layover-dashboard.json", "share/zsh/site-functions/_layover", "share/man/man1/layover.1",
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """(folder that stands for the root, folder of the prefix below it, {installed file})"""
    folder = str(tmp_path_factory.mktemp("installed"))
    with open(os.path.join(BUILD, "meson-info", "intro-buildoptions.json"), encoding="utf-8") as file:
        options = {option["name"]: option["value"] for option in json.load(file)}
    subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", folder], check=True)
    prefix = folder + options["prefix"]
    files = {os.path.relpath(os.path.join(at, name), prefix) for at, _, names in os.walk(folder) for name in names}
    return folder, prefix, {re.sub(f"^{options['libdir']}/", "LIB/", file) for file in files}


def read(prefix, name):
    with open(glob.glob(os.path.join(prefix, name))[0], encoding="utf-8") as file:
        return file.read()


def test_the_files_of_an_installation(installed):
    _, prefix, files = installed
    documents = {file for file in files if file.startswith("share/doc/layover/")}
    package = {file for file in files if "-packages/layover/" in file}
    assert files - documents - package == FILES
    assert {"share/doc/layover/daemon.md", "share/doc/layover/operations.md"} <= documents
    assert not package or any(file.endswith("/layover/_layover.abi3.so") for file in package)
    assert read(prefix, "share/man/man1/layover.1").startswith(".TH LAYOVER 1 ")


def test_the_unit_and_its_user_fit_each_other(installed):
    folder, prefix, _ = installed
    unit = read(prefix, "lib/systemd/system/layover.service")
    user = re.search(r"^User=(\w+)$", unit, re.MULTILINE)[1]
    assert re.search(rf"^u {user} - ", read(prefix, "lib/sysusers.d/layover.conf"), re.MULTILINE)
    for path in re.findall(r"file:(\S+)", unit) + re.findall(r"^ExecStart=(\S+)", unit, re.MULTILINE):
        assert os.path.exists(folder + path), path


def test_a_program_is_compiled_with_what_is_installed(installed, tmp_path):
    _, prefix, _ = installed
    source = tmp_path / "version.c"
    source.write_text('#include <layover.h>\n#include <string.h>\n'
                      'int main(void) { return strcmp(layover_version(), LAYOVER_VERSION) != 0; }\n')
    folder = os.path.dirname(glob.glob(f"{prefix}/**/layover.pc", recursive=True)[0])
    words = subprocess.run(["pkg-config", f"--define-variable=prefix={prefix}", "--cflags", "--libs", "layover"], check=True,
                           capture_output=True, text=True, env={**os.environ, "PKG_CONFIG_PATH": folder}).stdout.split()
    subprocess.run(["cc", "-o", tmp_path / "version", source, *words], check=True)
    subprocess.run([tmp_path / "version"], check=True, env={**os.environ, "LD_LIBRARY_PATH": os.path.dirname(folder)})
