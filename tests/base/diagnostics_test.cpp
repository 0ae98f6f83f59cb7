// tests/base/diagnostics_test.cpp: diagnostics keep their order, their places are valid pointers, hints are near.
#include <braid/base/error.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

using braid::diagnostic;
using braid::diagnostics;
using braid::did_you_mean;
using braid::json_pointer;

namespace {

auto make_diagnostic(std::string code) -> diagnostic {
  return {.code = std::move(code), .pointer = "/a", .message = "it is wrong", .hint = {}, .node = {}, .source = {}};
}

}  // namespace

TEST_CASE("diagnostics stay in the order in which they were found, also when two lists are joined") {
  diagnostics first(make_diagnostic("one"));
  diagnostics second;
  CHECK(second.empty());
  second.add(make_diagnostic("two"));
  second.add(make_diagnostic("three"));
  first.append(std::move(second));
  first.append({});
  REQUIRE(first.size() == 3);
  std::vector<std::string> codes;
  for (const diagnostic& item : first) codes.push_back(item.code);
  CHECK(codes == std::vector<std::string>{"one", "two", "three"});
  CHECK(first.front() == make_diagnostic("one"));
}

TEST_CASE("of very many diagnostics the first are kept") {
  diagnostics all;
  for (std::size_t i = 0; i < diagnostics::max_items + 5; ++i) all.add(make_diagnostic(std::to_string(i)));
  CHECK(all.size() == diagnostics::max_items);
  CHECK(all.front().code == "0");
  diagnostics joined(make_diagnostic("before"));
  joined.append(all);
  CHECK(joined.size() == diagnostics::max_items);
  CHECK(std::prev(joined.end())->code == std::to_string(diagnostics::max_items - 2));
}

TEST_CASE("source and node are filled in where they are missing and nowhere else") {
  diagnostics all(make_diagnostic("one"));
  diagnostic known = make_diagnostic("two");
  known.source = "inner.json";
  known.node = "inner";
  all.add(known);
  all.set_source("outer.json");
  all.set_node("outer");
  CHECK(all.begin()->source == "outer.json");
  CHECK(all.begin()->node == "outer");
  CHECK((all.begin() + 1)->source == "inner.json");
  CHECK((all.begin() + 1)->node == "inner");
}

TEST_CASE("the text has one line a diagnostic, with only the parts that are known") {
  diagnostics all;
  all.add({.code = "unknown_key",
           .pointer = "/nodes/0",
           .message = "no such key",
           .hint = "remove it",
           .node = "take",
           .source = "plan.json"});
  all.add({.code = "bare", .pointer = {}, .message = "all of it", .hint = {}, .node = {}, .source = {}});
  all.add({.code = "placed", .pointer = "/x", .message = "here", .hint = {}, .node = {}, .source = {}});
  CHECK(all.to_text() ==
        "plan.json#/nodes/0: node `take`: no such key [unknown_key]; remove it\n"
        "all of it [bare]\n"
        "#/x: here [placed]\n");
  CHECK(diagnostics{}.to_text().empty());
}

TEST_CASE("reference tokens are escaped, tilde before slash") {
  CHECK(json_pointer("", "a") == "/a");
  CHECK(json_pointer("/a", "") == "/a/");
  CHECK(json_pointer("", "a/b") == "/a~1b");
  CHECK(json_pointer("", "m~n") == "/m~0n");
  CHECK(json_pointer("", "~1") == "/~01");
  CHECK(json_pointer("/nodes", std::size_t{12}) == "/nodes/12");
  CHECK(json_pointer(json_pointer("/x", "~/"), "\"") == "/x/~0~1/\"");
}

TEST_CASE("the nearest known name is proposed") {
  const std::vector<std::string_view> known{"timeout_ms", "take", "threads", "name"};
  CHECK(did_you_mean("timeout_sm", known) == "did you mean `timeout_ms`?");
  CHECK(did_you_mean("tkae", known) == "did you mean `take`?");
  CHECK(did_you_mean("thread", known) == "did you mean `threads`?");
  CHECK(did_you_mean("ame", known) == "did you mean `name`?");
  CHECK(did_you_mean("timeoutms", known) == "did you mean `timeout_ms`?");
}

TEST_CASE("of names that are equally near the first is proposed") {
  CHECK(did_you_mean("cat", {"bat", "hat"}) == "did you mean `bat`?");
}

TEST_CASE("a name that is near to none gets no hint") {
  const std::vector<std::string_view> known{"timeout_ms", "take"};
  CHECK(did_you_mean("completely_different", known).empty());
  CHECK(did_you_mean("", known).empty());
  CHECK(did_you_mean("take", {}).empty());
  CHECK(did_you_mean("timeoXXXX_s", known).empty());
  CHECK(did_you_mean("ab", {"cd"}).empty());
  CHECK(did_you_mean("x", {"y"}).empty());
}

TEST_CASE("names too long to be a slip are not compared") {
  const std::string longest(64, 'a');
  const std::string too_long(65, 'a');
  CHECK(did_you_mean(longest, {longest}) == "did you mean `" + longest + "`?");
  CHECK(did_you_mean(too_long, {longest}).empty());
  CHECK(did_you_mean(longest, {too_long}).empty());
}

TEST_CASE("a checked value carries either the value or every diagnostic") {
  const braid::checked<int> good = 3;
  const braid::checked<int> bad = std::unexpected(diagnostics(make_diagnostic("one")));
  CHECK(good.value() == 3);
  REQUIRE_FALSE(bad.has_value());
  CHECK(bad.error().front().code == "one");
}

TEST_CASE("or_throw gives what was checked, and throws all that is wrong with it as text") {
  CHECK(braid::or_throw(braid::checked<int>(7)) == 7);
  diagnostic one{};
  one.code = "unknown_key";
  one.message = "there is no key `a`";
  diagnostics wrong(one);
  one.message = "there is no key `b`";
  wrong.add(one);
  try {
    braid::or_throw(braid::checked<int>(std::unexpect, wrong), "the menu");
    FAIL("it has not thrown");
  } catch (const std::invalid_argument& thrown) {
    CHECK(std::string(thrown.what()) == "the menu: " + wrong.to_text());
  }
}
