// tests/net/http_body_decoder_test.cpp: bodies by length, in chunks, and up to the end of the connection.
#include <braid/net/detail/http_body_decoder.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>

using namespace braid;
using kind = http_framing::kind;

namespace {

/// All the data of one input; the input is cut to what is left.
auto all_data(braid::detail::http_body_decoder& decoder, std::string_view& input) -> std::string {
  std::string out;
  while (!input.empty() && !decoder.finished()) {
    const auto piece = decoder.next(input);
    REQUIRE(piece.has_value());
    out += piece->data;
    input.remove_prefix(piece->consumed);
  }
  return out;
}

}  // namespace

TEST_CASE("no body has ended before it began") {
  braid::detail::http_body_decoder decoder;
  CHECK(decoder.finished());
  decoder.start({});
  CHECK(decoder.finished());
  CHECK(decoder.end_of_input().has_value());
}

TEST_CASE("a body by length ends at its last byte, and what follows stays") {
  braid::detail::http_body_decoder decoder;
  decoder.start({kind::length, 5});
  std::string_view input = "helloGET";
  CHECK(all_data(decoder, input) == "hello");
  CHECK(input == "GET");
  CHECK(decoder.finished());
}

TEST_CASE("the end of a body by length is known before it comes, that of one in chunks is not") {
  braid::detail::http_body_decoder decoder;
  CHECK(decoder.ends_within(0));
  decoder.start({kind::length, 5});
  CHECK_FALSE(decoder.ends_within(4));
  CHECK(decoder.ends_within(5));
  REQUIRE(decoder.next("hel").has_value());
  CHECK_FALSE(decoder.ends_within(1));
  CHECK(decoder.ends_within(2));
  for (const kind how : {kind::chunked, kind::until_close}) {
    decoder.start({how, 0});
    CHECK_FALSE(decoder.ends_within(1'000));
  }
}

TEST_CASE("data is a part of the input, not a copy") {
  braid::detail::http_body_decoder decoder;
  decoder.start({kind::chunked, 0});
  const std::string input = "5\r\nhello\r\n0\r\n\r\n";
  const auto piece = decoder.next(input);
  REQUIRE(piece.has_value());
  CHECK(piece->data.data() == input.data() + 3);
  CHECK(piece->consumed == 8);
}

TEST_CASE("chunks are put together, and their trailers kept") {
  braid::detail::http_body_decoder decoder;
  decoder.start({kind::chunked, 0});
  std::string_view input = "5;x=\"y;\"\r\nhello\r\n1\r\n!\r\n0\r\nSum: 6\r\nEnd:\r\n\r\nGET";
  CHECK(all_data(decoder, input) == "hello!");
  CHECK(input == "GET");
  CHECK(decoder.trailers().size() == 2);
  CHECK(decoder.trailers().find("sum") == "6");
  decoder.start({kind::chunked, 0});
  CHECK(decoder.trailers().empty());
}

TEST_CASE("a connection that ends is the end of some bodies, and a loss to others") {
  braid::detail::http_body_decoder decoder;
  decoder.start({kind::until_close, 0});
  std::string_view input = "anything";
  CHECK(all_data(decoder, input) == "anything");
  CHECK_FALSE(decoder.finished());
  CHECK(decoder.end_of_input().has_value());
  CHECK(decoder.finished());
  decoder.start({kind::length, 2});
  CHECK(decoder.end_of_input().error() == http_errc::truncated);
  decoder.start({kind::chunked, 0});
  input = "1\r\nx\r\n0\r\n";
  all_data(decoder, input);
  CHECK(decoder.end_of_input().error() == http_errc::truncated);
}

TEST_CASE("a body in chunks may be as long as the limit and no longer") {
  braid::detail::http_body_decoder decoder({.body_bytes = 4});
  decoder.start({kind::chunked, 0});
  std::string_view input = "2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n";
  CHECK(all_data(decoder, input) == "abcd");
  CHECK(decoder.finished());
  decoder.start({kind::chunked, 0});
  input = "2\r\nab\r\n";
  CHECK(all_data(decoder, input) == "ab");
  CHECK(decoder.next("3\r\n").error() == http_errc::body_too_large);
}

TEST_CASE("a body up to the end of the connection has the limit as well") {
  braid::detail::http_body_decoder decoder({.body_bytes = 4});
  decoder.start({kind::until_close, 0});
  CHECK(decoder.next("abcd")->data == "abcd");
  CHECK(decoder.next("e").error() == http_errc::body_too_large);
}
