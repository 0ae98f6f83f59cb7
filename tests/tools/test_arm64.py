# tests/tools/test_arm64.py: what tools/arm64_root asks of apt and leaves, and what tools/arm64_run says where it cannot run.
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from tree import TOOLS

PACKAGES = """# A comment of build: a-dev
build       one-dev      headers
build       builder      a program of this machine
test        two-dev      headers
site        three-dev    for something else
arm64       runner       runs
arm64-root  four         a library
"""
# Leaves an archive, as a download does.
APT = r'''
echo "$*" >>"$ASKED"
for word in "$@"; do case "$word" in Dir::Cache=*) touch "${word#*=}/archives/one.deb" ;; esac; done
'''
# Unpacks a library, a program, a manual and a link that begins at the root of the package.
DPKG = r'''
mkdir -p "$3"/{usr/{lib,bin,share/{man,cmake}},etc}
touch "$3"/usr/lib/libone.so.1 "$3"/usr/bin/tool
ln -sf /usr/lib/libone.so.1 "$3"/usr/lib/libone.so
'''


class Tools(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.there = Path(folder.name)
        (self.there / "tools").mkdir()
        (self.there / "commands").mkdir()
        (self.there / "packages.txt").write_text(PACKAGES, encoding="utf-8")
        self.root = self.there / "build/arm64-root"
        self.asked = self.there / "asked"

    def command(self, name, text):
        file = self.there / "commands" / name
        file.write_text(f"#!/bin/bash\n{text}\n", encoding="utf-8")
        file.chmod(0o755)

    def run_tool(self, name, *words):
        shutil.copy(TOOLS / name, self.there / "tools")
        environment = {**os.environ, "PATH": f"{self.there}/commands:{os.environ['PATH']}", "ASKED": str(self.asked)}
        return subprocess.run([self.there / "tools" / name, *words], env=environment, text=True, capture_output=True,
                              check=False)


class Root(Tools):
    def unpack(self):
        self.command("apt-get", APT)
        self.command("dpkg-deb", DPKG)
        done = self.run_tool("arm64_root")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return self.asked.read_text(encoding="utf-8").splitlines()

    def test_development_packages_are_downloaded_for_arm64_and_not_installed(self):
        update, download = self.unpack()
        self.assertTrue(update.endswith(" update"))
        self.assertTrue(download.endswith(" install --yes --download-only one-dev two-dev four"), download)
        for line in (update, download):
            for option in ("APT::Architecture=arm64", f"Dir::State={self.root}/apt", f"Dir::Cache={self.root}/apt"):
                self.assertIn(option, line)

    def test_what_is_compiled_and_linked_stays_and_links_stay_inside(self):
        self.unpack()
        self.assertEqual(os.readlink(self.root / "usr/lib/libone.so"), "libone.so.1")
        left = {str(each.relative_to(self.root)) for each in self.root.rglob("*")}
        self.assertEqual(left, {".unpacked", "usr", "usr/lib", "usr/lib/libone.so", "usr/lib/libone.so.1", "usr/share",
                                "usr/share/cmake"})

    def test_it_is_made_once_for_each_list_of_packages(self):
        self.assertEqual(len(self.unpack()), 2)
        self.assertEqual(len(self.unpack()), 2)
        (self.there / "packages.txt").write_text(PACKAGES + "test  five-dev  more\n", encoding="utf-8")
        self.assertEqual(len(self.unpack()), 4)

    def test_packages_that_cannot_be_had_leave_nothing_that_looks_complete(self):
        self.command("apt-get", "echo 'E: Unable to locate package one-dev'; exit 100")
        done = self.run_tool("arm64_root")
        self.assertEqual(done.returncode, 1)
        self.assertIn("E: Unable to locate package one-dev\n", done.stderr)
        self.assertIn("arm64_root: the packages of arm64 could not be had", done.stderr)
        self.assertEqual(len(self.unpack()), 2)


class Run(Tools):
    def test_a_root_that_is_missing_is_named_with_what_makes_it(self):
        done = self.run_tool("arm64_run", "true")
        self.assertEqual((done.returncode, done.stderr), (2, f"arm64_run: {self.root} is missing: tools/arm64_root makes it\n"))

    def test_a_machine_that_runs_such_programs_already_is_left_as_it_is(self):
        loader = self.root / "lib/ld-linux-aarch64.so.1"
        loader.parent.mkdir(parents=True)
        loader.write_text("#!/bin/sh\n", encoding="utf-8")
        loader.chmod(0o755)
        self.command("unshare", "echo unshared")
        done = self.run_tool("arm64_run", "sh", "-c", 'echo "$QEMU_LD_PREFIX $1"', "sh", "a  word")
        self.assertEqual((done.returncode, done.stdout), (0, f"{self.root} a  word\n"))
        loader.write_bytes(b"\x7fELF")
        self.command("qemu-aarch64-static", "true")
        self.assertIn("unshared\n", self.run_tool("arm64_run", "true").stdout)


if __name__ == "__main__":
    unittest.main()
