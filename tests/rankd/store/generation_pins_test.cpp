// tests/rankd/store/generation_pins_test.cpp: requests share the stores of a generation until one of these changes.
#include <rankd/store/generation_pins.hpp>

#include <rankd/store/followed_store.hpp>
#include <rankd/store/load_store.hpp>
#include <tests/support/scratch_folder.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace rankd;
using braid::testing::scratch_folder;

void load(const scratch_folder& folder) {
  const std::vector<std::filesystem::path> files = {
      folder.write("data.ndjson", "{\"string\":\"a\",\"value\":\"b\"}\n")};
  REQUIRE(load_store(folder.path() / "store", files, {}).has_value());
}

}  // namespace

TEST_CASE("requests that begin between two changes share their stores") {
  const scratch_folder folder;
  load(folder);
  const auto store = followed_store::open(folder.path() / "store", "db").value();
  generation_pins pins({nullptr, store.get()});
  const pinned_stores first = pins.now();
  REQUIRE(first.list->size() == 2);
  CHECK((*first.list)[0] == nullptr);
  CHECK(pins.now().list == first.list);
  load(folder);
  CHECK(pins.now().list == first.list);
  REQUIRE(store->refresh().value().has_value());
  const pinned_stores second = pins.now();
  CHECK(second.version != first.version);
  CHECK(pins.now().version == second.version);
  CHECK((*first.list)[1]->generation() == 1);
  CHECK((*second.list)[1]->generation() == 2);
}

TEST_CASE("stores without generations are the same for all requests") {
  generation_pins pins({nullptr});
  CHECK(pins.now().version == 0);
  CHECK(pins.now().list == pins.now().list);
}
