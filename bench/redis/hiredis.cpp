// bench/redis/hiredis.cpp: hiredis, which blocks: so many commands are appended, then as many replies are read.
#include <bench/redis/cases.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <hiredis/hiredis.h>

namespace {

using bench::parameters;

struct context {
  explicit context(const braid::testing::redis_server& server)
      : of(::redisConnect("127.0.0.1", server.port()), &::redisFree) {}
  std::unique_ptr<redisContext, decltype(&::redisFree)> of;
};

auto next_reply(redisContext* from) {
  void* reply = nullptr;
  ::redisGetReply(from, &reply);
  return std::unique_ptr<redisReply, decltype(&::freeReplyObject)>(static_cast<redisReply*>(reply), &::freeReplyObject);
}

auto get(const parameters& given) -> bench::sample {
  std::vector<std::string> keys;
  std::vector<std::string> values;
  for (std::size_t i = 0; i < bench::redis_keys; ++i) {
    keys.push_back(bench::redis_key(i));
    values.push_back(bench::redis_value(i));
  }
  return bench::timed_commands(given, 400'000, [&](auto& server, std::uint64_t commands, std::uint64_t depth) {
    const context redis(server);
    std::uint64_t right = 0;
    for (std::uint64_t sent = 0; sent < commands;) {
      const std::uint64_t first = sent;
      for (; sent < commands && sent < first + depth; ++sent) {
        const std::string& key = keys[sent % bench::redis_keys];
        ::redisAppendCommand(redis.of.get(), "GET %b", key.data(), key.size());
      }
      for (std::uint64_t i = first; i < sent; ++i) {
        const auto reply = next_reply(redis.of.get());
        right += reply && std::string_view(reply->str, reply->len) == values[i % bench::redis_keys];
      }
    }
    return right;
  });
}

auto lrange(const parameters& given) -> bench::sample {
  return bench::timed_commands(given, 40'000, [&](auto& server, std::uint64_t commands, std::uint64_t depth) {
    const context redis(server);
    std::uint64_t right = 0;
    for (std::uint64_t sent = 0; sent < commands;) {
      const std::uint64_t first = sent;
      for (; sent < commands && sent < first + depth; ++sent) ::redisAppendCommand(redis.of.get(), "LRANGE list 0 49");
      for (std::uint64_t i = first; i < sent; ++i) {
        const auto reply = next_reply(redis.of.get());
        right += reply && reply->elements == bench::redis_list_size;
      }
    }
    return right;
  });
}

auto parse(const parameters& given) -> bench::sample {
  return bench::timed_replies(given, [](std::string_view bytes, std::uint64_t rounds) {
    const std::unique_ptr<redisReader, decltype(&::redisReaderFree)> reader(::redisReaderCreate(), &::redisReaderFree);
    std::uint64_t complete = 0;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      ::redisReaderFeed(reader.get(), bytes.data(), bytes.size());
      for (;;) {
        void* reply = nullptr;
        if (::redisReaderGetReply(reader.get(), &reply) != REDIS_OK || reply == nullptr) break;
        ++complete;
        ::freeReplyObject(reply);
      }
    }
    return complete;
  });
}

}  // namespace

auto main(int count, char** arguments) -> int {
  const std::string version =
      std::to_string(HIREDIS_MAJOR) + "." + std::to_string(HIREDIS_MINOR) + "." + std::to_string(HIREDIS_PATCH);
  const bench::contender who{.name = "hiredis", .kind = bench::kind::rival, .version = version};
  return bench::run_program(count, arguments, "redis",
                            {{"get", who, get}, {"lrange", who, lrange}, {"parse", who, parse}});
}
