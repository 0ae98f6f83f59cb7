// tests/rankd/engine/row_cache_test.cpp: rows by key: their age, and what has to go when there is no room.
#include <rankd/engine/caching/row_cache.hpp>

#include <tests/support/scarce_memory.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

using namespace rankd;
using namespace std::chrono_literals;

namespace {

auto rows_of(const row_cache& in, std::size_t bytes = 100) -> std::shared_ptr<const kept_rows> {
  auto made = std::make_shared<kept_rows>(in.now());
  static_cast<void>(made->memory.bytes(bytes, 1));
  return made;
}

/// The keys that are there of these, in their order.
auto known(row_cache& in, std::string_view keys) -> std::string {
  std::string out;
  for (const char each : keys)
    if (in.find(std::string_view(&each, 1), 1h) != nullptr) out += each;
  return out;
}

}  // namespace

TEST_CASE("rows are there until they are as old as they may be") {
  braid::manual_clock clock;
  row_cache cache({.bytes = 1 << 20, .entries = 10, .clock = &clock});
  CHECK(cache.find("a", 10ms) == nullptr);
  const auto rows = rows_of(cache);
  CHECK(cache.keep("a", rows));
  CHECK(cache.find("a", 10ms) == rows);
  clock.advance(10ms - 1ns);
  CHECK(cache.find("a", 10ms) == rows);
  clock.advance(1ns);
  CHECK(cache.counts().entries == 1);
  CHECK(cache.find("a", 10ms) == nullptr);
  CHECK(cache.counts().entries == 0);
  CHECK(cache.counts().bytes == 0);
  CHECK(cache.counts().evicted == 0);
}

TEST_CASE("the rows that were used longest ago go first where there are too many") {
  row_cache cache({.bytes = 1 << 20, .entries = 3});
  for (const char* key : {"a", "b", "c"}) CHECK(cache.keep(key, rows_of(cache)));
  CHECK(cache.find("a", 1h) != nullptr);
  CHECK(cache.keep("d", rows_of(cache)));
  CHECK(known(cache, "abcd") == "acd");
  CHECK(cache.counts().evicted == 1);
  CHECK(cache.counts().entries == 3);
}

TEST_CASE("as many go as larger ones need room, and what can never fit is not kept") {
  row_cache cache({.bytes = 8192, .entries = 100});
  for (const char* key : {"a", "b", "c", "d"}) CHECK(cache.keep(key, rows_of(cache)));
  const std::uint64_t four = cache.counts().bytes;
  CHECK(four > 4 * 1024);
  CHECK(four <= 8192);
  CHECK(cache.keep("e", rows_of(cache, 4000)));
  CHECK(cache.counts().bytes <= 8192);
  CHECK(cache.counts().evicted >= 1);
  CHECK(known(cache, "de") == "de");
  const std::string before = known(cache, "abcde");
  CHECK_FALSE(cache.keep("f", rows_of(cache, 9000)));
  CHECK(known(cache, "abcdef") == before);
}

TEST_CASE("new rows of a key take the place of the old ones, which live on where they are used") {
  row_cache cache({.bytes = 1 << 20, .entries = 10});
  const auto first = rows_of(cache);
  CHECK(cache.keep("a", first));
  const std::uint64_t bytes = cache.counts().bytes;
  const auto second = rows_of(cache);
  CHECK(cache.keep("a", second));
  CHECK(cache.find("a", 1h) == second);
  CHECK(cache.counts().entries == 1);
  CHECK(cache.counts().bytes == bytes);
  CHECK(first.use_count() == 1);
}

TEST_CASE("rows that cannot be kept for want of memory leave the table as it was, and it takes others") {
  braid::testing::fail_everywhere([] {
    row_cache cache({.bytes = 4096, .entries = 2});
    for (const char* key : {"a", "b", "c"}) {
      const auto rows = rows_of(cache);
      const bool kept = braid::testing::survives([&] { cache.keep(key, rows); });
      CHECK((cache.find(key, 1h) != nullptr) == kept);
      CHECK(cache.counts().entries <= 2);
      CHECK((cache.counts().bytes == 0) == (cache.counts().entries == 0));
    }
    for (const char* key : {"a", "b", "c"}) CHECK(cache.find(key, 0ns) == nullptr);
    CHECK(cache.counts().entries == 0);
    CHECK(cache.counts().bytes == 0);
  });
}
