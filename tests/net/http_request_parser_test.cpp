// tests/net/http_request_parser_test.cpp: requests, good and bad, in whatever pieces they come.
#include <braid/net/detail/http_parser.hpp>

#include <tests/support/http_dialogue.hpp>
#include <tests/support/http_table.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

using namespace braid;
using testing::for_every_split;
using testing::http_row;

namespace {

using dialogue = testing::http_dialogue<braid::detail::http_request_parser>;

/// Outcomes with the status that answers a refusal.
auto outcomes(const dialogue& seen) -> std::string {
  std::string out;
  for (const std::string& one : seen.outcomes()) (out += out.empty() ? "" : " ") += one;
  if (seen.refusal()) (out += out.empty() ? "" : " ") += std::to_string(static_cast<int>(status_of(*seen.refusal())));
  return out;
}

auto outcomes_of(std::string_view bytes, http_limits limits) -> std::string {
  return outcomes(dialogue({bytes}, limits));
}

auto table() -> const std::vector<http_row>& {
  static const std::vector<http_row> rows = testing::http_table("tests/net/http_abuse.txt", 2);
  return rows;
}

}  // namespace

TEST_CASE("the table has the cases that it is for") {
  std::size_t refused = 0;
  for (const http_row& row : table()) refused += row.columns[0].find_first_of("45") != std::string::npos ? 1U : 0U;
  CHECK(table().size() >= 250);
  CHECK(refused >= 200);
}

TEST_CASE("every request of the table comes to what is due") {
  for (const http_row& row : table()) {
    INFO(row.name());
    CHECK(outcomes_of(row.bytes, {}) == row.columns[0]);
  }
}

TEST_CASE("the pieces in which bytes come change nothing") {
  for (const http_row& row : table()) {
    const dialogue whole({row.bytes});
    for_every_split(row.bytes, [&](const std::vector<std::string_view>& pieces) {
      const dialogue split(pieces);
      if (outcomes(split) == outcomes(whole) && split.messages() == whole.messages()) return;
      INFO(row.name() << ", first piece of " << pieces[0].size());
      CHECK(outcomes(split) == outcomes(whole));
      CHECK(split.messages() == whole.messages());
      CHECK(split.refusal() == whole.refusal());
    });
  }
}

TEST_CASE("a head tells what it says") {
  braid::detail::http_request_parser parser;
  const std::string text =
      "PUT /a/b%20c?d=e?f HTTP/1.1\r\nHost: x.example:80\r\nConnection: foo, Close\r\nX-Y:  z \r\n"
      "Expect: 100-continue\r\nContent-Length: 12\r\n\r\nbody";
  REQUIRE(parser.parse(text) == braid::detail::http_progress::complete);
  const http_request_head& head = parser.head();
  CHECK(head.method == http_method::put);
  CHECK(head.target == "/a/b%20c?d=e?f");
  CHECK(head.path == "/a/b%20c");
  CHECK(head.query == "d=e?f");
  CHECK(head.host == "x.example:80");
  CHECK(head.minor_version == 1);
  CHECK_FALSE(head.keep_alive);
  CHECK(head.expects_continue);
  CHECK(head.body == http_framing{http_framing::kind::length, 12});
  CHECK(head.fields.size() == 5);
  CHECK(head.fields.find("x-y") == "z");
  CHECK(parser.size() == text.size() - 4);
}

TEST_CASE("an absolute target names the host") {
  braid::detail::http_request_parser parser;
  REQUIRE(parser.parse("GET http://real:81?q HTTP/1.1\r\nHost: other\r\n\r\n") ==
          braid::detail::http_progress::complete);
  CHECK(parser.head().host == "real:81");
  CHECK(parser.head().path == "/");
  CHECK(parser.head().query == "q");
}

TEST_CASE("views lie in the last input, wherever the earlier ones were") {
  braid::detail::http_request_parser parser;
  const std::string text = "GET /path?query HTTP/1.1\r\nHost: host\r\nName: value\r\n\r\n";
  for (std::size_t size = 0; size < text.size(); ++size) {
    const std::string piece = text.substr(0, size);
    REQUIRE(parser.parse(piece) == braid::detail::http_progress::needs_more);
  }
  REQUIRE(parser.parse(text) == braid::detail::http_progress::complete);
  const auto within = [&](std::string_view view) {
    return view.data() >= text.data() && view.data() + view.size() <= text.data() + text.size();
  };
  CHECK(within(parser.head().path));
  CHECK(within(parser.head().query));
  CHECK(within(parser.head().host));
  CHECK(within(parser.head().fields[1].value));
  const std::string copy = text;
  REQUIRE(parser.parse(copy) == braid::detail::http_progress::complete);
  CHECK(parser.head().path.data() == copy.data() + 4);
}

TEST_CASE("HTTP/1.0 stays only where it says so, and never waits") {
  braid::detail::http_request_parser parser;
  REQUIRE(parser.parse("GET / HTTP/1.0\r\n\r\n") == braid::detail::http_progress::complete);
  CHECK_FALSE(parser.head().keep_alive);
  parser.reset();
  REQUIRE(parser.parse("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\nExpect: 100-continue\r\n\r\n") ==
          braid::detail::http_progress::complete);
  CHECK(parser.head().keep_alive);
  CHECK_FALSE(parser.head().expects_continue);
  parser.reset();
  REQUIRE(parser.parse("GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n") ==
          braid::detail::http_progress::complete);
  CHECK_FALSE(parser.head().keep_alive);
}

TEST_CASE("nothing of one request is left in the next") {
  braid::detail::http_request_parser parser;
  REQUIRE(parser.parse("POST http://a/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 1\r\n\r\n") ==
          braid::detail::http_progress::complete);
  parser.reset();
  CHECK_FALSE(parser.started());
  REQUIRE(parser.parse("GET /b HTTP/1.1\r\nHost: b\r\n\r\n") == braid::detail::http_progress::complete);
  CHECK(parser.head().host == "b");
  CHECK(parser.head().path == "/b");
  CHECK(parser.head().body == http_framing{});
  CHECK(parser.head().keep_alive);
  CHECK(parser.head().fields.size() == 1);
}

TEST_CASE("limits hold to the byte") {
  const std::string head = "GET /abc HTTP/1.1\r\nHost: a\r\n\r\n";
  CHECK(outcomes_of(head, {.target_bytes = 4, .head_bytes = head.size(), .fields = 1}) == "ok");
  CHECK(outcomes_of(head, {.target_bytes = 3}) == "414");
  CHECK(outcomes_of(head, {.head_bytes = head.size() - 1}) == "431");
  CHECK(outcomes_of(head, {.fields = 0}) == "431");
  const std::string body = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";
  CHECK(outcomes_of(body, {.body_bytes = 5}) == "ok");
  CHECK(outcomes_of(body, {.body_bytes = 4}) == "413");
}

TEST_CASE("a request that was refused stays refused") {
  braid::detail::http_request_parser parser;
  REQUIRE(parser.parse("GET / HTTP/1.1\r\nHost : a\r\n") == braid::detail::http_progress::refused);
  CHECK(parser.error() == http_errc::bad_field);
  CHECK(parser.parse("GET / HTTP/1.1\r\nHost : a\r\n\r\n") == braid::detail::http_progress::refused);
  CHECK(parser.error() == http_errc::bad_field);
}
