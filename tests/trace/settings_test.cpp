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

TEST_CASE("what a flight recorder keeps: a time, 64 megabytes unless it says more") {
  const auto found = parse_trace_settings("t,last=8s,on=signal");
  REQUIRE(found);
  CHECK(found->last_ns == 8'000'000'000);
  CHECK(found->at_signal);
  CHECK(found->max_bytes == 64ULL << 20U);
  CHECK(parse_trace_settings("t,last=250ms,mb=512")->last_ns == 250'000'000);
  CHECK(parse_trace_settings("t,last=250ms,mb=512")->max_bytes == 512ULL << 20U);
  CHECK(parse_trace_settings("t,mb=5")->last_ns == 0);
}

TEST_CASE("rings lie in a file where that is wanted, and only for a whole trace") {
  CHECK(!parse_trace_settings("t")->recovers);
  CHECK(parse_trace_settings("t,recover,mb=5")->recovers);
  CHECK(error_of("t,last=8s,recover") == "recover cannot be combined with last=8s, which keeps the trace in memory");
}

TEST_CASE("what is wrong is named") {
  CHECK(error_of("t,last=0s") == "last=0s is not a time from 1ms to 600s");
  CHECK(error_of("t,last=8") == "last=8 is not a time from 1ms to 600s");
  CHECK(error_of("t,last=601s") == "last=601s is not a time from 1ms to 600s");
  CHECK(error_of("t,last=8s,on=stall") == "on=stall is not signal");
  CHECK(error_of("t,on=signal") ==
        "on=signal needs a time such as last=8s; without it the whole trace is written continuously");
  CHECK(error_of(",mb=3") == "the setting must begin with the name of a file");
  CHECK(error_of("t,mb=0") == "mb=0 is not a number of megabytes from 1 to 1000000");
  CHECK(error_of("t,mb=1x") == "mb=1x is not a number of megabytes from 1 to 1000000");
  CHECK(error_of("t,mb=99999999999999999999") ==
        "mb=99999999999999999999 is not a number of megabytes from 1 to 1000000");
  CHECK(error_of("t,what=jobs+sleep") == "what=sleep is not one of jobs, tasks, io and nodes");
  CHECK(error_of("t,what=") == "what= is not one of jobs, tasks, io and nodes");
  CHECK(error_of("t,size=3") == "\"size=3\" is not one of mb=N, what=…, recover, last=8s and on=signal");
}
