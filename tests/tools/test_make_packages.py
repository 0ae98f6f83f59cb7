# tests/tools/test_make_packages.py: what the packages are made of. That they build is seen by tests/package/debian.py.
import os
import shutil
import threading
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
        self.module.shutil = SimpleNamespace(which=lambda tool: None if tool == "clang++-19" else f"/usr/bin/{tool}")
        self.assertIn("make_packages: clang++-19 is missing: apt install clang-19", self.run_tool()[1])

    def packages(self, status):
        """Runs the tool with a stub in place of dpkg-buildpackage. Returns its exit status, and what it printed."""
        def build(tree, log, jobs):
            log.write_text("the last line of the log\n", encoding="utf-8")
            (tree.parent / "rankd_1.2.3-1_amd64.deb").write_text((tree / "debian/changelog").read_text(), encoding="utf-8")
            return status

        for name, value in (("build", build), ("missing", lambda: "")):
            self.addCleanup(setattr, self.module, name, getattr(self.module, name))
            setattr(self.module, name, value)
        self.write({"CMakeLists.txt": "project(braid VERSION 1.2.3 LANGUAGES CXX)\n", "packaging/rankd.service": "[Unit]\n",
                    "packaging/debian/control.in": "Package: libbraid@ABI@\n", "packaging/debian/libbraid.install": "usr/lib\n"})
        return self.run_tool("--build-in", str(self.root / "build/shared"))

    def test_packages_are_moved_from_the_shared_folder_and_the_tree_is_removed(self):
        self.write({"build/packages/old.deb": "", "build/shared/packages/tree/old": ""})
        status, printed = self.packages(0)
        self.assertEqual((status, printed), (0, f"{self.root}/build/packages/rankd_1.2.3-1_amd64.deb\n"))
        self.assertEqual(sorted(os.listdir(self.root / "build/packages")), ["log", "rankd_1.2.3-1_amd64.deb"])
        self.assertEqual(os.listdir(self.root / "build/shared"), ["lock"])

    def test_a_failed_build_shows_its_log_and_leaves_the_tree(self):
        self.write({"build/.keep": ""})
        status, printed = self.packages(1)
        self.assertEqual(status, 1)
        self.assertIn("the last line of the log\nmake_packages: the build failed", printed)
        self.assertTrue((self.root / "build/shared/packages/tree/CMakeLists.txt").exists())

    def test_one_build_at_a_time_uses_the_shared_folder(self):
        folder, used = self.root / "shared", []

        def use(name):
            with self.module.locked(folder):
                used.append(name)

        with self.module.locked(folder):
            second = threading.Thread(target=use, args=["second"])
            second.start()
            second.join(0.1)
            used.append("first")
        second.join()
        self.assertEqual(used, ["first", "second"])
        self.assertEqual(folder.stat().st_mode & 0o777, 0o700)

    def test_a_shared_folder_of_another_user_is_refused(self):
        (self.root / "elsewhere").mkdir()
        (self.root / "link").symlink_to(self.root / "elsewhere")
        with self.assertRaisesRegex(SystemExit, "belongs to another user"), self.module.locked(self.root / "link"):
            pass

    def test_the_maintainer_is_the_same_in_both_files(self):
        control = (TOOLS.parent / "packaging/debian/control.in").read_text(encoding="utf-8")
        self.assertIn(f"Maintainer: {self.module.MAINTAINER}\n", control)


if __name__ == "__main__":
    unittest.main()
