// bench/rank/redis.cpp: the engine on a real server, beside a client that sends the same waves of commands and nothing
// else.
#include <bench/harness/program.hpp>
#include <tests/rankd/engine/engine_world.hpp>
#include <tests/support/fault_proxy.hpp>
#include <tests/support/redis_server.hpp>

#include <rankd/engine/closed_load.hpp>
#include <rankd/store/redis_load.hpp>
#include <rankd/store/redis_store.hpp>

#include <braid/base/arena.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/io/loop.hpp>
#include <braid/net/redis_batch.hpp>
#include <braid/net/redis_connection.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace {

using bench::parameters;
using bench::sample;
using namespace rankd;

/// What is under way together is a wave; each is one batch.
using waves = std::vector<braid::redis_batch>;

/// Notes what a store is asked for.
class recording_store final : public store {
 public:
  explicit recording_store(store& inner) : inner_(&inner) {}

  auto hget(key_batch keys, std::string_view field, braid::arena& arena)
      -> braid::task<store_result<field_batch>> override {
    const under_way now(*this);
    for (const std::int64_t id : keys.ids) now.wave().add("HGET", braid::resp_joined{keys.prefix, id}, field);
    auto asking = inner_->hget(keys, field, arena);
    co_return co_await std::move(asking);
  }
  auto hgetall(key_batch keys, braid::arena& arena) -> braid::task<store_result<hash_batch>> override {
    const under_way now(*this);
    for (const std::int64_t id : keys.ids) now.wave().add("HGETALL", braid::resp_joined{keys.prefix, id});
    auto asking = inner_->hgetall(keys, arena);
    co_return co_await std::move(asking);
  }
  auto lrange_ids(key_batch keys, std::uint32_t first, braid::arena& arena)
      -> braid::task<store_result<id_batch>> override {
    const under_way now(*this);
    const std::int64_t last = std::int64_t{first} - 1;
    for (const std::int64_t id : keys.ids) now.wave().add("LRANGE", braid::resp_joined{keys.prefix, id}, 0, last);
    auto asking = inner_->lrange_ids(keys, first, arena);
    co_return co_await std::move(asking);
  }
  auto read(const named_read& what, braid::arena& arena) -> braid::task<store_result<item_batch>> override {
    return inner_->read(what, arena);  // none of the measured plans does
  }

  auto take() -> waves { return std::exchange(seen_, {}); }

 private:
  class under_way {
   public:
    explicit under_way(recording_store& of) : of_(&of) {
      if (of.running_++ == 0) of.seen_.emplace_back();
    }
    under_way(const under_way&) = delete;
    auto operator=(const under_way&) -> under_way& = delete;
    ~under_way() { --of_->running_; }
    [[nodiscard]] auto wave() const -> braid::redis_batch& { return of_->seen_.back(); }

   private:
    recording_store* of_;
  };

  store* inner_;
  waves seen_;
  int running_ = 0;
};

/// A server that has the reference data, and a user who follows a hundred others.
struct filled_server {
  static constexpr int popular = 900'000;
  braid::testing::redis_server server;

  filled_server() {
    const auto& project = testing::reference_project::get();
    std::vector<std::filesystem::path> files;
    for (const auto& each : std::filesystem::directory_iterator(project.where.data.value()))
      if (each.path().extension() == ".ndjson") files.push_back(each.path());
    std::string lines = R"({"hash":"user:900000","fields":{"country":"US"}})"
                        "\n";
    std::string list;
    for (int i = 1; i <= 100; ++i) {
      const std::string id = std::to_string(popular + i);
      lines += R"({"hash":"user:)" + id + R"(","fields":{"country":"US"}})" + "\n";
      list += (i == 1 ? "" : ",") + id;
    }
    files.push_back(
        project.folder.write("popular.ndjson", lines + R"({"list":"follow:900000","values":[)" + list + "]}\n"));
    testing::value_of(load_redis(place(), files, {}));
  }

  [[nodiscard]] auto place() const -> redis_address {
    redis_address at;
    at.port = server.port();
    at.in_flight = 64;  // as of an endpoint whose policy says nothing
    return at;
  }
  static auto get() -> filled_server& {
    static filled_server once;
    return once;
  }
};

auto requests() -> std::vector<std::string> {
  constexpr int users_with_data = 5;
  std::vector<std::string> all;
  for (int user = 1; user <= users_with_data; ++user) all.push_back("{\"user_id\":" + std::to_string(user) + "}");
  return all;
}

auto stores_of(store& redis) -> std::vector<store*> {
  std::vector<store*> all(testing::reference_project::get().stores.size(), nullptr);
  all.front() = &redis;
  return all;
}

auto waves_of(const std::string& plan) -> std::vector<waves> {
  redis_store redis({.endpoint_id = "ep_0001", .server = filled_server::get().place()});
  recording_store noted(redis);
  testing::engine_world world(testing::reference_project::get().declared, stores_of(noted), 1);
  const bound_plan& what = world.reference_plan(plan);
  std::vector<waves> all;
  for (const std::string& request : requests()) {
    static_cast<void>(world.rank(what, request));
    all.push_back(noted.take());
  }
  return all;
}

