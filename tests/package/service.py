# tests/package/service.py: the service of the package rankd under systemd itself, in a clean root that is booted: installed,
# started, asked, reloaded, killed, refused, upgraded, rebooted, stopped and purged. Exit status 77: skipped, with the reason.
#
#   python3 tests/package/service.py [--packages DIR]     packages that tools/make_packages has built
import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path

import booted_root
import clean_root
import debian
from checks import must
from debian import PROJECT, field

SERVER = "http://127.0.0.1:8080"
REQUEST = '{"user_id":42,"plan":"home_feed"}'
OWN = ("rankd", "libbraid")


def shown(system, name):
    return system.run("systemctl", "show", "--value", "--property", name, "rankd").strip()


def must_be(system, state, when):
    must(shown(system, "ActiveState") == state, f"{when} the service is {shown(system, 'ActiveState')}, not {state}")


def install(system, packages):
    for package in packages:
        shutil.copy(package, system.root / "srv")
    system.run("dpkg", "--force-confdef", "--force-confold", "--install", *(f"/srv/{one.name}" for one in packages))


def check_answer(system, when):
    """No time is given: what systemd calls started has to answer."""
    must_be(system, "active", when)
    answer = json.loads(system.ask(f"{SERVER}/v1/rank", REQUEST))
    must(answer["candidates"], f"{when} the service ranks nothing: {answer}")


def check_rights(system):
    """What the kernel says of the process: a user without rights, a filter of calls, a system that cannot be written to."""
    process = f"/proc/{shown(system, 'MainPID')}"
    status = dict(line.split(":\t") for line in system.run("cat", f"{process}/status").splitlines() if ":\t" in line)
    user = system.run("id", "--user", "rankd").strip()
    must(status["Uid"].split() == [user] * 4, f"the service runs as {status['Uid']}")
    rights = [status[name] for name in ("CapEff", "CapBnd", "NoNewPrivs", "Seccomp")]
    must(rights == ["0" * 16, "0" * 16, "1", "2"], f"the service has the rights {rights}")
    mounts = [line.split() for line in system.run("cat", f"{process}/mountinfo").splitlines()]
    writable = {words[4] for words in mounts if "rw" in words[5].split(",") and not words[4].startswith(("/dev", "/proc", "/sys"))}
    must("/" not in writable and PROJECT in writable, f"the service may write to {sorted(writable)}")


def check_project_comes(system):
    """Without a project the service waits; with one it starts, as docs/packages.md says."""
    must_be(system, "inactive", "without a project")
    must(system.run("systemctl", "is-enabled", "rankd").strip() == "enabled", "the service is not enabled")
    as_user = ("runuser", "-u", "rankd", "--", "rankd")
    system.run(*as_user, "init", "demo", PROJECT)
    system.run(*as_user, "load", "--project", PROJECT)
    system.run("systemctl", "start", "rankd")
    check_answer(system, "after the start")
    must(shown(system, "StatusText") == "listening on 127.0.0.1:8080", "the service does not say where it listens")
    check_rights(system)


def check_reload(system):
    before = shown(system, "MainPID")
    system.run("systemctl", "reload", "rankd")
    must(booted_root.until(lambda: '"event":"plans_loaded"' in system.run("journalctl", "--no-pager", "--unit", "rankd")),
         "a reload loads no plans")
    must(shown(system, "MainPID") == before, "a reload starts another process")
    check_answer(system, "after a reload")


def check_kill(system):
    """A server that is killed comes back; one that is started with wrong options does not try again."""
    before = shown(system, "MainPID")
    system.run("systemctl", "kill", "--signal", "KILL", "rankd")
    must(booted_root.until(lambda: shown(system, "ActiveState") == "active" and shown(system, "MainPID") != before),
         "a service that was killed does not come back")
    check_answer(system, "after a kill")
    conffile = system.root / debian.CONFFILE
    right = conffile.read_text(encoding="utf-8")
    conffile.write_text(right.replace("--grace-ms", "--grace"), encoding="utf-8")
    must(system.status("systemctl", "restart", "rankd")[0] != 0, "the service starts with wrong options")
    must_be(system, "failed", "with wrong options")
    must("--grace" in system.run("journalctl", "--no-pager", "--unit", "rankd"), "the journal does not name the wrong option")
    conffile.write_text(right, encoding="utf-8")
    system.run("systemctl", "start", "rankd")


def check_wrong_project(system):
    """The start fails, and the journal says why; a start after that works."""
    keys = system.root / PROJECT.lstrip("/") / "registry/keys.toml"
    right = keys.read_text(encoding="utf-8")
    keys.write_text(right + "broken [\n", encoding="utf-8")
    status, printed = system.status("systemctl", "restart", "rankd")
    must(status != 0, f"a project that cannot be read is served: {printed}")
    must("keys.toml" in system.run("journalctl", "--no-pager", "--unit", "rankd"), "the journal does not name the wrong file")
    keys.write_text(right, encoding="utf-8")
    system.run("systemctl", "stop", "rankd")
    system.run("systemctl", "reset-failed", "rankd")
    system.run("systemctl", "start", "rankd")
    check_answer(system, "after the project was mended")


def check_upgrade(system, packages, folder):
    before = shown(system, "MainPID")
    install(system, [debian.higher(package, folder) for package in packages])
    must(shown(system, "MainPID") != before, "an upgrade leaves the old process")
    check_answer(system, "after an upgrade")


def check_stop(system):
    system.run("systemctl", "stop", "rankd")
    must_be(system, "inactive", "after a stop")
    must(shown(system, "Result") == "success", f"the service ended with {shown(system, 'Result')}")
    system.run("systemctl", "start", "rankd")


def check_purge(system):
    system.run("dpkg", "--purge", "rankd")
    must(system.status("systemctl", "is-active", "rankd")[0] != 0, "the service of a purged package runs")
    must(system.status("pgrep", "--exact", "rankd")[0] == 1, "a process of the purged package is left")
    must((system.root / PROJECT.lstrip("/") / "rankd.toml").exists(), "the purge took the project")


def check(folder, scratch):
    packages = [one for one in sorted(folder.glob("*.deb")) if one.name.startswith(OWN) and "-dev" not in one.name]
    names = [field(package, "Package") for package in packages]
    needed = [group for package in packages for group in clean_root.names_of(field(package, "Depends"))
              if not set(group) & set(names)]
    root = scratch / "root"
    clean_root.make(root, [*needed, *booted_root.PACKAGES, ["procps"]])
    with booted_root.booted(root) as system:
        install(system, packages)
        check_project_comes(system)
        check_reload(system)
        check_kill(system)
        check_wrong_project(system)
        check_upgrade(system, packages, scratch)
    with booted_root.booted(root) as system:
        check_answer(system, "after a reboot")
        check_stop(system)
        check_purge(system)
    print("the service was started, asked, reloaded, killed, refused, upgraded, rebooted, stopped and purged under systemd")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--packages", type=Path, metavar="DIR", default=debian.SOURCES / "build/packages")
    packages = parser.parse_args().packages
    reason = booted_root.missing()
    if not reason and not list(packages.glob("rankd_*.deb")):
        reason = f"{packages} has no packages: tools/make_packages builds them"
    if reason:
        print(f"skipped: {reason}")
        return 77
    with tempfile.TemporaryDirectory() as scratch:
        check(packages, Path(scratch))
    return 0


if __name__ == "__main__":
    sys.exit(main())
