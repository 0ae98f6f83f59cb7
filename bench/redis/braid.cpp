// bench/redis/braid.cpp: tasks that share a connection of braid, one command each at a time; a batch; and the parser.
#include <bench/redis/cases.hpp>

#include <braid/base/arena.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/task.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/io/loop.hpp>
#include <braid/net/redis_connection.hpp>
#include <braid/net/detail/resp_parser.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace braid;
using bench::parameters;

struct work {
  redis_connection* redis;
  std::uint64_t left;
  std::uint64_t right = 0;
  std::vector<std::string> keys;
  std::vector<std::string> values;
};

auto get_all(work& of) -> task<void> {
  constexpr std::size_t replies_in_arena = 200;  // 16 bytes each
  std::size_t number = of.left;
  while (of.left > 0) {
    arena memory;
    for (std::size_t i = 0; i < replies_in_arena && of.left > 0; ++i, number += 7) {
      --of.left;
      const std::size_t at = number % bench::redis_keys;
      const auto got = co_await of.redis->get(of.keys[at], memory);
      of.right += got && *got && **got == of.values[at];
    }
  }
}

auto list_all(work& of) -> task<void> {
  while (of.left > 0) {
    --of.left;
    arena memory;
    const auto got = co_await of.redis->lrange("list", 0, 49, memory);
    of.right += got && got->size() == bench::redis_list_size;
  }
}

auto batch_all(work& of, std::uint64_t depth) -> task<void> {
  redis_batch batch;
  while (of.left > 0) {
    batch.clear();
    const std::uint64_t first = of.left;
    for (; batch.size() < depth && of.left > 0; --of.left) batch.add("GET", of.keys[of.left % bench::redis_keys]);
    arena memory(64U << 10U);
    const auto got = co_await of.redis->run(batch, memory);
    if (!got) continue;
    for (std::size_t i = 0; i < got->size(); ++i)
      of.right += (*got)[i].has_text() && (*got)[i].text() == of.values[(first - i) % bench::redis_keys];
  }
}

auto run_all(braid::testing::redis_server& server, std::uint64_t commands,
             const std::function<void(work&, scope&)>& start) -> std::uint64_t {
  const auto io = loop::create().value();
  work of{.redis = nullptr, .left = commands, .keys = {}, .values = {}};
  for (std::size_t i = 0; i < bench::redis_keys; ++i) {
    of.keys.push_back(bench::redis_key(i));
    of.values.push_back(bench::redis_value(i));
  }
  auto everything = [&](loop& on) -> task<void> {
    redis_options options;
    options.port = server.port();
    redis_connection redis(on, options);
    of.redis = &redis;
    auto body = [&](scope& in) -> task<void> {
      start(of, in);
      co_return;
    };
    co_await with_scope(std::ref(body));
    on.stop();
  };
  io->run([&] { io->spawn(everything(*io)); });
  return of.right;
}

auto get(const parameters& given) -> bench::sample {
  return bench::timed_commands(given, 400'000, [](auto& server, std::uint64_t commands, std::uint64_t depth) {
    return run_all(server, commands, [depth](work& of, scope& in) {
      for (std::uint64_t i = 0; i < depth; ++i) in.spawn(get_all(of));
    });
  });
}

auto get_in_batches(const parameters& given) -> bench::sample {
  return bench::timed_commands(given, 400'000, [](auto& server, std::uint64_t commands, std::uint64_t depth) {
    return run_all(server, commands, [depth](work& of, scope& in) { in.spawn(batch_all(of, depth)); });
  });
}

auto lrange(const parameters& given) -> bench::sample {
  return bench::timed_commands(given, 40'000, [](auto& server, std::uint64_t commands, std::uint64_t depth) {
    return run_all(server, commands, [depth](work& of, scope& in) {
      for (std::uint64_t i = 0; i < depth; ++i) in.spawn(list_all(of));
    });
  });
}

auto parse(const parameters& given) -> bench::sample {
  return bench::timed_replies(given, [](std::string_view bytes, std::uint64_t rounds) {
    braid::detail::resp_parser parser;
    std::uint64_t complete = 0;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      arena memory(256U << 10U);
      for (std::string_view rest = bytes; !rest.empty();) {
        parser.begin(&memory);
        const auto [state, consumed] = parser.parse(rest);
        complete += state == braid::detail::resp_parser::status::complete;
        rest.remove_prefix(consumed);
      }
    }
    return complete;
  });
}

}  // namespace

auto main(int count, char** arguments) -> int {
  return bench::run_program(count, arguments, "redis",
                            {{"get", bench::braid_contender(), get},
                             {"get", bench::braid_contender("braid, batches"), get_in_batches},
                             {"lrange", bench::braid_contender(), lrange},
                             {"parse", bench::braid_contender(), parse}});
}
