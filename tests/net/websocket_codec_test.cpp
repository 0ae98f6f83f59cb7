// tests/net/websocket_codec_test.cpp: a table of frames: what a reader finds in them, whole or byte by byte.
#include <braid/net/detail/websocket_codec.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

using namespace braid;
using braid::detail::websocket_opcode;
using braid::detail::websocket_reader;

namespace {

constexpr std::size_t max_message = 70'000;

enum class masked : std::uint8_t { yes, no };

/// A frame whose first byte is `first`. `length_bytes` is the size of the extended length: 0, 2, 8, or as is due.
constexpr int as_due = -1;
auto frame(int first, std::string_view payload, int length_bytes = as_due, masked mask = masked::yes) -> std::string {
  const std::uint64_t size = payload.size();
  if (length_bytes == as_due) length_bytes = size < 126 ? 0 : size < 65'536 ? 2 : 8;
  const unsigned bit = mask == masked::yes ? 0x80 : 0;
  std::string out{static_cast<char>(first)};
  out += static_cast<char>(bit | (length_bytes == 0 ? size : length_bytes == 2 ? 126 : 127));
  for (int i = length_bytes; i > 0; --i) out += static_cast<char>(size >> (8 * (i - 1)));
  if (mask == masked::no) return out.append(payload);
  constexpr std::string_view key = "\x11\xa2\x00\x7f";
  out += std::string_view(key.data(), 4);
  for (std::size_t i = 0; i < size; ++i) out += static_cast<char>(payload[i] ^ key.data()[i % 4]);
  return out;
}

constexpr int end = 0x80;  // the frame is the last one of its message
constexpr int text = 1;
constexpr int binary = 2;
constexpr int more = 0;
constexpr int close_frame = end | 8;
constexpr int ping = end | 9;
constexpr int pong = end | 10;

auto shown(std::string_view data) -> std::string {
  return data.size() < 100 ? std::string(data) : std::to_string(data.size()) + " bytes";
}

/// What is found in the input, up to a failure or a close.
auto found_in(std::string_view input, std::size_t step) -> std::string {
  using found = websocket_reader::found;
  websocket_reader reader(max_message);
  std::string out;
  for (std::size_t at = 0; at < input.size(); at += step) {
    std::string_view piece = input.substr(at, step);
    for (;;) {
      const found got = reader.next(piece);
      if (got == found::nothing) break;
      if (!out.empty()) out += ", ";
      switch (got) {
        case found::message: out += (reader.is_text() ? "text " : "binary ") + shown(reader.message()); break;
        case found::ping: out += "ping " + shown(reader.control()); break;
        case found::pong: out += "pong " + shown(reader.control()); break;
        case found::close: return out + "close " + std::to_string(reader.code()) + " " + shown(reader.control());
        default: return out + "failure " + std::to_string(reader.code());
      }
    }
  }
  return out.empty() ? "nothing" : out;
}

struct row {
  const char* what;
  std::string input;
  const char* expected;
};

auto closing(std::uint16_t code, std::string_view reason = {}) -> std::string {
  return frame(close_frame, std::string{static_cast<char>(code >> 8), static_cast<char>(code)}.append(reason));
}

const std::vector<row> rows{
    {"a text", frame(end | text, "hello"), "text hello"},
    {"an empty text", frame(end | text, ""), "text "},
    {"an empty binary message", frame(end | binary, ""), "binary "},
    {"125 bytes", frame(end | binary, std::string(125, 'x')), "binary 125 bytes"},
    {"a length of two bytes", frame(end | binary, std::string(300, 'x')), "binary 300 bytes"},
    {"65535 bytes", frame(end | binary, std::string(65'535, 'x')), "binary 65535 bytes"},
    {"a length of eight bytes", frame(end | binary, std::string(65'536, 'x')), "binary 65536 bytes"},
    {"the largest message", frame(end | binary, std::string(max_message, 'x')), "binary 70000 bytes"},
    {"two messages", frame(end | text, "a") + frame(end | binary, "b"), "text a, binary b"},
    {"a text in parts", frame(text, "a") + frame(more, "") + frame(end | more, "b"), "text ab"},
    {"a character in two parts", frame(text, "\xc3") + frame(end | more, "\xa9"), "text \xc3\xa9"},
    {"a ping between parts", frame(text, "a") + frame(ping, "?") + frame(end | more, "b"), "ping ?, text ab"},
    {"an empty ping", frame(ping, ""), "ping "},
    {"the largest ping", frame(ping, std::string(125, 'p')) + frame(pong, "p"), "ping 125 bytes, pong p"},
    {"a close without a code", frame(close_frame, ""), "close 1005 "},
    {"a close with a code", closing(1000), "close 1000 "},
    {"a close with a reason", closing(4999, "bye"), "close 4999 bye"},
    {"a close in the middle of a message", frame(text, "a") + closing(1001), "close 1001 "},
    {"part of a frame", frame(end | text, "hello").substr(0, 7), "nothing"},
    {"part of a message", frame(text, "hello"), "nothing"},
    // violations
    {"a frame without a mask", frame(end | text, "a", as_due, masked::no), "failure 1002"},
    {"a reserved bit", frame(end | 0x40 | text, "a"), "failure 1002"},
    {"another reserved bit", frame(end | 0x20 | text, "a"), "failure 1002"},
    {"the last reserved bit", frame(end | 0x10 | text, "a"), "failure 1002"},
    {"an unknown opcode of data", frame(end | 3, "a"), "failure 1002"},
    {"an unknown opcode of control", frame(end | 11, "a"), "failure 1002"},
    {"a continuation of nothing", frame(end | more, "a"), "failure 1002"},
    {"a continuation after the end", frame(end | text, "a") + frame(end | more, "b"), "text a, failure 1002"},
    {"a new message before the end of one", frame(text, "a") + frame(end | text, "b"), "failure 1002"},
    {"a ping in parts", frame(9, "a"), "failure 1002"},
    {"a close in parts", frame(8, ""), "failure 1002"},
    {"a ping of 126 bytes", frame(ping, std::string(126, 'x')), "failure 1002"},
    {"two bytes for a short length", frame(end | text, std::string(125, 'x'), 2), "failure 1002"},
    {"eight bytes for a short length", frame(end | text, std::string(65'535, 'x'), 8), "failure 1002"},
    {"a negative length", std::string("\x82\xff\x80\0\0\0\0\0\0\1mask", 14), "failure 1002"},
    {"a close of one byte", frame(close_frame, "x"), "failure 1002"},
    {"a close with the code 0", closing(0), "failure 1002"},
    {"a close with the code 999", closing(999), "failure 1002"},
    {"a close with the code 1004", closing(1004), "failure 1002"},
    {"a close with the code 1005", closing(1005), "failure 1002"},
    {"a close with the code 1006", closing(1006), "failure 1002"},
    {"a close with the code 1015", closing(1015), "failure 1002"},
    {"a close with the code 2999", closing(2999), "failure 1002"},
    {"a close with the code 5000", closing(5000), "failure 1002"},
    {"a reason that is not UTF-8", closing(1000, "\xff"), "failure 1007"},
    {"a text that is not UTF-8", frame(end | text, "a\x80"), "failure 1007"},
    {"a text that ends within a character", frame(end | text, "\xe2\x82"), "failure 1007"},
    {"parts that are not UTF-8 together", frame(text, "\xe2") + frame(end | more, "\x28\xa1"), "failure 1007"},
    {"a message that is too large", frame(end | binary, std::string(max_message + 1, 'x')), "failure 1009"},
    {"only its head", frame(end | binary, std::string(max_message + 1, 'x')).substr(0, 14), "failure 1009"},
    {"parts that are too large together", frame(binary, std::string(max_message, 'x')) + frame(end | more, "y"),
     "failure 1009"},
    {"the largest length", std::string("\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xffmask", 14), "failure 1009"},
};

}  // namespace

TEST_CASE("frames of clients are read or refused, in whatever pieces they arrive") {
  for (const row& each : rows) {
    CAPTURE(each.what);
    const std::string expected = each.expected;
    for (const std::size_t step : {std::size_t{1}, std::size_t{3}, std::size_t{1'000}, std::size_t{1} << 20U}) {
      CAPTURE(step);
      std::string got = found_in(each.input, step);
      CHECK(got == expected);
    }
  }
}

TEST_CASE("a server writes frames without a mask, with the shortest length") {
  const auto written = [](std::string_view payload) {
    std::string out;
    braid::detail::append_websocket_frame(out, websocket_opcode::binary, payload);
    return out;
  };
  for (const std::size_t size : {0, 1, 125, 126, 65'535, 65'536}) {
    CAPTURE(size);
    const std::string payload(size, 'x');
    CHECK(written(payload) == frame(end | binary, payload, as_due, masked::no));
  }
  std::string closes;
  braid::detail::append_websocket_close(closes, 1001, "bye");
  CHECK(closes == std::string("\x88\x05\x03\xe9"
                              "bye"));
  std::string cut;
  braid::detail::append_websocket_close(cut, 1000, std::string(122, 'x') + "\xc3\xa9");
  CHECK(cut.size() == 2 + 2 + 122);  // a character is not cut in two
}

TEST_CASE("the answer to a key is that of RFC 6455") {
  CHECK(braid::detail::websocket_accept("dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST_CASE("UTF-8 has no surrogates, no overlong forms, and an end") {
  using braid::detail::is_utf8;
  for (const std::string_view good :
       {"", "abc", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80", "\xef\xbf\xbf",
        "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "\xce\xba\xe1\xbd\xb9"})
    CHECK(is_utf8(good));
  for (const std::string_view bad :
       {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xe0\x9f\xbf", "\xe0\xa0", "\xed\xa0\x80", "\xed\xbf\xbf",
        "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xfe", "\xff", "\xc2\x41", "\xe1\x80\x41",
        "\xf1\x80\x80\x41", "a\xf1\x80\x80"})
    CHECK_FALSE(is_utf8(bad));
}
