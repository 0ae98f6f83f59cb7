// tests/net/resp_parser_test.cpp: replies of every type, in pieces of every size, and what is refused and where.
#include <braid/net/detail/resp_parser.hpp>

#include <tests/net/resp_values.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

using namespace braid;
using namespace braid::testing;
using status = braid::detail::resp_parser::status;

namespace {

struct good_reply {
  std::string_view wire;
  std::string_view shown;
};

constexpr std::array<good_reply, 38> good_replies{{
    {"+OK\r\n", "+OK"},
    {"+\r\n", "+"},
    {"-ERR no\r\n", "!ERR no"},
    {"!6\r\nERR\r\nx\r\n", "!ERR\r\nx"},
    {":0\r\n", "0"},
    {":+7\r\n", "7"},
    {":-1\r\n", "-1"},
    {":9223372036854775807\r\n", "9223372036854775807"},
    {":-9223372036854775808\r\n", "-9223372036854775808"},
    {"$0\r\n\r\n", "\"\""},
    {"$3\r\nabc\r\n", "\"abc\""},
    {"$2\r\n\r\n\r\n", "\"\r\n\""},
    {"$17\r\n12345678901234567\r\n", "\"12345678901234567\""},
    {"$-1\r\n", "null"},
    {"*-1\r\n", "null"},
    {"_\r\n", "null"},
    {"*0\r\n", "[]"},
    {"*2\r\n:1\r\n$1\r\na\r\n", "[1, \"a\"]"},
    {"*3\r\n*0\r\n*1\r\n*0\r\n:2\r\n", "[[], [[]], 2]"},
    {"*2\r\n$-1\r\n*-1\r\n", "[null, null]"},
    {"%1\r\n+k\r\n:1\r\n", "{+k, 1]"},
    {"%0\r\n", "{]"},
    {"~2\r\n:1\r\n:2\r\n", "~1, 2]"},
    {">2\r\n+message\r\n:2\r\n", ">+message, 2]"},
    {"#t\r\n", "true"},
    {"#f\r\n", "false"},
    {",1.5\r\n", "1.500000"},
    {",-2\r\n", "-2.000000"},
    {",+1e3\r\n", "1000.000000"},
    {",.5\r\n", "0.500000"},
    {",inf\r\n", "inf"},
    {",-inf\r\n", "-inf"},
    {"(3492890328409238509324850943850943825024385\r\n", "(3492890328409238509324850943850943825024385"},
    {"(-1\r\n", "(-1"},
    {"=7\r\ntxt:abc\r\n", "txt:abc"},
    {"=4\r\nmkd:\r\n", "mkd:"},
    {"|1\r\n+ttl\r\n:3\r\n:5\r\n", "5"},
    {"*2\r\n|1\r\n+a\r\n*2\r\n:1\r\n:2\r\n:5\r\n|0\r\n:6\r\n", "[5, 6]"},
}};

struct bad_reply {
  std::string_view wire;
  resp_errc code;
  std::uint64_t offset;
};

constexpr std::array<bad_reply, 53> bad_replies{{
    {"?\r\n", resp_errc::unknown_type, 0},
    {"\r\n", resp_errc::unknown_type, 0},
    {"GET k\r\n", resp_errc::unknown_type, 0},
    {"*2\r\n:1\r\nx\r\n", resp_errc::unknown_type, 8},
    {":\r\n", resp_errc::bad_number, 0},
    {":-\r\n", resp_errc::bad_number, 0},
    {":-0\r\n", resp_errc::bad_number, 0},
    {":01\r\n", resp_errc::bad_number, 0},
    {":1x\r\n", resp_errc::bad_number, 0},
    {":1 \r\n", resp_errc::bad_number, 0},
    {": 1\r\n", resp_errc::bad_number, 0},
    {":9223372036854775808\r\n", resp_errc::bad_number, 0},
    {":-9223372036854775809\r\n", resp_errc::bad_number, 0},
    {":99999999999999999999\r\n", resp_errc::bad_number, 0},
    {":1\n", resp_errc::bad_number, 0},
    {":1\r\r", resp_errc::bad_line_end, 0},
    {"$\r\n", resp_errc::bad_number, 0},
    {"$-2\r\n", resp_errc::bad_number, 0},
    {"$-0\r\n", resp_errc::bad_number, 0},
    {"$+1\r\na\r\n", resp_errc::bad_number, 0},
    {"$01\r\na\r\n", resp_errc::bad_number, 0},
    {"$1\n", resp_errc::bad_number, 0},
    {"$1\rx", resp_errc::bad_line_end, 0},
    {"$99999999999\r\n", resp_errc::bad_number, 0},
    {"$9999999999\r\n", resp_errc::too_large, 0},
    {"$3\r\nabcd\r\n", resp_errc::bad_line_end, 7},
    {"$3\r\nabc\rx", resp_errc::bad_line_end, 8},
    {"$3\r\nabc\n", resp_errc::bad_line_end, 7},
    {"*1x\r\n", resp_errc::bad_number, 0},
    {"*-2\r\n", resp_errc::bad_number, 0},
    {"%-1\r\n", resp_errc::bad_number, 0},
    {"~-1\r\n", resp_errc::bad_number, 0},
    {"*4294967296\r\n", resp_errc::too_large, 0},
    {"%9999999999\r\n", resp_errc::too_large, 0},
    {"*9999999999\r\n", resp_errc::too_large, 0},
    {"*1\r\n>1\r\n:1\r\n", resp_errc::misplaced_push, 4},
    {"+a\nb\r\n", resp_errc::bad_line_end, 0},
    {"+a\rb\r\n", resp_errc::bad_line_end, 0},
    {"-a\n", resp_errc::bad_line_end, 0},
    {"_x\r\n", resp_errc::bad_null, 0},
    {"#x\r\n", resp_errc::bad_boolean, 0},
    {"#tt\r\n", resp_errc::bad_boolean, 0},
    {",\r\n", resp_errc::bad_real, 0},
    {",1.5x\r\n", resp_errc::bad_real, 0},
    {",infinity\r\n", resp_errc::bad_real, 0},
    {",+-1\r\n", resp_errc::bad_real, 0},
    {",1e999\r\n", resp_errc::bad_real, 0},
    {"(\r\n", resp_errc::bad_number, 0},
    {"(12a\r\n", resp_errc::bad_number, 0},
    {"=3\r\ntxt\r\n", resp_errc::bad_verbatim, 0},
    {"=5\r\ntxt.a\r\n", resp_errc::bad_verbatim, 7},
    {"$?\r\n", resp_errc::streamed, 0},
    {";4\r\n", resp_errc::streamed, 0},
}};

/// Every way to cut a short input in two or three, and byte by byte.
template <typename Check>
void in_all_pieces(std::string_view wire, Check&& check) {
  for (std::size_t first = 1; first <= wire.size(); ++first)
    for (std::size_t second = 1; second <= wire.size(); ++second) {
      bool is_first = true;
      check([&](std::size_t) { return std::exchange(is_first, false) ? first : second; });
    }
}

}  // namespace

