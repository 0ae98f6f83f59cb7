// tests/net/http_encoder_test.cpp: heads and chunks as text, and what must not get into them.
#include <braid/net/detail/http_encoder.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

using namespace braid;
using kind = http_framing::kind;

namespace {

auto text_of_head(const auto& start) -> std::string {
  std::string out;
  const auto made = braid::detail::append_head(out, start);
  return made ? out : make_error_code(made.error()).message();
}

}  // namespace

TEST_CASE("a response says its status, its length and its fields") {
  const std::array fields{http_fields::field{"Content-Type", "text/plain"}, http_fields::field{"X", "a\tb"}};
  CHECK(text_of_head(braid::detail::http_response_start{.body = {kind::length, 5}, .date = "now", .fields = fields}) ==
        "HTTP/1.1 200 OK\r\nDate: now\r\nContent-Length: 5\r\nContent-Type: text/plain\r\nX: a\tb\r\n\r\n");
  CHECK(text_of_head(braid::detail::http_response_start{.status = http_status::not_found}) ==
        "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
  CHECK(text_of_head(braid::detail::http_response_start{.status = http_status{799}, .body = {kind::chunked, 0}}) ==
        "HTTP/1.1 799 \r\nTransfer-Encoding: chunked\r\n\r\n");
}

TEST_CASE("a head has room for the longest of everything") {
  constexpr std::string_view max_count = "18446744073709551615";
  const std::string date(1'000, 'd');
  const std::string value(5'000, 'v');
  const std::vector<http_fields::field> fields(100, {"Name", value});
  std::string all;
  for (const http_fields::field& field : fields)
    all += std::string(field.name) + ": " + std::string(field.value) + "\r\n";
  const std::string target = "/" + value;
  const http_framing body{kind::length, std::numeric_limits<std::uint64_t>::max()};
  CHECK(text_of_head(braid::detail::http_response_start{.status = http_status{65'535},
                                                        .body = body,
                                                        .connection = braid::detail::http_persistence::keep_alive,
                                                        .date = date,
                                                        .type = value,
                                                        .fields = fields}) ==
        "HTTP/1.1 65535 \r\nDate: " + date + "\r\nContent-Length: " + std::string(max_count) +
            "\r\nConnection: keep-alive\r\nContent-Type: " + value + "\r\n" + all + "\r\n");
  CHECK(text_of_head(braid::detail::http_request_start{.method = http_method::options,
                                                       .target = target,
                                                       .host = "h",
                                                       .body = body,
                                                       .connection = braid::detail::http_persistence::keep_alive,
                                                       .fields = fields}) ==
        "OPTIONS " + target + " HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::string(max_count) +
            "\r\nConnection: keep-alive\r\n" + all + "\r\n");
  std::string chunks;
  braid::detail::append_chunk_size(chunks, std::numeric_limits<std::size_t>::max());
  REQUIRE(braid::detail::append_last_chunk(chunks, fields).has_value());
  CHECK(chunks == "ffffffffffffffff\r\n0\r\n" + all + "\r\n");
}

TEST_CASE("the type of a response stands before its other fields, and smuggles nothing in") {
  const http_fields::field field{"X", "a"};
  CHECK(text_of_head(braid::detail::http_response_start{.date = "now", .type = "text/plain", .fields = {&field, 1}}) ==
        "HTTP/1.1 200 OK\r\nDate: now\r\nContent-Length: 0\r\nContent-Type: text/plain\r\nX: a\r\n\r\n");
  for (const std::string_view type : {"a\r\nX: b", "\n", "a\x7f"}) {
    std::string out = "before";
    CHECK(braid::detail::append_head(out, braid::detail::http_response_start{.type = type}).error() ==
          http_errc::bad_field);
    CHECK(out == "before");
  }
}

TEST_CASE("a status without a body has no length") {
  for (const auto status : {http_status::no_content, http_status::not_modified, http_status::continue_})
    CHECK(text_of_head(braid::detail::http_response_start{.status = status}).find("Content-Length") ==
          std::string::npos);
}

TEST_CASE("a response says what becomes of the connection") {
  CHECK(text_of_head(braid::detail::http_response_start{.connection = braid::detail::http_persistence::close})
            .find("Connection: close\r\n") != std::string::npos);
  CHECK(text_of_head(braid::detail::http_response_start{.connection = braid::detail::http_persistence::keep_alive})
            .find("Connection: keep-alive") != std::string::npos);
  CHECK(text_of_head(braid::detail::http_response_start{}).find("Connection") == std::string::npos);
}

TEST_CASE("a request says its host, and a length where one is expected") {
  CHECK(text_of_head(braid::detail::http_request_start{.target = "/a?b%20c", .host = "h:80"}) ==
        "GET /a?b%20c HTTP/1.1\r\nHost: h:80\r\n\r\n");
  CHECK(text_of_head(braid::detail::http_request_start{.method = http_method::post, .host = "h"}) ==
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
  CHECK(text_of_head(braid::detail::http_request_start{.method = http_method::options, .target = "*", .host = "h"}) ==
        "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n");
}

TEST_CASE("nothing can be smuggled in by a field") {
  const std::string nul("a\0b", 3);
  const std::vector<http_fields::field> bad{{"X", "a\r\nSet-Cookie: b"},
                                            {"X", "a\nb"},
                                            {"X", "a\rb"},
                                            {"X", nul},
                                            {"X\r\nY", "a"},
                                            {"X: a\r\nY", "b"},
                                            {"", "a"},
                                            {"X Y", "a"},
                                            {"X:", "a"},
                                            {"X", "\x7f"},
                                            {"\xc3\xa9", "a"}};
  for (const http_fields::field& field : bad) {
    std::string out = "before";
    CHECK(braid::detail::append_head(out, braid::detail::http_response_start{.fields = {&field, 1}}).error() ==
          http_errc::bad_field);
    CHECK(braid::detail::append_head(out, braid::detail::http_request_start{.host = "h", .fields = {&field, 1}})
              .error() == http_errc::bad_field);
    CHECK(braid::detail::append_last_chunk(out, {&field, 1}).error() == http_errc::bad_field);
    CHECK(out == "before");
  }
}

TEST_CASE("what the library writes itself is not taken from elsewhere") {
  for (const std::string_view name : {"content-length", "Transfer-Encoding", "CONNECTION", "Date", "host"}) {
    std::string out;
    const http_fields::field field{name, "1"};
    CHECK(braid::detail::append_head(out, braid::detail::http_response_start{.fields = {&field, 1}}).error() ==
          http_errc::reserved_field);
    CHECK(braid::detail::append_last_chunk(out, {&field, 1}).error() == http_errc::reserved_field);
    CHECK(out.empty());
  }
}

TEST_CASE("nothing can be smuggled in by a target or a host") {
  std::string out;
  for (const std::string_view target : {"", "a", "/a b", "/a\r\nX: y", "/a\nb", "/\xff", "/a#b", "*"})
    CHECK(braid::detail::append_head(out, braid::detail::http_request_start{.target = target, .host = "h"}).error() ==
          http_errc::bad_target);
  for (const std::string_view host : {"", "a b", "a\r\nX: y", "a/b", "u@a", "a:b"})
    CHECK(braid::detail::append_head(out, braid::detail::http_request_start{.host = host}).error() ==
          http_errc::bad_host);
  CHECK(out.empty());
}

TEST_CASE("chunks say their size, and only the last one is empty") {
  std::string out;
  braid::detail::append_chunk(out, "");
  CHECK(out.empty());
  braid::detail::append_chunk(out, std::string(26, 'x'));
  const std::array trailers{http_fields::field{"Sum", "1"}};
  REQUIRE(braid::detail::append_last_chunk(out, trailers).has_value());
  CHECK(out == "1a\r\n" + std::string(26, 'x') + "\r\n0\r\nSum: 1\r\n\r\n");
}
