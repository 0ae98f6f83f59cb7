# tests/tools/test_make_release.py: what a release holds, that it is the same twice, and when there is none.
import hashlib
import json
import subprocess
import tarfile
import unittest
from pathlib import Path

from tree import ToolCase


class MakeRelease(ToolCase):
    tool = "make_release"

    def setUp(self):
        super().setUp()
        self.write({"CMakeLists.txt": "project(braid VERSION 1.2.3 LANGUAGES CXX)\n", ".gitignore": "/build/\n",
                    "CHANGELOG.md": "# Changelog\n\n## Unreleased\n",
                    "packages.txt": "build  cmake  configures\nbuild  libfoo++-dev  does foo\ntest  bar  tests\n",
                    "src/CMakeLists.txt": "braid_layer(base\nbraid_layer(runtime\n", "src/base/a.cpp": "#include <braid/braid.hpp>\nint a;\n",
                    "include/braid/braid.hpp": "#pragma once\nint umbrella;\n", "include/braid/slab.hpp": "",
                    "include/braid/threads.hpp": ""})
        self.git("init", "--quiet")
        self.commit()

    def git(self, *words):
        subprocess.run(["git", "-C", str(self.root), "-c", "user.name=a", "-c", "user.email=a@b.c", *words], check=True)

    def commit(self):
        self.git("add", ".")
        self.git("commit", "--quiet", "--message", "all")

    def files(self):
        return {file.name: file.read_bytes() for file in (self.root / "build/dist").iterdir()}

    def test_the_same_commit_gives_the_same_bytes(self):
        self.assertEqual(self.run_tool("--sources")[0], 0)
        first = self.files()
        self.assertEqual(self.run_tool("--sources")[0], 0)
        self.assertEqual(sorted(first), ["SHA256SUMS", "braid-1.2.3-two-files.tar.gz", "braid-1.2.3.spdx.json", "braid-1.2.3.tar.gz"])
        self.assertEqual(first, self.files())

    def test_the_archive_has_the_commit_and_the_sums_are_right(self):
        self.run_tool("--sources")
        with tarfile.open(self.root / "build/dist/braid-1.2.3.tar.gz") as archive:
            self.assertIn("braid-1.2.3/CMakeLists.txt", archive.getnames())
        files = self.files()
        for line in files.pop("SHA256SUMS").decode().splitlines():
            digest, name = line.split("  ")
            self.assertEqual(hashlib.sha256(files.pop(name)).hexdigest(), digest)
        self.assertEqual(files, {})

    def test_the_two_files_hold_each_file_once(self):
        self.run_tool("--sources")
        with tarfile.open(self.root / "build/dist/braid-1.2.3-two-files.tar.gz") as archive:
            texts = {one.name: archive.extractfile(one).read().decode() for one in archive}
        self.assertEqual(sorted(texts), ["braid-1.2.3/braid.cpp", "braid-1.2.3/braid.hpp"])
        self.assertEqual(texts["braid-1.2.3/braid.hpp"].count("int umbrella;"), 1)
        source = texts["braid-1.2.3/braid.cpp"]
        self.assertIn("int a;", source)
        self.assertNotIn("int umbrella;", source)
        self.assertNotIn("<braid/", source)

    def test_the_bill_of_materials(self):
        self.run_tool("--sources")
        files = self.files()
        bill = json.loads(files["braid-1.2.3.spdx.json"])
        own, foo = bill["packages"]
        self.assertEqual(own["versionInfo"], "1.2.3")
        self.assertEqual(own["checksums"][0]["checksumValue"], hashlib.sha256(files["braid-1.2.3.tar.gz"]).hexdigest())
        self.assertEqual((foo["SPDXID"], foo["comment"]), ("SPDXRef-libfoo---dev", "does foo"))
        self.assertEqual([entry["relationshipType"] for entry in bill["relationships"]], ["DESCRIBES", "DEPENDS_ON"])

    def replace(self, name, value):
        self.addCleanup(setattr, self.module, name, getattr(self.module, name))
        setattr(self.module, name, value)

    def build(self, name, variables, *words):
        """In the place of a tool: says what it was asked for in the files that it leaves."""
        self.asked.append((name, variables, "--build-in" in words))
        out = Path(words[words.index("--out") + 1])
        out.mkdir(parents=True, exist_ok=True)
        made = {"make_packages": "rankd_1_amd64.deb", "make_image": "rankd-1.2.3.tar"}[name]
        (out / made).write_text(f"{name} {len(self.asked) if self.grows else ''}", encoding="utf-8")

    @staticmethod
    def pack(_root, out, _tools, folder):
        """In the place of pack.js, which finds rankd in the Debian packages."""
        found = (folder / "rankd_1_amd64.deb").read_text(encoding="utf-8")
        (out / "rankd-engine-linux-x64-1.2.3.tgz").write_text(f"packed {found}", encoding="utf-8")

    def stub(self, grows=False):
        """No tool runs; where it `grows`, each run of one gives other bytes."""
        self.asked, self.grows = [], grows
        self.replace("run_tool", self.build)
        self.replace("two_files", lambda root, name: b"two files")
        self.replace("compiler_tools", lambda root: None)
        self.replace("make_compiler", self.pack)

    def test_packages_and_image_are_given_out_with_their_sums(self):
        self.stub()
        self.assertEqual(self.run_tool()[0], 0)
        files = self.files()
        self.assertEqual(len(files["SHA256SUMS"].splitlines()), len(files) - 1)
        self.assertLessEqual({"rankd_1_amd64.deb", "rankd-1.2.3.tar", "rankd-engine-linux-x64-1.2.3.tgz"}, set(files))

    def test_twice_means_the_same_bytes_without_a_cache(self):
        self.stub()
        self.assertEqual(self.run_tool("--twice")[0], 0)
        self.assertEqual(self.asked, [("make_packages", {}, False), ("make_image", {}, False),
                                      ("make_packages", {"CCACHE_DISABLE": "1"}, True), ("make_image", {}, False)])
        self.stub(grows=True)
        status, printed = self.run_tool("--twice")
        self.assertEqual(status, 1)
        self.assertIn("SHA256SUMS, rankd-1.2.3.tar, rankd-engine-linux-x64-1.2.3.tgz, rankd_1_amd64.deb of", printed)

    def test_a_tool_that_fails_ends_the_release(self):
        self.replace("ROOT", self.root)
        self.replace("compiler_tools", lambda root: None)
        self.replace("two_files", lambda root, name: b"two files")
        self.write({"tools/make_packages": "#!/bin/sh\nexit 1\n"})
        (self.root / "tools/make_packages").chmod(0o755)
        self.commit()
        status, printed = self.run_tool()
        self.assertEqual(status, 1)
        self.assertIn("make_release: tools/make_packages failed", printed)

    def test_without_the_packages_of_dsl_there_is_no_compiler_to_give_out(self):
        status, printed = self.run_tool()
        self.assertEqual(status, 1)
        self.assertIn("npm ci", printed)

    def test_the_changelog_is_of_the_version(self):
        for text, said in (("## 1.2.3, 2026-01-31\n", ""), ("## Unreleased\n\n## 1.2.2, 2026-01-01\n", ""),
                           ("## 1.2.2, 2026-01-01\n", "begins with 1.2.2, and CMakeLists.txt has 1.2.3"),
                           ("## Unreleased\n\n## 1.2.3, 2026-01-31\n", "has changes after 1.2.3"),
                           ("## 1.2.3\n", "a version with its date")):
            self.write({"CHANGELOG.md": text})
            self.commit()
            status, printed = self.run_tool("--sources")
            self.assertEqual(status, 1 if said else 0, printed)
            self.assertIn(said, printed)

    def test_files_that_differ_from_the_commit(self):
        self.write({"new.txt": ""})
        status, printed = self.run_tool("--sources")
        self.assertEqual(status, 1)
        self.assertIn("new.txt", printed)

    def test_a_package_of_another_version(self):
        self.write({"dsl/packages/a/package.json": '{"version": "1.2.3"}', "dsl/package.json": '{"version": "1.2.4"}'})
        self.commit()
        status, printed = self.run_tool("--sources")
        self.assertEqual(status, 1)
        self.assertIn("dsl/package.json has another version than CMakeLists.txt, which has 1.2.3", printed)
        self.write({"dsl/package.json": '{"version": "1.2.3"}'})
        self.commit()
        self.assertEqual(self.run_tool("--sources")[0], 0)


if __name__ == "__main__":
    unittest.main()
