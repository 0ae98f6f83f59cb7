# tests/package/python_tools.py: the programs that tests/package/requirements.txt brings, and how a test does without them.
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[2]
FOLDER = SOURCES / "build/python/bin"


def find(*names):
    """Their paths, by name. Ends the test as skipped where one is missing."""
    found = {name: shutil.which(name, path=FOLDER) or shutil.which(name) for name in names}
    missing = [name for name, path in found.items() if path is None]
    if missing:
        print(f"skipped: {' and '.join(missing)} missing: ./dev test --label package installs it")
        sys.exit(77)
    return found


def run_with(*modules):
    """Goes on where these modules are: in this Python, or, from the beginning, in that of build/python. Ends the test as skipped
    where neither has them."""
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    other = FOLDER / "python"
    if missing and Path(sys.prefix) != FOLDER.parent and other.exists():
        os.execv(other, [other, "-B", *sys.argv])
    if missing:
        print(f"skipped: {' and '.join(missing)} missing: ./dev test --label package installs it")
        sys.exit(77)


def run(*words, **options):
    """Exit status, and what was printed on either stream."""
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          stdin=subprocess.DEVNULL, **options)
    return done.returncode, done.stdout
