# tests/tools/test_transcripts.py: what tests/rankd/transcripts.py calls true, and what it does not.
import contextlib
import importlib.util
import io
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "rankd" / "transcripts.py"
spec = importlib.util.spec_from_file_location("transcripts", SOURCE)
transcripts = importlib.util.module_from_spec(spec)
spec.loader.exec_module(transcripts)


class Transcripts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name, "shown.txt")
        self.shell = transcripts.Shell(folder.name, "/bin/true")
        self.addCleanup(self.shell.close)

    def is_true(self, text, write=False):
        self.file.write_text(text, encoding="utf-8")
        with contextlib.redirect_stdout(io.StringIO()):
            return transcripts.check(self.file, self.shell, write)

    def test_outputs_are_compared_line_by_line(self):
        self.assertTrue(self.is_true("$ echo one; echo two\none\ntwo\n$ true\n$ echo three\nthree\n"))
        self.assertFalse(self.is_true("$ echo one; echo two\none\n"))
        self.assertFalse(self.is_true("$ echo one\none\ntwo\n"))
        self.assertFalse(self.is_true("$ echo a.b\naxb\n"))

    def test_an_ellipsis_stands_for_any_text_of_a_line(self):
        self.assertTrue(self.is_true("$ echo took 12 ms\ntook … ms\n"))
        self.assertFalse(self.is_true("$ echo took 12 s\ntook … ms\n"))

    def test_commands_share_a_shell(self):
        self.assertTrue(self.is_true('$ word=hello\n$ echo "$word"\nhello\n'))

    def test_the_port_of_a_background_command_replaces_8080(self):
        self.assertTrue(self.is_true("$ echo listening on http://127.0.0.1:4711; true 8080 &\n"
                                     "listening on http://127.0.0.1:8080\n$ test 8080 = 4711; echo $?\n0\n"))

    def test_write_puts_what_was_printed(self):
        self.assertTrue(self.is_true("$ echo one\ntwo\n", write=True))
        self.assertEqual(self.file.read_text(encoding="utf-8"), "$ echo one\none\n")


if __name__ == "__main__":
    unittest.main()
