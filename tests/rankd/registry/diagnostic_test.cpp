// tests/rankd/registry/diagnostic_test.cpp: a diagnostic has its parts where programs look for them.
#include <rankd/registry/diagnostic.hpp>

#include <doctest/doctest.h>

using rankd::make_diagnostic;
using rankd::refused;

TEST_CASE("a diagnostic has the parts that it is given, and no others") {
  const braid::diagnostic whole{
      .code = "bad_thing", .pointer = "", .message = "it is bad", .hint = "mend it", .node = "", .source = "d/f"};
  CHECK(make_diagnostic("bad_thing", "it is bad", "mend it", "d/f").front() == whole);
  const braid::diagnostic minimal{
      .code = "bad_thing", .pointer = "", .message = "it is bad", .hint = "", .node = "", .source = ""};
  CHECK(make_diagnostic("bad_thing", "it is bad").front() == minimal);
}

TEST_CASE("a refusal is the diagnostic, as the failing side of what is checked") {
  const braid::checked<int> answer = refused("bad_thing", "it is bad", "mend it", "d/f");
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().size() == 1);
  CHECK(answer.error().front() == make_diagnostic("bad_thing", "it is bad", "mend it", "d/f").front());
}
