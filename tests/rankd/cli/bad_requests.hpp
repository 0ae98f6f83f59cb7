// tests/rankd/cli/bad_requests.hpp: requests to rank over HTTP, good ones and such that are broken by a seed.
#pragma once

#include <braid/base/random.hpp>

#include <tests/rankd/engine/owned_data.hpp>
#include <tests/support/http_caller.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rankd::testing {

using braid::testing::request_text;

inline constexpr std::string_view authorization = "Authorization: Bearer 0123456789abcdef\r\n";

inline auto rank_text(std::string_view id, std::string_view body) -> std::string {
  return request_text("POST", "/v1/rank", std::string(authorization) + "X-Request-Id: " + std::string(id) + "\r\n",
                      body);
}

inline auto body_for(std::string_view id, std::string_view plan, std::int64_t user, std::string_view more = {})
    -> std::string {
  return R"({"user_id":)" + std::to_string(user) + R"(,"plan":")" + std::string(plan) + R"(","request_id":")" +
         std::string(id) + "\"" + std::string(more) + "}";
}

inline auto any_user(braid::random_source& random) -> std::int64_t {
  return 1 + static_cast<std::int64_t>(random.below(owners));
}

inline auto any_bytes(braid::random_source& random, std::size_t max_count) -> std::string {
  std::string bytes(1 + random.below(max_count), ' ');
  for (char& each : bytes) each = static_cast<char>(random.below(256));
  return bytes;
}

/// Some bytes of a text become others, are missing, or stand there twice.
inline auto mutated(std::string text, braid::random_source& random) -> std::string {
  for (std::uint64_t changes = 1 + random.below(4); changes > 0 && !text.empty(); --changes) {
    const std::size_t at = random.below(text.size());
    const std::size_t size = 1 + random.below(std::min<std::size_t>(text.size() - at, 20));
    switch (random.below(4)) {
      case 0: text[at] = static_cast<char>(random.below(256)); break;
      case 1: text.erase(at, size); break;
      case 2: text.insert(at, text.substr(at, size)); break;
      default: text.resize(at); break;
    }
  }
  return text;
}

inline auto broken_message(braid::random_source& random) -> std::string {
  constexpr std::array<std::string_view, 12> lines{"Content-Length: 5\r\n",
                                                   "Content-Length: -1\r\n",
                                                   "Content-Length: 99999999999999999999\r\n",
                                                   "Transfer-Encoding: x\r\n",
                                                   "Transfer-Encoding: chunked\r\n",
                                                   "Host: other\r\n",
                                                   " folded\r\n",
                                                   "no colon\r\n",
                                                   "X : y\r\n",
                                                   "X: \x01\r\n",
                                                   "\n",
                                                   "Expect: nothing\r\n"};
  constexpr std::array<std::string_view, 7> chunks{"ffffffffffffffff\r\n", "-1\r\n",     "5\r\nhel", "5\r\nhello!\r\n",
                                                   "0\r\nHost: x\r\n\r\n", "5;a=\"\r\n", "0\r\n"};
  const std::string whole = rank_text("bad", body_for("bad", "mine", any_user(random)));
  switch (random.below(5)) {
    case 0: return mutated(whole, random);
    case 1: return any_bytes(random, 300);
    case 2: return "GET /" + std::string(10'000 + random.below(20'000), 'a') + " HTTP/1.1\r\n\r\n";
    case 3:
      return "POST /v1/rank HTTP/1.1\r\nHost: localhost\r\n" + std::string(authorization) +
             "Transfer-Encoding: chunked\r\n\r\n" + std::string(chunks[random.below(chunks.size())]);
    default: {
      std::string text = whole;
      return text.insert(text.find("\r\n") + 2, lines[random.below(lines.size())]);
    }
  }
}

inline auto wrong_body(braid::random_source& random) -> std::string {
  constexpr std::array<std::string_view, 24> values{"0",
                                                    "-1",
                                                    "1.5",
                                                    "1e400",
                                                    "007",
                                                    "null",
                                                    "true",
                                                    "[]",
                                                    "{}",
                                                    "\"x\"",
                                                    "\"\"",
                                                    "\"\\ud800\"",
                                                    "NaN",
                                                    "[[[[[[[[]]]]]]]]",
                                                    "9223372036854775808",
                                                    "18446744073709551616",
                                                    "{\"a\":1,\"a\":2}",
                                                    "\"\xff\"",
                                                    "\"\x01\"",
                                                    "[1,]",
                                                    "\"1\"",
                                                    "86400001",
                                                    "[\"country\",\"country\"]",
                                                    "{\"nope\":1}"};
  constexpr std::array<std::string_view, 9> members{
      "user_id", "plan", "request_id", "deadline_ms", "output_keys", "explain", "param_overrides", "context", "what"};
  switch (random.below(4)) {
    case 0: return mutated(body_for("bad", "mine", any_user(random)), random);
    case 1: return std::string(1 + random.below(100'000), random.below(2) == 0 ? '[' : ' ');
    case 2: return body_for("bad", random.below(2) == 0 ? "none" : "marked ", any_user(random));
    default: {
      const std::string member = ",\"" + std::string(members[random.below(members.size())]) + "\":";
      return body_for("bad", "mine", any_user(random), member + std::string(values[random.below(values.size())]));
    }
  }
}

}  // namespace rankd::testing