struct bare_load {
  const std::vector<waves>* asked;
  std::chrono::steady_clock::time_point until;
  std::uint64_t done = 0;
  bool failed = false;
};

auto bare_client(bare_load& of, braid::redis_pool& redis, std::size_t first) -> braid::task<void> {
  braid::arena memory;
  for (std::size_t at = first; std::chrono::steady_clock::now() < of.until; ++at) {
    for (const braid::redis_batch& wave : (*of.asked)[at % of.asked->size()]) {
      const auto got = co_await redis.run(wave, memory);
      of.failed = of.failed || !got;
    }
    memory.reset();
    ++of.done;
  }
}

/// Requests a second of clients that only send waves.
auto bare_rate(const std::vector<waves>& asked, std::uint64_t clients, std::chrono::milliseconds span) -> double {
  bare_load load{.asked = &asked, .until = {}};
  const auto io = braid::loop::create().value();
  const auto begin = std::chrono::steady_clock::now();
  load.until = begin + span;
  auto everything = [&](braid::loop& on) -> braid::task<void> {
    braid::redis_pool redis(on, filled_server::get().place(), 1);
    auto body = [&](braid::scope& in) -> braid::task<void> {
      for (std::uint64_t i = 0; i < clients; ++i) in.spawn(bare_client(load, redis, i));
      co_return;
    };
    co_await braid::with_scope(std::ref(body));
    on.stop();
  };
  io->run([&] { io->spawn(everything(*io)); });
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return load.failed ? 0 : static_cast<double>(load.done) / took.count();
}

/// The engine's requests a second, and how that compares with the bare client just before and just after it.
auto plan_load(const parameters& given) -> sample {
  const auto& project = testing::reference_project::get();
  const std::string plan = given.word("plan", "reels_plan_a");
  const std::uint64_t clients = given.number("clients", 1);
  const std::chrono::milliseconds span(given.number("ms", 500));
  const std::vector<waves> asked = waves_of(plan);
  redis_store redis({.endpoint_id = "ep_0001", .server = filled_server::get().place()});
  testing::engine_world world(1);
  const bound_plan& what = world.reference_plan(plan);
  const closed_load_options how{
      .clients = static_cast<unsigned>(clients), .warm_up = span / 5, .duration = span, .engine = {}};
  const double before = bare_rate(asked, clients, span / 2);
  closed_load_result seen;
  sample measured = bench::timed(1, true, [&] {
    auto ended = run_closed_load(what, project.declared, stores_of(redis), requests(), how);
    if (ended) seen = std::move(*ended);
    return seen.failed == 0 && !seen.latencies.empty();
  });
  const double bare = (before + bare_rate(asked, clients, span / 2)) / 2;
  const auto us = [&seen](double part) {
    return std::chrono::duration<double, std::micro>(seen.latency(part)).count();
  };
  measured.items = static_cast<double>(seen.latencies.size());
  measured.extra = {{"request_us", 1e6 / seen.per_second()},
                    {"rate_rps", seen.per_second()},
                    {"bare_us", 1e6 / bare},
                    {"times_bare", bare / seen.per_second()},
                    {"p50_us", us(0.5)},
                    {"p99_us", us(0.99)},
                    {"max_us", us(1)}};
  return measured;
}

/// A user with a hundred friends, through a proxy that holds each answer back for a while.
auto follow(const parameters& given) -> sample {
  const auto& project = testing::reference_project::get();
  filled_server& data = filled_server::get();
  braid::testing::fault_proxy proxy(data.server.socket_path(), 1);
  proxy.set({.held = std::chrono::microseconds(given.number("delay_us", 1'000))});
  redis_address through = data.place();
  through.socket_path = proxy.path();
  redis_store redis({.endpoint_id = "ep_0001", .server = through});
  testing::engine_world world(1);
  const std::string endpoint = R"({"endpoint":"ep_0001")";
  const bound_plan& what =
      world.bind(testing::artifact_of(testing::node("v", "core::viewer", "", endpoint + "}") + "," +
                                          testing::node("f", "core::follow", "v", endpoint + R"(,"fanout":100})"),
                                      R"("f")"));
  const closed_load_options how{.warm_up = std::chrono::milliseconds(20),
                                .duration = std::chrono::milliseconds(given.number("ms", 500)),
                                .engine = {}};
  const std::vector<std::string> request{"{\"user_id\":" + std::to_string(filled_server::popular) + "}"};
  closed_load_result seen;
  sample measured = bench::timed(1, true, [&] {
    auto ended = run_closed_load(what, project.declared, stores_of(redis), request, how);
    if (ended) seen = std::move(*ended);
    return seen.failed == 0 && !seen.latencies.empty();
  });
  const auto us = [&seen](double part) {
    return std::chrono::duration<double, std::micro>(seen.latency(part)).count();
  };
  measured.items = static_cast<double>(seen.latencies.size());
  measured.extra = {{"request_us", 1e6 / seen.per_second()}, {"p50_us", us(0.5)}, {"p99_us", us(0.99)}};
  return measured;
}

}  // namespace

auto main(int count, char** arguments) -> int {
  const bench::contender braid = bench::braid_contender();
  return bench::run_program(count, arguments, "rank",
                            {{"redis_plan", braid, plan_load}, {"redis_follow", braid, follow}});
}
