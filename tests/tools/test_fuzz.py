# tests/tools/test_fuzz.py: which arguments tools/fuzz takes, and which inputs it keeps.
import contextlib
import io
import unittest
from pathlib import Path

from tree import load

class Fuzz(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fuzz = load("fuzz")

    def test_a_bounded_number_of_inputs_is_kept_of_all_sizes(self):
        files = [Path(f"{i:05}") for i in range(1000)]
        kept = self.fuzz.spread(files)
        self.assertEqual(len(set(kept)), self.fuzz.MOST_FILES)
        self.assertEqual(kept[0], files[0])
        self.assertGreater(kept[-1], files[990])

    def test_every_target_has_a_corpus(self):
        for name in self.fuzz.targets():
            self.assertTrue(1 <= len(list((self.fuzz.CORPUS / name).iterdir())) <= self.fuzz.MOST_FILES, name)

    def test_a_run_without_end_is_refused(self):
        with contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit) as refused:
            self.fuzz.read_arguments(["all"])
        self.assertEqual(refused.exception.code, 2)


if __name__ == "__main__":
    unittest.main()
