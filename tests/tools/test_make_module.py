# tests/tools/test_make_module.py: which headers and names the module has, and what --check says of another file.
import unittest

from tree import ToolCase

LIST = "docs/api.txt"
FILE = "modules/braid.cppm"


class MakeModule(ToolCase):
    tool = "make_module"

    def setUp(self):
        super().setUp()
        self.write({"include/braid/task/a.hpp": "", "include/braid/task/detail/b.hpp": "",
                    LIST: "A macro braid/task/a.hpp\npool class braid/task/a.hpp\n"
                          "operator co_await function braid/task/a.hpp\ntrace::span class braid/task/a.hpp\n"})

    def test_headers_and_names(self):
        self.assertEqual(self.run_tool()[0], 0)
        text = (self.root / FILE).read_text()
        self.assertIn("#include <braid/task/a.hpp>\n\nexport module braid;", text)
        self.assertNotIn("detail", text)
        self.assertIn("using braid::operator co_await;\nusing braid::pool;\n", text)
        self.assertIn('using std::chrono_literals::operator""ms;\n', text)
        self.assertIn("export namespace braid::trace {\nusing braid::trace::span;\n}", text)
        self.assertNotIn("::A;", text)

    def test_check(self):
        self.assertEqual(self.run_tool("--check")[0], 1)
        self.run_tool()
        status, printed = self.run_tool("--check")
        self.assertEqual((status, printed), (0, "make_module: 11 names, as docs/api.txt has them\n"))
        self.write({LIST: "pool class braid/task/a.hpp\n"})
        status, printed = self.run_tool("--check")
        self.assertEqual(status, 1)
        self.assertIn(f"{FILE}:1: differs", printed)


if __name__ == "__main__":
    unittest.main()
