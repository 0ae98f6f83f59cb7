// bench/redis/redis_benchmark.cpp: the measuring program that comes with the server: so many commands are sent, then as
// many replies are read, which it counts and does not look at. It asks for one key again and again.
#include <bench/redis/cases.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include <hiredis/hiredis.h>
#include <sys/resource.h>

namespace {

using bench::parameters;
using bench::sample;
using braid::testing::redis_server;

auto output_of(const std::string& command) -> std::string {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> output(::popen(command.c_str(), "re"), &::pclose);
  std::string all;
  std::array<char, 512> part{};
  while (std::fgets(part.data(), part.size(), output.get()) != nullptr) all += part.data();
  return all;
}

/// What the children that have ended have had of processors.
auto children_cpu_ns() -> double {
  ::rusage read{};
  ::getrusage(RUSAGE_CHILDREN, &read);
  const auto ns = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_usec) * 1e3;
  };
  return ns(read.ru_utime) + ns(read.ru_stime);
}

/// How many reads have found their key since the server began.
auto hits(const redis_server& server) -> std::uint64_t {
  const std::unique_ptr<redisContext, decltype(&::redisFree)> context(::redisConnect("127.0.0.1", server.port()),
                                                                      &::redisFree);
  const std::unique_ptr<void, decltype(&::freeReplyObject)> reply(::redisCommand(context.get(), "INFO stats"),
                                                                  &::freeReplyObject);
  if (!reply) return 0;
  const std::string_view text(static_cast<redisReply*>(reply.get())->str);
  constexpr std::string_view name = "keyspace_hits:";
  const std::size_t at = text.find(name);
  return at == std::string_view::npos ? 0 : std::strtoull(text.substr(at + name.size()).data(), nullptr, 10);
}

/// Right when the server has found what was asked for as often as was asked.
auto measured(const parameters& given, std::uint64_t otherwise, const std::string& asked) -> sample {
  const std::uint64_t commands = given.number("commands", otherwise);
  const std::uint64_t depth = given.number("depth", 64);
  const redis_server& server = bench::filled_server();
  const std::uint64_t before = hits(server);
  const double cpu_ns = children_cpu_ns();
  const std::string said =
      output_of("redis-benchmark --csv -c 1 -p " + std::to_string(server.port()) + " -n " + std::to_string(commands) +
                " -P " + std::to_string(depth) + " " + asked + " 2>/dev/null");
  const std::size_t answer = said.find('\n');
  double per_second = 0;
  if (answer == std::string::npos || std::sscanf(said.c_str() + answer, " \"%*[^\"]\",\"%lf\"", &per_second) != 1)
    return {};
  const auto items = static_cast<double>(commands);
  sample result{.items = items, .wall_ns = items / per_second * 1e9, .cpu_ns = children_cpu_ns() - cpu_ns};
  result.is_right = hits(server) - before >= commands;
  result.extra = {{"wall_ns", 1e9 / per_second}, {"client_ns", result.cpu_ns / items}};
  return result;
}

auto get(const parameters& given) -> sample { return measured(given, 400'000, "GET " + bench::redis_key(7)); }

auto lrange(const parameters& given) -> sample { return measured(given, 40'000, "LRANGE list 0 49"); }

/// `7.0.15`, as the program itself says.
auto version() -> std::string {
  std::array<char, 64> text{"?"};
  return std::sscanf(output_of("redis-benchmark --version").c_str(), "redis-benchmark %63s", text.data()) == 1
             ? text.data()
             : "?";
}

}  // namespace

auto main(int count, char** arguments) -> int {
  const bench::contender who{.name = "redis-benchmark", .kind = bench::kind::reference, .version = version()};
  return bench::run_program(count, arguments, "redis", {{"get", who, get}, {"lrange", who, lrange}});
}
