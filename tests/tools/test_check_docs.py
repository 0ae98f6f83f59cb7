# tests/tools/test_check_docs.py: every rule of tools/check_docs, broken and kept.
import unittest

from tree import ToolCase

SOURCE = "examples/a.cpp"
CODE = "int before;\n  // [part]\n  int x;\n\n    int y;\n  // [/part]\nint after;\n"


def block(tag, text, marker=""):
    return f"{marker}\n```{tag}\n{text}```\n"


class CheckDocs(ToolCase):
    tool = "check_docs"

    # pages of designs

    def test_a_page_of_a_design_has_its_parts(self):
        parts = {"picture": "```text\na -> b\n```\n", "differs": "What differs: one word.\n",
                 "would break": "## What would break it\nA store.\n", "measured": "## Measured\n1 ns.\n"}
        self.accepts({"docs/design/a.md": "# A\n" + "".join(parts.values())})
        for name in parts:
            with self.subTest(name):
                page = "# A\n" + "".join(text for part, text in parts.items() if part != name)
                self.refuses({"docs/design/a.md": page, "docs/a.md": "# B\n"}, f"docs/design/a.md:1: {name}")

    def test_an_edge_is_named_by_a_page_of_a_design(self):
        page = "# A\n```text\n```\nUnlike B. What would break it.\n# Costs\nEdge `ring.item`.\n"
        code = "int a;  // edge ring.item: publish the item\nint b;  // edge ring.item: observe it\n"
        self.accepts({"docs/design/a.md": page, "src/a.cpp": code})
        self.refuses({"docs/design/a.md": page, "src/a.cpp": code.replace("ring.item", "ring.taken")},
                     "src/a.cpp:1: the edge ring.taken is named by no page")

    # operators

    def test_a_table_of_operators_is_made_of_their_description(self):
        source = ('[[op]]\nname = "a::b"\ninputs = 2\noptional_inputs = 1\ndoc = "Does."\n[[op.param]]\nname = "x"\n'
                  '[[op.param]]\nname = "y"\n[[op]]\nname = "a::c"\ninputs = 0\ndoc = "Is."\n')
        marker = "<!-- operators: registry/ops.toml -->\n"
        table = ("| operator | inputs | options | meaning |\n|---|---|---|---|\n| a::b | 1 to 2 | x, y | Does. |\n"
                 "| a::c | 0 |  | Is. |\n")
        self.accepts({"registry/ops.toml": source, "docs/a.md": marker + table + "\n| other | table |\n"})
        self.refuses({"docs/a.md": marker + table.replace("x, y", "x")}, "docs/a.md:1: the table differs from registry/ops.toml")
        self.refuses({"docs/a.md": marker}, "docs/a.md:1: the table differs")
        self.refuses({"docs/a.md": marker.replace("ops", "none")}, "docs/a.md:1: registry/none.toml does not exist")

    # blocks

    def test_a_block_equals_its_region(self):
        marker = f"<!-- from: {SOURCE}#part -->"
        self.accepts({SOURCE: CODE, "README.md": block("cpp", "int x;\n\n  int y;\n", marker)})
        self.refuses({"README.md": block("cpp", "int x;\n", marker)}, f"README.md:2: differs from {SOURCE}")

    def test_a_block_equals_a_whole_file_without_its_marks(self):
        marker = f"<!-- from: {SOURCE} -->"
        whole = CODE.replace("  // [part]\n", "").replace("  // [/part]\n", "")
        self.accepts({SOURCE: CODE, "docs/a/b.md": block("cpp", whole, marker)})
        self.refuses({"docs/a/b.md": block("cpp", CODE, marker)}, "docs/a/b.md:2: differs")

    def test_cpp_from_nowhere_is_refused(self):
        for tag in ("cpp", "c++", "CPP", "cpp,ignore", "cpp {skip}", "cxx", "cc", "hpp"):
            with self.subTest(tag):
                self.refuses({"README.md": block(tag, "int x;\n", "Not compiled:")}, "README.md:2: nothing compiles")
        self.accepts({"README.md": block("", "int x;\n") + block("sh", "ls\n") + block("text", "a\n")})

    def test_a_gap_between_marker_and_block_is_refused(self):
        self.refuses({SOURCE: CODE, "README.md": f"<!-- from: {SOURCE}#part -->\n" + block("cpp", "int x;\n")},
                     "README.md:1: no code block follows", "README.md:3: nothing compiles")
        self.refuses({"README.md": f"```sh\nls\n```\n<!-- from: {SOURCE}#part -->"},
                     "README.md:4: no code block follows")

    def test_the_source_must_be_compiled(self):
        self.refuses({"docs/a.cpp": "int x;\n", "README.md": block("cpp", "int x;\n", "<!-- from: docs/a.cpp -->")},
                     "README.md:1: docs/a.cpp is not a C++ file that is compiled")
        self.refuses({"examples/a.txt": "int x;\n",
                      "README.md": block("cpp", "int x;\n", "<!-- from: examples/a.txt -->")},
                     "README.md:1: examples/a.txt is not a C++ file")
        self.refuses({"README.md": block("cpp", "int x;\n", "<!-- from: examples/none.cpp -->")},
                     "README.md:1: examples/none.cpp does not exist")

    def test_a_region_exists_once(self):
        readme = block("cpp", "int x;\n", f"<!-- from: {SOURCE}#part -->")
        for code in ("int x;\n", "// [part]\nint x;\n", "// [/part]\nint x;\n// [part]\n",
                     "// [part]\nint x;\n// [/part]\n// [part]\nint x;\n// [/part]\n",
                     "// [part]\n// [part]\nint x;\n// [/part]\n", "// [part]\nint x;\n// [/part]\n// [/part]\n"):
            with self.subTest(code):
                self.refuses({SOURCE: code, "README.md": readme}, f"README.md:1: {SOURCE} needs exactly one // [part]")

    def test_output_equals_its_file(self):
        marker = "<!-- output: examples/a.out -->"
        self.accepts({"examples/a.out": "one\ntwo\n", "README.md": block("console", "one\ntwo\n", marker)})
        self.refuses({"README.md": block("text", "one\n", marker)}, "README.md:2: differs from examples/a.out")
        self.refuses({"README.md": block("cpp", "one\ntwo\n", marker)}, "README.md:1: tagged text or console")

    def test_other_languages_may_be_cut_from_files_too(self):
        files = {"plans/a.json": "{}\n", "README.md": block("json", "{}\n", "<!-- from: plans/a.json -->")}
        self.accepts(files)
        self.refuses({"plans/a.json": "[]\n"}, "README.md:2: differs")

    def test_blocks_in_lists_and_quotes_are_seen(self):
        for indent in ("   ", "> "):
            with self.subTest(indent):
                lines = (f"<!-- from: {SOURCE}#part -->", "```cpp", "int x;", "", "  int y;", "```")
                page = "".join((indent + line).rstrip() + "\n" for line in lines)
                self.accepts({SOURCE: CODE, "README.md": "# Title\n\n" + page})
                self.refuses({"README.md": "# Title\n\n" + page.replace("int y", "int z")}, "README.md:4: differs")

    def test_a_line_of_code_has_80_characters(self):
        self.accepts({"README.md": block("sh", "x" * 80 + "\n") + block("text", "x" * 100 + "\n"), "docs/a.md": "x" * 100})
        for tag in ("sh", "ts", "python", "toml", "cmake", "diff", "json", ""):
            with self.subTest(tag):
                self.refuses({"README.md": block(tag, "ls\n" + "x" * 81 + "\n")},
                             "README.md:4: a line of code has 81 characters; the limit is 80")
        long, marker = "int " + "x" * 80 + ";\n", f"<!-- from: {SOURCE} -->"
        self.refuses({SOURCE: long, "README.md": block("cpp", long, marker)}, "README.md:3: 85 characters")

    def test_the_lines_that_a_diff_adds_are_in_its_file(self):
        diff = "--- /dev/null\n+++ b/src/a.cpp\n+call(one,\n+     two);\n+  make<NAME>(\"…\");\n not compared\n--- a/src/b.cpp\n+int b;\n"
        files = {"src/a.cpp": 'call(one, two);\nmake<int>("text");\n', "src/b.cpp": "int  b;\n", "docs/a.md": block("diff", diff)}
        self.accepts(files)
        for old, new, expected in (("two", "three", "docs/a.md:6: this line is not in src/a.cpp"),
                                   ("make<", "made<", "docs/a.md:7: this line is not in src/a.cpp"),
                                   ("+int b", "+int c", "docs/a.md:10: this line is not in src/b.cpp"),
                                   ("a/src/b.cpp", "a/src/c.cpp", "docs/a.md:9: src/c.cpp does not exist"),
                                   ("+++ b/src/a.cpp\n+call(one,\n", "+call(one,\n+++ b/src/a.cpp\n", "docs/a.md:4: this line is not in any file")):
            with self.subTest(expected):
                self.refuses({"docs/a.md": block("diff", diff.replace(old, new))}, expected)

    def test_files_of_projects_are_shown_as_they_are(self):
        plan = "rankd/cli/shop/plans/a.plan.ts"
        self.accepts({plan: "x" * 100 + "\n", "README.md": block("ts", "x" * 100 + "\n", f"<!-- from: {plan} -->")})

    def test_a_longer_fence_holds_a_shorter_one(self):
        self.accepts({"README.md": "````text\n```cpp\n````\n"})

    def test_an_open_block_is_refused(self):
        self.refuses({"README.md": "```sh\nls\n"}, "README.md:1: not closed")

    def test_fix_rewrites_blocks_and_nothing_else(self):
        page = ("# A\n" + block("cpp", "old\n", f"<!-- from: {SOURCE}#part -->") + "between\n"
                + block("text", "old\nolder\n", "<!-- output: examples/a.out -->") + block("cpp", "x\n") + "end\n")
        self.write({SOURCE: CODE, "examples/a.out": "new\n", "README.md": page})
        status, printed = self.run_tool("--fix")
        self.assertEqual(status, 1)
        self.assertIn("rewrote README.md", printed)
        self.assertIn("nothing compiles", printed)
        fixed = page.replace("```cpp\nold\n", "```cpp\nint x;\n\n  int y;\n").replace("old\nolder\n", "new\n")
        self.assertEqual((self.root / "README.md").read_text(), fixed)
        self.accepts({"README.md": fixed.replace(block("cpp", "x\n"), "")})

    def test_what_stands_below_a_rewritten_block_is_read_rightly(self):
        page = (block("cpp", "old\n", f"<!-- from: {SOURCE}#part -->") + block("sh", "cat `src/none.cpp`\n")
                + "`examples/none.cpp`\n")
        self.write({SOURCE: CODE, "src/a.cpp": "", "README.md": page})
        _, printed = self.run_tool("--fix")
        self.assertEqual(printed.splitlines()[0], "README.md:11: `examples/none.cpp` does not exist")
        self.assertIn("1 diagnostic\n", printed)

    def test_fix_leaves_good_pages_alone(self):
        self.write({"README.md": "# A\n"})
        before = (self.root / "README.md").stat().st_mtime_ns
        self.assertEqual(self.run_tool("--fix"), (0, "check_docs: 1 file, 0 diagnostics\n"))
        self.assertEqual((self.root / "README.md").stat().st_mtime_ns, before)

    # links and paths

    def test_links_lead_to_files_and_folders(self):
        self.accepts({"docs/a.md": "[b](b.md) ![c](../data/c%20d.png) [d](../data) [e](b.md#part \"Title\") [f](#here)\n"
                                   "[g](https://example.org/x) [h](mailto:a@b.c) [i](<b.md>) [`b`](b.md) [k](..) [l](/none)\n# Here\n\n[j]: b.md\n",
                      "docs/b.md": "## Part\n", "data/c d.png": ""})

    def test_links_that_lead_nowhere_are_refused(self):
        for link in ("[a](none.md)", "![a](none.png)", "[a](none.md#part)", "[a](<none.md>)", "[a]: none.md",
                     "[`a`](none.md)",
                     "[a](README.md)"):
            with self.subTest(link):
                self.refuses({"README.md": "", "docs/a.md": f"\n{link}\n"}, "docs/a.md:2: leads nowhere")

    def test_anchors_are_those_of_headings_and_lines(self):
        page = "# A `b`, *c*!\n\nTwo\n---\n## Two\n```sh\n# no heading\n```\n"
        files = {"docs/b.md": page, "src/a.cpp": "int a;\nint b;\n"}
        self.accepts(files | {"docs/a.md": "[b](b.md#a-b-c) [c](b.md#two) [d](b.md#two-1) [e](../src/a.cpp#L2) [f](../src#)\n"
                                           "`b.md#two` `docs/b.md#two` (docs/b.md#two) <!-- [g](b.md#none) -->\n\n[h]: b.md#two\n"})
        for link in ("[a](b.md#none)", "[a](b.md#no-heading)", "[a](b.md#two-2)", "[a](b.md#Two)", "[a]: b.md#none", "`docs/b.md#none`",
                     "see docs/b.md#none.", "[`a`](../docs/b.md#none)"):
            with self.subTest(link):
                self.refuses({"docs/a.md": f"\n{link}\n"}, "docs/a.md:2: docs/b.md has no heading or line with the anchor #")
        self.refuses({"docs/a.md": "# A\n[a](#b)\n"}, "docs/a.md:2: docs/a.md has no heading or line with the anchor #b")
        self.refuses({"docs/a.md": "[a](../src/a.cpp#L9)\n"}, "docs/a.md:1: src/a.cpp has no heading or line with the anchor #L9")
        self.refuses({"docs/a.md": "[a](../src#part)\n"}, "docs/a.md:1: src has no heading or line with the anchor #part")

    def test_pages_that_plain_text_names_exist(self):
        self.accepts({"docs/a.md": "A page (docs/a.md), https://example.org/docs/b.md, build/docs/b.md\n"})
        self.refuses({"docs/a.md": "A page (docs/b.md).\n"}, "docs/a.md:1: `docs/b.md` does not exist")

    def test_paths_in_inline_code_exist(self):
        self.accepts({"src/base/a.cpp": "", "include/braid/base/a.hpp": "", "docs/b.md": "# Part",
                      "docs/a.md": "`src/base/a.cpp`, `src/base/`, `src/base/a.cpp:12`, `braid/base/a.hpp`, `docs/b.md#part`.\n"
                                   "`cat src/base/a.cpp`, `./src/base/a.cpp`, `../docs/b.md`, `and/or`, `Release/Debug`,\n"
                                   "`none.md`, `package.json`, `src`, `./`\n"})

    def test_paths_that_do_not_exist_are_refused(self):
        for word in ("src/b.cpp", "src/none/", "src/none", "braid/base/none.hpp", "cat src/none.cpp", "./src/none.cpp",
                     "x/none.md", "x/none.toml", "x/none.json", "x/none.py", "src/none.cpp:12", "src/README.md",
                     "src/ARCHITECTURE.md", "src/CONTRIBUTING.md", "src/CHANGELOG.md", "src/LICENSE"):
            with self.subTest(word):
                self.refuses({"src/a.cpp": "", "README.md": f"\nSee `{word}`.\n"}, "README.md:2: does not exist")

    def test_placeholders_products_and_absolute_paths_are_passed_over(self):
        self.accepts({"src/a.cpp": "", "README.md": "`src/<layer>/a.cpp` `src/*.cpp` `src/…/a.cpp` `src/NAME/a.cpp` "
                                                    "`src/NAME_test.cpp` `build/dev/a.json` `/src/none.cpp` `a/endpoints.ENV.toml` "
                                                    "`-DX=src/none` `https://example.org/a.md` `src/{a,b}.cpp`\n"})

    def test_code_blocks_and_comments_are_no_prose(self):
        self.accepts({"src/a.cpp": "",
                      "README.md": block("sh", "cat `src/none.cpp` [a](none.md)\n") + "<!-- `src/none.cpp` -->\n"})

    # which pages

    def test_only_the_pages_of_the_project_are_read(self):
        for path in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/a.md", "docs/a/b/c.md"):
            with self.subTest(path):
                self.refuses({path: "[a](none)\n"}, f"{path}:1: leads nowhere")
                (self.root / path).unlink()
        self.accepts({"bench/README.md": "[a](none)\n", "docs/a.txt": "[a](none)\n"})


if __name__ == "__main__":
    unittest.main()
