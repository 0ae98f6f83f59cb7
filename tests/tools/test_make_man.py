# tests/tools/test_make_man.py: the manual page of a program with subcommands, from what it says of its use.
import tempfile
import unittest
from pathlib import Path

from tree import load

PROGRAM = """#!/bin/sh
case "$*" in
  --version) echo "thing 1.2.3" ;;
  --help) printf '%s\\n' 'thing: does much: all of it' 'Usage: thing [OPTIONS] SUBCOMMAND' '' 'Options:' \\
    '  -h,--help    Print this' '' 'Subcommands:' '  make         Make one' '' 'Exit status: 0; 1 where' 'it fails.' ;;
  "make --help") printf '%s\\n' 'Make one' 'Usage: thing make [OPTIONS]' '' 'Options:' '  -h,--help    Print this' \\
    '  --size N:1 to 4' '               How large; it may' '               be 2' ;;
  *) exit 2 ;;
esac
"""


class MakeMan(unittest.TestCase):
    def page(self, text):
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "thing"
            program.write_text(text, encoding="utf-8")
            program.chmod(0o755)
            load("make_man").main([str(program), str(Path(folder) / "man/thing.1")])
            return (Path(folder) / "man/thing.1").read_text(encoding="utf-8")

    def test_a_page(self):
        page = self.page(PROGRAM)
        self.assertIn('.TH "THING" 1 ', page)
        self.assertIn("thing \\- does much\n", page)
        self.assertIn('.SS "thing make"\nMake one\n', page)
        self.assertIn(".B \\-\\-size N:1 to 4\nHow large; it may be 2\n", page)
        self.assertIn('.SH "EXIT STATUS"\n0; 1 where it fails.\n', page)

    def test_a_program_without_help(self):
        with self.assertRaisesRegex(SystemExit, "says nothing of use"):
            self.page("#!/bin/sh\nexit 1\n")


if __name__ == "__main__":
    unittest.main()
