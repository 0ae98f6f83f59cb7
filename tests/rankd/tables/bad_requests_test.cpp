// tests/rankd/tables/bad_requests_test.cpp: requests that are wrong, and what reading them complains about.
#include <rankd/engine/requests/request.hpp>
#include <tests/rankd/op/op_world.hpp>
#include <tests/rankd/tables/table.hpp>

#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;

namespace {

auto good_request() -> std::string { return table_file("good_request.json"); }

auto found_in(const std::string& text) -> std::vector<std::string> {
  const auto request = parse_request(text, op_world());
  return request ? std::vector<std::string>() : spelled(request.error());
}

}  // namespace

TEST_CASE("the request that the table changes is right") { CHECK(joined(found_in(good_request())).empty()); }

TEST_CASE("each bad request of the table gets its diagnostics and no others") {
  check_table("bad_requests.ndjson", good_request(), 100, found_in);
}

TEST_CASE("each request with bad candidates gets its diagnostics and no others") {
  check_table("bad_candidates.ndjson", good_request(), 60, found_in);
}
