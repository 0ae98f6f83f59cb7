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

    def test_those_for_macos_have_the_layers_that_use_no_loops(self):
        headers, sources, text = self.write("--system", "macos")
        self.assertLessEqual({"include/braid/coro/task.hpp", "include/braid/graph/flow.hpp", "include/braid/task/job_slab.hpp"}, headers)
        self.assertLessEqual({"src/task/pool.cpp", "src/platform/posix/system.cpp", "src/platform/darwin/system.cpp",
                              "src/platform/absent/symbols.cpp"}, sources)
        self.assertFalse([each for each in headers | sources
                          if re.match(r"(?:src|include/braid)/(?:io|net|runtime|platform/linux)/", each)])
        self.assertFalse(re.findall(r"#include <(?:linux/|sys/(?:epoll|eventfd|prctl|syscall)[.]h)", text))


if __name__ == "__main__":
    unittest.main()
