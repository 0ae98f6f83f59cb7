// tests/rankd/server/captured_lines_test.cpp: lines about rows that there are not, and about a request that is
// redacted.
#include <rankd/server/sinks/captured_lines.hpp>

#include <tests/rankd/engine/engine_world.hpp>

#include <chrono>
#include <string>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;
using namespace std::chrono_literals;

TEST_CASE("a line of a capture says whose rows they are, and why there are none") {
  request_record record;
  record.request_id = "r";
  const redaction open;
  captured_rows rows;
  rows.node = "a";
  rows.state = node_state::failed;
  CHECK(
      capture_line({record, 1000ms, "p", "d", open}, rows) ==
      R"({"time":"1970-01-01T00:00:01.000000Z","request_id":"r","plan":"p","plan_digest":"d","node":"a","side":"out",)"
      R"("state":"failed"})");
  const redaction hidden = value_of(redaction::make({"request_id"}, reference_project::get().declared));
  CHECK(capture_line({record, 1000ms, "p", "d", hidden}, rows).find("request_id") == std::string::npos);
}
