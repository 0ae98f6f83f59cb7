# tests/tools/test_check_size.py: every rule of tools/check_size, broken and kept.
import unittest

from tree import ToolCase

SOURCE = "src/base/a.cpp"
HEADER = "include/braid/base/a.hpp"
TOP = f"// {SOURCE}: a source.\n"


def lines(count, text="int x;"):
    return f"{text}\n" * count


class CheckSize(ToolCase):
    tool = "check_size"

    # files

    def test_a_header_has_400_lines(self):
        top = "// braid/base/a.hpp: a header.\n#pragma once\n"
        self.accepts({HEADER: top + lines(398)})
        self.refuses({HEADER: top + lines(399)}, f"{HEADER}:1: the header has 401 lines; the limit is 400")

    def test_a_source_has_600_lines(self):
        self.accepts({SOURCE: TOP + lines(599)})
        self.refuses({SOURCE: TOP + lines(600)}, f"{SOURCE}:1: the source has 601 lines; the limit is 600")

    def test_the_first_line_names_the_file(self):
        self.accepts({SOURCE: TOP, "rankd/rows/a.hpp": "// rankd/rows/a.hpp: rows.\n#pragma once\n"})
        for first in ("", "// src/base/b.cpp: a source.", "// src/base/a.cpp:", "// src/base/a.cpp: no full stop",
                      "// src/base/a.cpp: no full stop\nint y;  // here.",
                      "/* src/base/a.cpp: a source. */", "\n" + TOP):
            with self.subTest(first):
                self.refuses({SOURCE: first + "\nint x;\n"},
                             f"{SOURCE}:1: the first line is not `// {SOURCE}: <sentence>.`")

    def test_the_name_of_a_public_header_leaves_out_include(self):
        self.accepts({HEADER: "// braid/base/a.hpp: a header.\n#pragma once\n"})
        self.refuses({HEADER: "// include/braid/base/a.hpp: a header.\n#pragma once\n"},
                     f"{HEADER}:1: `// braid/base/a.hpp: <sentence>.`")

    def test_the_first_sentence_may_go_on(self):
        self.accepts({SOURCE: f"// {SOURCE}: a sentence that is\n// long.\nint x;\n"})

    def test_headers_say_pragma_once(self):
        self.refuses({HEADER: "// braid/base/a.hpp: a header.\n// #pragma once\n"}, f"{HEADER}:1: #pragma once")

    def test_all_folders_are_covered_and_no_others(self):
        paths = [f"{folder}/a.cpp" for folder in ("include", "src", "rankd", "examples", "tests", "bench")]
        self.refuses({path: "" for path in [*paths, "other/a.cpp"]}, *[f"{path}:1: first line" for path in paths])


if __name__ == "__main__":
    unittest.main()
