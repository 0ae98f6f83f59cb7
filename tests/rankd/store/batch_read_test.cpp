// tests/rankd/store/batch_read_test.cpp: batches give what a table in memory would give.
#include <rankd/store/batch_read.hpp>

#include <rankd/store/error.hpp>
#include <rankd/store/load_store.hpp>

#include <braid/base/random.hpp>
#include <tests/support/scratch_folder.hpp>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace rankd;
using braid::testing::scratch_folder;

auto load(const scratch_folder& folder, std::string_view text) -> embedded_store {
  const std::vector<std::filesystem::path> files = {folder.write("data.ndjson", text)};
  const auto report = load_store(folder.path() / "store", files, {});
  REQUIRE(report.has_value());
  auto store = embedded_store::open(folder.path() / "store");
  REQUIRE(store.has_value());
  return std::move(*store);
}

using fields = std::map<std::string, std::string>;
using elements = std::vector<std::string>;

/// Random hashes and lists, as NDJSON and as plain tables.
struct oracle {
  std::map<std::int64_t, fields> hashes;
  std::map<std::int64_t, elements> lists;
  std::string text;
};

auto random_element(braid::random_source& random) -> std::string {
  static const elements junk = {"", "abc", "12x", "9223372036854775808", "1.5", "007"};
  if (random.below(4) == 0) return junk[random.below(junk.size())];
  return std::to_string(static_cast<std::int64_t>(random()));
}

auto make_oracle(std::uint64_t seed) -> oracle {
  braid::random_source random(seed);
  oracle made;
  for (std::int64_t id = -20; id < 200; ++id) {
    std::string body;
    if (random.below(4) != 0) {
      fields& hash = made.hashes[id];
      for (std::uint64_t i = random.below(6); i > 0; --i)
        hash["f" + std::to_string(random.below(9))] = random_element(random);
      for (const auto& [name, value] : hash) body += (body.empty() ? "\"" : ",\"") + name + "\":\"" + value + "\"";
      made.text += R"({"hash":"user:)" + std::to_string(id) + R"(","fields":{)" + body + "}}\n";
    }
    if (random.below(4) == 0) continue;
    elements& list = made.lists[id];
    body.clear();
    const bool quoted = random.below(2) == 0;
    for (std::uint64_t i = random.below(40); i > 0; --i) {
      list.push_back(quoted ? random_element(random) : std::to_string(static_cast<std::int64_t>(random())));
      body += (body.empty() ? "" : ",") + (quoted ? "\"" + list.back() + "\"" : list.back());
    }
    made.text += R"({"list":"follow:)" + std::to_string(id) + R"(","values":[)" + body + "]}\n";
  }
  return made;
}

auto all_ids() -> std::vector<std::int64_t> {
  std::vector<std::int64_t> ids(300);
  std::iota(ids.begin(), ids.end(), -50);
  return ids;
}

}  // namespace

TEST_CASE("one field of many hashes is what a table says") {
  const scratch_folder folder;
  const oracle truth = make_oracle(1);
  const embedded_store store = load(folder, truth.text);
  const auto snapshot = store.take_snapshot();
  braid::arena arena;
  const auto ids = all_ids();
  for (const std::string field : {"f0", "f3", "absent"}) {
    const auto read = read_batch(*snapshot, field_read{{"user:", ids}, field}, arena);
    REQUIRE(read.has_value());
    REQUIRE(read->size() == ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      std::optional<std::string_view> expected;
      if (const auto hash = truth.hashes.find(ids[i]); hash != truth.hashes.end())
        if (const auto value = hash->second.find(field); value != hash->second.end()) expected = value->second;
      CHECK((*read)[i] == expected);
    }
  }
}

TEST_CASE("all fields of many hashes are what a table says") {
  const scratch_folder folder;
  const oracle truth = make_oracle(2);
  const embedded_store store = load(folder, truth.text);
  const auto snapshot = store.take_snapshot();
  braid::arena arena;
  const auto ids = all_ids();
  const auto read = read_batch(*snapshot, hash_read{{"user:", ids}}, arena);
  REQUIRE(read.has_value());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    fields seen;
    for (const hash_field& field : (*read)[i]) seen.emplace(field.name, field.value);
    const auto hash = truth.hashes.find(ids[i]);
    CHECK(seen == (hash == truth.hashes.end() ? fields() : hash->second));
  }
}

