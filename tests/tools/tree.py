# tests/tools/tree.py: runs one tool over a small tree in a temporary folder, and compares what it says.
import contextlib
import importlib.machinery
import importlib.util
import io
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2] / "tools"


def load(name, folder=TOOLS):
    """The script NAME of a folder, tools by default, as a module."""
    sys.dont_write_bytecode = True
    if str(TOOLS) not in sys.path:
        sys.path.insert(0, str(TOOLS))
    loader = importlib.machinery.SourceFileLoader(name, str(folder / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


class ToolCase(unittest.TestCase):
    """Test cases of the tool named by `tool`."""
    tool = ""

    @classmethod
    def setUpClass(cls):
        cls.module = load(cls.tool)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def write(self, files):
        for path, text in files.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(textwrap.dedent(text), encoding="utf-8")

    def run_tool(self, *arguments):
        """Exit status and what was printed, on either stream."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            try:
                status = self.module.main(["--root", str(self.root), *arguments])
            except SystemExit as end:
                status = end.code if isinstance(end.code, int) else 1
                printed.write("" if isinstance(end.code, int) else f"{end.code}\n")
        return status, printed.getvalue()

    def accepts(self, files):
        self.write(files)
        status, printed = self.run_tool()
        self.assertEqual(printed.count("\n"), 1, printed)
        self.assertIn("0 diagnostics", printed)
        self.assertEqual(status, 0)

    def refuses(self, files, *diagnostics):
        """The tool must say these diagnostics and no more; each is given as `path:line: words that it holds`."""
        self.write(files)
        status, printed = self.run_tool()
        lines = printed.splitlines()[:-1]
        self.assertEqual(len(lines), len(diagnostics), printed)
        for expected in diagnostics:
            place, words = expected.split(" ", 1)
            self.assertTrue(any(line.startswith(place + " ") and words in line for line in lines),
                            f"nobody says {expected!r} in\n{printed}")
        self.assertEqual(status, 1)

    def accepts_instead(self, files):
        """Like `accepts`, in an empty tree again."""
        for path in sorted(self.root.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        self.accepts(files)
