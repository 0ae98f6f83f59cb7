# tests/package/clean_root.py: a small Debian in a folder, with packages copied from this machine and no others.
#
# The folder has the files of the essential packages, of those that are asked for and of all that they depend on, and
# dpkg's database of just these, so that `dpkg --install` in it refuses a package that does not say what it needs. No
# network is used. Root is needed, as for any chroot.
import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from machinelib import INFO, Machine, names_of, stanzas  # noqa: E402, F401

ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8", "HOME": "/root"}


def missing():
    """Why no root can be made here, or nothing."""
    if os.geteuid() != 0:
        return "a root to install packages into needs to be made by root"
    for tool in ("dpkg-query", "unshare", "chroot"):
        if not shutil.which(tool):
            return f"{tool} is missing"
    return ""


def copy_files(paths, root):
    listed = "\0".join(path.lstrip("/") or "." for path in paths)
    packed = subprocess.Popen(["tar", "-C", "/", "--no-recursion", "--null", "-T", "-", "-c", "--ignore-failed-read"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    unpacked = subprocess.Popen(["tar", "-C", root, "-xp", "--keep-directory-symlink", "--numeric-owner"], stdin=packed.stdout)
    packed.stdin.write(listed.encode())
    packed.stdin.close()
    if unpacked.wait():
        raise RuntimeError("the files of packages could not be copied")


def make(root, groups):
    """Fills the folder `root`; `groups` as names_of gives them."""
    machine = Machine()
    names = machine.closure(groups)
    root.mkdir(parents=True)
    for folder in ("bin", "sbin", "lib", "lib64"):
        if Path("/", folder).is_symlink():
            (root / folder).symlink_to(f"usr/{folder}")
            (root / "usr" / folder).mkdir(parents=True, exist_ok=True)
    paths = ["/etc/alternatives"] + [f"/etc/alternatives/{name}" for name in os.listdir("/etc/alternatives")]
    paths += ["/usr/bin/awk", "/usr/bin/pager"]  # links to these, which no package owns
    paths += map(str, Path("/etc/pam.d").glob("common-*"))
    infos = []
    for name in names:
        begin = machine.info_name(name)
        paths += machine.files(name)
        infos += [str(file) for file in INFO.glob(f"{begin}.*")]
    copy_files(dict.fromkeys(paths), root)
    dpkg = root / "var/lib/dpkg"
    for folder in ("info", "updates", "triggers", "alternatives", "parts"):
        (dpkg / folder).mkdir(parents=True, exist_ok=True)
    for info in (*infos, str(INFO / "format")):
        shutil.copy2(info, dpkg / "info")
    qualified = [machine.info_name(name) for name in names]
    (dpkg / "status").write_text(stanzas(qualified), encoding="utf-8")
    for name in ("passwd", "group"):
        shutil.copy(f"/usr/share/base-passwd/{name}.master", root / "etc" / name)
    (root / "etc/shadow").write_text("root:*:1::::::\n", encoding="utf-8")
    for folder in ("proc", "dev", "tmp", "run", "sys"):
        (root / folder).mkdir(exist_ok=True)
    (root / "tmp").chmod(0o1777)
    inside(root, "ldconfig")
    return names


def command(root, *words):
    """The words that run a program in the root, with processes and devices of its own view."""
    mounts = "mount --bind /dev \"$0/dev\" && mount -t proc proc \"$0/proc\" && exec chroot \"$0\" \"$@\""
    return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", mounts, str(root), *map(str, words)]


def inside(root, *words, **options):
    """Runs a program in the root; what it printed. Fails where it does."""
    done = subprocess.run(command(root, *words), env=ENVIRONMENT, capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL, **options)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, words))}\nended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout
