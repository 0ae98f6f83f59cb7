# tests/tools/test_build_with_zig.py: which programs tools/build_with_zig builds and runs, and what it says of them.
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from tree import TOOLS

# A compiler whose programs are the sources themselves, which are shell scripts here. It refuses those that say so.
ZIG = r'''#!/bin/bash
echo "$*" >>"$(dirname "$0")/calls"
while [ $# -gt 0 ]; do
  case "$1" in
    -o) out=$2; shift ;;
    *.cpp) source=$1 ;;
  esac
  shift
done
if grep -q REFUSED "$source"; then echo "note: no" >&2; echo "$source:1: error: no such part" >&2; exit 1; fi
{ echo '#!/bin/bash'; cat "$source"; } >"$out"; chmod +x "$out"
'''


class BuildWithZig(unittest.TestCase):
    def build(self, *options, files=None):
        """What is printed and said, the exit status, and how the compiler was called. `files` are added to the tree."""
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            tree = {"tools/amalgamate": "import sys\nfrom pathlib import Path\nout = Path(sys.argv[sys.argv.index('--out') + 1])\n"
                                        "out.mkdir(parents=True)\n(out / 'braid.cpp').write_text(' '.join(sys.argv[1:3]))\n",
                    "tests/support/main.cpp": "",
                    "examples/00_hello.cpp": "echo hello", "examples/00_hello.txt": "hello\n",
                    "examples/01_tls.cpp": "# REFUSED", "examples/01_tls.txt": "", **(files or {})}
            for name, text in tree.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text, encoding="utf-8")
            zig = root / "zig"
            zig.write_text(ZIG, encoding="utf-8")
            zig.chmod(0o755)
            done = subprocess.run([sys.executable, "-B", TOOLS / "build_with_zig", *options, "--root", folder, "--zig", zig],
                                  text=True, capture_output=True, check=False)
            calls = (root / "calls").read_text(encoding="utf-8").splitlines() if (root / "calls").exists() else []
            return done.stdout, done.stderr, done.returncode, calls

    def test_static_programs_are_run_and_a_program_that_does_not_compile_is_listed(self):
        printed, _, status, calls = self.build("musl")
        self.assertIn("passed        examples/00_hello\n", printed)
        self.assertIn("not compiled  examples/01_tls: ", printed)
        self.assertIn("error: no such part", printed)
        self.assertTrue(printed.endswith("1 passed, 0 failed, 1 not compiled\n"), printed)
        self.assertEqual(status, 0)
        self.assertTrue(all("c++ -target x86_64-linux-musl " in call for call in calls), calls)
        self.assertEqual(len(calls), 3)

    def test_an_example_that_prints_something_else_fails(self):
        printed, _, status, _ = self.build("musl", files={"examples/00_hello.txt": "bye\n"})
        self.assertIn("FAILED        examples/00_hello: printed something else than examples/00_hello.txt\n", printed)
        self.assertEqual(status, 1)

    def test_tests_are_chosen_by_name_and_fail_by_their_status(self):
        files = {"tests/base/good_test.cpp": "exit 0", "tests/base/bad_test.cpp": "echo why; exit 3",
                 "tests/net/other_test.cpp": "exit 1"}
        printed, _, status, calls = self.build("musl", "--tests", "^base/", files=files)
        self.assertIn("passed        base/good_test\n", printed)
        self.assertIn("FAILED        base/bad_test: ended with 3: why\n", printed)
        self.assertNotIn("other_test", printed)
        self.assertEqual(status, 1)
        self.assertEqual(len([call for call in calls if "tests/support/main.cpp" in call]), 1)

    def test_programs_for_macos_are_linked_and_not_run(self):
        printed, _, status, calls = self.build("macos", files={"examples/00_hello.cpp": "exit 1"})
        self.assertIn("linked        examples/00_hello\n", printed)
        self.assertEqual(status, 0)
        self.assertTrue(all("c++ -target aarch64-macos.14.4 " in call for call in calls), calls)

    def test_a_library_that_does_not_compile_is_an_error(self):
        _, said, status, _ = self.build("macos", files={"tools/amalgamate": "import sys\nfrom pathlib import Path\n"
                                                        "out = Path(sys.argv[sys.argv.index('--out') + 1])\nout.mkdir(parents=True)\n"
                                                        "(out / 'braid.cpp').write_text('REFUSED')\n"})
        self.assertIn("the library does not compile: ", said)
        self.assertEqual(status, 1)


if __name__ == "__main__":
    unittest.main()
