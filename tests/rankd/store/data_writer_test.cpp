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

TEST_CASE("what was saved is there when the file is opened again, with its note, and the rest is not") {
  const scratch_folder folder;
  const auto file = folder.path() / "data";
  record_builder builder;
  {
    auto writer = data_writer::create(file, 1 << 20);
    REQUIRE(writer.has_value());
    REQUIRE(writer->put("a", builder.id_list({}, {0, 1})).has_value());
    CHECK(writer->unsaved() > 0);
    REQUIRE(writer->save("one").has_value());
    CHECK(writer->unsaved() == 0);
    REQUIRE(writer->put("b", builder.id_list({}, {0, 2})).has_value());
  }
  auto again = data_writer::reopen(file, 1 << 20);
  REQUIRE(again.has_value());
  CHECK(again->note().value() == "one");
  CHECK(again->put("a", builder.id_list({}, {0, 9})).value()->origin() == record_origin{0, 1});
  CHECK_FALSE(again->put("b", builder.id_list({}, {0, 9})).value().has_value());
  REQUIRE(again->finish().has_value());
  auto finished = data_writer::reopen(file, 1 << 20);
  REQUIRE(finished.has_value());
  CHECK(finished->note().value().empty());
}

TEST_CASE("a file that is no data file, or only a part of one, is not opened again") {
  const scratch_folder folder;
  const auto refusal = [&](const std::filesystem::path& file) {
    const auto opened = data_writer::reopen(file, 1 << 20);
    REQUIRE_FALSE(opened.has_value());
    return opened.error();
  };
  CHECK(refusal(folder.path() / "missing") == std::errc::no_such_file_or_directory);
  CHECK(refusal(folder.write("empty", "")) == store_errc::corrupt);
  CHECK(refusal(folder.write("text", std::string(20'000, 'x'))) == store_errc::corrupt);
  const auto file = folder.path() / "data";
  {
    auto writer = data_writer::create(file, 1 << 24);
    REQUIRE(writer.has_value());
    record_builder builder;
    const std::vector<std::int64_t> ids(1'000, 7);
    for (int i = 0; i < 100; ++i) REQUIRE(writer->put(std::to_string(i), builder.id_list(ids, {})).has_value());
    REQUIRE(writer->save("note").has_value());
  }
  const auto size = std::filesystem::file_size(file);
  std::filesystem::resize_file(file, size - 4'096);
  CHECK(refusal(file) == store_errc::corrupt);
}
