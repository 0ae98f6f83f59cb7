// tests/rankd/server/step_kinds_test.cpp: what rules of each kind do to a value, and what they refuse.
#include <rankd/server/events/step_kinds.hpp>

#include <tests/rankd/server/counted_project.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <variant>

#include <doctest/doctest.h>

using namespace rankd;
using namespace std::chrono_literals;
using rankd::testing::counted_project;
using rankd::testing::embedded_place;

namespace rule_place = rankd::testing::rule_place;

namespace {

auto the_project() -> const counted_project& {
  static const counted_project one(embedded_place);
  return one;
}

/// Elements, members with their scores, or fields with their values.
auto text_of(const counted_value& value) -> std::string {
  std::string out;
  const auto add = [&out](const std::string& text) { out += (out.empty() ? "" : " ") + text; };
  if (const auto* hash = std::get_if<counted_hash>(&value.data)) {
    for (const auto& [name, text] : hash->fields) add(name + "=" + text);
    return out;
  }
  for (std::size_t at = 0; at < value.count(); ++at) {
    const bool has_score = value.kind() == record_kind::sorted_set;
    const std::string score = has_score ? "@" + std::to_string(static_cast<int>(value.score_at(at))) : "";
    add(std::string(value.text_at(at)) + score);
  }
  return out;
}

struct changed_value {
  counted_value value = {};

  /// Applies a step of an event of `at`, which is also its score, received at `received`.
  auto step(std::size_t rule, const std::string& text, std::chrono::milliseconds at = 0ms,
            std::chrono::milliseconds received = 0ms) -> std::string {
    return scored(rule, text, static_cast<double>(at.count()), received);
  }
  auto scored(std::size_t rule, const std::string& text, double score, std::chrono::milliseconds received = 0ms)
      -> std::string {
    const rule_step one{.rule = rule, .key = "k", .text = text, .score = score, .received = received};
    return apply_step(value, *the_project().rules, one) ? text_of(value) : "refused";
  }
};

}  // namespace

TEST_CASE("the table has a row for each kind, in their order") {
  std::size_t at = 0;
  for (const step_kind& each : step_kinds()) CHECK(static_cast<std::size_t>(each.kind) == at++);
  CHECK(at == 5);
  CHECK(find_step_kind(rule_kind::sorted_set).table == "sorted_set");
}

TEST_CASE("a field has the value of the last event, and its hash ends when it is idle") {
  changed_value session;
  CHECK(session.step(rule_place::last_item, "7", 0ms, 10s) == "last_item=7");
  CHECK(session.step(rule_place::last_ms, "10000", 0ms, 10s) == "last_item=7 last_ms=10000");
  CHECK(session.step(rule_place::last_item, "8", 0ms, 20s) == "last_item=8 last_ms=10000");
  CHECK(session.value.ends == 620s);
}

TEST_CASE("a list has the newest elements, up to its bound") {
  changed_value viewed;
  for (const char* each : {"1", "2", "2"}) viewed.step(rule_place::viewed, each);
  CHECK(viewed.step(rule_place::viewed, "3") == "3 2 2");
  CHECK(viewed.value.ends == 0ms);
}

TEST_CASE("a set gains and loses members, and a full one refuses") {
  changed_value blocked;
  CHECK(blocked.step(rule_place::unblock, "5") == "");
  for (const char* each : {"4", "1", "3"}) blocked.step(rule_place::block, each);
  CHECK(blocked.step(rule_place::block, "2") == "1 2 3 4");
  CHECK(blocked.step(rule_place::block, "5") == "refused");
  CHECK(blocked.step(rule_place::block, "4") == "1 2 3 4");
  CHECK(blocked.step(rule_place::unblock, "3") == "1 2 4");
  CHECK(blocked.step(rule_place::block, "5") == "1 2 4 5");
}

TEST_CASE("a sorted set by time keeps the latest time of a member, and the newest members within their age") {
  changed_value seen;
  CHECK(seen.step(rule_place::seen, "7", 10s, 10s) == "7@10000");
  CHECK(seen.step(rule_place::seen, "7", 5s, 11s) == "7@10000");  // late
  CHECK(seen.step(rule_place::seen, "8", 9s, 12s) == "8@9000 7@10000");
  CHECK(seen.step(rule_place::seen, "8", 20s, 20s) == "7@10000 8@20000");
  for (const int each : {1, 2, 3}) seen.step(rule_place::seen, std::to_string(each), 30s, 30s);
  CHECK(seen.step(rule_place::seen, "4", 31s, 31s) == "8@20000 1@30000 2@30000 3@30000 4@31000");
  CHECK(seen.step(rule_place::seen, "0", 1s, 31s) == "8@20000 1@30000 2@30000 3@30000 4@31000");  // too late
  CHECK(seen.value.ends == 7'231s);
  // A member of exactly an hour ago stays.
  CHECK(seen.step(rule_place::seen, "9", 3'630s, 3'630s) == "1@30000 2@30000 3@30000 4@31000 9@3630000");
  CHECK(seen.step(rule_place::seen, "9", 3'631s, 3'631s) == "4@31000 9@3631000");
  CHECK(seen.step(rule_place::seen, "old", 1s, 90'000s) == "");  // nothing is left, and the value is absent
}

TEST_CASE("a sorted set by a field has the last score of a member, and the highest scores") {
  changed_value rated;
  CHECK(rated.scored(rule_place::rate, "7", 5, 10s) == "7@5");
  CHECK(rated.scored(rule_place::rate, "7", 2, 20s) == "7@2");
  CHECK(rated.scored(rule_place::rate, "8", 2) == "7@2 8@2");
  CHECK(rated.scored(rule_place::rate, "6", 2) == "6@2 7@2 8@2");
  CHECK(rated.scored(rule_place::rate, "9", 4) == "7@2 8@2 9@4");
  CHECK(rated.scored(rule_place::unrate, "8", 0) == "7@2 9@4");
  CHECK(rated.scored(rule_place::unrate, "8", 0) == "7@2 9@4");
  CHECK(rated.value.ends == 3'610s);  // counted from the first event
}

TEST_CASE("a value of another kind is refused, and stays") {
  changed_value list;
  list.step(rule_place::viewed, "1");
  for (const std::size_t rule : {rule_place::clicks, rule_place::last_item, rule_place::block, rule_place::unblock,
                                 rule_place::seen, rule_place::unrate})
    CHECK(list.step(rule, "2") == "refused");
  CHECK(text_of(list.value) == "1");
}
