// tests/rankd/engine/redis_faults_stress.cpp: requests through a proxy that delays, splits, cuts and garbles, and with
// a server that is killed and frozen: each ends with its own data or with an error. BRAID_STRESS=100 makes 10^5 right
// answers.
#include <rankd/engine/engine.hpp>

#include <rankd/store/redis_load.hpp>
#include <rankd/store/redis_store.hpp>

#include <tests/rankd/engine/engine_world.hpp>
#include <tests/rankd/engine/owned_data.hpp>
#include <tests/support/fault_proxy.hpp>
#include <tests/support/redis_server.hpp>
#include <tests/support/run_on_loop.hpp>
#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <braid/base/random.hpp>
#include <braid/net/redis_connection.hpp>

#include <array>
#include <atomic>
#include <cstdio>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;
using namespace braid::testing;
using namespace std::chrono_literals;

namespace {

struct tally {
  std::uint64_t right = 0;
  std::uint64_t changed = 0;   // by garbling
  std::uint64_t mixed_up = 0;  // data of another request
  std::map<std::string, std::uint64_t> errors;

  void count(const ranking& answer, std::int64_t user) {
    if (answer.error) {
      ++errors[answer.error->code];
      return;
    }
    bool is_changed = answer.rows.size() != followed || answer.malformed_ids != 0;
    bool is_mixed = false;
    const auto countries = answer.rows.table().find(3001);
    for (std::size_t at = 0; at < answer.rows.size(); ++at) {
      const std::int64_t id = answer.rows.id(at);
      const std::int64_t owner = owner_of(id);
      is_mixed = is_mixed || (owner != 0 && owner != user);
      is_changed = is_changed || id != id_of(user, static_cast<int>(at));
      const std::uint32_t row = answer.rows.row(at);
      const std::string country =
          countries && !countries->is_null(row) ? std::string((*countries->strings())[row]) : std::string();
      is_changed = is_changed || country != country_of(id);
      const bool is_some = country.size() > 1 && country.front() == 'C';
      const auto named = is_some ? parse_id(std::string_view(country).substr(1)) : std::nullopt;
      is_mixed = is_mixed || (named && *named != id && owner_of(*named) != 0);
    }
    ++(is_mixed ? mixed_up : is_changed ? changed : right);
  }
};

/// A server with the data, which survives kill -9.
struct filled_server {
  scratch_folder folder;
  redis_server server;

