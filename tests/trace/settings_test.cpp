// tests/trace/settings_test.cpp: what BRAID_TRACE may say, and what is said of the rest.
#include <braid/trace/detail/settings.hpp>

#include <doctest/doctest.h>

#include <string>

using braid::detail::parse_trace_settings;
using braid::detail::trace_group;

namespace {

auto error_of(const char* text) -> std::string {
  const auto found = parse_trace_settings(text);
  return found ? "none" : found.error();
}

}  // namespace

TEST_CASE("a file alone takes everything, up to 256 megabytes") {
  const auto found = parse_trace_settings("out/t.pftrace");
  REQUIRE(found);
  CHECK(found->file == "out/t.pftrace");
  CHECK(found->max_bytes == 256ULL << 20U);
  for (const auto group :
       {trace_group::jobs, trace_group::tasks, trace_group::io, trace_group::nodes, trace_group::user})
    CHECK(found->wants(group));
}

TEST_CASE("options say how large it becomes and what is in it; what the program shows itself always is") {
  const auto found = parse_trace_settings("t,mb=3,what=tasks+io");
  REQUIRE(found);
  CHECK(found->max_bytes == 3ULL << 20U);
  CHECK(!found->wants(trace_group::jobs));
  CHECK(found->wants(trace_group::tasks));
  CHECK(found->wants(trace_group::io));
  CHECK(!found->wants(trace_group::nodes));
  CHECK(found->wants(trace_group::user));
}

TEST_CASE("what is wrong is named") {
  CHECK(error_of(",mb=3") == "no file is named");
  CHECK(error_of("t,mb=0") == "mb=0 is no number of megabytes from 1 to 1000000");
  CHECK(error_of("t,mb=1x") == "mb=1x is no number of megabytes from 1 to 1000000");
  CHECK(error_of("t,mb=99999999999999999999") == "mb=99999999999999999999 is no number of megabytes from 1 to 1000000");
  CHECK(error_of("t,what=jobs+sleep") == "what=sleep is none of jobs, tasks, io and nodes");
  CHECK(error_of("t,what=") == "what= is none of jobs, tasks, io and nodes");
  CHECK(error_of("t,size=3") == "\"size=3\" is neither mb=N nor what=…");
}
