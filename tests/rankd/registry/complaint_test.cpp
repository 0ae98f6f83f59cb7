// tests/rankd/registry/complaint_test.cpp: a complaint has its parts where programs look for them.
#include <rankd/registry/complaint.hpp>

#include <doctest/doctest.h>

using rankd::complaint;
using rankd::refused;

TEST_CASE("a complaint has the parts that it is given, and no others") {
  const braid::diagnostic whole{
      .code = "bad_thing", .pointer = "", .message = "it is bad", .hint = "mend it", .node = "", .source = "d/f"};
  CHECK(complaint("bad_thing", "it is bad", "mend it", "d/f").front() == whole);
  const braid::diagnostic least{
      .code = "bad_thing", .pointer = "", .message = "it is bad", .hint = "", .node = "", .source = ""};
  CHECK(complaint("bad_thing", "it is bad").front() == least);
}

TEST_CASE("a refusal is the complaint, as the failing side of what is checked") {
  const braid::checked<int> answer = refused("bad_thing", "it is bad", "mend it", "d/f");
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().size() == 1);
  CHECK(answer.error().front() == complaint("bad_thing", "it is bad", "mend it", "d/f").front());
}
