// tests/rankd/store/load_changes_test.cpp: loads that delete keys and fields, and changes that are made in memory.
#include <rankd/store/embedded.hpp>
#include <rankd/store/load_store.hpp>

#include <tests/support/scratch_folder.hpp>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace rankd;
using braid::testing::scratch_folder;
namespace fs = std::filesystem;

using table = std::map<std::string, std::string>;

auto text_of(const record_view& record) -> std::string {
  std::string text;
  for (std::size_t i = 0; i < record.count(); ++i) {
    if (record.kind() == record_kind::hash)
      text += std::string(record.field_at(i).name) + "=" + std::string(record.field_at(i).value) + ";";
    else
      text +=
          (record.kind() == record_kind::id_list ? std::to_string(record.id_at(i)) : std::string(record.text_at(i))) +
          ",";
  }
  return text;
}

/// All that a store holds, as text.
auto contents(const fs::path& folder) -> table {
  const auto store = embedded_store::open(folder);
  REQUIRE(store.has_value());
  const auto snapshot = store->take_snapshot();
  REQUIRE(snapshot.has_value());
  auto cursor = snapshot->walk();
  REQUIRE(cursor.has_value());
  table all;
  for (auto entry = cursor->next(); entry.value(); entry = cursor->next())
    all.emplace((*entry)->key, text_of((*entry)->record));
  return all;
}

auto files_in(const fs::path& folder) -> std::vector<std::string> {
  std::vector<std::string> names;
  for (const auto& item : fs::directory_iterator(folder)) names.push_back(item.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

/// A scratch folder with data files and a store.
struct workplace {
  scratch_folder folder;
  fs::path store = folder.path() / "store";

  auto load(std::string_view text, const load_options& options = {}) const -> braid::checked<load_report> {
    const std::vector<fs::path> files = {folder.write("data.ndjson", text)};
    return load_store(store, files, options);
  }
};

auto codes_of(const braid::checked<load_report>& report) -> std::vector<std::string> {
  REQUIRE_FALSE(report.has_value());
  std::vector<std::string> codes;
  for (const auto& item : report.error()) codes.push_back(item.code);
  return codes;
}

}  // namespace

TEST_CASE("a line deletes a key, or fields of a hash, whatever the store has for them") {
  const workplace work;
  REQUIRE(work.load(R"({"hash":"item:1","fields":{"a":"1","b":"2","c":"3"}}
{"hash":"item:2","fields":{"a":"1","b":"2"}}
{"hash":"item:3","fields":{"a":"1"}}
{"list":"list:1","values":[1,2]}
{"set":"set:1","members":["x"]}
)")
              .has_value());
  const auto report = work.load(R"({"delete":"item:1","fields":["c","a","absent"]}
{"delete":"item:2","fields":["a","b"]}
{"delete":"list:1"}
{"delete":"absent"}
{"delete":"nothing","fields":["a"]}
{"hash":"item:4","fields":{"a":"4"}}
)");
  REQUIRE(report.has_value());
  CHECK(report->records == 1);
  CHECK(report->kept == 3);
  CHECK(report->deleted == 5);  // two fields, two fields, one key
  CHECK(contents(work.store) == table{{"item:1", "b=2;"}, {"item:3", "a=1;"}, {"item:4", "a=4;"}, {"set:1", "x,"}});
}

TEST_CASE("a deletion that is wrong changes nothing") {
  const workplace work;
  REQUIRE(work.load(R"({"hash":"item:1","fields":{"a":"1"}}
{"list":"list:1","values":[1,2]}
)")
              .has_value());
  const table before = contents(work.store);
  const auto not_a_hash = work.load("{\"delete\":\"item:1\"}\n{\"delete\":\"list:1\",\"fields\":[\"a\"]}\n");
  REQUIRE(codes_of(not_a_hash) == std::vector<std::string>{"not_a_hash"});
  CHECK(not_a_hash.error().front().pointer == "/fields");
  CHECK(not_a_hash.error().front().message.starts_with("line 2: the key `list:1` is not a hash"));
  CHECK(not_a_hash.error().front().source.ends_with("data.ndjson"));
  for (const std::string_view twice : {R"({"delete":"item:1"}
{"delete":"item:1","fields":["a"]}
)",
                                       R"({"delete":"item:1"}
{"hash":"item:1","fields":{"a":"2"}}
)",
                                       R"({"hash":"item:1","fields":{"a":"2"}}
{"delete":"item:1"}
)"}) {
    const auto refused = work.load(twice);
    REQUIRE(codes_of(refused) == std::vector<std::string>{"duplicate_key"});
    CHECK(refused.error().front().message == "line 2: the key `item:1` is already in line 1");
  }
  CHECK(contents(work.store) == before);
  CHECK(files_in(work.store).size() == 3);
}

TEST_CASE("a load with deletions is the same when its map was too small, or it replaces the store") {
  const workplace work;
  std::string many;
  for (int i = 0; i < 3000; ++i)
    many += R"({"hash":"item:)" + std::to_string(i) + R"(","fields":{"a":")" + std::string(200, 'x') + "\"}}\n";
  REQUIRE(work.load(many).has_value());
  const auto report = work.load("{\"delete\":\"item:7\"}\n{\"delete\":\"item:8\",\"fields\":[\"a\"]}\n",
                                {.first_map_bytes = 1 << 16, .save_bytes = 1000});
  REQUIRE(report.has_value());
  CHECK(report->deleted == 2);
  CHECK(report->kept == 2998);
  CHECK(contents(work.store).size() == 2998);
  const auto replaced =
      work.load("{\"delete\":\"item:9\"}\n{\"list\":\"l\",\"values\":[1]}\n", {.mode = load_mode::replace});
  REQUIRE(replaced.has_value());
  CHECK(contents(work.store) == table{{"l", "1,"}});
}

TEST_CASE("changes that are made in memory become the next generation, with a history that loads keep") {
  const workplace work;
  REQUIRE(work.load("{\"list\":\"l\",\"values\":[1]}\n{\"hash\":\"h\",\"fields\":{\"a\":\"1\",\"b\":\"2\"}}\n")
              .has_value());
  const auto change = [&](store_changes changes) {
    return change_store(work.store, [&](const embedded_store& now) {
      CHECK(now.manifest().generation >= 1);
      return std::move(changes);
    });
  };
  CHECK(change({}).value() == std::nullopt);
  CHECK(read_manifest(work.store)->generation == 1);
  record_builder builder;
  const auto bytes = builder.string("text", {});
  const auto made =
      change({.records = {{"s", {bytes.begin(), bytes.end()}}}, .deleted = {{"h", {"a"}}}, .history = {"one", "two"}});
  REQUIRE(made.value().has_value());
  CHECK(made.value()->generation == 2);
  CHECK(made.value()->records == 1);
  CHECK(made.value()->deleted == 1);
  CHECK(contents(work.store) == table{{"h", "b=2;"}, {"l", "1,"}, {"s", "text,"}});
  REQUIRE(work.load("{\"delete\":\"l\"}\n").has_value());
  CHECK(contents(work.store) == table{{"h", "b=2;"}, {"s", "text,"}});
  const auto store = embedded_store::open(work.store);
  const auto snapshot = store->take_snapshot();
  CHECK(snapshot->count().value() == 2);
  const auto history = snapshot->history().value();
  REQUIRE(history.has_value());
  REQUIRE(history->count() == 2);
  CHECK(history->text_at(1) == "two");
  CHECK(change_store(work.folder.path() / "absent", [](const embedded_store&) { return store_changes(); })
            .error()
            .front()
            .code == "store_missing");
}