TEST_CASE("the first ids of many lists are what a table says, and malformed elements are counted") {
  const scratch_folder folder;
  const oracle truth = make_oracle(3);
  const embedded_store store = load(folder, truth.text);
  const auto snapshot = store.take_snapshot();
  braid::arena arena;
  const auto ids = all_ids();
  for (const std::uint32_t first : {0U, 1U, 7U, 4'000'000'000U}) {
    const auto read = read_batch(*snapshot, list_read{{"follow:", ids}, first}, arena);
    REQUIRE(read.has_value());
    std::uint64_t malformed = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      std::vector<std::int64_t> expected;
      const auto list = truth.lists.find(ids[i]);
      const elements& all = list == truth.lists.end() ? elements() : list->second;
      for (std::size_t k = 0; k < std::min<std::size_t>(first, all.size()); ++k) {
        if (const auto id = parse_element(all[k]))
          expected.push_back(*id);
        else
          ++malformed;
      }
      CHECK(std::equal(expected.begin(), expected.end(), read->lists[i].begin(), read->lists[i].end()));
    }
    CHECK(read->malformed == malformed);
    if (first > 1) CHECK(malformed > 0);
  }
}

TEST_CASE("answers outlive snapshot and store") {
  braid::arena arena;
  field_batch answer;
  const std::vector<std::int64_t> ids = {1};
  {
    const scratch_folder folder;
    const embedded_store store = load(folder, R"({"hash":"user:1","fields":{"country":"US"}})");
    answer = *read_batch(*store.take_snapshot(), field_read{{"user:", ids}, "country"}, arena);
  }
  CHECK(answer[0] == "US");
}

TEST_CASE("a list is no hash and a hash is no list") {
  const scratch_folder folder;
  const embedded_store store =
      load(folder, "{\"hash\":\"a:1\",\"fields\":{\"f\":\"1\"}}\n{\"list\":\"b:1\",\"values\":[1]}\n");
  const auto snapshot = store.take_snapshot();
  braid::arena arena;
  const std::vector<std::int64_t> ids = {0, 1};
  CHECK(read_batch(*snapshot, field_read{{"a:", ids}, "f"}, arena).has_value());
  CHECK(read_batch(*snapshot, field_read{{"b:", ids}, "f"}, arena).error() == store_errc::wrong_type);
  CHECK(read_batch(*snapshot, hash_read{{"b:", ids}}, arena).error() == store_errc::wrong_type);
  CHECK(read_batch(*snapshot, list_read{{"b:", ids}, 1}, arena).has_value());
  CHECK(read_batch(*snapshot, list_read{{"a:", ids}, 1}, arena).error() == store_errc::wrong_type);
}

TEST_CASE("an empty list or hash is absent, whatever is asked for") {
  const scratch_folder folder;
  const embedded_store store = load(folder, "{\"hash\":\"a:1\",\"fields\":{}}\n{\"list\":\"b:1\",\"values\":[]}\n");
  const auto snapshot = store.take_snapshot();
  braid::arena arena;
  const std::vector<std::int64_t> ids = {1};
  CHECK(read_batch(*snapshot, field_read{{"b:", ids}, "f"}, arena).has_value());
  CHECK(read_batch(*snapshot, hash_read{{"b:", ids}}, arena).has_value());
  CHECK(read_batch(*snapshot, list_read{{"a:", ids}, 1}, arena).has_value());
}

TEST_CASE("the longest prefix and the longest ids make keys of their own") {
  const scratch_folder folder;
  const std::string prefix(key_batch::max_prefix, 'p');
  const embedded_store store = load(folder, R"({"list":")" + prefix + R"(-9223372036854775808","values":[5]})");
  const std::vector<std::int64_t> ids = {std::numeric_limits<std::int64_t>::max(),
                                         std::numeric_limits<std::int64_t>::min()};
  braid::arena arena;
  const auto read = read_batch(*store.take_snapshot(), list_read{{prefix, ids}, 9}, arena);
  REQUIRE(read.has_value());
  CHECK(read->lists[0].empty());
  REQUIRE(read->lists[1].size() == 1);
  CHECK(read->lists[1][0] == 5);
}

TEST_CASE("an empty batch has an empty answer") {
  const scratch_folder folder;
  const embedded_store store = load(folder, "");
  const auto snapshot = store.take_snapshot();
  braid::arena arena;
  CHECK(read_batch(*snapshot, field_read{{"user:", {}}, "country"}, arena)->empty());
  CHECK(read_batch(*snapshot, list_read{{"user:", {}}, 5}, arena)->lists.empty());
}
