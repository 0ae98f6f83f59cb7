// tests/net/resp_writer_test.cpp: commands as a server reads them, beside what hiredis writes.
#include <braid/net/resp.hpp>

#include <braid/base/random.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <hiredis/hiredis.h>

using namespace braid;
using namespace std::string_literals;

namespace {

template <typename... Words>
auto written(const Words&... words) -> std::string {
  braid::detail::byte_buffer out;
  braid::detail::write_command(out, words...);
  return std::string(out.bytes());
}

}  // namespace

TEST_CASE("a command is an array of counted texts") {
  CHECK(written("GET", "k") == "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n");
  CHECK(written("PING") == "*1\r\n$4\r\nPING\r\n");
  CHECK(written("SET", "a b", std::string("\r\n\0x", 4)) == "*3\r\n$3\r\nSET\r\n$3\r\na b\r\n$4\r\n\r\n\0x\r\n"s);
  CHECK(written("SET", "", "") == "*3\r\n$3\r\nSET\r\n$0\r\n\r\n$0\r\n\r\n");
}

TEST_CASE("numbers are written as their digits") {
  CHECK(written("LRANGE", "k", 0, -1) == "*4\r\n$6\r\nLRANGE\r\n$1\r\nk\r\n$1\r\n0\r\n$2\r\n-1\r\n");
  CHECK(written("X", std::numeric_limits<std::int64_t>::min()) == "*2\r\n$1\r\nX\r\n$20\r\n-9223372036854775808\r\n");
  CHECK(written("X", std::numeric_limits<std::uint64_t>::max()) == "*2\r\n$1\r\nX\r\n$20\r\n18446744073709551615\r\n");
  CHECK(written("X", 9, 10, 99, 100) == "*5\r\n$1\r\nX\r\n$1\r\n9\r\n$2\r\n10\r\n$2\r\n99\r\n$3\r\n100\r\n");
  CHECK(written("X", 0.1) == "*2\r\n$1\r\nX\r\n$3\r\n0.1\r\n");
  CHECK(written("X", -std::numeric_limits<double>::denorm_min()).find("\r\n-5e-324\r\n") != std::string::npos);
}

TEST_CASE("a joined word is a text with a number behind it") {
  CHECK(written("GET", resp_joined{"user:", 42}) == written("GET", "user:42"));
  CHECK(written("GET", resp_joined{"", -7}) == written("GET", "-7"));
  CHECK(written("GET", resp_joined{"user:", std::numeric_limits<std::int64_t>::min()}) ==
        written("GET", "user:-9223372036854775808"));
}

TEST_CASE("lengths have as many digits as they need") {
  for (const std::size_t size : {0U, 1U, 9U, 10U, 11U, 99U, 100U, 101U, 999U, 1'000U, 65'535U, 65'536U, 1'000'000U}) {
    const std::string text(size, 'x');
    CHECK(written("X", text) == "*2\r\n$1\r\nX\r\n$" + std::to_string(size) + "\r\n" + text + "\r\n");
  }
}

TEST_CASE("commands follow each other") {
  braid::detail::byte_buffer out;
  braid::detail::write_command(out, "A");
  const std::vector<std::string_view> words{"B", "c"};
  braid::detail::write_command_words(out, words);
  CHECK(out.bytes() == "*1\r\n$1\r\nA\r\n*2\r\n$1\r\nB\r\n$1\r\nc\r\n");
}

TEST_CASE("commands are the bytes that hiredis writes") {
  random_source random(11);
  for (int round = 0; round < 2'000; ++round) {
    std::vector<std::string> words(1 + random.below(12));
    for (std::string& word : words) {
      word.resize(random.below(random.below(10) == 0 ? 3'000 : 30));
      std::ranges::generate(word, [&] { return static_cast<char>(random.below(256)); });
    }
    std::vector<std::string_view> views(words.begin(), words.end());
    std::vector<const char*> texts;
    std::vector<std::size_t> sizes;
    for (const std::string& word : words) {
      texts.push_back(word.data());
      sizes.push_back(word.size());
    }
    char* theirs = nullptr;
    const auto size = ::redisFormatCommandArgv(&theirs, static_cast<int>(words.size()), texts.data(), sizes.data());
    const std::unique_ptr<char, decltype(&std::free)> owner(theirs, &std::free);
    braid::detail::byte_buffer ours;
    braid::detail::write_command_words(ours, views);
    REQUIRE(ours.bytes() == std::string_view(theirs, static_cast<std::size_t>(size)));
  }
}
