# tests/package/unit.py: packaging/rankd.service has options that rankd has and variables that have values; systemd-analyze
# knows each of its settings, and finds it restricted. Exit status 77: skipped after the first part, with the reason.
#
#   python3 tests/package/unit.py RANKD
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from checks import must

SOURCES = Path(__file__).resolve().parents[2]
UNIT = (SOURCES / "packaging/rankd.service").read_text(encoding="utf-8")
CONFFILE = (SOURCES / "packaging/debian/rankd.default").read_text(encoding="utf-8")
# Tenths of what systemd-analyze calls exposure, from 0 to 10. What is left is the network, which a server is for.
MOST_EXPOSURE = 15


def setting(name):
    return re.findall(rf"^{name}=(.*)$", UNIT, re.MULTILINE)


def variables(words):
    return dict(word.split("=", 1) for word in words)


def check_command(rankd):
    own = variables(word for line in setting("Environment") for word in shlex.split(line))
    given = variables(shlex.split(CONFFILE, comments=True))
    must(own == given, f"the unit has {own}, the file beside it {given}")
    command = setting("ExecStart")[0]
    used = set(re.findall(r"\$\{?(\w+)", command))
    must(used == set(own), f"the command uses {sorted(used)}")
    shown = subprocess.run([rankd, "serve", "--help"], capture_output=True, text=True, check=True).stdout
    known = set(re.findall(r"^  (--[\w-]+)", shown, re.MULTILINE))
    asked = {word for word in [*command.split(), *own["RANKD_OPTIONS"].split()] if word.startswith("--")}
    must(asked <= known, f"rankd serve has no {sorted(asked - known)}")
    grace = int(re.search(r"--grace-ms (\d+)", own["RANKD_OPTIONS"])[1]) / 1000
    must(grace < int(setting("TimeoutStopSec")[0]), "the service is killed before its grace is over")


def analyze(*words):
    done = subprocess.run(["systemd-analyze", *map(str, words)], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def check_settings(rankd):
    with tempfile.TemporaryDirectory() as folder:
        unit = Path(folder) / "rankd.service"
        unit.write_text(UNIT.replace("/usr/bin/rankd ", f"{Path(rankd).resolve()} "), encoding="utf-8")
        status, printed = analyze("verify", "--man=no", unit)
        must(status == 0 and not printed.strip(), f"systemd-analyze verify:\n{printed}")
        status, printed = analyze("security", "--offline=true", f"--threshold={MOST_EXPOSURE}", "--no-pager", unit)
        must(status == 0, f"systemd-analyze security:\n{printed}")
        return printed.strip().splitlines()[-1]


def main(rankd):
    check_command(rankd)
    if not shutil.which("systemd-analyze"):
        print("skipped: systemd-analyze is missing")
        return 77
    print(check_settings(rankd))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
