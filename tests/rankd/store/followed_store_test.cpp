// tests/rankd/store/followed_store_test.cpp: an embedded store that changes under its readers, each of whom sees one
// generation.
#include <rankd/store/followed_store.hpp>

#include <rankd/registry/file.hpp>
#include <rankd/registry/write_file.hpp>
#include <rankd/store/counted_store.hpp>
#include <rankd/store/load_store.hpp>
#include <tests/rankd/store/asking.hpp>
#include <tests/support/scratch_folder.hpp>

#include <braid/coro/spawn.hpp>

#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace rankd;
using braid::testing::scratch_folder;
namespace fs = std::filesystem;

/// A store whose hash `item:1` has the price of the last load.
struct shop {
  scratch_folder folder;
  fs::path place = folder.path() / "store";
  int loads = 0;

  shop() { load(); }

  auto load(braid::duration wait = {}) -> load_report {
    const std::string price = std::to_string(++loads);
    const std::vector<fs::path> files = {
        folder.write("data.ndjson", R"({"hash":"item:1","fields":{"price":")" + price + "\"}}\n")};
    return load_store(place, files, {.wait_for_readers = wait}).value();
  }
  [[nodiscard]] auto open() const -> std::unique_ptr<followed_store> {
    return followed_store::open(place, "db").value();
  }
};

/// The price that a store answers.
auto price_in(store& from) -> std::string {
  braid::arena arena;
  constexpr std::array<std::int64_t, 1> ids{1};
  const auto answer = braid::sync_wait(rankd::testing::ask_store(from, field_read{{"item:", ids}, "price"}, arena));
  REQUIRE(answer.has_value());
  return std::string(answer->front().value_or("none"));
}

}  // namespace

TEST_CASE("a store changes to the generation of the last load when it is refreshed, and only then") {
  shop world;
  const auto store = world.open();
  CHECK(price_in(*store) == "1");
  CHECK(store->refresh().value() == std::nullopt);
  world.load();
  world.load();
  CHECK(price_in(*store) == "1");
  const std::uint64_t version = store->version();
  const auto changed = store->refresh().value();
  REQUIRE(changed.has_value());
  CHECK(changed->before.generation == 1);
  CHECK(changed->after.generation == 3);
  CHECK(changed->after.records == 1);
  CHECK(changed->after.made.count() > 1'700'000'000'000);
  CHECK(store->state() == changed->after);
  CHECK(store->generation() == 3);
  CHECK(store->version() > version);
  CHECK(price_in(*store) == "3");
  CHECK(store->refresh().value() == std::nullopt);
}

TEST_CASE("whoever has pinned a generation keeps it, through all layers") {
  shop world;
  const auto counted = std::make_shared<counted_values>(1 << 20, [] { return std::chrono::milliseconds(1); });
  counted_store store(world.open(), counted);
  const auto before = store.pinned();
  REQUIRE(before != nullptr);
  world.load();
  REQUIRE(store.followed()->refresh().value().has_value());
  CHECK(price_in(*before) == "1");
  CHECK(price_in(store) == "2");
  CHECK(before->generation() == 1);
  CHECK(store.pinned()->generation() == 2);
  counted->insert("item:1", {.data = counted_hash{{{"price", "counted"}}}});
  CHECK(price_in(*before) == "counted");
  CHECK(before->pinned() == nullptr);
}

TEST_CASE("data that cannot be opened is refused, and the old generation goes on until there is good data") {
  shop world;
  const auto store = world.open();
  world.load();
  const fs::path data = data_file(world.place, 2);
  const std::string good = read_text_file(data).value();
  std::string bad = good;
  bad[bad.size() / 2] ^= 1;
  REQUIRE(write_file(data, bad).has_value());
  CHECK(store->refresh().error().front().code == "store_corrupt");
  CHECK(store->refresh().error().front().code == "store_corrupt");
  CHECK(price_in(*store) == "1");
  REQUIRE(write_file(data, good).has_value());
  CHECK(store->refresh().value().has_value());
  CHECK(price_in(*store) == "2");

  fs::remove_all(world.place);
  CHECK(store->refresh().error().front().code == "store_missing");
  CHECK(price_in(*store) == "2");
  world.load();  // the first generation again, with other data
  CHECK(store->refresh().value().has_value());
  CHECK(price_in(*store) == "3");
}

TEST_CASE("a load waits for the stores that were refreshed at least once") {
  shop world;
  CHECK(world.load(std::chrono::hours(1)).readers == store_readers::none);
  const auto idle = world.open();
  CHECK(world.load(std::chrono::hours(1)).readers == store_readers::none);

  const auto first = world.open();
  const auto second = world.open();
  for (const auto& each : {first.get(), second.get()}) REQUIRE(each->refresh().has_value());
  const replaced_manifest replaced(world.place);
  CHECK(world.load(std::chrono::nanoseconds(1)).readers == store_readers::behind);
  CHECK(replaced.wait_for_readers({}) == store_readers::behind);
  REQUIRE(first->refresh().value().has_value());
  CHECK(replaced.wait_for_readers({}) == store_readers::behind);
  REQUIRE(second->refresh().value().has_value());
  CHECK(replaced.wait_for_readers({}) == store_readers::changed);
  CHECK(price_in(*second) == "4");
}

TEST_CASE("a store that has gone keeps no load waiting") {
  shop world;
  {
    const auto store = world.open();
    REQUIRE(store->refresh().has_value());
  }
  CHECK(world.load(std::chrono::hours(1)).readers == store_readers::none);
}

TEST_CASE("a claim holds for the manifest that the folder names") {
  shop world;
  const auto use = manifest_use::of(world.place).value();
  REQUIRE(use.has_value());
  CHECK(use->manifest() == read_manifest(world.place).value());
  CHECK(use->is_current(world.place));
  world.load();
  CHECK_FALSE(use->is_current(world.place));
  CHECK(manifest_use::of(world.folder.path() / "absent").error().front().code == "store_missing");
}
