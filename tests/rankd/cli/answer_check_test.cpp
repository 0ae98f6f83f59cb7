// tests/rankd/cli/answer_check_test.cpp: each kind of expectation is met or not, with a difference that can be read.
#include <rankd/cli/plan_tests/answer_check.hpp>

#include <tests/rankd/cli/feed_tests.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using rankd::mismatch;
using rankd::testing::feed_outcome;

namespace {

/// The sentence on the only expectation, or "" where it is met.
auto difference(const std::string& expected) -> std::string {
  const rankd::test_outcome outcome = feed_outcome("[" + expected + "]");
  return outcome.failures.empty() ? std::string() : outcome.failures.at(0).message;
}

auto ids(const std::string& kind, const std::string& list) -> std::string {
  return R"({"kind":")" + kind + R"(","ids":[)" + list + "]}";
}

constexpr const char* from_95 =
    R"("pred":{"op":"cmp","cmp":">=","a":{"op":"key_ref","key_id":2001},"b":{"op":"const_number","value":95}}})";

}  // namespace

TEST_CASE("ids in order: the first position that differs is named") {
  CHECK(difference(ids("ids", "2,4,5,8,9")).empty());
  CHECK(difference(ids("ids", "2,5,4,8,9")) == "position 2: 5 is expected, but the answer has 4");
  CHECK(difference(ids("ids", "2,4,5,8")) == "position 5: the answer continues with 9, but no further id is expected");
  CHECK(difference(ids("ids", "2,4,5,8,9,7")) == "position 6: 7 is expected, but the answer ends after 5 rows");
  CHECK(difference(ids("ids", "")) == "position 1: the answer continues with 2, but no further id is expected");
  CHECK(difference(ids("first_ids", "2,4")).empty());
  CHECK(difference(ids("first_ids", "2,5")) == "position 2: 5 is expected, but the answer has 4");
  const mismatch found = feed_outcome("[" + ids("ids", "2,5,4,8,9") + "]").failures.at(0);
  CHECK(found.position == 2);
  CHECK((found.expected == std::vector<rankd::row_id>{2, 5, 4, 8, 9}));
  CHECK((found.got == std::vector<rankd::row_id>{2, 4, 5, 8, 9}));
  CHECK(found.missing.empty());
}

TEST_CASE("ids as a set: what is missing and what is too much is named") {
  CHECK(difference(ids("same_ids", "9,8,5,4,2")).empty());
  CHECK(difference(ids("same_ids", "9,8,3,4,2")) == "expected, but missing: 3; not expected, but present: 5");
  CHECK(difference(ids("same_ids", "9,8,5,4,2,2")) == "expected, but missing: 2");
  CHECK(difference(ids("contains", "9,2")).empty());
  CHECK(difference(ids("contains", "9,3,7")) == "expected, but missing: 3, 7");
  CHECK(difference(ids("excludes", "3,7")).empty());
  CHECK(difference(ids("excludes", "3,5")) == "5 is at position 3, but must not be in the answer");
}

TEST_CASE("ids in order with others between") {
  CHECK(difference(ids("in_order", "2,5,9")).empty());
  CHECK(difference(ids("in_order", "2,9,5")) == "5 does not occur after 9");
  CHECK(difference(ids("in_order", "2,3")) == "3 is not in the answer");
}

TEST_CASE("the count is a number, or within bounds that are included") {
  CHECK(difference(R"({"kind":"count","min":5,"max":5})").empty());
  CHECK(difference(R"({"kind":"count","min":4,"max":4})") == "the answer has 5 rows, but 4 are expected");
  CHECK(difference(R"({"kind":"count","min":6,"max":9})") == "the answer has 5 rows, but 6 to 9 are expected");
  CHECK(difference(R"({"kind":"count","min":6})") == "the answer has 5 rows, but at least 6 are expected");
  CHECK(difference(R"({"kind":"count","max":5})").empty());
}

