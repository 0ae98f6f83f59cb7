"""tests/sim/test_planted.py: the faults that scenes must notice, and the program that plants them."""
import contextlib
import io
import re
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from tests.sim import planted

PAGE = Path("docs/simulation.md")


class Table(unittest.TestCase):
    def test_each_scene_has_a_fault_and_each_fault_is_on_the_page(self):
        faults = planted.read_faults()
        self.assertEqual({each["scene"] for each in faults}, planted.scenes.SCENES.keys())
        rows = re.findall(r"^\| `(\w+)` \| `([\w.]+)` \|", PAGE.read_text(encoding="utf-8"), re.M)
        self.assertEqual(sorted(rows), sorted((each["scene"], each["name"]) for each in faults))


class Planting(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.file = self.root / "sum.cpp"
        self.file.write_text("return a + b;\n")
        self.fault = {"name": "sum.is_a_difference", "file": "sum.cpp", "text": "a + b", "replacement": "a - b", "scene": "http"}
        self.built = []
        self.patch("ROOT", self.root)
        self.patch("build", lambda folder, scene: self.built.append((scene, self.file.read_text())))

    def patch(self, name, value):
        patch = mock.patch.object(planted, name, value)
        patch.start()
        self.addCleanup(patch.stop)

    def plant(self, *found):
        """Plants the fault, while the searches have these results. Returns whether it was found, and the first row."""
        results = iter(found)
        asked = []

        def find(simulator, folder, scene, seeds):
            asked.append(seeds)
            return next(results)

        self.patch("find_seed", find)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            is_good = planted.try_fault("braid-sim", self.root, self.fault, (11, 20))
        return is_good, printed.getvalue().splitlines()[0], asked

    def test_a_fault_that_is_found_and_repeats_is_a_row(self):
        is_good, row, asked = self.plant((13, "0a", ""), (13, "0a", ""))
        self.assertEqual((is_good, asked), (True, [(11, 20), (13, 13)]))
        self.assertEqual(row, "| `http` | `sum.is_a_difference` | 3 | 0 |")
        self.assertEqual(self.built, [("http", "return a - b;\n")])
        self.assertEqual(self.file.read_text(), "return a + b;\n")

    def test_a_fault_that_is_not_found_or_does_not_repeat_is_reported(self):
        for found, words in (([(None, "", "no failure")], "**not found**"),
                             ([(13, "0a", ""), (13, "0b", "")], "**does not repeat**"),
                             ([(13, "0a", ""), (None, "", "")], "**does not repeat**")):
            is_good, row, _ = self.plant(*found)
            self.assertFalse(is_good)
            self.assertIn(words, row)

    def test_the_file_is_as_before_after_an_error(self):
        def fail(folder, scene):
            raise KeyboardInterrupt

        self.patch("build", fail)
        with self.assertRaises(KeyboardInterrupt):
            planted.try_fault("braid-sim", self.root, self.fault, (1, 2))
        self.assertEqual(self.file.read_text(), "return a + b;\n")

    def test_a_text_that_is_not_in_its_file_is_refused(self):
        self.file.write_text("return b;\n")
        with self.assertRaisesRegex(SystemExit, "sum.is_a_difference: its text must be in sum.cpp once"):
            planted.try_fault("braid-sim", self.root, self.fault, (1, 2))


if __name__ == "__main__":
    unittest.main()
