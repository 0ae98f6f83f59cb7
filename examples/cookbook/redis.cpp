// examples/cookbook/redis.cpp: commands in one pipeline, and Redis as a cache.
#include <braid/coro.hpp>
#include <braid/io.hpp>
#include <braid/redis.hpp>
#include <braid/runtime/default_runtime.hpp>

#include <cstdio>
#include <filesystem>
#include <string>
#include <tuple>

#include <unistd.h>

using namespace std::chrono_literals;
using braid::task;

// [pipeline]
auto scores_of(braid::redis_connection& redis, std::vector<int> users)
    -> task<int> {
  braid::arena memory;  // keeps the texts of the replies
  braid::redis_batch batch;
  for (const int user : users)
    batch.add("INCRBY", braid::resp_joined{"score:", user}, 10 * user);
  // Sent together, one wait.
  const auto replies = co_await redis.run(batch, memory, 10s);
  int sum = 0;
  if (!replies) co_return -1;
  for (const braid::resp_value& each : *replies)
    if (each.type() == braid::resp_type::integer)
      sum += static_cast<int>(each.integer());
  co_return sum;
}
// [/pipeline]

// [cache]
auto page(braid::redis_connection& redis, std::string key,
          braid::duration limit, int& rendered) -> task<std::string> {
  braid::arena memory;
  const auto cached = co_await redis.get(key, memory, limit);
  if (cached && *cached) co_return std::string(**cached);
  // The page is also rendered if Redis is down or slow.
  std::string text = "page " + key;
  ++rendered;
  std::ignore = co_await redis.set(key, text, limit);
  co_return text;
}
// [/cache]

// [connect]
auto connected(braid::redis_connection& redis) -> task<bool> {
  braid::arena memory;
  // A server that has just been started.
  for (int attempt = 0; attempt < 500; ++attempt) {
    if (co_await redis.get("any", memory)) co_return true;
    co_await braid::sleep_for(10ms);
  }
  co_return false;
}
// [/connect]

auto program(std::string folder) -> task<void> {
  braid::loop& io = braid::default_runtime().io();
  const std::string socket = folder + "/socket";
  const auto server = braid::child_process::start(
      io, {.program = "redis-server",
           .arguments = {"--port", "0", "--unixsocket", socket, "--dir", folder,
                         "--save", "", "--loglevel", "warning"},
           .out = braid::child_process::stream::null});
  if (!server) {
    std::printf("no redis-server: %s\n", server.error().message().c_str());
    co_return;
  }

  braid::redis_connection redis(io, {.socket_path = socket});
  std::printf("connected %d\n", co_await connected(redis));
  std::printf("sum %d\n", co_await scores_of(redis, {1, 2, 3}));
  int rendered = 0;
  for (int i = 0; i < 3; ++i)
    std::printf("%s\n", (co_await page(redis, "home", 10s, rendered)).c_str());
  std::printf("rendered %d\n", rendered);
}  // the server ends with its child_process

int main() {
  const auto folder = std::filesystem::temp_directory_path() /
                      ("redis." + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  braid::spawn(program(folder)).get();
  std::filesystem::remove_all(folder);
}
