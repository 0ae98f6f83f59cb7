"""python/tests/support.py: projects for tests of the Python package, and the program rankd to compare with.

Tests run in the venv that `./dev test --label python` makes; RANKD names the program."""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
RANKD = os.environ.get("RANKD", str(REPOSITORY / "build/release/bin/rankd"))
PATIENCE_S = 600


def rankd(*words, given=None, check=True):
    """Runs rankd and returns what it printed, as bytes."""
    done = subprocess.run([RANKD, *map(str, words)], input=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE_S,
                          check=False)
    if check and done.returncode != 0:
        raise AssertionError(f"rankd {' '.join(map(str, words))} ended with {done.returncode}: {done.stderr.decode()}")
    return done.stdout


def skip_without(*modules):
    """Ends the program as skipped if a module is missing."""
    import importlib.util

    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        print(f"skipped: {' and '.join(missing)} missing: ./dev test --label python installs it")
        sys.exit(77)


class ProjectTest(unittest.TestCase):
    """Tests on the demo project, which is made once for each class."""

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="rankd_python_")
        cls.addClassCleanup(scratch.cleanup)
        cls.scratch = Path(scratch.name)
        cls.demo = cls.scratch / "demo"
        rankd("init", "demo", cls.demo, "--users", "300", "--media", "3000")
        rankd("load", "--project", cls.demo)

    def refused(self, code, call, *words, **named):
        """Calls, expects RankdError with this code, and returns it."""
        import rankd as package

        with self.assertRaises(package.RankdError) as caught:
            call(*words, **named)
        self.assertEqual(caught.exception.code, code, str(caught.exception))
        return caught.exception
