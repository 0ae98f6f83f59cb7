// tests/rankd/store/data_writer_test.cpp: a data file takes each key once, and says when it is full.
#include <rankd/store/data_writer.hpp>

#include <rankd/store/error.hpp>

#include <tests/support/scratch_folder.hpp>

#include <ostream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace rankd;
using braid::testing::scratch_folder;

}  // namespace

TEST_CASE("the second record of a key is refused and the first returned") {
  const scratch_folder folder;
  auto writer = data_writer::create(folder.path() / "data", 1 << 20);
  REQUIRE(writer.has_value());
  record_builder builder;
  const std::vector<std::int64_t> ids = {1, 2};
  REQUIRE_FALSE(writer->put("a", builder.id_list(ids, {0, 5})).value().has_value());
  const auto existing = writer->put("a", builder.id_list({}, {0, 6})).value();
  REQUIRE(existing.has_value());
  CHECK(existing->origin() == record_origin{0, 5});
  CHECK(existing->count() == 2);
}

TEST_CASE("the size that finish gives is that of the file") {
  const scratch_folder folder;
  auto writer = data_writer::create(folder.path() / "data", 1 << 20);
  REQUIRE(writer.has_value());
  record_builder builder;
  for (int i = 0; i < 1000; ++i) REQUIRE(writer->put("key" + std::to_string(i), builder.id_list({}, {})).has_value());
  const auto size = writer->finish();
  REQUIRE(size.has_value());
  CHECK(*size == std::filesystem::file_size(folder.path() / "data"));
  CHECK(*size > 30'000);
}

TEST_CASE("a map that is too small is full, not broken") {
  const scratch_folder folder;
  auto writer = data_writer::create(folder.path() / "data", 1 << 16);
  REQUIRE(writer.has_value());
  const std::vector<std::int64_t> ids(1000, 7);
  record_builder builder;
  std::error_code error;
  for (int i = 0; i < 1000 && !error; ++i) {
    const auto put = writer->put("key" + std::to_string(i), builder.id_list(ids, {}));
    if (!put) error = put.error();
  }
  CHECK(error == store_errc::full);
}

TEST_CASE("a file that cannot be made is an error of the system") {
  const scratch_folder folder;
  const auto writer = data_writer::create(folder.path() / "absent" / "data", 1 << 20);
  REQUIRE_FALSE(writer.has_value());
  CHECK(writer.error() == std::errc::no_such_file_or_directory);
}
