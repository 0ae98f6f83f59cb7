// bench/rank/redis.cpp: the engine on a real server, beside a client that sends the same waves of commands and nothing
// else.
#include <bench/harness/program.hpp>
#include <tests/rankd/engine/engine_world.hpp>
#include <tests/support/fault_proxy.hpp>
#include <tests/support/redis_server.hpp>

#include <rankd/engine/batch/closed_load.hpp>
#include <rankd/registry/file.hpp>
#include <rankd/store/redis_load.hpp>
#include <rankd/store/redis_store.hpp>
#include <rankd/store/store_layer.hpp>

#include <braid/base/arena.hpp>
#include <braid/base/config.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/io/loop.hpp>
#include <braid/net/redis_batch.hpp>
#include <braid/net/redis_connection.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace {

using bench::parameters;
using bench::sample;
using namespace rankd;

/// What is under way together is a wave; each is one batch.
using waves = std::vector<braid::redis_batch>;

/// Notes what a store is asked for.
class recording_store final : public store_layer {
 public:
  explicit recording_store(store& inner) : store_layer(inner) {}

  auto ask(store_question question, braid::arena& arena) -> braid::task<store_result<store_answer>> override {
    const under_way now(*this);
    std::visit([&](const auto& of) { note(now.wave(), of); }, question);
    co_return co_await behind().ask(question, arena);
  }
  [[nodiscard]] auto answers_at_once() const noexcept -> bool override { return false; }

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

  static void note(braid::redis_batch& wave, const field_read& what) {
    for (const std::int64_t id : what.keys.ids) wave.add("HGET", braid::resp_joined{what.keys.prefix, id}, what.field);
  }
  static void note(braid::redis_batch& wave, const hash_read& what) {
    for (const std::int64_t id : what.keys.ids) wave.add("HGETALL", braid::resp_joined{what.keys.prefix, id});
  }
  static void note(braid::redis_batch& wave, const list_read& what) {
    const std::int64_t last = std::int64_t{what.first} - 1;
    for (const std::int64_t id : what.keys.ids) wave.add("LRANGE", braid::resp_joined{what.keys.prefix, id}, 0, last);
  }
  static void note(braid::redis_batch& wave, const named_read& what) {
    for (const std::string_view key : what.keys) note(wave, what, key);
  }
  static void note(braid::redis_batch& /*wave*/, const model_call& /*what*/) {
    BRAID_EXPECTS(false, "a measured plan calls no model");
  }

  /// Lists and fields of hashes: the measured plans read nothing else under names.
  static void note(braid::redis_batch& wave, const named_read& what, std::string_view key) {
    if (what.kind == read_kind::list) {
      wave.add("LRANGE", key, what.offset, std::int64_t{what.offset} + what.count - 1);
      return;
    }
    BRAID_EXPECTS(what.kind == read_kind::fields, "a measured plan reads only lists and hashes");
    std::vector<std::string_view> command{"HMGET", key};
    command.insert(command.end(), what.fields.begin(), what.fields.end());
    wave.add_words(command);
  }

  waves seen_;
  int running_ = 0;
};

/// Each user of the reference data that has lists is measured as so many, with keys of their own: of requests that are
/// under way together the engine sends equal reads once, and then it would have less to do than the bare client.
constexpr int copies = 16;
constexpr int copy_step = 100'000;
constexpr int users_with_data = 5;

/// A list with ids after `first`, and a hash with a country for each.
auto list_of(const std::string& key, int first, int size) -> std::string {
  std::string hashes;
  std::string list;
  for (int id = first + 1; id <= first + size; ++id) {
    hashes += R"({"hash":"user:)" + std::to_string(id) + R"(","fields":{"country":"US"}})" + "\n";
    list += (list.empty() ? "" : ",") + std::to_string(id);
  }
  return hashes + R"({"list":")" + key + R"(","values":[)" + list + "]}\n";
}

/// The user itself, and lists as long as those of the reference data.
auto copied_user(int user, int number) -> std::string {
  constexpr std::array follows{10, 5, 4, 5, 2};
  constexpr std::array recommendations{10, 3, 4, 0, 0};
  constexpr int room = 1'000;  // of ids for the lists of a user
  const std::size_t at = static_cast<std::size_t>(number) - 1;
  const int first = user - number + number * room;
  const std::string id = std::to_string(user);
  return R"({"hash":"user:)" + id + R"(","fields":{"country":"US"}})" + "\n" +
         list_of("follow:" + id, first, follows.at(at)) +
         list_of("recommendation:" + id, first + room / 2, recommendations.at(at));
}

/// As many films as docs/films.md has, each with all that the plans read.
auto films() -> std::string {
  constexpr int count = 3'201;
  std::string hashes;
  std::string list;
  for (int id = 1; id <= count; ++id) {
    const std::string number = std::to_string(id);
    hashes += R"({"hash":"film:)" + number + R"(","fields":{"title":"The film with the number )" + number +
              R"(","genre":"Drama","rating":")" + std::to_string(1 + id % 9) + "." + std::to_string(id % 10) +
              R"(","votes":")" + std::to_string(id * 37 % 100'000) + R"(","year":")" + std::to_string(1930 + id % 80) +
              "\"}}\n";
    list += (list.empty() ? "" : ",") + number;
  }
  return hashes + R"({"list":"films","values":[)" + list + "]}\n";
}

