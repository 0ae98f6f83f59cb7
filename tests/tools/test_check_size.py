# tests/tools/test_check_size.py: every rule of tools/check_size, broken and kept.
import unittest

from tree import ToolCase

SOURCE = "src/base/a.cpp"
HEADER = "include/braid/base/a.hpp"
TOP = f"// {SOURCE}: a source.\n"
EXCEPTIONS = "tools/size_exceptions.txt"


def lines(count, text="int x;"):
    return f"{text}\n" * count


def nested(*heads):
    """Blocks inside each other, behind the given heads."""
    return " {\n".join(heads) + " {\n" + "}\n" * len(heads)


class CheckSize(ToolCase):
    tool = "check_size"

    def functions(self, code):
        """Name, first line, last line and nesting of every function that the tool sees."""
        import checklib
        return [(f.name, f.line, f.end, f.nesting) for f in self.module.Functions(checklib.CppText(code)).found]

    def nesting(self, code):
        return [nesting for _, _, _, nesting in self.functions(code)]

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

    # functions

    def test_a_function_has_70_lines(self):
        self.accepts({SOURCE: TOP + "void f() {\n" + lines(68, "g();") + "}\n"})
        self.refuses({SOURCE: TOP + "void f() {\n" + lines(69, "g();") + "}\n"},
                     f"{SOURCE}:2: `f` has 71 lines; the limit is 70")

    def test_classes_and_namespaces_have_any_length(self):
        self.accepts({SOURCE: TOP + "namespace a {\nclass b {\n" + lines(200) + "};\n}\n"})

    def test_a_long_lambda_is_complained_about(self):
        self.refuses({SOURCE: TOP + "auto f = [](int a) {\n" + lines(70, "g();") + "};\n"},
                     f"{SOURCE}:2: `lambda` has 72 lines")

    def test_functions_of_all_forms_are_seen(self):
        found = self.functions(
            "namespace n { extern \"C\" { void c() {} } }\n"
            "template <class T, int N = (1 < 2)> requires std::is_class_v<T> && (N < 3)\n"
            "struct API alignas(64) s final : base<T, decltype(f())> {\n"
            "s() : a_(1), b_{2}, c_{f()} {}\n"
            "public: template <class... A> s(A&&... a) noexcept(noexcept(f())) : A(a)... {}\n"
            "auto operator()(int a = g({1, 2})) const& noexcept -> std::vector<int> {}\n"
            "auto operator<=(s) -> bool {} ~s() {} explicit(true) s(int) {}\n"
            "int x{3}, y[2] = {1, f()}; enum class e : int { one = f(1), two };\n"
            "};\n"
            "void a::b::c() const {}\n"
            "template <> struct std::hash<s> { auto operator()(s) -> int {} };\n"
            "auto q(auto x) -> int requires requires(int t) { x.y(t); } {}\n"
            "auto t() try {} catch (...) {}\n"
            "TEST_CASE(\"a { b\") {}\n"
            "alignas(8) decltype(auto) d1() {} __attribute__((y)) void d2() {} struct s d3() {} int* a<b>::d4() {}\n"
            "template <class T> requires (N < 3) auto d5() {}\n"
            "auto d6() -> int (&)[3] {} int y = g(1), z{2};\n"
            "class o { struct __attribute__((packed)) i { void go() {} }; union u { void go() {} }; };\n"
            "concept k = requires(T t) { { t.x() } -> same; };\n"
            "const table m = {{1, f()}, {2, g()}};\n")
        self.assertEqual([name for name, _, _, _ in found],
                         ["c", "s::s", "s::s", "s::operator()", "s::operator<=", "s::~s", "s::s", "a::b::c",
                          "hash::operator()", "q", "t", "catch", "TEST_CASE",
                          "d1", "d2", "d3", "a::d4", "d5", "d6", "o::i::go", "o::u::go"])

    def test_the_body_is_told_from_what_stands_before_it(self):
        for head in ("s::s() : a_(1), b_{2}, c_{f()}", "s::s(A... a) : A(a)...",
                     "auto f() -> int requires requires(int t) { t.x(); }",
                     "void f() requires requires { x.y(); }", "void f() requires a && requires(int t) { { t } -> b; }",
                     "void f() requires a || requires(int t) { t.x(); }", "void f() requires (!requires(int t) { t.x(); })",
                     "void f(int a = T{1}, int b = {2})", "class c { public:\nvoid f()"):
            with self.subTest(head):
                self.assertEqual(self.nesting(f"{head} {{ if (a) {{ }} }}"), [1])

    def test_a_function_begins_where_its_declaration_does(self):
        self.assertEqual(self.functions("class c {\npublic:\ntemplate <class T>\nvoid f() {\n}\n};\n"),
                         [("c::f", 3, 5, 0)])

    def test_code_that_does_not_fit_together_is_survived(self):
        for code in ("}}}", ")]", "void f() { ( }", "{ [ ) }", "#endif\n#else\n", "(acquire", "operator", "requires {",
                     "case:"):
            with self.subTest(code):
                self.functions(code)

    def test_what_follows_a_function_is_read_from_a_fresh_start(self):
        self.assertEqual(self.functions("void f() {\n}\nvoid g()\n{\n}\n"), [("f", 1, 2, 0), ("g", 3, 5, 0)])

    # nesting

    def test_three_blocks_lie_in_each_other(self):
        self.accepts({SOURCE: TOP + nested("void f()", "if (a)", "for (;;)", "while (b)")})
        self.refuses({SOURCE: TOP + nested("void f()", "if (a)", "for (;;)", "while (b)", "if (c)")},
                     f"{SOURCE}:6: `f` nests 4 blocks; the limit is 3")

    def test_every_kind_of_block_counts(self):
        for head in ("if (a)", "if constexpr (a)", "if (a) b(); else", "for (auto [x, y] : z)", "while (a)", "do",
                     "switch (a)", "try", "try { } catch (...)", "", "label:", "SUBCASE(\"a\")", "for (;;) if (a)",
                     "a = 1; if (auto it = f(); it)", "else if (a)", "else for (;;)", "else while (a)",
                     "else switch (a)", "if consteval", "if !consteval", "else do", "[[likely]] if (a)"):
            with self.subTest(head):
                self.assertEqual(self.nesting(f"void f() {{ {head} {{ }} }}"), [1])

    def test_blocks_side_by_side_do_not_add_up(self):
        self.assertEqual(self.nesting("void f() { if (a) { } else if (b) { } else { } for (;;) { } { } }"), [1])
        self.assertEqual(self.nesting("void f() { if (a) { if (b) { } } if (c) { } }"), [2])

    def test_a_switch_with_its_cases_is_one_block(self):
        self.assertEqual(self.nesting("void f() { switch (a) { case 1: case b::c: { g(); } default: { if (x) { } } } }"), [2])
        self.assertEqual(self.nesting("void f() { switch (a) { case 1: case 2: if (x) { } } }"), [2])
        self.assertEqual(self.nesting("void f() { switch (a) { case 1: { } case 2: default: { } } }"), [1])

    def test_initial_values_are_no_blocks(self):
        for statement in ("return {1, {2}};", "auto x = T{{1}};", "f({1}, T{2});", "if (a) return T{1};", "x[1] = {2};",
                          "auto [a, b]{c};", "constexpr bool ok = requires(T t) { t.f(); };", "auto& [a, b]{c};", "T x{1};",
                          "x[1][2] = {3};", "auto* p = new T<int>[2]{1, 2};"):
            with self.subTest(statement):
                self.assertEqual(self.nesting(f"void f() {{ {statement} }}"), [0])

    def test_a_lambda_starts_again(self):
        block = "{ if (y) { } if (a) { if (b) { } } }"
        for made in (f"auto x = [] {block};", f"g([&](int a) mutable {block});",
                     f"return [=, this] noexcept -> int {block};",
                     f"g({{}}, []<class A, class B>(A a, B b) {block});", f"p | [](auto a) {block};",
                     f"if (a) [&] {block}();", f"x.y[[] {block}()];",
                     f"bool x = a && [] {block}();", f"g([] {block}, T{{1}});", f"auto x = T{{{{}}, [] {block}}};",
                     f"auto x = []<class T>(T t) requires requires {{ t.x(); }} {block};",
                     *(f"{word} [] {block}();" for word in ("return", "co_return", "co_await", "co_yield", "throw",
                                                            "else", "do", "not",
                                                                 "and", "or"))):
            with self.subTest(made):
                found = self.functions(f"void f() {{ if (z) {{ {made} }} }}")
                self.assertEqual([(name, nesting) for name, _, _, nesting in found], [("f", 1), ("f.lambda", 2)])

    def test_a_local_class_starts_again(self):
        self.assertEqual(self.functions("void f() { if (a) { struct s { void g() { if (a) { } } }; } }"),
                         [("f", 1, 1, 1), ("s::g", 1, 1, 1)])

    def test_braces_in_literals_comments_and_macros_do_not_count(self):
        self.assertEqual(self.functions("void f() { // {{\n g('{', \"{\", R\"({{)\"); /* { */\n#define X { \\\n {\n}\nint x;"),
                         [("f", 1, 5, 0)])

    def test_each_branch_of_a_condition_begins_in_the_same_place(self):
        self.assertEqual(self.functions("void f() {\n#if A\nif (a) {\n#elif B\nif (b) {\n#else\nif (c) {{}\n#endif\n}\n}\nvoid g() {}\n"),
                         [("f", 1, 10, 2), ("g", 11, 11, 0)])

    # exceptions

    def test_a_reasoned_exception_raises_the_limit(self):
        deep = {SOURCE: TOP + nested("void f()", "if (a)", "for (;;)", "while (b)", "if (c)") + lines(600)}
        self.accepts({**deep, EXCEPTIONS: f"# why\n{SOURCE}:f nesting 4 a state machine reads best in one piece\n"
                                          f"{SOURCE} file_lines 700 a table\n"})
        self.refuses({EXCEPTIONS: f"{SOURCE}:f nesting 4 a reason\n{SOURCE} file_lines 605 a table\n"},
                     f"{SOURCE}:1: 611 lines; the limit is 605")

    def test_an_exception_for_another_function_does_not_help(self):
        self.refuses({SOURCE: TOP + nested("void f()", "if (a)", "for (;;)", "while (b)", "if (c)"),
                      EXCEPTIONS: f"{SOURCE}:g nesting 4 a reason\n"},
                     f"{SOURCE}:6: `f` nests 4 blocks", f"{EXCEPTIONS}:1: no longer needs its exception from nesting")

    def test_an_exception_needs_a_reason(self):
        self.refuses({SOURCE: "int x;\n", EXCEPTIONS: f"\n{SOURCE} first_line -\n"}, f"{EXCEPTIONS}:2: gives no reason")

    def test_an_exception_that_is_no_longer_needed_is_refused(self):
        self.refuses({SOURCE: TOP, EXCEPTIONS: f"{SOURCE} file_lines 700 a table\n"}, f"{EXCEPTIONS}:1: delete it")

    def test_an_exception_has_the_right_form(self):
        for line in ("only two", f"{SOURCE} nesting", f"{SOURCE} wrong_rule 3 reason", f"{SOURCE} nesting many reason",
                     f"{SOURCE} nesting - reason",
                     f"{SOURCE} pragma_once 1 reason"):
            with self.subTest(line):
                self.refuses({SOURCE: TOP, EXCEPTIONS: line + "\n"}, f"{EXCEPTIONS}:1: write `path[:function] rule limit reason`, where rule and limit are one of "
                             "file_lines NUMBER, function_lines NUMBER, nesting NUMBER, first_line -, pragma_once -")

    def test_rules_without_a_number_can_be_excepted(self):
        self.accepts({HEADER: "int x;\n",
                      EXCEPTIONS: f"{HEADER} first_line - generated\n{HEADER} pragma_once - included twice\n"})


if __name__ == "__main__":
    unittest.main()
