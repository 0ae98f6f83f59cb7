// tests/rankd/server/counter_sums_test.cpp: sums with the digits, the refusals and the ends that Redis gives them.
#include <rankd/server/events/counter_sums.hpp>
#include <rankd/server/events/step_kinds.hpp>

#include <tests/rankd/server/counted_project.hpp>

#include <limits>
#include <string>
#include <variant>

#include <doctest/doctest.h>

using namespace rankd;
using namespace std::chrono_literals;
using rankd::testing::counted_project;
using rankd::testing::embedded_place;

namespace {

auto hash_of(counted_value& value) -> counted_hash& { return std::get<counted_hash>(value.data); }

enum : std::size_t { clicks, spent, pieces, plays };  // as the project's rules have them

auto added(counted_value& to, const counted_project& in, std::size_t counter, scalar by,
           std::chrono::milliseconds at = 1'000s) -> std::string {
  const rule_step step{.rule = counter, .key = "k", .by = std::move(by), .at = at, .received = at};
  if (!apply_step(to, *in.rules, step)) return "refused";
  return *hash_of(to).find(in.rules->all()[counter].name);
}

}  // namespace

TEST_CASE("whole amounts are added exactly, and what would not fit is refused") {
  const counted_project project(embedded_place);
  counted_value hash;
  CHECK(added(hash, project, clicks, std::int64_t{1}) == "1");
  CHECK(added(hash, project, clicks, std::int64_t{1}) == "2");
  CHECK(added(hash, project, pieces, std::numeric_limits<std::int64_t>::max()) == "9223372036854775807");
  CHECK(added(hash, project, pieces, std::int64_t{1}) == "refused");
  CHECK(added(hash, project, pieces, std::int64_t{-1}) == "9223372036854775806");
  hash_of(hash).set("clicks", "2.5");
  CHECK(added(hash, project, clicks, std::int64_t{1}) == "refused");
  CHECK(*hash_of(hash).find("clicks") == "2.5");
  CHECK(hash.ends == 0ms);
}

TEST_CASE("fractions are written as HINCRBYFLOAT writes them") {
  const counted_project project(embedded_place);
  counted_value hash;
  CHECK(added(hash, project, spent, 19.75) == "19.75");
  CHECK(added(hash, project, spent, std::int64_t{20}) == "39.75");
  CHECK(added(hash, project, spent, -39.75) == "0");
  CHECK(added(hash, project, spent, 0.1) == "0.1");
  CHECK(added(hash, project, spent, 0.2) == "0.3");
  hash_of(hash).set("spent", "many");
  CHECK(added(hash, project, spent, 1.0) == "refused");
}

TEST_CASE("a window counts from the first event, and idle time from the last one") {
  const counted_project project(embedded_place);
  counted_value hash;
  CHECK(added(hash, project, spent, 1.0, 1'000s) == "1");
  CHECK(added(hash, project, spent, 1.0, 2'000s) == "2");
  CHECK(hash.ends == 4'600s);
  counted_value idle;
  CHECK(added(idle, project, plays, 1.0, 1'000s) == "1");
  CHECK(idle.ends == 1'600s);
  CHECK(added(idle, project, plays, 1.0, 1'010s) == "1.5");
  CHECK(idle.ends == 1'610s);
}

TEST_CASE("what fades has the weight of its time, whichever event comes first") {
  const counted_project project(embedded_place);
  counted_value hash;
  CHECK(added(hash, project, plays, std::int64_t{1}, 30s) == "1");
  CHECK(added(hash, project, plays, std::int64_t{1}, 20s) == "1.5");
  CHECK(added(hash, project, plays, std::int64_t{1}, 0s) == "1.625");
  CHECK(*hash_of(hash).find("plays_at") == "30000");
  CHECK(added(hash, project, plays, std::int64_t{1}, 40s) == "1.8125");
  CHECK(*hash_of(hash).find("plays_at") == "40000");
  hash_of(hash).set("plays", "1e308");
  CHECK(added(hash, project, plays, 1.7e308, 40s) == "refused");
  CHECK(*hash_of(hash).find("plays") == "1e308");
}
