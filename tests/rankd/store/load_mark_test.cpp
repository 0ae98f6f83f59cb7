// tests/rankd/store/load_mark_test.cpp: marks survive their text, and change with what a load is made from.
#include <rankd/store/detail/load_mark.hpp>

#include <tests/support/scratch_folder.hpp>

#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::detail;

TEST_CASE("a mark is read as it was written, whatever the key is") {
  for (const std::string& key : {std::string(), std::string("a"), std::string("\n\0\xff\"", 4)}) {
    const load_mark mark{"digest", 2, {1ULL << 40U, 7}, 3, 4, key};
    const auto read = parse_load_mark(to_text(mark));
    REQUIRE(read.has_value());
    CHECK(read->made_from == mark.made_from);
    CHECK(read->file == mark.file);
    CHECK((read->line == mark.line));
    CHECK(read->records == mark.records);
    CHECK(read->kept == mark.kept);
    CHECK((read->merged_to == mark.merged_to));
  }
}

TEST_CASE("what is no mark is none") {
  for (const char* text : {"", "{}", "{}\n", "x\n", "[1]\nkey"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_load_mark(text).has_value());
  }
}

TEST_CASE("another file, size, mode or store is another load") {
  const braid::testing::scratch_folder folder;
  const std::vector<std::filesystem::path> files{folder.write("a", "1"), folder.write("b", "2")};
  const std::vector<std::filesystem::path> turned{files[1], files[0]};
  const std::string first = load_sources(files, load_mode::merge, std::nullopt);
  CHECK(load_sources(files, load_mode::merge, std::nullopt) == first);
  CHECK(load_sources(files, load_mode::replace, std::nullopt) != first);
  CHECK(load_sources(turned, load_mode::merge, std::nullopt) != first);
  CHECK(load_sources(files, load_mode::merge, store_manifest{1, 2}) != first);
  folder.write("b", "22");
  CHECK(load_sources(files, load_mode::merge, std::nullopt) != first);
}
