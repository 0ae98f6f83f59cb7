# tests/package/debian.py: builds the Debian packages, and installs, uses, upgrades, removes and purges them in a small
# Debian that has what they depend on and nothing else. Exit status 77: skipped, with the reason.
#
#   python3 tests/package/debian.py [--packages DIR]     DIR: packages that are there already
import argparse
import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

import clean_root
from checks import must, run

SOURCES = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCES / "tools"))
from packagelib import minor_version  # noqa: E402

CONFFILE, UNIT, PROJECT = "etc/default/rankd", "lib/systemd/system/rankd.service", "/var/lib/rankd"
WANTED = "etc/systemd/system/multi-user.target.wants/rankd.service"


def field(package, name):
    return run("dpkg-deb", "--field", package, name).strip()


def files_of(root):
    """All that a package could leave behind; what dpkg, adduser and ldconfig write for themselves is none of it."""
    own = re.compile(r"(var/(lib/dpkg|log|cache)|proc|dev|run|tmp|etc/(passwd|group|shadow|gshadow|subuid|subgid)-?$|etc/ld\.so\.cache"
                     r"|var/lib/systemd/deb-systemd-helper-enabled$|etc/\.pwd\.lock)")
    listed = subprocess.run(["find", root, "-xdev", "-printf", "%P\n"], capture_output=True, text=True, check=True).stdout
    return {name for name in listed.splitlines() if not own.match(name)}


def check_lintian(folder):
    if not shutil.which("lintian"):
        print("skipped: lintian is missing, so the packages are not checked by it")
        return
    run("lintian", "--fail-on", "error", "--allow-root", *folder.glob("*.changes"))


def use_library(root):
    """A program by pkg-config in the root, and one by the CMake package from outside."""
    (root / "tmp/program.cpp").write_text((SOURCES / "tests/install/program.cpp").read_text(encoding="utf-8"), encoding="utf-8")
    clean_root.inside(root, "sh", "-c", "g++-12 -std=c++23 /tmp/program.cpp $(pkg-config --cflags --libs braid) -o /tmp/program")
    must(clean_root.inside(root, "/tmp/program") == "42\nTLS\n", "a program that was compiled by pkg-config does not work")
    build = root / "tmp/by_cmake"
    found = run("cmake", "-S", SOURCES / "tests/install/package", "-B", build, "-DCMAKE_CXX_COMPILER=g++-12",
                f"-DCMAKE_PREFIX_PATH={root}/usr", "-DCMAKE_BUILD_TYPE=Release")
    cache = (build / "CMakeCache.txt").read_text(encoding="utf-8")
    must(f"braid_DIR:PATH={root}/usr/lib/" in cache, "the CMake package of the root was not found")
    must(clean_root.inside(root, "braid-doctor", "--json").startswith("{"), "braid-doctor does not work")


def service(root):
    """The command of the unit, as its user, with the variables of the unit and of the conffile."""
    unit = (root / UNIT).read_text(encoding="utf-8")
    line = re.search(r"^ExecStart=(.*)$", unit, re.MULTILINE)[1]
    user = re.search(r"^User=(.*)$", unit, re.MULTILINE)[1]
    variables = [word for words in re.findall(r"^Environment=(.*)$", unit, re.MULTILINE) for word in shlex.split(words)]
    variables += shlex.split((root / CONFFILE).read_text(encoding="utf-8"), comments=True)
    values = dict(variable.split("=", 1) for variable in variables)
    words = re.sub(r"\$\{?(\w+)\}?", lambda found: values[found[1]], line).split()
    return as_user(root, user, *words)


def as_user(root, user, *words):
    return clean_root.command(root, "setpriv", "--reuid", user, "--regid", user, "--clear-groups", "--no-new-privs",
                              "--bounding-set=-all", *words)


@contextlib.contextmanager
def serving(root):
    """The address of the running service; it must end well by SIGTERM."""
    with subprocess.Popen(service(root), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline()
            must("listening on http://" in line, f"the service did not start: {line}")
            yield line.split()[-1]
        finally:
            inner = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=False).stdout.split()
            for pid in inner:
                os.kill(int(pid), signal.SIGTERM)
            process.communicate(timeout=60)


