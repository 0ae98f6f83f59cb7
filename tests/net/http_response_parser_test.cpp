// tests/net/http_response_parser_test.cpp: responses, good and bad, in whatever pieces they come.
#include <braid/net/detail/http_parser.hpp>

#include <tests/support/http_dialogue.hpp>
#include <tests/support/http_table.hpp>

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace braid;
using testing::for_every_split;
using testing::http_row;

namespace {

using dialogue = testing::http_dialogue<braid::detail::http_response_parser>;

auto name_of_error(http_errc error) -> std::string {
  constexpr std::array<std::pair<http_errc, std::string_view>, 14> names{
      {{http_errc::bad_start_line, "bad_start_line"},
       {http_errc::bad_version, "bad_version"},
       {http_errc::bad_line_end, "bad_line_end"},
       {http_errc::folded_field, "folded_field"},
       {http_errc::bad_field, "bad_field"},
       {http_errc::bad_length, "bad_length"},
       {http_errc::length_and_encoding, "length_and_encoding"},
       {http_errc::bad_encoding, "bad_encoding"},
       {http_errc::unknown_encoding, "unknown_encoding"},
       {http_errc::bad_chunk, "bad_chunk"},
       {http_errc::body_too_large, "body_too_large"},
       {http_errc::forbidden_trailer, "forbidden_trailer"},
       {http_errc::too_many_fields, "too_many_fields"},
       {http_errc::head_too_large, "head_too_large"}}};
  for (const auto& [code, name] : names)
    if (code == error) return std::string(name);
  return make_error_code(error).message();
}

auto outcomes(const dialogue& seen) -> std::string {
  std::string out;
  for (const std::string& one : seen.outcomes()) (out += out.empty() ? "" : " ") += one;
  if (seen.refusal()) (out += out.empty() ? "" : " ") += name_of_error(*seen.refusal());
  return out;
}

struct heard : dialogue {
  heard(const http_row& row, const std::vector<std::string_view>& pieces)
      : dialogue(pieces, {}, row.columns[0] == "HEAD" ? http_method::head : http_method::get) {
    end();
  }
};

auto table() -> const std::vector<http_row>& {
  static const std::vector<http_row> rows = testing::http_table("tests/net/http_response_abuse.txt", 3);
  return rows;
}

}  // namespace

TEST_CASE("every response of the table comes to what is due") {
  CHECK(table().size() >= 60);
  for (const http_row& row : table()) {
    INFO(row.name());
    CHECK(outcomes(heard(row, {row.bytes})) == row.columns[1]);
  }
}

TEST_CASE("the pieces in which bytes come change nothing") {
  for (const http_row& row : table()) {
    if (row.bytes.size() > 100'000) continue;  // would take minutes
    const heard whole(row, {row.bytes});
    for_every_split(row.bytes, [&](const std::vector<std::string_view>& pieces) {
      const heard split(row, pieces);
      if (outcomes(split) == outcomes(whole) && split.messages() == whole.messages()) return;
      INFO(row.name() << ", first piece of " << pieces[0].size());
      CHECK(outcomes(split) == outcomes(whole));
      CHECK(split.messages() == whole.messages());
    });
  }
}

TEST_CASE("a head tells what it says") {
  braid::detail::http_response_parser parser;
  const std::string text = "HTTP/1.1 404 Not  Found\r\nServer: s\r\nConnection: close\r\nContent-Length: 7\r\n\r\n";
  REQUIRE(parser.parse(text, http_method::get) == braid::detail::http_progress::complete);
  CHECK(parser.head().status == http_status::not_found);
  CHECK(parser.head().reason == "Not  Found");
  CHECK(parser.head().fields.find("SERVER") == "s");
  CHECK(parser.head().body == http_framing{http_framing::kind::length, 7});
  CHECK_FALSE(parser.head().keep_alive);
  CHECK(parser.size() == text.size());
}

TEST_CASE("a connection stays where the end of the body is known") {
  braid::detail::http_response_parser parser;
  const auto stays = [&](std::string_view text) {
    parser.reset();
    REQUIRE(parser.parse(text, http_method::get) == braid::detail::http_progress::complete);
    return parser.head().keep_alive;
  };
  CHECK(stays("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
  CHECK_FALSE(stays("HTTP/1.1 200 OK\r\n\r\n"));
  CHECK_FALSE(stays("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"));
  CHECK(stays("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n"));
}
