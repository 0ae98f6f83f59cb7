# tests/tools/test_make_packages.py: what the packages are made of. That they build is seen by tests/package/debian.py.
import unittest

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

    def test_the_maintainer_is_the_same_in_both_files(self):
        control = (TOOLS.parent / "packaging/debian/control.in").read_text(encoding="utf-8")
        self.assertIn(f"Maintainer: {self.module.MAINTAINER}\n", control)


if __name__ == "__main__":
    unittest.main()
