# tests/tools/test_make_release.py: what a release holds, that it is the same twice, and when there is none.
import hashlib
import json
import subprocess
import tarfile
import unittest

from tree import ToolCase


class MakeRelease(ToolCase):
    tool = "make_release"

    def setUp(self):
        super().setUp()
        self.write({"CMakeLists.txt": "project(braid VERSION 1.2.3 LANGUAGES CXX)\n", ".gitignore": "/build/\n",
                    "packages.txt": "build  cmake  configures\nbuild  libfoo++-dev  does foo\ntest  bar  tests\n"})
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
        self.assertEqual(self.run_tool()[0], 0)
        first = self.files()
        self.assertEqual(self.run_tool()[0], 0)
        self.assertEqual(sorted(first), ["SHA256SUMS", "braid-1.2.3.spdx.json", "braid-1.2.3.tar.gz"])
        self.assertEqual(first, self.files())

    def test_the_archive_has_the_commit_and_the_sums_are_right(self):
        self.run_tool()
        with tarfile.open(self.root / "build/dist/braid-1.2.3.tar.gz") as archive:
            self.assertIn("braid-1.2.3/CMakeLists.txt", archive.getnames())
        files = self.files()
        for line in files.pop("SHA256SUMS").decode().splitlines():
            digest, name = line.split("  ")
            self.assertEqual(hashlib.sha256(files.pop(name)).hexdigest(), digest)
        self.assertEqual(files, {})

    def test_the_bill_of_materials(self):
        self.run_tool()
        files = self.files()
        bill = json.loads(files["braid-1.2.3.spdx.json"])
        own, foo = bill["packages"]
        self.assertEqual(own["versionInfo"], "1.2.3")
        self.assertEqual(own["checksums"][0]["checksumValue"], hashlib.sha256(files["braid-1.2.3.tar.gz"]).hexdigest())
        self.assertEqual((foo["SPDXID"], foo["comment"]), ("SPDXRef-libfoo---dev", "does foo"))
        self.assertEqual([entry["relationshipType"] for entry in bill["relationships"]], ["DESCRIBES", "DEPENDS_ON"])

    def test_packages_are_given_out_with_their_sums(self):
        built = self.root / "build/packages"
        self.write({"build/packages/braid_1_amd64.deb": "packed", "build/packages/log": "said"})
        self.module.packages_of = lambda root: sorted(built.glob("*.deb"))
        self.assertEqual(self.run_tool("--packages")[0], 0)
        files = self.files()
        self.assertIn("braid_1_amd64.deb", files)
        self.assertNotIn("log", files)
        self.assertIn(hashlib.sha256(b"packed").hexdigest() + "  braid_1_amd64.deb", files["SHA256SUMS"].decode())
        self.module.packages_of = lambda root: None
        self.assertEqual(self.run_tool("--packages")[0], 1)

    def test_files_that_differ_from_the_commit(self):
        self.write({"new.txt": ""})
        status, printed = self.run_tool()
        self.assertEqual(status, 1)
        self.assertIn("new.txt", printed)

    def test_a_package_of_another_version(self):
        self.write({"dsl/packages/a/package.json": '{"version": "1.2.3"}', "dsl/package.json": '{"version": "1.2.4"}'})
        self.commit()
        status, printed = self.run_tool()
        self.assertEqual(status, 1)
        self.assertIn("dsl/package.json has another version than CMakeLists.txt, which has 1.2.3", printed)
        self.write({"dsl/package.json": '{"version": "1.2.3"}'})
        self.commit()
        self.assertEqual(self.run_tool()[0], 0)


if __name__ == "__main__":
    unittest.main()
