// bench/redis/cases.hpp: what clients of Redis are measured by: a server of the program's own, and what it holds.
#pragma once

#include <bench/harness/program.hpp>

#include <tests/support/redis_server.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <hiredis/hiredis.h>

namespace bench {

inline constexpr std::size_t redis_keys = 1'000;
inline constexpr std::size_t redis_list_size = 50;

inline auto redis_key(std::size_t number) -> std::string { return "key:" + std::to_string(number % redis_keys); }
/// Of 16 bytes.
inline auto redis_value(std::size_t number) -> std::string {
  const std::string digits = std::to_string(number % redis_keys);
  return std::string(16 - digits.size(), '0') + digits;
}
inline auto redis_list_id(std::size_t number) -> std::string { return std::to_string(1'000'000 + 7'919 * number); }

/// Started once for the program, and filled.
inline auto filled_server() -> braid::testing::redis_server& {
  static braid::testing::redis_server server;
  static const bool is_filled = [] {
    redisContext* const context = ::redisConnectUnix(server.socket_path().c_str());
    if (context == nullptr || context->err != 0) std::abort();
    for (std::size_t i = 0; i < redis_keys; ++i)
      ::redisAppendCommand(context, "SET %s %s", redis_key(i).c_str(), redis_value(i).c_str());
    for (std::size_t i = 0; i < redis_list_size; ++i)
      ::redisAppendCommand(context, "RPUSH list %s", redis_list_id(i).c_str());
    for (std::size_t i = 0; i < redis_keys + redis_list_size; ++i) {
      void* reply = nullptr;
      if (::redisGetReply(context, &reply) != REDIS_OK) std::abort();
      ::freeReplyObject(reply);
    }
    ::redisFree(context);
    return true;
  }();
  static_cast<void>(is_filled);
  return server;
}

/// `run(server, commands, depth)` sends so many commands and gives how many were answered rightly.
template <typename Run>
auto timed_commands(const parameters& given, std::uint64_t otherwise, Run run) -> sample {
  const std::uint64_t commands = given.number("commands", otherwise);
  const std::uint64_t depth = given.number("depth", 64);
  auto& server = filled_server();
  sample measured = timed(static_cast<double>(commands), commands, [&] { return run(server, commands, depth); });
  measured.extra = {{"wall_ns", measured.wall_ns / measured.items}, {"client_ns", measured.cpu_ns / measured.items}};
  return measured;
}

/// The replies that are read from memory.
inline auto reply_bytes(std::string_view kind) -> std::string {
  if (kind == "get") return "$16\r\n" + redis_value(7) + "\r\n";
  std::string out = "*" + std::to_string(redis_list_size) + "\r\n";
  for (std::size_t i = 0; i < redis_list_size; ++i) {
    const std::string id = redis_list_id(i);
    out += "$" + std::to_string(id.size()) + "\r\n" + id + "\r\n";
  }
  return out;
}

/// `read(bytes, each, replies)` reads so many replies of `each` bytes, several in `bytes`, over and over.
template <typename Read>
auto timed_replies(const parameters& given, Read read) -> sample {
  const std::uint64_t replies = given.number("replies", 1'000'000);
  const std::string one = reply_bytes(given.word("kind", "get"));
  std::string bytes;
  std::uint64_t together = 0;
  for (; bytes.size() < 16'000; ++together) bytes += one;
  const std::uint64_t rounds = (replies + together - 1) / together;
  return timed(static_cast<double>(rounds * together), rounds * together,
               [&] { return read(std::string_view(bytes), rounds); });
}

}  // namespace bench
