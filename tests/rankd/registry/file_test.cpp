// tests/rankd/registry/file_test.cpp: reading files, and refusing what is not one.
#include <rankd/registry/file.hpp>
#include <tests/support/scratch_folder.hpp>

#include <doctest/doctest.h>
#include <sys/stat.h>

using rankd::read_text_file;

TEST_CASE("a file is read byte by byte") {
  const braid::testing::scratch_folder folder;
  const std::string text("a\r\n\0b", 5);
  CHECK(read_text_file(folder.write("x", text)) == text);
  CHECK(read_text_file(folder.write("empty", "")) == "");
}

TEST_CASE("a byte order mark is taken off the beginning of a text, once, and nothing else is") {
  CHECK(rankd::without_mark("\xEF\xBB\xBF{}") == "{}");
  CHECK(rankd::without_mark("\xEF\xBB\xBF\xEF\xBB\xBF") == rankd::byte_order_mark);
  for (const char* text : {"", "{}", "\xEF\xBB", " \xEF\xBB\xBF"}) CHECK(rankd::without_mark(text) == text);
}

TEST_CASE("a file at the limit is read and one byte more is refused") {
  const braid::testing::scratch_folder folder;
  CHECK(read_text_file(folder.write("x", "1234"), 4).has_value());
  const auto refused = read_text_file(folder.write("y", "12345"), 4);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().front().code == "file_too_large");
  CHECK(refused.error().front().source == (folder.path() / "y").string());
}

TEST_CASE("a file that the system does not show is not called absent") {
  const braid::testing::scratch_folder folder;
  std::filesystem::create_symlink("loop", folder.path() / "loop");
  const auto refused = read_text_file(folder.path() / "loop");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().front().message.starts_with("the file cannot be opened: "));
  CHECK(read_text_file(folder.path() / "absent").error().front().message == "there is no such file");
}

TEST_CASE("what is absent, a folder or a pipe is unreadable") {
  const braid::testing::scratch_folder folder;
  const auto pipe = folder.path() / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  for (const auto& path : {folder.path() / "absent", folder.path(), pipe}) {
    const auto refused = read_text_file(path);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().front().code == "unreadable_file");
  }
}
