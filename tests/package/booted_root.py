# tests/package/booted_root.py: boots systemd in a root that clean_root has made, as the first process of its own processes,
# mounts, network and control groups: units run there as on a machine. Root is needed, and a kernel with cgroup2.
import contextlib
import shutil
import subprocess
import time
from pathlib import Path

import clean_root

PACKAGES = [["systemd"]]
NAMESPACES = ["--mount", "--pid", "--uts", "--ipc", "--net", "--cgroup"]
DEVICES = "null zero full random urandom tty"
# It may do nothing that concerns the machine as a whole.
DROPPED = "-sys_module,-sys_time,-sys_boot,-syslog,-audit_control"
# A group of control for all of it, which becomes the root of what it sees. $0: its name; $1: the root.
ENTER_GROUP = f"""set -e
mount -t cgroup2 none /mnt
mkdir /mnt/"$0"
echo $$ >/mnt/"$0"/cgroup.procs
umount /mnt
exec unshare {" ".join(NAMESPACES)} --fork --kill-child sh -c "$2" "$1"
"""
# $0: the root. A unit with PrivateDevices wants a terminal multiplexer as well.
BOOT = f"""set -e
mount --bind "$0" "$0"
cd "$0"
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 none sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=755 tmpfs dev
for device in {DEVICES}; do touch dev/$device; mount --bind /dev/$device dev/$device; done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts
ln -s pts/ptmx dev/ptmx
mkdir -p mnt
pivot_root . mnt
umount -l /mnt
exec env -i container=test PATH=/usr/sbin:/usr/bin setpriv --bounding-set={DROPPED} /lib/systemd/systemd --log-target=journal
"""
LEAVE_GROUP = 'mount -t cgroup2 none /mnt && find /mnt/"$0" -depth -type d -exec rmdir {} +'


def outside(script, *words):
    """The words that run a script with mounts of its own."""
    return ["unshare", "--mount", "sh", "-c", script, *map(str, words)]


def missing():
    """Why no root can be booted here, or nothing."""
    reason = clean_root.missing()
    if reason:
        return reason
    for tool in ("nsenter", "pivot_root", "setpriv", "curl"):
        if not shutil.which(tool):
            return f"{tool} is missing"
    for package, in PACKAGES:
        if not (clean_root.INFO / f"{package}.list").exists():
            return f"the package {package} is missing"
    tried = subprocess.run(outside(f"mount -t cgroup2 none /mnt && unshare {' '.join(NAMESPACES)} true"), capture_output=True,
                           text=True, check=False)
    return f"systemd cannot be booted in a folder here: {tried.stderr.strip()}" if tried.returncode else ""


def until(reached, seconds=120):
    """Whether that came to be."""
    end = time.monotonic() + seconds
    while not reached():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


class Booted:
    """A root whose systemd has started all that is enabled."""

    def __init__(self, root, process):
        self.root = root
        self.pid = None
        if not until(lambda: self.has_child(process) and self.is_up()):
            raise RuntimeError(f"systemd did not come up; its unit failed: {self.status('systemctl', 'list-units', '--failed')}")

    def has_child(self, process):
        if process.poll() is not None:
            raise RuntimeError("systemd did not start: " + process.stderr.read())
        found = subprocess.run(["pgrep", "--parent", str(process.pid)], capture_output=True, text=True, check=False).stdout.split()
        self.pid = found[0] if found else None
        return bool(found)

    def is_up(self):
        return self.status("systemctl", "is-system-running")[1].strip() in ("running", "degraded")

    def command(self, *words):
        enter = ["nsenter", "--target", self.pid, *NAMESPACES, "--root", "--wd"]
        return [*enter, *map(str, words)]

    def status(self, *words):
        """The exit status of a program in the root, and what it printed."""
        done = subprocess.run(self.command(*words), env=clean_root.ENVIRONMENT, capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout + done.stderr

    def run(self, *words):
        status, printed = self.status(*words)
        if status:
            journal = self.status("journalctl", "--no-pager", "--lines", "30")[1]
            raise RuntimeError(f"{' '.join(map(str, words))}\nended with {status}:\n{printed}\n{journal}")
        return printed

    def ask(self, url, body=None):
        """The answer of a server in the root; curl is that of this machine."""
        data = [] if body is None else ["--json", body]
        done = subprocess.run(["nsenter", "--target", self.pid, "--net", "curl", "--silent", "--show-error", "--fail", *data, url],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{url} did not answer: {done.stderr}")
        return done.stdout


@contextlib.contextmanager
def booted(root):
    """The root with systemd at work; all of it ends with the block."""
    (root / "etc/machine-id").write_text("0123456789abcdef0123456789abcdef\n", encoding="ascii")  # as after the first boot
    group = f"braid_test_{Path(root).stat().st_ino}"
    with subprocess.Popen(outside(ENTER_GROUP, group, root, BOOT), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True) as process:
        try:
            yield Booted(root, process)
        finally:
            process.kill()
    # The processes end a little later than the first of them.
    until(lambda: subprocess.run(outside(LEAVE_GROUP, group), capture_output=True, check=False).returncode == 0, 20)