TEST_CASE("a reply of any type has its value however it is cut into pieces") {
  braid::detail::resp_parser parser;
  for (const good_reply& reply : good_replies) {
    CAPTURE(reply.wire);
    in_all_pieces(reply.wire, [&](auto piece) {
      arena memory;
      const parsed got = parse_in_pieces(parser, reply.wire, &memory, piece);
      REQUIRE(got.state == status::complete);
      REQUIRE(got.used == reply.wire.size());
      REQUIRE(shown(got.value) == reply.shown);
    });
  }
}

TEST_CASE("a reply that is read into nothing is checked, and has its type") {
  braid::detail::resp_parser parser;
  for (const good_reply& reply : good_replies) {
    CAPTURE(reply.wire);
    arena memory;
    const parsed kept = parse_whole(parser, reply.wire, &memory);
    in_all_pieces(reply.wire, [&](auto piece) {
      const parsed dropped = parse_in_pieces(parser, reply.wire, nullptr, piece);
      REQUIRE(dropped.state == status::complete);
      REQUIRE(dropped.used == reply.wire.size());
      REQUIRE(dropped.value.type() == kept.value.type());
      if (dropped.value.has_text()) REQUIRE(dropped.value.text().empty());
      if (dropped.value.has_items()) REQUIRE(dropped.value.items().empty());
    });
  }
}

