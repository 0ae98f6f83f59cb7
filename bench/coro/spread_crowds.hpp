// bench/coro/spread_crowds.hpp: crowds that spread over the workers, as those of rivals do: bench/coro/crowds.rs for
// the places of remote_crowds.hpp. What begins a crowd runs on a worker, so that no case pays for a wake from outside.
#pragma once

#include <bench/coro/remote_crowds.hpp>

#include <braid/coro/channel.hpp>
#include <braid/coro/synchronization.hpp>

namespace bench {

/// Counts what a crowd does, and says when all of it is done.
template <typename Place>
class spread_crowd {
 public:
  spread_crowd(Place& where, std::uint64_t expected) : where_(&where), expected_(expected) {}

  void spawn(braid::task<void> work) { where_->post(std::move(work)); }
  void count(std::uint64_t more) {
    const std::uint64_t before = done_.fetch_add(more, std::memory_order_acq_rel);  // edge crowd.done: both
    if (before + more == expected_) all_done_.count_down();
  }
  [[nodiscard]] auto wait() { return all_done_.wait(); }
  [[nodiscard]] auto is_right() const -> bool {
    return done_.load(std::memory_order_acquire) == expected_;  // edge crowd.done: observe
  }

 private:
  Place* where_;
  std::uint64_t expected_;
  std::atomic<std::uint64_t> done_{0};  // things that were done; written by the tasks of the crowd
  braid::async_latch all_done_{1};
};

namespace detail {

/// From the first spawn to the last end, of so many tasks that do so many things each.
template <typename Place, typename Begin>
auto timed_spread(const parameters& given, std::uint64_t otherwise, std::uint64_t each, Begin begin) -> sample {
  const std::uint64_t tasks = given.number("tasks", otherwise);
  Place where(given.workers());
  spread_crowd<Place> crowd(where, tasks * each);
  sample measured{.items = static_cast<double>(tasks * each)};
  auto all = [&]() -> braid::task<void> {
    const auto from = std::chrono::steady_clock::now();
    begin(crowd, tasks);
    co_await crowd.wait();
    const std::chrono::duration<double, std::nano> wall = std::chrono::steady_clock::now() - from;
    measured.wall_ns = wall.count();
    measured.is_right = crowd.is_right();
  };
  std::vector<typename Place::started> started;
  started.push_back(where.start(all()));
  where.join(std::move(started));
  return measured;
}

inline auto spread_pong(braid::oneshot_receiver<int> from, braid::oneshot_sender<int> to) -> braid::task<void> {
  static_cast<void>(co_await from.receive());
  static_cast<void>(to.send(1));
}

template <typename Crowd>
auto spread_ping(Crowd& crowd) -> braid::task<void> {
  auto there = braid::make_oneshot<int>();
  auto back = braid::make_oneshot<int>();
  crowd.spawn(spread_pong(std::move(there.second), std::move(back.first)));
  static_cast<void>(there.first.send(1));
  static_cast<void>(co_await back.second.receive());
  crowd.count(1);
}

constexpr std::uint64_t spread_yields = 200;

template <typename Crowd>
auto spread_yields_of(Crowd& crowd) -> braid::task<void> {
  for (std::uint64_t i = 0; i < spread_yields; ++i) co_await braid::yield();
  crowd.count(spread_yields);
}

template <typename Crowd>
auto spread_chain(Crowd& crowd, std::uint64_t left) -> braid::task<void> {
  if (left > 1) crowd.spawn(spread_chain(crowd, left - 1));
  crowd.count(1);
  co_return;
}

}  // namespace detail

template <typename Place>
auto spread_ping_pong(const parameters& given) -> sample {
  return detail::timed_spread<Place>(given, 1'000, 1, [](auto& crowd, std::uint64_t tasks) {
    for (std::uint64_t i = 0; i < tasks; ++i) crowd.spawn(detail::spread_ping(crowd));
  });
}

template <typename Place>
auto spread_yield_many(const parameters& given) -> sample {
  return detail::timed_spread<Place>(given, 1'000, detail::spread_yields, [](auto& crowd, std::uint64_t tasks) {
    for (std::uint64_t i = 0; i < tasks; ++i) crowd.spawn(detail::spread_yields_of(crowd));
  });
}

template <typename Place>
auto spread_chained_spawn(const parameters& given) -> sample {
  return detail::timed_spread<Place>(
      given, 1'000, 1, [](auto& crowd, std::uint64_t tasks) { crowd.spawn(detail::spread_chain(crowd, tasks)); });
}

}  // namespace bench