/// A server that has the reference data, copies of its users, a user with a list of a hundred others, and films.
struct filled_server {
  static constexpr int popular = 90'000'000;
  braid::testing::redis_server server;

  filled_server() {
    const auto& project = testing::reference_project::get();
    std::vector<std::filesystem::path> files;
    for (const auto& each : std::filesystem::directory_iterator(project.where.data.value()))
      if (each.path().extension() == ".ndjson") files.push_back(each.path());
    std::string lines = R"({"hash":"user:90000000","fields":{"country":"US"}})"
                        "\n" +
                        list_of("follow:90000000", popular, 100) + films();
    for (int copy = 1; copy <= copies; ++copy)
      for (int number = 1; number <= users_with_data; ++number) lines += copied_user(copy * copy_step + number, number);
    files.push_back(project.folder.write("more.ndjson", lines));
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
  std::vector<std::string> all;
  for (int copy = 1; copy <= copies; ++copy)
    for (int number = 1; number <= users_with_data; ++number)
      all.push_back("{\"user_id\":" + std::to_string(copy * copy_step + number) + "}");
  return all;
}

/// A plan, the requests for it, and the connection that it has.
struct subject {
  const registries* declared;
  std::vector<std::string> requests;
  redis_address place;
  std::function<const bound_plan&(testing::engine_world&)> bind;

  /// The endpoint that plans read is the first one.
  [[nodiscard]] auto stores_of(store& redis) const -> std::vector<store*> {
    std::vector<store*> all(declared->endpoints().size(), nullptr);
    all.front() = &redis;
    return all;
  }
};

auto reference_subject(const std::string& plan) -> subject {
  return {.declared = &testing::reference_project::get().declared,
          .requests = requests(),
          .place = filled_server::get().place(),
          .bind = [plan](testing::engine_world& world) -> const bound_plan& { return world.reference_plan(plan); }};
}

auto films_subject(const std::string& plan, std::size_t in_flight) -> subject {
  static const registries declared = testing::value_of(registries::load("examples/films/registry", "dev"));
  redis_address place = filled_server::get().place();
  place.in_flight = static_cast<std::uint32_t>(in_flight);
  return {.declared = &declared,
          .requests = {R"({"param_overrides":{"stored":true}})"},
          .place = place,
          .bind = [plan](testing::engine_world& world) -> const bound_plan& {
            return world.bind(testing::value_of(read_text_file("examples/films/plans/" + plan + ".json")));
          }};
}

auto waves_of(const subject& of) -> std::vector<waves> {
  redis_store redis({.endpoint_id = "ep_0001", .server = of.place});
  recording_store noted(redis);
  testing::engine_world world(*of.declared, of.stores_of(noted), 1);
  const bound_plan& what = of.bind(world);
  std::vector<waves> all;
  for (const std::string& request : of.requests) {
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
auto bare_rate(const subject& of, const std::vector<waves>& asked, std::uint64_t clients,
               std::chrono::milliseconds span) -> double {
  bare_load load{.asked = &asked, .until = {}};
  const auto io = braid::loop::create().value();
  const auto begin = std::chrono::steady_clock::now();
  load.until = begin + span;
  auto everything = [&](braid::loop& on) -> braid::task<void> {
    braid::redis_pool redis(on, of.place, 1);
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
auto beside_bare(const subject& of, const parameters& given) -> sample {
  const std::uint64_t clients = given.number("clients", 1);
  const std::chrono::milliseconds span(given.number("ms", 500));
  const std::vector<waves> asked = waves_of(of);
  redis_store redis({.endpoint_id = "ep_0001", .server = of.place});
  testing::engine_world world(*of.declared, of.stores_of(redis), 1);
  const bound_plan& what = of.bind(world);
  const closed_load_options how{
      .clients = static_cast<unsigned>(clients), .warm_up = span / 5, .duration = span, .engine = {}};
  const double before = bare_rate(of, asked, clients, span / 2);
  closed_load_result seen;
  sample measured = bench::timed(1, true, [&] {
    auto ended = run_closed_load(what, *of.declared, of.stores_of(redis), of.requests, how);
    if (ended) seen = std::move(*ended);
    return seen.failed == 0 && !seen.latencies.empty();
  });
  const double bare = (before + bare_rate(of, asked, clients, span / 2)) / 2;
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

auto plan_load(const parameters& given) -> sample {
  return beside_bare(reference_subject(given.word("plan", "reels_plan_a")), given);
}

/// One client: what several ask at once would be the same, and sent once.
auto films_load(const parameters& given) -> sample {
  return beside_bare(films_subject(given.word("plan", "best"), given.number("in_flight", 64)), given);
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
    auto ended = run_closed_load(what, project.declared, reference_subject("").stores_of(redis), request, how);
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
  return bench::run_program(
      count, arguments, "rank",
      {{"redis_plan", braid, plan_load}, {"redis_films", braid, films_load}, {"redis_follow", braid, follow}});
}
