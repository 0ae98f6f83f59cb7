# tests/tools/test_make_image.py: the form of an image, and when there is none. That it works is seen by tests/package/image.py.
import gzip
import hashlib
import io
import json
import tarfile
import unittest

from tree import ToolCase, load

load("make_image")  # puts tools/ on the path
import imagelib  # noqa: E402
from imagelib import Entry  # noqa: E402

FILES = {"usr/bin/b": Entry(b"two", mode=0o755), "usr/bin/a": Entry(link="b"), "var": Entry(mode=0o750, owner=7)}


def members(packed):
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        return archive.getmembers()


class ImageForm(unittest.TestCase):
    def test_a_layer_is_the_same_bytes_whatever_the_order_of_its_files(self):
        self.assertEqual(imagelib.layer(FILES, 5), imagelib.layer(dict(reversed(FILES.items())), 5))
        self.assertNotEqual(imagelib.layer(FILES, 5), imagelib.layer(FILES, 6))

    def test_a_layer_has_sorted_members_of_one_time_and_the_folders_above(self):
        made = imagelib.layer(FILES, 5)
        self.assertEqual(made.unpacked_digest, imagelib.digest(gzip.decompress(made.packed)))
        found = members(gzip.decompress(made.packed))
        self.assertEqual([one.name for one in found], ["usr", "usr/bin", "usr/bin/a", "usr/bin/b", "var"])
        self.assertEqual({one.mtime for one in found}, {5})
        self.assertEqual([(one.uid, one.mode) for one in found][-2:], [(0, 0o755), (7, 0o750)])
        self.assertEqual(found[2].linkname, "b")
        self.assertEqual(made.packed[4:8], bytes(4), "gzip wrote a time")

    def test_every_blob_has_the_name_of_its_digest_and_is_named(self):
        one = imagelib.layer(FILES, 5)
        config = imagelib.image_config("amd64", {"User": "7:7"}, [(one, "all")], 5)
        packed, digest = imagelib.archive("a:1", config, [one], {}, 5)
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            files = {member.name: archive.extractfile(member).read() for member in archive if member.isfile()}
        blobs = {name: data for name, data in files.items() if name.startswith("blobs/")}
        for name, data in blobs.items():
            self.assertEqual(name, f"blobs/sha256/{hashlib.sha256(data).hexdigest()}")
        index = json.loads(files["index.json"])
        self.assertEqual(index["manifests"][0]["digest"], digest)
        manifest = json.loads(blobs["blobs/" + digest.replace(":", "/")])
        named = {digest, manifest["config"]["digest"], *(layer["digest"] for layer in manifest["layers"])}
        self.assertEqual({"blobs/" + name.replace(":", "/") for name in named}, set(blobs))
        self.assertEqual(config["rootfs"]["diff_ids"], [one.unpacked_digest])


class MakeImage(ToolCase):
    tool = "make_image"

    def test_without_packages_there_is_no_image(self):
        self.write({"CMakeLists.txt": "project(braid VERSION 1.2.3 LANGUAGES CXX)\n"})
        self.module.commit_time = lambda root: 0
        status, printed = self.run_tool()
        self.assertEqual(status, 1)
        self.assertIn("has 0 packages libbraid1.2 of version 1.2.3, not one; tools/make_packages makes it", printed)
        self.assertFalse((self.root / "build/image").exists())

    def test_folders_that_are_links_are_those_of_usr(self):
        self.assertEqual(self.module.place("/lib/a.so"), "usr/lib/a.so")
        self.assertEqual(self.module.place("/usr/lib/a.so"), "usr/lib/a.so")
        self.assertEqual(self.module.place("/library"), "library")

    def test_a_long_copyright_is_packed(self):
        long = b"x" * (self.module.MOST_TERMS + 1)
        self.assertEqual(self.module.terms_of("a", long[:-1]), ("usr/share/doc/a/copyright", long[:-1]))
        path, packed = self.module.terms_of("a", long)
        self.assertEqual((path, gzip.decompress(packed)), ("usr/share/doc/a/copyright.gz", long))
        self.assertEqual(packed, self.module.terms_of("a", long)[1])

    def test_the_bill_names_each_package_with_its_address(self):
        bill = self.module.bill_of_materials("rankd-1.2.3", "1.2.3", "sha256:ab", [("libstdc++6", "12+1", "amd64")], 0)
        image, package = bill["packages"]
        self.assertEqual(image["checksums"][0]["checksumValue"], "ab")
        self.assertEqual(package["externalRefs"][0]["referenceLocator"], "pkg:deb/debian/libstdc%2B%2B6@12%2B1?arch=amd64")
        self.assertEqual([entry["relationshipType"] for entry in bill["relationships"]], ["DESCRIBES", "CONTAINS"])
        self.assertEqual(bill["creationInfo"]["created"], "1970-01-01T00:00:00Z")


if __name__ == "__main__":
    unittest.main()
