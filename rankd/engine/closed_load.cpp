// rankd/engine/closed_load.cpp: a runtime and an engine for each loop, and a task for each client.
#include <rankd/engine/closed_load.hpp>

#include <rankd/engine/engine.hpp>
#include <rankd/engine/ranking.hpp>
#include <rankd/engine/request.hpp>

#include <braid/base/assert.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/coro/yield.hpp>
#include <braid/sync/atomic.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace rankd {
namespace {

/// What all clients share.
struct shared_load {
  const bound_plan& plan;
  const registries& declared;
  std::span<const std::string> requests;
  const closed_load_options& how;
  braid::time_point counts_from;  ///< what ends earlier belongs to the warm-up
  braid::time_point ends_at;
  braid::atomic<std::uint64_t> next{0};     // the request that is asked next; written by clients
  braid::atomic<std::uint64_t> counted{0};  // answers after the warm-up; written by clients
};

/// One loop with its clients. The engine is used by the last tasks of the runtime, so it goes last.
struct lane {
  std::optional<engine> ranker;
  std::unique_ptr<braid::runtime> on;
  unsigned clients = 0;
  closed_load_result seen;
};

auto answer_one(shared_load& load, lane& on, closed_load_result& into) -> braid::task<void> {
  const std::uint64_t number = load.next.fetch_add(1, braid::relaxed);
  auto request = parse_request(load.requests[number % load.requests.size()], load.declared);
  if (!request) {
    ++into.failed;
    into.answer_bytes += to_json(request.error(), {}).size();
    co_return;
  }
  auto work = on.ranker->rank(load.plan, std::move(*request));
  const ranking answer = co_await std::move(work);
  if (answer.error) ++into.failed;
  into.answer_bytes += to_json(answer).size();
}

/// Asks until the time is over. Between two requests the others have their turn.
auto ask(shared_load& load, lane& on) -> braid::task<void> {
  braid::time_point begin = braid::steady_time().now();
  while (begin < load.ends_at && load.counted.load(braid::relaxed) < load.how.most_requests) {
    closed_load_result one;
    auto work = answer_one(load, on, one);
    co_await std::move(work);
    const braid::time_point end = braid::steady_time().now();
    if (begin >= load.counts_from) {
      load.counted.fetch_add(1, braid::relaxed);
      on.seen.latencies.push_back(end - begin);
      on.seen.failed += one.failed;
      on.seen.answer_bytes += one.answer_bytes;
    }
    begin = end;
    co_await braid::yield();
  }
}

auto ask_all(shared_load& load, lane& on) -> braid::task<void> {
  auto start = [&](braid::scope& children) -> braid::task<void> {
    for (unsigned client = 0; client < on.clients; ++client) children.spawn(ask(load, on));
    co_return;
  };
  braid::task<void> all = braid::with_scope(std::ref(start));
  co_await std::move(all);
}

auto make_lanes(const registries& declared, const std::vector<store*>& stores, const closed_load_options& how)
    -> braid::checked<std::vector<lane>> {
  const unsigned loops = std::clamp(how.loops, 1U, how.clients);
  std::vector<lane> lanes(loops);
  for (unsigned at = 0; at < loops; ++at) {
    auto on = braid::runtime::create({.workers = how.workers, .name = "load" + std::to_string(at)});
    if (!on) return std::unexpected(no_runtime(on.error()));
    lanes[at].on = std::move(*on);
    lanes[at].ranker.emplace(*lanes[at].on, declared, stores, how.engine);
    lanes[at].clients = how.clients / loops + (at < how.clients % loops ? 1 : 0);
  }
  return lanes;
}

}  // namespace

auto closed_load_result::per_second() const -> double {
  const double seconds = std::chrono::duration<double>(total).count();
  return seconds > 0 ? static_cast<double>(latencies.size()) / seconds : 0;
}

auto closed_load_result::latency(double part) const -> std::chrono::nanoseconds {
  if (latencies.empty()) return {};
  const auto wanted = static_cast<std::size_t>(std::ceil(part * static_cast<double>(latencies.size())));
  return latencies[std::clamp<std::size_t>(wanted, 1, latencies.size()) - 1];
}

auto run_closed_load(const bound_plan& plan, const registries& declared, const std::vector<store*>& stores,
                     std::span<const std::string> requests, const closed_load_options& how)
    -> braid::checked<closed_load_result> {
  BRAID_EXPECTS(!requests.empty() && how.clients > 0, "a load needs requests and clients");
  auto lanes = make_lanes(declared, stores, how);
  if (!lanes) return std::unexpected(std::move(lanes.error()));
  const braid::time_point counts_from = braid::steady_time().now() + how.warm_up;
  shared_load load{.plan = plan,
                   .declared = declared,
                   .requests = requests,
                   .how = how,
                   .counts_from = counts_from,
                   .ends_at = counts_from + how.duration};
  std::vector<std::thread> waiting;
  for (lane& each : *lanes) waiting.emplace_back([&load, &each] { each.on->run(ask_all(load, each)); });
  for (std::thread& each : waiting) each.join();

  closed_load_result all;
  all.total = std::max(braid::steady_time().now(), counts_from) - counts_from;
  for (lane& each : *lanes) {
    all.failed += each.seen.failed;
    all.answer_bytes += each.seen.answer_bytes;
    all.latencies.insert(all.latencies.end(), each.seen.latencies.begin(), each.seen.latencies.end());
  }
  std::ranges::sort(all.latencies);
  return all;
}

}  // namespace rankd