  filled_server() {
    braid::redis_options options;
    options.port = server.port();
    options.request_timeout = 1min;  // a disk may be slow: that is not what is looked at here
    const std::vector files{folder.write("data.ndjson", owned_data())};
    value_of(load_redis(options, files, {}));
    run_on_loop([&](braid::loop& io) -> braid::task<void> {
      braid::redis_connection redis(io, options);
      braid::arena memory;
      const std::array<std::string_view, 1> save{"SAVE"};
      const auto saved = co_await redis.command(save, memory);
      if (!saved || saved->is_error()) throw std::runtime_error("the server does not save");
    });
  }
};

auto through(const std::string& path) -> redis_store_options {
  redis_store_options options{.endpoint_id = "ep_0001", .server = {}, .connections = 2};
  options.server.socket_path = path;
  options.server.in_flight = 16;
  options.server.request_timeout = 1s;
  options.server.silence = 300ms;
  options.server.connect_timeout = 500ms;
  options.server.backoff = {.first = 1ms, .max_delay = 20ms, .seed = 1};
  return options;
}

/// Two loops with a few clients each ask until `wanted` answers were right, while `disturb` does its worst.
auto run_clients(const redis_store_options& where, std::uint64_t wanted, std::uint64_t seed,
                 const std::function<void(braid::random_source&)>& disturb) -> tally {
  redis_store from(where);
  tally all;
  std::mutex mutex;
  std::atomic<bool> over{false};
  {
    std::array<std::unique_ptr<engine_world>, 2> worlds;
    std::vector<std::thread> clients;
    for (auto& world : worlds) {
      world = std::make_unique<engine_world>(reference_project::get().declared, std::vector<store*>{&from, nullptr}, 1);
      const bound_plan& plan = world->bind(artifact_of(follow_nodes(), R"("f")"));
      for (std::uint64_t i = 0; i < 6; ++i)
        clients.emplace_back([&, in = world.get(), own = seed + clients.size()] {
          braid::random_source random(own);
          while (!over) {
            const auto user = static_cast<std::int64_t>(1 + random.below(owners));
            const std::string deadline =
                random.below(8) == 0 ? R"(,"deadline_ms":)" + std::to_string(1 + random.below(4)) : "";
            const ranking answer = in->rank(plan, R"({"user_id":)" + std::to_string(user) + deadline + "}");
            const std::scoped_lock lock(mutex);
            all.count(answer, user);
            if (all.right >= wanted) over = true;
          }
        });
    }
    braid::random_source random(seed ^ 0xabcdef);
    while (!over) disturb(random);
    for (std::thread& client : clients) client.join();
  }
  std::printf("%llu right, %llu changed, %llu mixed up\n", static_cast<unsigned long long>(all.right),
              static_cast<unsigned long long>(all.changed), static_cast<unsigned long long>(all.mixed_up));
  for (const auto& [code, count] : all.errors) {
    std::printf("  %s: %llu\n", code.c_str(), static_cast<unsigned long long>(count));
    CHECK((code.starts_with("store_") || code == "deadline_exceeded"));
  }
  return all;
}

void rest(braid::random_source& /*random*/) { std::this_thread::sleep_for(1ms); }

}  // namespace

TEST_CASE("an id of another user, and one that was changed, are told from the right one") {
  CHECK(owner_of(id_of(7, 3)) == 7);
  CHECK(owner_of(id_of(7, 3) + 1) == 0);
  CHECK(owner_of(-5) == 0);
}

TEST_CASE("answers from replies that come late, in crumbs, half or never are right or errors") {
  const watchdog guard(300s);
  const std::uint64_t seed = printed_seed();
  const filled_server filled;
  fault_proxy proxy(filled.server.socket_path(), seed);
  proxy.set({.delayed = 20'000, .split = 60'000, .cut = 8'000, .halved = 8'000, .garbled = 0, .swallowed = 200});
  const tally ends = run_clients(through(proxy.path()), scaled(3'000), seed, rest);
  CHECK(ends.mixed_up == 0);
  CHECK(ends.changed == 0);
  CHECK(proxy.faults() > 0);
}

TEST_CASE("answers from replies with other bytes in them hold nothing of other requests") {
  const watchdog guard(300s);
  const std::uint64_t seed = printed_seed();
  const filled_server filled;
  fault_proxy proxy(filled.server.socket_path(), seed);
  proxy.set({.delayed = 4'000, .split = 20'000, .cut = 2'000, .halved = 2'000, .garbled = 60'000, .swallowed = 0});
  const tally ends = run_clients(through(proxy.path()), scaled(3'000), seed, rest);
  CHECK(ends.mixed_up == 0);
}

TEST_CASE("a server that is killed, frozen and started again gives right answers or errors, and right ones again") {
  const watchdog guard(300s);
  const std::uint64_t seed = printed_seed();
  filled_server filled;
  redis_server& server = filled.server;
  const auto disturb = [&](braid::random_source& random) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5 + random.below(30)));
    if (random.below(2) == 0) {
      server.kill();
      std::this_thread::sleep_for(std::chrono::milliseconds(random.below(20)));
      server.start();
    } else {
      server.freeze();
      std::this_thread::sleep_for(std::chrono::milliseconds(random.below(500)));
      server.thaw();
    }
  };
  const tally ends = run_clients(through(server.socket_path()), scaled(10'000), seed, disturb);
  CHECK(ends.mixed_up == 0);
  CHECK(ends.changed == 0);
}
