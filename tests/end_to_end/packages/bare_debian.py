"""A bare Debian 12 in a folder, made by debootstrap, and processes in it. Needs root."""
import contextlib
import os
import shutil
import subprocess

MIRROR = os.environ.get("LAYOVER_DEBIAN_MIRROR", "http://deb.debian.org/debian")
# What a package manager and the packages that others depend on write beside their files.
BOOKKEEPING = ("var/lib/dpkg/", "var/lib/apt/", "var/cache/", "var/log/apt/", "var/log/dpkg.log", "var/log/alternatives.log",
               "var/lib/systemd/", "etc/ld.so.cache", "etc/passwd", "etc/shadow", "etc/group", "etc/gshadow", "etc/.pwd.lock",
               "etc/machine-id", "etc/mtab", "proc/", "dev/", "sys/", "tmp/", "run/", "root/")


class BareDebian:
    def __init__(self, folder):
        self.folder = folder

    def make(self):
        """From an archive of the packages that an earlier call fetched, if there is one."""
        archive = f"{self.folder}.tar"
        shutil.rmtree(self.folder, ignore_errors=True)
        if not os.path.exists(archive):
            shutil.rmtree(f"{self.folder}.new", ignore_errors=True)
            _call("debootstrap", "--variant=minbase", "bookworm", f"{self.folder}.new", MIRROR)
            _call("tar", "-C", f"{self.folder}.new", "-cf", f"{archive}.new", ".")
            os.rename(f"{archive}.new", archive)
            shutil.rmtree(f"{self.folder}.new")
        os.makedirs(self.folder)
        _call("tar", "-C", self.folder, "-xpf", archive)
        # No script of a package starts a service.
        self.write("usr/sbin/policy-rc.d", "#!/bin/sh\nexit 101\n", 0o755)

    @contextlib.contextmanager
    def mounted(self):
        _call("mount", "-t", "proc", "proc", f"{self.folder}/proc")
        try:
            yield self
        finally:
            _call("umount", f"{self.folder}/proc")

    def path(self, name):
        return os.path.join(self.folder, name.lstrip("/"))

    def write(self, name, text, mode=0o644):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.path(name), mode)

    def command(self, *words, user=None):
        """The words of a command in this Debian, as one of its users."""
        identity = ("setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--no-new-privs") if user else ()
        return ["chroot", self.folder, "/usr/bin/env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C.UTF-8",
                "DEBIAN_FRONTEND=noninteractive", *identity, *words]

    def run(self, *words, user=None):
        return _call(*self.command(*words, user=user))

    def files(self):
        """{file or link}, without what the package manager keeps."""
        found = set()
        for at, _, names in os.walk(self.folder):
            below = os.path.relpath(at, self.folder)
            found |= {os.path.normpath(os.path.join(below, name)) for name in names}
        return {name for name in found if not name.startswith(BOOKKEEPING)}


def _call(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout[-4000:]}"
    return done.stdout
