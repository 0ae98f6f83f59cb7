// tests/rankd/store/counted_values_test.cpp: values that end, within a bound of memory.
#include <rankd/store/counted_values.hpp>

#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <variant>

#include <doctest/doctest.h>

using namespace rankd;
using namespace std::chrono_literals;

namespace {

using outcome = counted_values::outcome;

auto hash_of(counted_value& value) -> counted_hash& { return std::get<counted_hash>(value.data); }

/// Sets `f` of a key, in a hash that ends then.
auto set(counted_values& in, const std::string& key, std::string value, std::chrono::milliseconds now,
         std::chrono::milliseconds ends = 0ms) -> outcome {
  return in.update(key, now, [&](counted_value& made) {
    hash_of(made).set("f", value);
    if (ends != 0ms) made.ends = ends;
    return true;
  });
}

auto field_of(const counted_values& in, const std::string& key) -> std::string {
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
  counted_values all(1U << 20U, [&now] { return now; });
  CHECK(set(all, "k", "1", 100ms, 200ms) == outcome::done);
  CHECK(set(all, "stays", "1", 100ms) == outcome::done);
  now = 199ms;
  CHECK(field_of(all, "k") == "1");
  now = 200ms;
  CHECK(field_of(all, "k") == "absent");
  braid::arena memory;
  CHECK(all.fields("k", memory)->empty());
  CHECK(all.fields("stays", memory)->size() == 1);
  CHECK(all.size() == 2);
  all.sweep(199ms);
  CHECK(all.size() == 2);
  all.sweep(200ms);
  CHECK(all.size() == 1);
  CHECK(set(all, "k", "2", 300ms, 400ms) == outcome::done);
  const auto grow = [](counted_value& value) { return hash_of(value).set("g", "1"), true; };
  CHECK(all.update("k", 450ms, grow) == outcome::done);
  CHECK(field_of(all, "k") == "absent");  // what ended took its fields along
  CHECK(set(all, "stays", "1", 500ms, 600ms) == outcome::done);
  all.sweep(600ms);
  CHECK(all.size() == 1);  // what grew stays for good
  CHECK(all.update("k", 600ms, [](counted_value& value) { return value.ends = 700ms, true; }) == outcome::done);
  all.sweep(700ms);
  CHECK(all.size() == 0);
  CHECK(all.bytes() == 0);
}

TEST_CASE("a full memory takes no more hashes, while those there are go on") {
  counted_values all(1'000);
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
  counted_values all(1'000);
  const auto refuse = [](counted_value&) { return false; };
  CHECK(all.update("k", 1ms, refuse) == outcome::refused);
  CHECK(all.size() == 0);
  CHECK(set(all, "k", "1", 1ms) == outcome::done);
  const std::size_t bytes = all.bytes();
  CHECK(all.update("k", 1ms, refuse) == outcome::refused);
  CHECK(all.bytes() == bytes);
  CHECK(field_of(all, "k") == "1");
}

TEST_CASE("a full memory takes no longer list, and lets a full one go on") {
  counted_values all(1'000);
  const auto push = [&all](std::string_view text, std::size_t max_items) {
    return all.update("k", 1ms, [&](counted_value& value) {
      if (value.count() == 0) value.data = counted_list();
      std::get<counted_list>(value.data).push(text, max_items);
      return true;
    });
  };
  int pushed = 0;
  while (pushed < 100 && push("element", 100) == outcome::done) ++pushed;
  CHECK((pushed > 5 && pushed < 30));
  CHECK(all.bytes() <= 1'000);
  const auto length = [&all] {
    std::size_t out = 0;
    all.read("k", [&out](const counted_value& value) { out = value.count(); });
    return out;
  };
  CHECK(length() == static_cast<std::size_t>(pushed));
  CHECK(push("another", static_cast<std::size_t>(pushed)) == outcome::done);  // as long as before
  CHECK(length() == static_cast<std::size_t>(pushed));
  CHECK(push(std::string(500, 'x'), static_cast<std::size_t>(pushed)) == outcome::full);
  CHECK(all.bytes() <= 1'000);
}

TEST_CASE("a value that has become empty is removed, with its end") {
  counted_values all(1U << 20U);
  const auto change = [&all](bool adds) {
    return all.update("k", 1ms, [&](counted_value& value) {
      if (value.count() == 0) value.data = counted_set();
      auto& set = std::get<counted_set>(value.data);
      if (adds && value.ends == 0ms) value.ends = 50ms;
      return adds ? set.add("a", 5) : (set.remove("a"), true);
    });
  };
  CHECK(change(false) == outcome::done);  // of an absent value
  CHECK(all.size() == 0);
  CHECK(change(true) == outcome::done);
  CHECK(all.size() == 1);
  CHECK(change(false) == outcome::done);
  CHECK(all.size() == 0);
  CHECK(all.bytes() == 0);
  all.for_each([](const std::string& key, const counted_value&) { FAIL("there is still ", key); });
}

TEST_CASE("readers see all fields of a change or none") {
  counted_values all(1U << 20U);
  std::atomic<bool> over{false};
  std::thread reader([&] {
    while (!over) {
      braid::arena memory;
      const auto fields = all.fields("k", memory).value();
      if (!fields.empty() && (fields.size() != 2 || fields[0].value != fields[1].value)) FAIL("half of a change");
    }
  });
  for (int i = 0; i < 2'000; ++i)
    CHECK(all.update("k", 1ms, [&](counted_value& value) {
      hash_of(value).set("a", std::to_string(i));
      hash_of(value).set("b", std::to_string(i));
      return true;
    }) == outcome::done);
  over = true;
  reader.join();
}
