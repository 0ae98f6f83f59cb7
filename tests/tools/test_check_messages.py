# tests/tools/test_check_messages.py: every rule of tools/check_messages, broken and kept.
import os
import subprocess
import unittest

from tree import ToolCase

GOOD = "pool: wake one worker for a burst\n\nEach post woke one, so that a burst of ten cost ten system calls.\n"


class CheckMessages(ToolCase):
    tool = "check_messages"

    def of(self, message):
        """What the tool says of one message in a file."""
        file = self.root / "message"
        file.write_text(message, encoding="utf-8")
        status, printed = self.run_tool("--file", str(file))
        lines = [line.removeprefix(f"{file}:") for line in printed.splitlines()]
        self.assertEqual(status, 1 if lines[1:] else 0, printed)
        return lines[:-1]

    def finds(self, message, *diagnostics):
        found = self.of(message)
        self.assertEqual(len(found), len(diagnostics), found)
        for line, words in zip(found, diagnostics):
            self.assertTrue(line.startswith(words) or words in line, f"{words!r} is not in {line!r}")

    def takes(self, message):
        self.finds(message)

    def test_a_subject_and_a_reason_are_enough(self):
        self.takes(GOOD)
        self.takes("net, rankd/server: share one parser\n\nBoth had one of their own.\n")

    def test_the_subject_names_its_area(self):
        for subject in ("Wake one worker", "Pool: wake one worker", "pool:wake one worker", "pool wake: one", ""):
            with self.subTest(subject):
                self.finds(GOOD.replace("pool: wake one worker for a burst", subject), "1: the subject is not `area: what`")

    def test_the_subject_has_72_characters(self):
        self.takes(GOOD.replace("for a burst", "x" * (72 - len("pool: wake one worker "))))
        self.finds(GOOD.replace("for a burst", "x" * (73 - len("pool: wake one worker "))),
                   "1: the subject has 73 characters; the limit is 72")

    def test_the_subject_has_no_full_stop(self):
        self.finds(GOOD.replace("burst", "burst."), "1: the subject ends without a full stop")

    def test_the_subject_is_imperative(self):
        for word in ("wakes", "waked", "waking", "Adds", "fixed"):
            with self.subTest(word):
                self.finds(GOOD.replace("wake", word, 1), f"1: `{word.lower()}` is no imperative")
        for word in ("pass", "process", "focus", "need", "bring", "add", "ring", "use"):
            with self.subTest(word):
                self.takes(GOOD.replace("wake", word, 1))

    def test_there_is_a_reason(self):
        self.finds("pool: wake one worker\n", "1: there is no body")
        self.finds("pool: wake one worker\n\nSigned-off-by: A <a@b>\n", "1: there is no body")
        self.finds("pool: wake one worker\n\n# a comment of git\n", "1: there is no body")

    def test_an_empty_line_ends_the_subject(self):
        self.finds(GOOD.replace("\n\n", "\n"), "2: an empty line stands between subject and body")

    def test_a_line_of_the_body_has_100_characters(self):
        self.takes(GOOD + "a " + "x" * 98 + "\n")
        self.finds(GOOD + "a " + "x" * 99 + "\n", "4: the line has 101 characters; the limit is 100")
        self.takes(GOOD + "https://example.org/" + "x" * 100 + "\n")

    def test_messages_speak_of_the_product(self):
        self.finds(GOOD + "See issue 12.\n", "4: `issue 12`: messages speak of the product")

    def test_a_range_of_commits_is_read_without_its_merges(self):
        self.git("init", "-q", "-b", "main")
        self.commit(GOOD)
        self.git("checkout", "-q", "-b", "work")
        self.commit(GOOD)
        self.commit("bad\n")
        self.git("checkout", "-q", "main")
        self.git("merge", "-q", "--no-ff", "-m", "Merge the work", "work")
        status, printed = self.run_tool("main~1..main")
        self.assertEqual(status, 1)
        self.assertIn("2 messages, 2 diagnostics", printed)
        self.git("checkout", "-q", "work")
        self.git("branch", "-q", "-f", "main", "work~1")
        status, printed = self.run_tool()
        self.assertIn("1 message, 2 diagnostics", printed)

    def test_a_range_that_git_does_not_know_is_wrong_usage(self):
        self.git("init", "-q", "-b", "main")
        status, printed = self.run_tool("nothing..HEAD")
        self.assertEqual(status, 2)
        self.assertIn("git knows no range nothing..HEAD", printed)

    def test_a_file_that_is_not_there_is_wrong_usage(self):
        self.assertEqual(self.run_tool("--file", str(self.root / "none"))[0], 2)

    def git(self, *arguments):
        names = {f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        environment = {**os.environ, **names, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
        subprocess.run(["git", "-C", str(self.root), *arguments], check=True, env=environment, capture_output=True)

    def commit(self, message):
        self.git("commit", "-q", "--allow-empty", "-m", message)


if __name__ == "__main__":
    unittest.main()
