# tests/tools/test_check_api.py: which names tools/check_api finds in a header, and what it says where the list differs.
import unittest

from tree import ToolCase

PATH = "include/braid/task/a.hpp"
LIST = "docs/api.txt"
MODULE = "modules/braid.cppm"


class CheckApi(ToolCase):
    tool = "check_api"

    def names(self, *lines, path=PATH):
        """The list, without its heading and the header's path, that --fix makes of one header."""
        self.write({path: "\n".join(lines) + "\n", LIST: ""})
        self.run_tool("--fix")
        text = (self.root / LIST).read_text()
        return [line.rsplit(" ", 1)[0] for line in text.splitlines() if line and not line.startswith("#")]

    def inside(self, *lines):
        return self.names("namespace braid {", *lines, "}  // namespace braid")

    # kinds

    def test_classes_and_enums(self):
        self.assertEqual(
            self.inside("struct a {", "  int member = 1;", "  void call() { f(); }", "  void f();", "};",
                        "class b final : public a {};", "template <typename T, typename U = T>", "  requires(sizeof(T) > 1)",
                        "class d : private U {};", "class alignas(64) f {};", "union g {};",
                        "enum class h : int { first, second };", "struct [[nodiscard]] i {};"),
            ["a class", "b class", "d class", "f class", "g class", "h enum", "i class"])

    def test_functions(self):
        self.assertEqual(
            self.inside("auto a() noexcept -> int;", "inline auto b(int x = int{1}) -> int { return x; }",
                        "template <typename Fn>", "  requires(sizeof(Fn) > 8)", "auto c(Fn&&) -> Fn {", "  return {};", "}",
                        "template <typename T>", "  requires requires(T t) { t.g(); }", "[[nodiscard]] auto g(T) -> int { return 1; }",
                        "struct s {};", "auto operator==(const s&, const s&) -> bool;",
                        "auto operator co_await(s&& x) { return x; }", "constexpr auto h(int) -> decltype(auto) { return 1; }"),
            sorted(["s class", *(f"{name} function" for name in ("a", "b", "c", "g", "operator==", "operator co_await", "h"))]))

    def test_constants(self):
        self.assertEqual(
            self.inside("inline constexpr int a = 1;", "inline constexpr auto d = [](int x) { return x; };",
                        "template <typename T>", "inline constexpr bool e = false;", "template <typename T>",
                        "inline constexpr bool e<T*> = true;"),
            ["a constant", "d constant", "e constant"])

    def test_aliases_and_concepts(self):
        self.assertEqual(
            self.inside("using a = int*;", "template <typename T>", "using b = T*;", "template <typename T>",
                        "concept d = requires(T& t) {", "  { t.e() };", "} && sizeof(T) > 1;"),
            ["a alias", "b alias", "d concept"])

    def test_macros_that_are_left_defined(self):
        self.assertEqual(self.names("#define A_B(x) \\", "  f(x)", "#define C 1", "#undef C", "#if 1", "#define D", "#endif"),
                         ["A_B macro", "D macro"])
        self.assertEqual(self.names("#define E", path="include/braid/task/detail/a.hpp"), ["A_B macro", "D macro"])

    # scopes

    def test_detail_other_namespaces_and_members_are_not_public(self):
        self.assertEqual(
            self.names("namespace other { struct a {}; }", "struct b {};", "namespace braid::detail { struct c {}; }",
                       "namespace braid {", "namespace detail {", "struct d {", "};", "inline void e() {}", "}",
                       "template <typename T>", "struct f {", "  f(int);", "  auto h() -> int;", "  static int i;", "};",
                       "template <typename T>", "f<T>::f(int) {}", "template <typename T>", "auto f<T>::h() -> int { return 1; }",
                       "template <typename T>", "int f<T>::i = 1;", "}"),
            ["f class"])

    def test_inner_namespaces_are_named(self):
        self.assertEqual(self.inside("namespace this_thread {", "auto a() -> int;", "}",
                                     "namespace short_name = braid::this_thread;"),
                         ["this_thread::a function"])
        self.assertEqual(self.names("namespace braid::this_thread {", "void c();", "}"), ["this_thread::c function"])

    def test_guides_specialisations_and_assertions_are_no_names(self):
        self.assertEqual(
            self.inside("template <typename T>", "class a {};", "template <typename T>", "a(T) -> a<T>;", "template <>",
                        "class a<int> {};", "static_assert(sizeof(a<int>) == 1);", "extern template class a<long>;"),
            ["a class"])

    def test_a_class_stands_with_its_definition(self):
        self.write({PATH: "#pragma once\nnamespace braid {\nclass a;\nclass b;\n}\n",
                    "include/braid/task/b.hpp": "#pragma once\nnamespace braid {\nclass a {};\nclass b;\n}\n"})
        self.run_tool("--fix")
        self.assertEqual((self.root / LIST).read_text().splitlines()[-2:],
                         ["a class braid/task/b.hpp", "b class braid/task/a.hpp"])

    def test_overloads_are_one_name(self):
        self.assertEqual(self.inside("void a(int);", "void a(long);", "// struct d {};", 'inline constexpr auto e = "struct f {";'),
                         ["a function", "e constant"])

    def test_headers_that_do_not_compile_are_reported(self):
        self.write({PATH: "#include <braid/none.hpp>\n", LIST: ""})
        status, printed = self.run_tool()
        self.assertEqual(status, 1)
        self.assertIn("check_api: the headers do not compile: ", printed)

    # the list

    def test_the_list_is_compared(self):
        header = {PATH: "namespace braid {\nstruct a {};\nauto operator co_await(a) -> int;\n}\n"}
        same = {LIST: "# heading\na class braid/task/a.hpp\noperator co_await function braid/task/a.hpp\n"}
        self.write(header)
        self.run_tool("--fix")
        self.write(same)
        self.assertEqual(self.run_tool(), (0, "check_api: 2 names in 1 public header\ncheck_api: 1 file, 0 diagnostics\n"))

    def test_what_came_and_went_is_named(self):
        self.write({PATH: "namespace braid {\n\nstruct a {};\n}\n", LIST: "a alias braid/task/a.hpp\n"})
        status, printed = self.run_tool()
        self.assertEqual(status, 1)
        self.assertEqual([line for line in printed.splitlines() if line.startswith((LIST, PATH))],
                         [f"{LIST}:1: alias a went: braid/task/a.hpp does not declare it",
                          f"{PATH}:3: class a came: {LIST} does not have it"])

    def test_fix_rewrites_and_says_how_much(self):
        self.write({PATH: "namespace braid {\nstruct a {};\n}\n", LIST: "b class braid/task/a.hpp\n"})
        status, printed = self.run_tool("--fix")
        self.assertEqual(status, 0)
        self.assertIn(f"rewrote {LIST} and {MODULE}: 1 came, 1 went", printed)
        self.assertEqual(self.run_tool()[0], 0)

    def test_names_of_detail_headers_count_where_they_are_public(self):
        self.write({"include/braid/task/detail/a.hpp": "namespace braid {\nstruct a {};\n}\n"})
        _, printed = self.run_tool("--fix")
        self.assertIn("1 name in 0 public headers", printed)

    # the module

    def test_the_module_exports_the_names_and_includes_the_public_headers(self):
        self.write({PATH: "#define A 1\nnamespace braid {\nstruct pool {};\nauto operator co_await(pool) -> int;\n"
                          "namespace trace {\nstruct span {};\n}\n}\n", "include/braid/task/detail/b.hpp": ""})
        self.run_tool("--fix")
        text = (self.root / MODULE).read_text()
        self.assertIn("#include <braid/task/a.hpp>\n\nexport module braid;", text)
        self.assertNotIn("detail", text)
        self.assertIn("using braid::operator co_await;\nusing braid::pool;\n", text)
        self.assertIn('using std::chrono_literals::operator""ms;\n', text)
        self.assertIn("export namespace braid::trace {\nusing braid::trace::span;\n}", text)
        self.assertNotIn("::A;", text)

    def test_a_module_that_differs_is_refused(self):
        self.write({PATH: "namespace braid {\nstruct a {};\n}\n"})
        self.run_tool("--fix")
        self.write({MODULE: "export module braid;\n"})
        status, printed = self.run_tool()
        self.assertEqual(status, 1)
        self.assertIn(f"{MODULE}:1: differs from the public names: run tools/check_api --fix", printed)


if __name__ == "__main__":
    unittest.main()
