# tests/tools/test_gitlint.py: the rules of commit messages in .gitlint, broken and kept.
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

RULES = Path(__file__).resolve().parents[2] / ".gitlint"
GOOD = "pool: wake one worker for a burst\n\nEach post woke one, so that a burst of ten cost ten system calls.\n"


@unittest.skipUnless(shutil.which("gitlint"), "gitlint is not installed")
class Messages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
        subprocess.run(["git", "init", "-q", str(self.root)], check=True, env=self.environment)

    def rules(self, message):
        """Returns the numbers of the rules that a message breaks, each once."""
        (self.root / "message").write_text(message, encoding="utf-8")
        done = subprocess.run(["gitlint", "--target", str(self.root), "--config", str(RULES), "--msg-filename", "message"],
                              cwd=self.root, capture_output=True, text=True, check=False, env=self.environment)
        lines = [line.split()[1] for line in done.stderr.splitlines() if line[:1].isdigit()]
        self.assertEqual(done.returncode, len(lines), done.stderr)
        return set(lines)

    def test_a_subject_and_a_reason_are_enough(self):
        self.assertEqual(self.rules(GOOD), set())
        self.assertEqual(self.rules("net, rankd/server: share one parser\n\nBoth had one of their own.\n"), set())

    def test_the_subject_names_its_area_and_is_imperative(self):
        for subject in ("Wake one worker", "Pool: wake one worker", "pool:wake one worker", "pool wake: one",
                        *(f"pool: {word} one worker" for word in ("wakes", "waked", "waking", "Adds", "fixed"))):
            with self.subTest(subject):
                self.assertEqual(self.rules(GOOD.replace("pool: wake one worker for a burst", subject)), {"T7"})
        for word in ("pass", "process", "focus", "need", "bring", "add", "ring", "use"):
            with self.subTest(word):
                self.assertEqual(self.rules(GOOD.replace("wake", word, 1)), set())

    def test_the_subject_has_72_characters_and_no_full_stop(self):
        self.assertEqual(self.rules(GOOD.replace("for a burst", "x" * (72 - len("pool: wake one worker ")))), set())
        self.assertEqual(self.rules(GOOD.replace("for a burst", "x" * (73 - len("pool: wake one worker ")))), {"T1"})
        self.assertEqual(self.rules(GOOD.replace("burst", "burst.")), {"T3"})

    def test_there_is_a_reason(self):
        self.assertIn("B6", self.rules("pool: wake one worker\n"))
        self.assertIn("B6", self.rules("pool: wake one worker\n\n# a comment of git\n"))
        self.assertEqual(self.rules("pool: wake one worker\n\nSigned-off-by: A <a@b>\n"), {"B8"})
        self.assertEqual(self.rules(GOOD + "\nSigned-off-by: A <a@b>\n"), set())
        self.assertIn("B4", self.rules(GOOD.replace("\n\n", "\n")))

    def test_a_line_of_the_body_has_100_characters(self):
        self.assertEqual(self.rules(GOOD + "a " + "x" * 98 + "\n"), set())
        self.assertEqual(self.rules(GOOD + "a " + "x" * 99 + "\n"), {"B1"})
        self.assertEqual(self.rules(GOOD + "https://example.org/" + "x" * 100 + "\n"), set())

    def test_messages_speak_of_the_product(self):
        self.assertEqual(self.rules(GOOD + "See issue 12.\n"), {"B8"})
        self.assertEqual(self.rules(GOOD + "Sessions of TLS.\n"), set())


if __name__ == "__main__":
    unittest.main()