TEST_CASE("what is wrong is refused with its reason and its place, however it is cut") {
  braid::detail::resp_parser parser;
  for (const bad_reply& reply : bad_replies) {
    CAPTURE(reply.wire);
    in_all_pieces(reply.wire, [&](auto piece) {
      arena memory;
      const parsed got = parse_in_pieces(parser, reply.wire, &memory, piece);
      REQUIRE(got.state == status::wrong);
      REQUIRE(got.fault.code == reply.code);
      REQUIRE(got.fault.offset == reply.offset);
      REQUIRE(parse_in_pieces(parser, reply.wire, nullptr, piece).state == status::wrong);
    });
  }
}

TEST_CASE("a fault says in words what is wrong and where") {
  braid::detail::resp_parser parser;
  arena memory;
  const parsed got = parse_whole(parser, "*2\r\n:1\r\n:1x\r\n", &memory);
  CHECK(got.fault.to_text() ==
        "byte 8 of the reply, in a value that begins with `:`: an integer or a length is malformed or too large");
  CHECK(parse_whole(parser, "\x01", &memory).fault.to_text().find("0x01") != std::string::npos);
}

TEST_CASE("a part of a reply is incomplete, and no more is consumed than can be used") {
  braid::detail::resp_parser parser;
  for (const good_reply& reply : good_replies)
    for (std::size_t size = 0; size < reply.wire.size(); ++size) {
      arena memory;
      const parsed got = parse_whole(parser, reply.wire.substr(0, size), &memory);
      REQUIRE(got.state == status::incomplete);
      REQUIRE(got.used <= size);
    }
}

TEST_CASE("one reply ends where the next begins") {
  braid::detail::resp_parser parser;
  arena memory;
  std::string_view rest = "+OK\r\n$1\r\na\r\n*1\r\n:1\r\n:2\r\n";
  std::string seen;
  while (!rest.empty()) {
    const parsed got = parse_whole(parser, rest, &memory);
    REQUIRE(got.state == status::complete);
    seen += shown(got.value) + " ";
    rest.remove_prefix(got.used);
  }
  CHECK(seen == "+OK \"a\" [1] 2 ");
}