TEST_CASE("at most so many rows have the same value, of all or in any window; nulls do not count") {
  CHECK(difference(R"({"kind":"at_most","count":1,"key_id":3001})").empty());
  const std::string more = R"("records":[{"record":{"hash":"user:5","fields":{"country":"US"}}}],)";
  const auto with_two = [&](const std::string& window) {
    const auto found = feed_outcome(R"([{"kind":"at_most","count":1,"key_id":3001)" + window + "}]", more).failures;
    return found.empty() ? std::string() : found.at(0).message;
  };
  CHECK(with_two("") == "at most 1 row may have country \"US\", and these have: row 1 (id 2), row 3 (id 5)");
  CHECK(with_two(R"(,"window":3)") ==
        "at most 1 row of 3 in sequence may have country \"US\", and these have: row 1 (id 2), row 3 (id 5)");
  CHECK(with_two(R"(,"window":2)").empty());
}

TEST_CASE("a predicate of every row, or of none, shows the first row with its values") {
  CHECK(difference(R"({"kind":"every",)" + std::string(from_95)) ==
        "`Key.final_score >= 95` does not hold for 2 of 5 rows, first for row 4 (id 8): final_score is 79.92");
  CHECK(difference(R"({"kind":"none",)" + std::string(from_95)) ==
        "`Key.final_score >= 95` holds for 3 of 5 rows, first for row 1 (id 2): final_score is 99.98");
  CHECK(
      difference(
          R"({"kind":"every","pred":{"op":"cmp","cmp":">","a":{"op":"key_ref","key_id":1},"b":{"op":"const_number","value":1}}})")
          .empty());
}

TEST_CASE("rows in the order of a key, those without a value last") {
  CHECK(difference(R"({"kind":"sorted","key_id":2001,"order":"desc"})").empty());
  CHECK(difference(R"({"kind":"sorted","key_id":1,"order":"asc"})").empty());
  CHECK(difference(R"({"kind":"sorted","key_id":2001,"order":"asc"})") ==
        "the rows are not in ascending order of final_score: row 2 (id 4) with 99.96 comes after row 1 (id 2) with "
        "99.98");
  CHECK(difference(R"({"kind":"sorted","key_id":3001,"order":"asc"})") ==
        "the rows are not in ascending order of country: row 2 (id 4) with \"CA\" comes after row 1 (id 2) with "
        "\"US\"");
}

TEST_CASE("an error is expected by its code and node") {
  CHECK(difference(R"({"kind":"error","code":"store_timeout"})") ==
        "store_timeout is expected, but the request returns 5 rows");
  const std::string fault = R"("faults":[{"endpoint":"ep_0001","code":"store_timeout","key_prefix":"follow:"}],)";
  const auto with_fault = [&](const std::string& expected) {
    const auto found = feed_outcome("[" + expected + "]", fault).failures;
    return found.empty() ? std::string() : found.at(0).message;
  };
  CHECK(with_fault(R"({"kind":"error","code":"store_timeout","node":"follow"})").empty());
  const std::string fails =
      "store_timeout: node `follow` (plans/home_feed.plan.ts:14:8): endpoint `ep_0001`: a test has planted this fault";
  CHECK(with_fault(R"({"kind":"error","code":"store_error"})") ==
        "store_error is expected, but the request fails with " + fails);
  CHECK(with_fault(R"({"kind":"error","code":"store_timeout","node":"viewer"})") ==
        "store_timeout at `viewer` is expected, but the request fails with " + fails);
  const auto found = feed_outcome("[" + ids("ids", "2") + "," + ids("contains", "2") + "]", fault).failures;
  REQUIRE(found.size() == 1);
  CHECK(found[0].message == "the request fails with " + fails);
}

TEST_CASE("what stood in for nodes that failed is expected by their names") {
  const auto wanted = [](const std::string& names) { return R"([{"kind":"degraded","names":[)" + names + "]}]"; };
  CHECK(feed_outcome(wanted("")).failures.empty());
  CHECK(feed_outcome(wanted(R"("a","b")")).failures.at(0).message ==
        "a fallback is expected for a, b, but was used for nothing");
}
