// tests/rankd/store/line_reader_test.cpp: lines come out as they went in, long ones are passed over.
#include <rankd/store/line_reader.hpp>

#include <braid/base/random.hpp>
#include <tests/support/scratch_folder.hpp>

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace {

using braid::testing::scratch_folder;
using rankd::line_reader;

struct seen_line {
  std::string text;
  std::uint64_t number;
  bool too_long;
  auto operator==(const seen_line&) const -> bool = default;
};

auto list_lines(const std::string& text) -> std::vector<seen_line> {
  const scratch_folder folder;
  auto reader = line_reader::open(folder.write("lines", text));
  REQUIRE(reader.has_value());
  std::vector<seen_line> lines;
  for (auto line = reader->next(); line && *line; line = reader->next())
    lines.push_back({std::string((*line)->text), (*line)->number, (*line)->too_long});
  CHECK(reader->bytes_done() == text.size());
  CHECK(reader->reserved() < 3 * line_reader::max_bytes);
  return lines;
}

}  // namespace

TEST_CASE("lines are numbered from one and lose their ends") {
  CHECK(list_lines("").empty());
  CHECK(list_lines("a\n\nb") == std::vector<seen_line>{{"a", 1, false}, {"", 2, false}, {"b", 3, false}});
  CHECK(list_lines("a\r\n") == std::vector<seen_line>{{"a\r", 1, false}});
}

TEST_CASE("a byte order mark at the beginning of the file is counted and not shown") {
  const std::string mark = "\xEF\xBB\xBF";
  CHECK(list_lines(mark + "a\n" + mark + "b") == std::vector<seen_line>{{"a", 1, false}, {mark + "b", 2, false}});
  CHECK(list_lines("\n" + mark) == std::vector<seen_line>{{"", 1, false}, {mark, 2, false}});
  CHECK(list_lines(mark) == std::vector<seen_line>{{"", 1, false}});
  const scratch_folder folder;
  const auto file = folder.write("lines", mark + "a\n" + mark + "b");
  CHECK(rankd::find_line(file, 1).value() == rankd::line_position{5, 1});
  auto second = line_reader::open(file, {5, 1});
  CHECK(second->next().value()->text == mark + "b");
}

TEST_CASE("lines of every length come out whole, wherever the pieces of the file end") {
  braid::random_source random(5);
  std::string text;
  std::vector<seen_line> expected;
  for (std::uint32_t number = 1; number <= 200; ++number) {
    const std::string line(random.below(number % 10 == 0 ? 300'000 : 3'000), static_cast<char>('a' + number % 26));
    text += line + "\n";
    expected.push_back({line, number, false});
  }
  CHECK((list_lines(text) == expected));
}

TEST_CASE("a line of the greatest length is read, one byte more is reported and passed over") {
  const std::string fits(line_reader::max_bytes, 'x');
  const std::string over(line_reader::max_bytes + 1, 'y');
  const std::string far_over(3 * line_reader::max_bytes, 'z');
  const std::vector<seen_line> expected = {{fits, 1, false}, {"", 2, true}, {"b", 3, false}, {"", 4, true}};
  CHECK((list_lines(fits + "\n" + over + "\nb\n" + far_over) == expected));
}

TEST_CASE("a file that cannot be opened or read is an error of the system") {
  const scratch_folder folder;
  const auto missing = line_reader::open(folder.path() / "nothing");
  REQUIRE_FALSE(missing.has_value());
  CHECK(missing.error() == std::errc::no_such_file_or_directory);
  auto directory = line_reader::open(folder.path());
  REQUIRE(directory.has_value());
  const auto line = directory->next();
  REQUIRE_FALSE(line.has_value());
  CHECK(line.error() == std::errc::is_a_directory);
}

TEST_CASE("a reader begins where another one stood") {
  const scratch_folder folder;
  const auto file = folder.write("lines", "one\ntwo\n\nfour");
  auto first = line_reader::open(file);
  REQUIRE(first.has_value());
  REQUIRE(first->next()->has_value());
  CHECK((first->position() == rankd::line_position{4, 1}));
  auto second = line_reader::open(file, first->position());
  REQUIRE(second.has_value());
  const auto line = second->next();
  CHECK((*line)->text == "two");
  CHECK((*line)->number == 2);
  CHECK((second->position() == rankd::line_position{8, 2}));
}

TEST_CASE("the place between two lines at a byte or behind it is found") {
  const scratch_folder folder;
  const auto file = folder.write("lines", "one\ntwo\n\nfour");
  using rankd::line_position;
  const std::vector<std::pair<std::uint64_t, line_position>> table{
      {0, {0, 0}}, {1, {4, 1}}, {4, {4, 1}}, {5, {8, 2}}, {8, {8, 2}}, {9, {9, 3}}, {10, {13, 4}}, {99, {13, 4}}};
  for (const auto& [bytes, expected] : table) {
    CAPTURE(bytes);
    CHECK((rankd::find_line(file, bytes) == expected));
  }
  CHECK_FALSE(rankd::find_line(folder.path() / "nothing", 0).has_value());
}
