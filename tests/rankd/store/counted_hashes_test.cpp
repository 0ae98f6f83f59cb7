// tests/rankd/store/counted_hashes_test.cpp: hashes that end, within a bound of memory.
#include <rankd/store/counted_hashes.hpp>

#include <atomic>
#include <string>
#include <thread>

#include <doctest/doctest.h>

using namespace rankd;
using namespace std::chrono_literals;

namespace {

using outcome = counted_hashes::outcome;

/// Sets `f` of a key, in a hash that ends then.
auto set(counted_hashes& in, const std::string& key, std::string value, std::chrono::milliseconds now,
         std::chrono::milliseconds ends = 0ms) -> outcome {
  return in.update(key, now, [&](counted_hash& hash) {
    hash.set("f", value);
    if (ends != 0ms) hash.ends = ends;
    return true;
  });
}

auto field_of(const counted_hashes& in, const std::string& key) -> std::string {
  braid::arena memory;
  return std::string(in.field(key, "f", memory).value_or("absent"));
}

}  // namespace

TEST_CASE("fields of a hash are sorted by name, and set anew") {
  counted_hash hash;
  for (const char* name : {"b", "a", "c", "a"}) hash.set(name, std::string(name) + "1");
  REQUIRE(hash.fields.size() == 3);
  CHECK(hash.fields[0].first == "a");
  CHECK(*hash.find("c") == "c1");
  CHECK(hash.find("d") == nullptr);
}

TEST_CASE("a hash that has ended is absent at once, begins anew, and is freed by a sweep") {
  std::chrono::milliseconds now = 100ms;
  counted_hashes all(1U << 20U, [&now] { return now; });
  CHECK(set(all, "k", "1", 100ms, 200ms) == outcome::done);
  CHECK(set(all, "stays", "1", 100ms) == outcome::done);
  now = 199ms;
  CHECK(field_of(all, "k") == "1");
  now = 200ms;
  CHECK(field_of(all, "k") == "absent");
  braid::arena memory;
  CHECK(all.fields("k", memory).empty());
  CHECK(all.fields("stays", memory).size() == 1);
  CHECK(all.size() == 2);
  all.sweep(199ms);
  CHECK(all.size() == 2);
  all.sweep(200ms);
  CHECK(all.size() == 1);
  CHECK(set(all, "k", "2", 300ms, 400ms) == outcome::done);
  const auto grow = [](counted_hash& hash) { return hash.set("g", "1"), true; };
  CHECK(all.update("k", 450ms, grow) == outcome::done);
  CHECK(field_of(all, "k") == "absent");  // what ended took its fields along
  CHECK(set(all, "stays", "1", 500ms, 600ms) == outcome::done);
  all.sweep(600ms);
  CHECK(all.size() == 1);  // what grew stays for good
  CHECK(all.update("k", 600ms, [](counted_hash& hash) { return hash.ends = 700ms, true; }) == outcome::done);
  all.sweep(700ms);
  CHECK(all.size() == 0);
  CHECK(all.bytes() == 0);
}

TEST_CASE("a full memory takes no more hashes, while those there are go on") {
  counted_hashes all(1'000);
  int taken = 0;
  while (taken < 100 && set(all, "key" + std::to_string(taken), "1", 1ms) == outcome::done) ++taken;
  CHECK((taken > 1 && taken < 10));
  CHECK(all.size() == static_cast<std::size_t>(taken));
  CHECK(all.bytes() <= 1'000);
  CHECK(set(all, "another", "1", 1ms) == outcome::full);
  CHECK(field_of(all, "another") == "absent");
  CHECK(set(all, "key0", "22", 1ms) == outcome::done);
  CHECK(field_of(all, "key0") == "22");
}

TEST_CASE("a change that refuses leaves the hash, and no empty one") {
  counted_hashes all(1'000);
  const auto refuse = [](counted_hash&) { return false; };
  CHECK(all.update("k", 1ms, refuse) == outcome::refused);
  CHECK(all.size() == 0);
  CHECK(set(all, "k", "1", 1ms) == outcome::done);
  const std::size_t bytes = all.bytes();
  CHECK(all.update("k", 1ms, refuse) == outcome::refused);
  CHECK(all.bytes() == bytes);
  CHECK(field_of(all, "k") == "1");
}

TEST_CASE("readers see all fields of a change or none") {
  counted_hashes all(1U << 20U);
  std::atomic<bool> over{false};
  std::thread reader([&] {
    while (!over) {
      braid::arena memory;
      const auto fields = all.fields("k", memory);
      if (!fields.empty() && (fields.size() != 2 || fields[0].value != fields[1].value)) FAIL("half of a change");
    }
  });
  for (int i = 0; i < 2'000; ++i)
    CHECK(all.update("k", 1ms, [&](counted_hash& hash) {
      hash.set("a", std::to_string(i));
      hash.set("b", std::to_string(i));
      return true;
    }) == outcome::done);
  over = true;
  reader.join();
}
