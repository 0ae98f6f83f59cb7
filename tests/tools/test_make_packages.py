# tests/tools/test_make_packages.py: what the packages are made of. That they build is seen by tests/package/debian.py.
import os
import shutil
import unittest
from types import SimpleNamespace

from tree import TOOLS, ToolCase


class MakePackages(ToolCase):
    tool = "make_packages"

    def test_the_folder_has_the_version_in_its_places(self):
        self.write({"CMakeLists.txt": "project(braid VERSION 1.2.3 LANGUAGES CXX)\n", "packaging/rankd.service": "[Unit]\n",
                    "packaging/debian/control.in": "Package: libbraid@ABI@\n", "packaging/debian/libbraid.install": "usr/lib\n"})
        self.module.fill_debian(self.root, "4", 0)
        debian = self.root / "debian"
        self.assertEqual((debian / "control").read_text(), "Package: libbraid1.2\n")
        self.assertTrue((debian / "libbraid1.2.install").exists())
        self.assertTrue((debian / "rankd.service").exists())
        self.assertIn("braid (1.2.3-4) unstable", (debian / "changelog").read_text())
        self.assertIn("Thu, 01 Jan 1970 00:00:00 +0000", (debian / "changelog").read_text())

    def test_an_unpacked_archive_is_taken_whole_but_for_what_builds_leave(self):
        self.write({"CMakeLists.txt": "", "a/b.txt": "", "build/x.o": "", "dsl/node_modules/y.js": ""})
        self.assertEqual(sorted(self.module.sources(self.root)), ["CMakeLists.txt", "a/b.txt"])
        os.utime(self.root / "CMakeLists.txt", (5, 7))
        self.assertEqual(self.module.commit_time(self.root), 7)

    def test_what_is_missing_is_named_with_its_package(self):
        self.addCleanup(setattr, self.module, "shutil", shutil)
        self.module.shutil = SimpleNamespace(which=lambda tool: None if tool == "dh" else f"/usr/bin/{tool}")
        status, printed = self.run_tool()
        self.assertEqual(status, 1)
        self.assertIn("make_packages: dh is missing: apt install debhelper", printed)

    def test_the_maintainer_is_the_same_in_both_files(self):
        control = (TOOLS.parent / "packaging/debian/control.in").read_text(encoding="utf-8")
        self.assertIn(f"Maintainer: {self.module.MAINTAINER}\n", control)


if __name__ == "__main__":
    unittest.main()
