// tests/fuzz/http_pieces.hpp: messages of HTTP that are read in several ways, which must come to the same.
#pragma once

#include <tests/support/http_dialogue.hpp>

#include <braid/base/config.hpp>
#include <braid/base/random.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

namespace braid::testing {

/// Small, so that short inputs reach them.
inline constexpr http_limits fuzz_limits{.target_bytes = 64, .head_bytes = 512, .fields = 12, .body_bytes = 300};

inline constexpr std::array<std::string_view, 41> http_words{"\r\n",
                                                             "traceparent: 00-0af7651916cd43dd8448eb211c80319c"
                                                             "-b7ad6b7169203331-01\r\n",
                                                             "\n",
                                                             "\r",
                                                             "\r\n\r\n",
                                                             "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
                                                             "POST / HTTP/1.1\r\nHost: a\r\n",
                                                             "HTTP/1.1 200 OK\r\n",
                                                             "HTTP/1.0",
                                                             "HTTP/1.1",
                                                             "HTTP/2.0",
                                                             "OPTIONS *",
                                                             "http://a/b?c",
                                                             "/a%20b",
                                                             "%",
                                                             "Host: a\r\n",
                                                             "Host: [::1]:80\r\n",
                                                             "Content-Length: 5\r\n",
                                                             "Content-Length: 18446744073709551617\r\n",
                                                             "Transfer-Encoding: chunked\r\n",
                                                             "Transfer-Encoding: gzip, chunked\r\n",
                                                             "Connection: close\r\n",
                                                             "Connection: keep-alive, close\r\n",
                                                             "Expect: 100-continue\r\n",
                                                             "X: y\r\n",
                                                             "X: y\r\n\tz\r\n",
                                                             " ",
                                                             "\t",
                                                             ":",
                                                             ": @",
                                                             "@: @\r\n",
                                                             "0\r\n\r\n",
                                                             "5\r\nhello\r\n",
                                                             "ffffffffffffffff\r\n",
                                                             "10000000000000000\r\n",
                                                             "1;a=b;c=\"d\\\"\"\r\nx\r\n",
                                                             "0\r\nX: y\r\n\r\n",
                                                             "100",
                                                             "204",
                                                             "304",
                                                             "\xff"};

/// `bytes` cut at places that a seed chooses.
inline auto cut(std::string_view bytes, std::uint64_t seed) -> std::vector<std::string_view> {
  random_source random(seed);
  std::vector<std::string_view> out;
  while (!bytes.empty()) {
    const auto size = static_cast<std::size_t>(1 + random.below(std::min<std::size_t>(bytes.size(), 40)));
    out.push_back(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  return out;
}

/// Reads the bytes at once, one by one, and in pieces; gives what was seen.
template <typename Parser>
auto read_in_every_way(std::string_view bytes, http_method asked = http_method::get) -> std::vector<std::string> {
  using dialogue = http_dialogue<Parser>;
  std::vector<std::string_view> single;
  for (std::size_t at = 0; at < bytes.size(); ++at) single.push_back(bytes.substr(at, 1));
  dialogue whole({bytes}, fuzz_limits, asked);
  whole.end();
  for (const auto& pieces : {single, cut(bytes, bytes.size()), cut(bytes, 7)}) {
    dialogue split(pieces, fuzz_limits, asked);
    split.end();
    BRAID_EXPECTS(split.outcomes() == whole.outcomes(), "the pieces do not change what comes of it");
    BRAID_EXPECTS(split.messages() == whole.messages(), "the pieces do not change what is understood");
    BRAID_EXPECTS(split.refusal() == whole.refusal(), "the pieces do not change why it is refused");
  }
  return whole.messages();
}

}  // namespace braid::testing
