// tests/rankd/server/counter_snapshot_test.cpp: counters as bytes and back, and bytes that are none.
#include <rankd/server/events/counter_snapshot.hpp>

#include <rankd/store/crc32c.hpp>
#include <rankd/store/packed.hpp>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace std::chrono_literals;

namespace {

auto value_of_each_kind() -> std::vector<counted_value> {
  counted_list list;
  for (const char* each : {"b", "a", "b"}) list.push(each, 10);
  counted_set set;
  for (const char* each : {"y", "x"}) CHECK(set.add(each, 10));
  counted_sorted_set scored;
  scored.set("low", -0.1);
  scored.set("high", 1e300);
  scored.set("a", 1.5);
  return {{.ends = 12'345ms, .data = counted_hash{{{"clicks", "3"}, {"plays", "0.5"}}}},
          {.data = list},
          {.ends = 7ms, .data = set},
          {.data = scored}};
}

auto snapshot_bytes() -> std::string {
  counted_values one(1U << 20U);
  counted_values other(1U << 20U);
  one.insert("stats:7", value_of_each_kind().front());
  one.insert("", {});
  for (std::size_t at = 1; at < value_of_each_kind().size(); ++at)
    one.insert(std::to_string(at), value_of_each_kind()[at]);
  other.insert(std::string("a\0b", 3), {.data = counted_hash{{{"n", std::string(300, 'x')}}}});
  return counter_snapshot::bytes_of({.file = 12, .bytes = 1ULL << 40U}, {{"ep_1", &one}, {"ep_2", &other}});
}

}  // namespace

TEST_CASE("a snapshot gives back what it was made of") {
  const auto read = counter_snapshot::parse(snapshot_bytes());
  REQUIRE(read.has_value());
  CHECK(read->until == event_position{.file = 12, .bytes = 1ULL << 40U});
  REQUIRE(read->values.size() == 2);
  const std::map<std::string, counted_value> first(read->values.at("ep_1").begin(), read->values.at("ep_1").end());
  CHECK(first.size() == 5);
  const auto made = value_of_each_kind();
  CHECK(first.at("stats:7") == made[0]);
  for (std::size_t at = 1; at < made.size(); ++at) CHECK(first.at(std::to_string(at)) == made[at]);
  CHECK(read->values.at("ep_2").front().first == std::string("a\0b", 3));
}

TEST_CASE("a snapshot of a server that only counted is read") {
  std::string bytes = "rankd counters 1\n";
  packed_writer out(bytes);
  for (const std::uint64_t each : {12, 34, 1}) out.number(each);
  out.text("ep_1");
  out.number(1);
  out.text("stats:7");
  out.integer(12'345);
  out.number(1);
  out.text("clicks");
  out.text("3");
  std::uint32_t sum = crc32c(std::as_bytes(std::span(bytes.data(), bytes.size())));
  for (int left = 4; left > 0; --left, sum >>= 8U) bytes.push_back(static_cast<char>(sum));
  const auto read = counter_snapshot::parse(bytes);
  REQUIRE(read.has_value());
  CHECK(read->until == event_position{.file = 12, .bytes = 34});
  CHECK(read->values.at("ep_1").front().second ==
        counted_value{.ends = 12'345ms, .data = counted_hash{{{"clicks", "3"}}}});
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
