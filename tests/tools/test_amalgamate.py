# tests/tools/test_amalgamate.py: which layers and systems the two files of tools/amalgamate have.
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from tree import TOOLS


class Amalgamate(unittest.TestCase):
    def write(self, *options):
        """The names of the files that are in braid.hpp and in braid.cpp, and the text of both."""
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-B", TOOLS / "amalgamate", "--out", folder, *options], check=True, capture_output=True)
            texts = [(Path(folder) / name).read_text(encoding="utf-8") for name in ("braid.hpp", "braid.cpp")]
        return *(set(re.findall(r"^// ((?:src|include)/\S+[.][ch]pp)$", text, re.MULTILINE)) for text in texts), "".join(texts)

    def test_those_for_linux_have_all_layers(self):
        headers, sources, text = self.write()
        self.assertLessEqual({"include/braid/io/loop.hpp", "include/braid/net/http_server.hpp"}, headers)
        self.assertLessEqual({"src/io/loop.cpp", "src/platform/posix/system.cpp", "src/platform/linux/system.cpp"}, sources)
        self.assertFalse([each for each in sources if each.startswith(("src/platform/darwin", "src/platform/absent"))])
        self.assertIn("#include <sys/epoll.h>", text)

    def test_those_for_macos_have_the_layers_up_to_net_and_the_calls_of_macos(self):
        headers, sources, text = self.write("--system", "macos")
        self.assertLessEqual({"include/braid/coro/task.hpp", "include/braid/graph/flow.hpp", "include/braid/task/job_slab.hpp"}, headers)
        self.assertLessEqual({"src/task/pool.cpp", "src/platform/posix/system.cpp", "src/platform/darwin/system.cpp",
                              "src/platform/darwin/descriptors.cpp", "src/platform/absent/symbols.cpp",
                              "src/io/kqueue_backend.cpp", "src/platform/darwin/unported.cpp", "src/net/http_server.cpp"}, sources)
        self.assertFalse([each for each in headers | sources
                          if re.match(r"(?:src|include/braid)/(?:runtime/|platform/linux/|io/program[.]cpp)", each)])
        # The backend for io_uring is there, but compiles to nothing without BRAID_URING.
        self.assertEqual(re.findall(r"#include <(linux/|sys/(?:epoll|eventfd|prctl|syscall)[.]h)", text), ["sys/syscall.h"])

    def test_no_header_depends_on_the_condition_of_the_first_file_that_includes_it(self):
        for system in ("linux", "macos"):
            depth, inside = 0, []
            for line in self.write("--system", system)[2].splitlines():
                depth += re.match(r"\s*#\s*if", line) is not None
                depth -= re.match(r"\s*#\s*endif", line) is not None
                if depth and re.match(r"// (?:src|include)/\S+[.]hpp$", line):
                    inside.append(line)
            self.assertEqual(inside, [])


if __name__ == "__main__":
    unittest.main()
