// tests/rankd/server/compiler_answer_test.cpp: lines of the compiler, cut into members that stay as they are written.
#include <rankd/server/studio/compiler_answer.hpp>

#include <string>
#include <string_view>

#include <doctest/doctest.h>

using rankd::compiler_answer;

namespace {

auto problem(std::string code) -> braid::diagnostic {
  return {.code = std::move(code), .pointer = "/p", .message = "m", .hint = "h", .node = {}, .source = {}};
}

auto with(const std::string& line, const braid::diagnostics& problems) -> std::string {
  auto answer = compiler_answer::parse(line).value();
  answer.add_diagnostics(problems);
  return answer.line();
}

}  // namespace

TEST_CASE("members are found as they are written, whatever stands in them") {
  auto answer =
      compiler_answer::parse(
          R"( { "number" : 7 ,"text":"a\\\"},{\u00e9\n","list":[{"a":"]"},[1,{}]], "object":{"b":[","]} ,"none":null})")
          .value();
  CHECK(answer.find("number") == "7");
  CHECK(answer.find("list") == R"([{"a":"]"},[1,{}]])");
  CHECK(answer.find("object") == R"({"b":[","]})");
  CHECK(answer.find("none") == "null");
  CHECK(answer.find("absent").empty());
  CHECK(answer.text("text") == "a\\\"},{é\n");
  CHECK_FALSE(answer.text("number").has_value());
  CHECK_FALSE(answer.text("absent").has_value());
  answer.erase("text");
  answer.erase("object");
  CHECK(answer.line() == "{\"number\":7,\"list\":[{\"a\":\"]\"},[1,{}]],\"none\":null}\n");
}

TEST_CASE("what is not an object of JSON is no answer") {
  for (const std::string_view line : {"", "nonsense", "[1]", "7", "{", "{\"a\":1}}", "{\"a\":}", "{\"a\":\"\\ud800\"}"})
    CHECK_FALSE(compiler_answer::parse(line).has_value());
  CHECK(compiler_answer::parse("{}").value().line() == "{}\n");
  CHECK(compiler_answer::parse(" { } ").value().line() == "{}\n");
}

TEST_CASE("diagnostics of the engine follow those of the compiler") {
  const std::string added = R"({"code":"x","message":"m","hint":"h","place":null,"pointer":"/p"})";
  CHECK(with("{}", braid::diagnostics(problem("x"))) == "{\"diagnostics\":[" + added + "]}\n");
  CHECK(with(R"({"diagnostics":[],"file":"f"})", braid::diagnostics(problem("x"))) ==
        "{\"diagnostics\":[" + added + "],\"file\":\"f\"}\n");
  CHECK(with(R"({"diagnostics":[{"code":"a"}]})", braid::diagnostics(problem("x"))) ==
        "{\"diagnostics\":[{\"code\":\"a\"}," + added + "]}\n");
  CHECK(with(R"({"diagnostics":[{"code":"a"}]})", {}) == "{\"diagnostics\":[{\"code\":\"a\"}]}\n");
}

TEST_CASE("a question is a line of ASCII, and means the same") {
  CHECK(rankd::as_ascii("{\"a\":\"plain \\n\"}") == "{\"a\":\"plain \\n\"}");
  CHECK(rankd::as_ascii("é\u2028\U0001F600\x7f") == "\\u00e9\\u2028\\ud83d\\ude00\x7f");
}