TEST_CASE("any value is read back as it was written, in pieces by chance") {
  for (const resp_version version : {resp_version::two, resp_version::three})
    for (std::uint64_t seed = 1; seed <= 3'000; ++seed) {
      CAPTURE(seed);
      arena source;
      const resp_value value = resp_generator(seed, version, source).value();
      const std::string wire = wire_of(value);
      random_source random(seed);
      braid::detail::resp_parser parser;
      arena memory;
      const parsed got = parse_in_pieces(parser, wire, &memory,
                                         [&](std::size_t) { return 1 + random.below(1 + random.below(4'000)); });
      REQUIRE(got.state == status::complete);
      REQUIRE(got.used == wire.size());
      REQUIRE(got.value == value);
    }
}

TEST_CASE("a reply that is given up in the middle leaves its arena alone and ends where it did") {
  for (std::uint64_t seed = 1; seed <= 3'000; ++seed) {
    CAPTURE(seed);
    arena source;
    const resp_value value = resp_generator(seed, resp_version::three, source).value();
    const std::string wire = wire_of(value) + ":4711\r\n";
    random_source random(seed);
    const std::size_t cut = random.below(wire.size() - 7);
    braid::detail::resp_parser parser;
    std::size_t used = 0;
    {
      arena memory;
      parser.begin(&memory);
      used = parser.parse(wire.substr(0, cut)).consumed;
      parser.discard();
    }
    const auto [state, consumed] = parser.parse(std::string_view(wire).substr(used));
    REQUIRE(state == status::complete);
    REQUIRE(wire.substr(used + consumed) == ":4711\r\n");
    REQUIRE(parser.value().type() == value.type());
  }
}

TEST_CASE("nesting is refused beyond the limit and taken up to it") {
  braid::detail::resp_parser parser({.depth = 3});
  arena memory;
  CHECK(parse_whole(parser, "*1\r\n*1\r\n*1\r\n:1\r\n", &memory).state == status::complete);
  CHECK(parse_whole(parser, "*1\r\n*1\r\n*1\r\n*0\r\n", &memory).state == status::complete);
  const parsed got = parse_whole(parser, "*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n", &memory);
  CHECK(got.fault.code == resp_errc::too_deep);
  CHECK(parse_whole(parser, "*1\r\n|1\r\n:1\r\n*1\r\n*1\r\n:1\r\n:1\r\n", &memory).fault.code == resp_errc::too_deep);
}

TEST_CASE("a million arrays in each other are refused") {
  std::string wire;
  for (int i = 0; i < 1'000'000; ++i) wire += "*1\r\n";
  braid::detail::resp_parser parser;
  arena memory;
  CHECK(parse_whole(parser, wire, &memory).fault.code == resp_errc::too_deep);
}

TEST_CASE("lines are refused beyond the limit and taken up to it") {
  braid::detail::resp_parser parser({.line = 10});
  arena memory;
  CHECK(parse_whole(parser, "+0123456789\r\n", &memory).state == status::complete);
  CHECK(parse_whole(parser, "+01234567890\r\n", &memory).fault.code == resp_errc::line_too_long);
  CHECK(parse_whole(parser, "+01234567890", &memory).fault.code == resp_errc::line_too_long);
}

TEST_CASE("a reply that needs more memory than the limit is refused before any is taken") {
  braid::detail::resp_parser parser({.reply = 1'000});
  arena memory;
  CHECK(parse_whole(parser, "$1000\r\n" + std::string(1'000, 'x') + "\r\n", &memory).fault.code ==
        resp_errc::too_large);
  CHECK(parse_whole(parser, "$900\r\n" + std::string(900, 'x') + "\r\n", &memory).state == status::complete);
  arena untouched;
  CHECK(parse_whole(parser, "$1001\r\n", &untouched).fault.code == resp_errc::too_large);
  CHECK(parse_whole(parser, "*63\r\n", &untouched).fault.code == resp_errc::too_large);
  CHECK(parse_whole(parser, "*2\r\n*31\r\n", &untouched).state == status::incomplete);
  CHECK(parse_whole(parser, "*2\r\n*62\r\n", &memory).fault.code == resp_errc::too_large);
}

TEST_CASE("a reply without end is refused, even where nothing is kept of it") {
  braid::detail::resp_parser parser({.reply = 10'000});
  const std::string attribute = "|1\r\n+k\r\n+v\r\n";
  std::string wire;
  while (wire.size() < 30'000) wire += attribute;
  const parsed got = parse_in_pieces(parser, wire, nullptr, [](std::size_t) { return 100U; });
  CHECK(got.state == status::wrong);
  CHECK(got.fault.code == resp_errc::too_large);
}

TEST_CASE("a real is not a number where the server says so") {
  braid::detail::resp_parser parser;
  arena memory;
  for (const char* wire : {",nan\r\n", ",-nan\r\n"}) {
    const parsed got = parse_whole(parser, wire, &memory);
    REQUIRE(got.state == status::complete);
    CHECK(std::isnan(got.value.real()));
  }
}

TEST_CASE("a parser that has refused a reply reads another connection's") {
  braid::detail::resp_parser parser;
  arena memory;
  CHECK(parse_whole(parser, "*2\r\n$5\r\nabcdefg", &memory).state == status::wrong);
  CHECK(shown(parse_whole(parser, "$1\r\na\r\n", &memory).value) == "\"a\"");
}
