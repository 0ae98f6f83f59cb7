// tests/rankd/store/vector_lengths_test.cpp: loads refuse vectors that no plan of the project could read.
#include <rankd/store/vector_lengths.hpp>

#include <rankd/store/load_store.hpp>
#include <rankd/store/redis_load.hpp>
#include <tests/support/scratch_folder.hpp>

#include <filesystem>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;

TEST_CASE("loads into both stores refuse vectors of other lengths than the keys of their fields have") {
  const auto declared = registries::load("tests/rankd/tables/registry", "dev");
  REQUIRE(declared.has_value());
  const vector_lengths lengths = list_lengths(*declared);
  CHECK(lengths.at("features") == 4);
  CHECK(lengths.at("shorter") == 3);
  CHECK_FALSE(lengths.contains("id"));

  const braid::testing::scratch_folder folder;
  const std::vector<std::filesystem::path> files{
      folder.write("a.ndjson", "{\"hash\":\"a\",\"fields\":{\"shorter\":[1,2]}}\n")};
  for (const auto& refused : {load_store(folder.path() / "db", files, {.vectors = lengths}),
                              load_redis(braid::redis_options(), files, {.vectors = lengths})}) {
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().front().code == "wrong_length");
    CHECK(refused.error().front().source == files[0].string());
  }
  CHECK(load_store(folder.path() / "db", files, {}).has_value());
}
