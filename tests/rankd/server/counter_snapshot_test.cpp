// tests/rankd/server/counter_snapshot_test.cpp: counters as bytes and back, and bytes that are none.
#include <rankd/server/events/counter_snapshot.hpp>

#include <string>

#include <doctest/doctest.h>

using namespace rankd;
using namespace std::chrono_literals;

namespace {

auto snapshot_bytes() -> std::string {
  counted_hashes one(1U << 20U);
  counted_hashes other(1U << 20U);
  one.insert("stats:7", {.ends = 12'345ms, .fields = {{"clicks", "3"}, {"plays", "0.5"}}});
  one.insert("", {});
  other.insert(std::string("a\0b", 3), {.fields = {{"n", std::string(300, 'x')}}});
  return counter_snapshot::bytes_of({.file = 12, .bytes = 1ULL << 40U}, {{"ep_1", &one}, {"ep_2", &other}});
}

}  // namespace

TEST_CASE("a snapshot gives back what it was made of") {
  const auto read = counter_snapshot::parse(snapshot_bytes());
  REQUIRE(read.has_value());
  CHECK(read->until == event_position{.file = 12, .bytes = 1ULL << 40U});
  REQUIRE(read->hashes.size() == 2);
  CHECK(read->hashes.at("ep_1").size() == 2);
  for (const auto& [key, hash] : read->hashes.at("ep_1"))
    if (!key.empty()) CHECK(hash == counted_hash{.ends = 12'345ms, .fields = {{"clicks", "3"}, {"plays", "0.5"}}});
  CHECK(read->hashes.at("ep_2").front().first == std::string("a\0b", 3));
}

TEST_CASE("no part of a snapshot is one, and none with a bit that is wrong") {
  const std::string whole = snapshot_bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) CHECK_FALSE(counter_snapshot::parse(whole.substr(0, size)));
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string bad = whole;
    bad[at] = static_cast<char>(bad[at] ^ 4);
    CHECK_FALSE(counter_snapshot::parse(bad));
  }
  CHECK_FALSE(counter_snapshot::parse(whole + "x"));
}
