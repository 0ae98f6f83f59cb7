# tests/package/clean_root.py: a small Debian in a folder, with packages copied from this machine and no others.
#
# The folder has the files of the essential packages, of those that are asked for and of all that they depend on, and
# dpkg's database of just these, so that `dpkg --install` in it refuses a package that does not say what it needs. No
# network is used. Root is needed, as for any chroot.
import os
import re
import shutil
import subprocess
from pathlib import Path

INFO = Path("/var/lib/dpkg/info")
FIELDS = ("Package", "Architecture", "Essential", "Multi-Arch", "Pre-Depends", "Depends", "Provides")


def missing():
    """Why no root can be made here, or nothing."""
    if os.geteuid() != 0:
        return "a root to install packages into needs to be made by root"
    for tool in ("dpkg-query", "unshare", "chroot"):
        if not shutil.which(tool):
            return f"{tool} is missing"
    return ""


def names_of(field):
    """A field such as Depends as a list of alternatives, by name."""
    groups = (group.split("|") for group in field.split(",") if group.strip())
    return [[re.split(r"[\s(:]", one.strip(), maxsplit=1)[0] for one in group] for group in groups]


class Machine:
    """The packages that are installed here."""

    def __init__(self):
        form = "\\x1f".join("${%s}" % field for field in FIELDS) + "\\x1f${db:Status-Status}\\x1e"
        shown = subprocess.run(["dpkg-query", "-W", "-f", form.replace("\\x1f", "\x1f").replace("\\x1e", "\x1e")],
                               capture_output=True, text=True, check=True).stdout
        self.packages, self.providers = {}, {}
        for record in filter(None, shown.split("\x1e")):
            *values, status = record.split("\x1f")
            if status != "installed":
                continue
            package = dict(zip(FIELDS, values))
            self.packages[package["Package"]] = package
            for group in names_of(package["Provides"]):
                self.providers.setdefault(group[0], package["Package"])

    def found(self, name):
        return name if name in self.packages else self.providers.get(name)

    def closure(self, groups):
        """The names of the essential packages, and of these and all that they depend on."""
        pending = [[name] for name, package in self.packages.items() if package["Essential"] == "yes"] + list(groups)
        chosen = set()
        while pending:
            group = pending.pop()
            name = next(filter(None, map(self.found, group)), None)
            if name is None:
                raise LookupError(f"{' | '.join(group)} is not installed on this machine")
            if name not in chosen:
                chosen.add(name)
                pending += names_of(self.packages[name]["Pre-Depends"]) + names_of(self.packages[name]["Depends"])
        return sorted(chosen)

    def info_name(self, name):
        """What the files of a package in dpkg's folder begin with."""
        qualified = f"{name}:{self.packages[name]['Architecture']}"
        return qualified if (INFO / f"{qualified}.list").exists() else name


def copy_files(paths, root):
    listed = "\0".join(path.lstrip("/") or "." for path in paths)
    packed = subprocess.Popen(["tar", "-C", "/", "--no-recursion", "--null", "-T", "-", "-c", "--ignore-failed-read"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    unpacked = subprocess.Popen(["tar", "-C", root, "-xp", "--keep-directory-symlink", "--numeric-owner"], stdin=packed.stdout)
    packed.stdin.write(listed.encode())
    packed.stdin.close()
    if unpacked.wait():
        raise RuntimeError("the files of packages could not be copied")


def stanzas(names):
    text = subprocess.run(["dpkg-query", "-s", *names], capture_output=True, text=True, check=True).stdout
    return text if text.endswith("\n\n") else text + "\n"


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
        paths += [line for line in (INFO / f"{begin}.list").read_text(encoding="utf-8").splitlines() if os.path.lexists(line)]
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
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8", "HOME": "/root"}
    done = subprocess.run(command(root, *words), env=environment, capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL, **options)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, words))}\nended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout
