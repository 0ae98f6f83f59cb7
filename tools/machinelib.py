# tools/machinelib.py: the Debian packages that are installed on this machine, with their files and what they depend on.
import os
import re
import subprocess
from pathlib import Path

INFO = Path("/var/lib/dpkg/info")
FIELDS = ("Package", "Architecture", "Essential", "Multi-Arch", "Pre-Depends", "Depends", "Provides", "Version")


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

    def files(self, name):
        """The files of a package that are there, as dpkg lists them."""
        listed = (INFO / f"{self.info_name(name)}.list").read_text(encoding="utf-8").splitlines()
        return [line for line in listed if os.path.lexists(line)]


def stanzas(names):
    text = subprocess.run(["dpkg-query", "-s", *names], capture_output=True, text=True, check=True).stdout
    return text if text.endswith("\n\n") else text + "\n"
