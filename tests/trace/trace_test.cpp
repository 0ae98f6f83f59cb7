// tests/trace/trace_test.cpp: spans, marks and counters in a process that is not traced; names.
#include <braid/trace/trace.hpp>

#include <doctest/doctest.h>

#include <string>

TEST_CASE("a process without the variable is not traced, and its spans cost and do nothing") {
  CHECK(!braid::trace::is_on());
  const braid::trace::span outer("outer");
  braid::trace::mark("here");
  braid::trace::counter("level", 3);
  CHECK(!braid::detail::trace_note(braid::detail::trace_group::user, braid::detail::trace_kind::mark, 0));
}

TEST_CASE("equal texts are one name") {
  const braid::trace::name first = braid::trace::intern(std::string("a") + "b");
  const braid::trace::name again = braid::trace::intern("ab");
  const braid::trace::name other = braid::trace::intern("ac");
  CHECK(first.text() == again.text());
  CHECK(first.text() != other.text());
  CHECK(std::string(other.text()) == "ac");
}
