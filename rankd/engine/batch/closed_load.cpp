// rankd/engine/batch/closed_load.cpp: measures a load with a runtime and an engine for each loop, and a task for each
// client.
#include <rankd/engine/batch/closed_load.hpp>

#include <rankd/engine/engine.hpp>
#include <rankd/engine/ranking.hpp>
#include <rankd/engine/requests/request.hpp>

#include <braid/base/config.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/sync/atomic.hpp>

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace rankd {
namespace {

/// The state that all clients share.
struct shared_load {
  const make_load_target& target;
  std::span<const std::string> requests;
  const closed_load_options& how;
  braid::time_point counts_from;  ///< answers before this belong to the warm-up
  braid::time_point ends_at;
  braid::atomic<std::uint64_t> next{0};     // the request that is asked next; written by clients
  braid::atomic<std::uint64_t> counted{0};  // answers after the warm-up; written by clients
};

/// One loop, with the clients that run on it.
struct client_loop {
  std::unique_ptr<braid::runtime> on;
  unsigned clients = 0;
  closed_load_result seen;
};

/// Sends requests until the time is over or `max_requests` answers were counted. If no answer was counted after the
/// warm-up by then, continues until one answer is counted, so that there is a result. If the warm-up lasts the whole
/// time, stops at the end of the warm-up. Other clients run between two requests.
auto ask(shared_load& load, client_loop& loop, load_target& target) -> braid::task<void> {
  bool has_counted = load.ends_at == load.counts_from;
  braid::time_point begin = braid::steady_time().now();
  while ((begin < load.ends_at || !has_counted) && load.counted.load(braid::relaxed) < load.how.max_requests) {
    const std::uint64_t number = load.next.fetch_add(1, braid::relaxed);
    auto work = target.answer(load.requests[number % load.requests.size()]);
    load_answer one = co_await std::move(work);
    const braid::time_point end = braid::steady_time().now();
    if (begin >= load.counts_from) {
      has_counted = true;
      load.counted.fetch_add(1, braid::relaxed);
      loop.seen.latencies.push_back(end - begin);
      if (one.failure && ++loop.seen.failed == 1) loop.seen.first_failure = std::move(*one.failure);
      loop.seen.answer_bytes += one.bytes;
    }
    begin = end;
    co_await braid::yield();
  }
}

auto ask_all(shared_load& load, client_loop& loop) -> braid::task<void> {
  const std::unique_ptr<load_target> target = load.target(*loop.on);
  auto start = [&](braid::scope& children) -> braid::task<void> {
    for (unsigned client = 0; client < loop.clients; ++client) children.spawn(ask(load, loop, *target));
    co_return;
  };
  braid::task<void> all = braid::with_scope(std::ref(start));
  co_await std::move(all);
}

auto make_client_loops(const closed_load_options& options) -> braid::checked<std::vector<client_loop>> {
  const unsigned loops = std::clamp(options.loops, 1U, options.clients);
  std::vector<client_loop> client_loops(loops);
  for (unsigned at = 0; at < loops; ++at) {
    auto on = braid::runtime::create({.workers = options.workers, .name = "load" + std::to_string(at)});
    if (!on) return std::unexpected(no_runtime(on.error()));
    client_loops[at].on = std::move(*on);
    client_loops[at].clients = options.clients / loops + (at < options.clients % loops ? 1 : 0);
  }
  return client_loops;
}

auto failed_with(std::string answer) -> load_answer {
  const std::size_t bytes = answer.size();
  return {.bytes = bytes, .failure = std::move(answer)};
}

/// A target that runs a plan in this process.
class plan_target final : public load_target {
 public:
  plan_target(engine& ranker, const bound_plan& plan, const registries& declared) noexcept
      : ranker_(&ranker), plan_(&plan), declared_(&declared) {}

  auto answer(const std::string& request) -> braid::task<load_answer> override {
    auto parsed = parse_request(request, *declared_);
    if (!parsed) co_return failed_with(to_json(parsed.error(), {}));
    if (const auto missing = fit_to_plan(*parsed, *plan_, *declared_); !missing.empty())
      co_return failed_with(to_json(missing, {}));
    auto work = ranker_->rank(*plan_, std::move(*parsed));
    const ranking answer = co_await std::move(work);
    std::string text = to_json(answer);
    if (answer.error) co_return failed_with(std::move(text));
    co_return load_answer{.bytes = text.size()};
  }

 private:
  engine* ranker_;
  const bound_plan* plan_;
  const registries* declared_;
};

}  // namespace

auto closed_load_result::per_second() const -> double {
  const double seconds = std::chrono::duration<double>(total).count();
  return seconds > 0 ? static_cast<double>(latencies.size()) / seconds : 0;
}

auto find_latency(std::span<const std::chrono::nanoseconds> ascending, double part) -> std::chrono::nanoseconds {
  if (ascending.empty()) return {};
  const auto wanted = static_cast<std::size_t>(std::ceil(part * static_cast<double>(ascending.size())));
  return ascending[std::clamp<std::size_t>(wanted, 1, ascending.size()) - 1];
}

auto run_closed_load(const make_load_target& target, std::span<const std::string> requests,
                     const closed_load_options& options) -> braid::checked<closed_load_result> {
  BRAID_EXPECTS(!requests.empty() && options.clients > 0, "a load needs at least one request and one client");
  auto client_loops = make_client_loops(options);
  if (!client_loops) return std::unexpected(std::move(client_loops.error()));
  const braid::time_point counts_from = braid::steady_time().now() + options.warm_up;
  shared_load load{.target = target,
                   .requests = requests,
                   .how = options,
                   .counts_from = counts_from,
                   .ends_at = counts_from + options.duration};
  std::vector<std::thread> waiting;
  for (client_loop& each : *client_loops) waiting.emplace_back([&load, &each] { each.on->run(ask_all(load, each)); });
  for (std::thread& each : waiting) each.join();

  closed_load_result all;
  all.total = std::max(braid::steady_time().now(), counts_from) - counts_from;
  for (client_loop& each : *client_loops) {
    all.failed += each.seen.failed;
    if (all.first_failure.empty()) all.first_failure = std::move(each.seen.first_failure);
    all.answer_bytes += each.seen.answer_bytes;
    all.latencies.insert(all.latencies.end(), each.seen.latencies.begin(), each.seen.latencies.end());
  }
  std::ranges::sort(all.latencies);
  return all;
}

auto run_closed_load(const bound_plan& plan, const registries& declared, const std::vector<store*>& stores,
                     std::span<const std::string> requests, const closed_load_options& options)
    -> braid::checked<closed_load_result> {
  std::mutex making;
  std::deque<engine> rankers;  // used by the last tasks of the runtimes, which end before the load does
  const make_load_target target = [&](braid::runtime& runtime) {
    const std::scoped_lock lock(making);
    engine& ranker = rankers.emplace_back(runtime, declared, stores, options.engine);
    return std::make_unique<plan_target>(ranker, plan, declared);
  };
  return run_closed_load(target, requests, options);
}

}  // namespace rankd