def ask(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"} if data else {})
    with urllib.request.urlopen(request, timeout=60) as response:
        return response.read().decode()


def use_rankd(root):
    """The demo as the administrator would set it up; the conffile takes any free port."""
    conffile = root / CONFFILE
    conffile.write_text(re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:0", conffile.read_text(encoding="utf-8")), encoding="utf-8")
    for words in (("init", "demo", PROJECT), ("load", "--project", PROJECT), ("validate", "--project", PROJECT)):
        run(*as_user(root, "rankd", "rankd", *words))
    with serving(root) as address:
        ask(f"{address}/healthz")
        answer = json.loads(ask(f"{address}/v1/rank", {"user_id": 42, "plan": "home_feed"}))
        must(answer["candidates"], f"the service ranks nothing: {answer}")


def higher(package, folder):
    """The package with a higher revision and, of rankd, with another conffile: packed again, not built again."""
    tree = folder / package.stem
    run("dpkg-deb", "--raw-extract", package, tree)
    control = tree / "DEBIAN/control"
    control.write_text(re.sub(r"(\d+\.\d+\.\d+-)1\b", r"\g<1>2", control.read_text(encoding="utf-8")), encoding="utf-8")
    if (tree / CONFFILE).exists():
        with open(tree / CONFFILE, "a", encoding="utf-8") as conffile:
            conffile.write("# a new line of the new version\n")
    made = folder / f"{package.stem}.deb"
    run("dpkg-deb", "--root-owner-group", "--build", tree, made)
    return made


def install(root, packages):
    for package in packages:
        shutil.copy(package, root / "tmp")
    clean_root.inside(root, "dpkg", "--force-confdef", "--force-confold", "--install", *(f"/tmp/{one.name}" for one in packages))


def check_upgrade(root, packages, folder):
    before = (root / CONFFILE).read_text(encoding="utf-8")
    install(root, [higher(package, folder) for package in packages])
    must((root / CONFFILE).read_text(encoding="utf-8") == before, "the upgrade changed the conffile that was edited")
    must((root / f"{CONFFILE}.dpkg-dist").exists(), "the upgrade does not leave the new conffile beside the edited one")
    version = clean_root.inside(root, "dpkg-query", "-W", "-f", "${Version}", "rankd")
    must(version.endswith("-2"), f"the upgrade left version {version}")
    with serving(root) as address:
        ask(f"{address}/healthz")


def check_removal(root, names, before):
    clean_root.inside(root, "dpkg", "--remove", *names)
    must((root / CONFFILE).exists(), "the removal took the conffile")
    clean_root.inside(root, "dpkg", "--purge", *names)
    left = sorted(files_of(root) - before - {"var/lib/rankd"})
    left = [name for name in left if not name.startswith("var/lib/rankd/")]
    must(not left, "the purge leaves " + ", ".join(left))
    must((root / PROJECT.lstrip("/") / "rankd.toml").exists(), "the purge took the project")


def check(folder, scratch):
    check_lintian(folder)
    packages = sorted(folder.glob("*.deb"))
    names = [field(package, "Package") for package in packages]
    must(names == ["braid-tools", "libbraid-dev", f"libbraid{minor_version(SOURCES)}", "rankd"], f"the packages are {names}")
    needed = [group for package in packages for group in clean_root.names_of(field(package, "Depends"))
              if not set(group) & set(names)]
    root = scratch / "root"
    count = len(clean_root.make(root, [*needed, ["g++-12"], ["pkgconf"]]))
    before = files_of(root)
    install(root, packages)
    for page in ("rankd", "braid-doctor", "braid-sim"):
        must((root / f"usr/share/man/man1/{page}.1.gz").exists(), f"{page} has no manual page")
    contract = (root / "usr/share/rankd/rankd.proto").read_bytes()
    must(contract == (SOURCES / "packaging/rankd.proto").read_bytes(), "usr/share/rankd/rankd.proto is not packaging/rankd.proto")
    must((root / WANTED).is_symlink(), "the service is not enabled")
    status = (root / PROJECT.lstrip("/")).stat()
    must(status.st_uid != 0 and status.st_mode & 0o777 == 0o750, f"{PROJECT} is not the service's own")
    use_library(root)
    use_rankd(root)
    check_upgrade(root, packages, scratch)
    check_removal(root, names, before)
    print(f"{len(names)} packages were installed beside {count} others, used, upgraded, removed and purged")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--packages", type=Path, metavar="DIR")
    options = parser.parse_args()
    missing = clean_root.missing() or ("" if shutil.which("dh") else "debhelper is missing")
    if missing:
        print(f"skipped: {missing}")
        return 77
    if not options.packages:
        run(SOURCES / "tools/make_packages")
    with tempfile.TemporaryDirectory() as scratch:
        check(options.packages or SOURCES / "build/packages", Path(scratch))
    return 0


if __name__ == "__main__":
    sys.exit(main())
