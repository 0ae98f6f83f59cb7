// tests/coro/stop_races.hpp: completion against stops, many waits at a time: each ends once, and all that it held goes.
#pragma once

#include <braid/base/random.hpp>
#include <braid/coro/bridge.hpp>
#include <braid/coro/channel.hpp>
#include <braid/coro/offload.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/io/loop.hpp>
#include <braid/io/sockets.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/pool.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <sys/socket.h>

namespace braid::testing {

/// What a task waits for. Another thread brings it, but for the timer; a task that computes looks at the stop itself.
enum class awaited : std::uint8_t { timer, descriptor, future, channel, oneshot, offload, post, computes };
inline constexpr std::array awaited_names{"timer",   "descriptor", "future", "channel",
                                          "oneshot", "offload",    "post",   "computes"};

enum class ending : std::uint8_t { value, error, stopped };

/// The thread that asks for the stop.
enum class stopper : std::uint8_t { nobody, home, elsewhere, both };

/// The observer of the end.
enum class told_to : std::uint8_t { scope, outcome, handle };

/// One wait, and its end. But for the ends of what is waited for, and the scope and the handle that are stopped, it is
/// the home's.
struct stop_race {
  stop_race(braid::scope& parent, std::thread::id where) : around(parent), home(where) {}

  awaited what = awaited::timer;
  stopper by = stopper::nobody;
  told_to whom = told_to::scope;
  bool fails = false;          // it throws what it would have given
  std::uint64_t patience = 0;  // µs of a timer, rounds of a computation

  braid::scope around;
  future<int> handle;
  std::optional<promise<int>> promised;
  future<int> ahead;
  std::optional<channel<int>> line;
  std::optional<oneshot_sender<int>> sender;
  std::optional<oneshot_receiver<int>> receiver;
  event arrived;
  const std::pair<stream_socket, stream_socket>* sockets = nullptr;

  std::thread::id home;
  unsigned born = 0;     // locals
  unsigned died = 0;     // of them
  unsigned strayed = 0;  // of them, on another thread
  unsigned came = 0;     // what it waited for
  unsigned told = 0;     // how it ended
  ending how = ending::stopped;
  bool refused = false;  // the other thread was told that it came too late
};

/// Runs races on one home, with two threads that complete and stop them, and one that functions are sent to.
/// Threads: `rounds` at home, the rest where nothing runs.
class stop_races {
 public:
  static constexpr std::size_t in_a_round = 256;
  static constexpr std::size_t kinds = awaited_names.size();

  stop_races(loop& home, std::uint64_t seed) : home_(&home), random_(seed) {}

  auto rounds(std::size_t count) -> task<void>;

  [[nodiscard]] auto count(std::size_t kind, ending how) const -> std::uint64_t {
    return counts_[kind][static_cast<std::size_t>(how)];
  }
  /// What was wrong first; null for nothing.
  [[nodiscard]] auto diagnostic() const noexcept -> const char* { return diagnostic_; }

 private:
  using races = std::deque<stop_race>;
  using lines = std::vector<std::pair<stream_socket, stream_socket>>;
  struct failure {};

  /// A way through all races of a round, in an order of its own.
  struct way {
    std::uint64_t first;
    std::uint64_t stride;  // odd, so that it comes to each once
    std::uint64_t seed;
    [[nodiscard]] auto at(std::size_t step) const -> std::size_t { return (first + step * stride) % in_a_round; }
  };

  class local {
   public:
    explicit local(stop_race& in) noexcept : in_(&in) { ++in_->born; }
    local(const local&) = delete;
    auto operator=(const local&) -> local& = delete;
    ~local() {
      ++in_->died;
      if (std::this_thread::get_id() != in_->home) ++in_->strayed;
    }

   private:
    stop_race* in_;
  };

  [[nodiscard]] auto any_way() -> way { return {random_(), random_() | 1U, random_()}; }
  static void pause(random_source& random) {
    for (auto left = random.below(100); left != 0; --left) asm volatile("");
  }
  static void tell(stop_race& of, ending how) noexcept {
    ++of.told;
    of.how = how;
  }
  static void tell(stop_race& of, const outcome<int>& ended) noexcept {
    tell(of, ended.has_value() ? ending::value : ended.has_exception() ? ending::error : ending::stopped);
  }
  void expect(bool holds, const char* sentence) noexcept {
    if (!holds && diagnostic_ == nullptr) diagnostic_ = sentence;
  }

  auto round(const lines& sockets) -> task<void>;
  void prepare(stop_race& of, std::size_t number, const lines& sockets);
  void start(stop_race& of);
  auto arrival(stop_race& of) -> task<int>;
  auto run(stop_race& of) -> task<int>;
  auto told_by_scope(stop_race& of) -> task<void>;
  auto told_by_outcome(stop_race& of) -> task<void>;

  auto completes(races& all, way order) -> task<void>;
  void complete(stop_race& of, std::size_t& posts);
  auto stops_elsewhere(races& all, way order) -> task<void>;
  static auto stops_here(races& all, way order) -> task<void>;

  auto finish(stop_race& of) -> task<void>;
  static auto left_over(stop_race& of) -> unsigned;
  void judge(const stop_race& of);

  loop* home_;
  random_source random_;
  pool elsewhere_{{.workers = 1}};
  pool helpers_{{.workers = 2}};
  std::size_t posts_ran_ = 0;  // in this round
  std::array<std::array<std::uint64_t, 3>, kinds> counts_{};
  const char* diagnostic_ = nullptr;
};

inline auto stop_races::rounds(std::size_t count) -> task<void> {
  lines sockets;
  for (std::size_t i = 0; i < in_a_round / kinds; ++i) sockets.push_back(stream_socket::pair(*home_).value());
  for (; count > 0; --count) {
    auto one = round(sockets);
    co_await std::move(one);
  }
}

inline auto stop_races::round(const lines& sockets) -> task<void> {
  scope& around = co_await this_scope();
  races all;
  posts_ran_ = 0;
  for (std::size_t i = 0; i < in_a_round; ++i)
    prepare(all.emplace_back(around, std::this_thread::get_id()), i, sockets);
  // The other threads need the handles; the rest may begin when it is stopped and completed already.
  for (stop_race& each : all)
    if (each.whom == told_to::handle) start(each);
  scope others(around);
  const way completing = any_way();
  others.spawn(completes(all, completing));
  others.spawn(stops_elsewhere(all, random_.below(2) == 0 ? completing : any_way()));
  for (stop_race& each : all)
    if (each.whom != told_to::handle) start(each);
  others.spawn(stops_here(all, any_way()));
  co_await others.join();
  for (stop_race& each : all) {
    auto ends = finish(each);
    co_await std::move(ends);
  }
}

inline void stop_races::prepare(stop_race& of, std::size_t number, const lines& sockets) {
  const std::uint64_t pick = random_();
  of.what = static_cast<awaited>(number % kinds);
  of.by = static_cast<stopper>(pick % 4);
  of.whom = static_cast<told_to>(pick / 4 % 3);
  of.fails = pick / 12 % 8 == 0;
  of.patience = random_.below(40);
  switch (of.what) {
    case awaited::descriptor: of.sockets = &sockets[number / kinds]; break;
    case awaited::future: of.ahead = of.promised.emplace().get_future(); break;
    case awaited::channel: of.line.emplace(1); break;
    case awaited::oneshot: {
      auto both = make_oneshot<int>();
      of.sender.emplace(std::move(both.first));
      of.receiver.emplace(std::move(both.second));
      break;
    }
    default: break;
  }
  const bool is_stopped_here = of.by == stopper::home || of.by == stopper::both;
  if (is_stopped_here && pick / 96 % 8 == 0) of.around.request_stop();  // before it begins
}

inline void stop_races::start(stop_race& of) {
  switch (of.whom) {
    case told_to::scope: return of.around.spawn(told_by_scope(of));
    case told_to::outcome: return of.around.spawn(told_by_outcome(of));
    case told_to::handle: of.handle = spawn(of.around, run(of));
  }
}

inline auto stop_races::arrival(stop_race& of) -> task<int> {
  const local here(of);
  int value = 1;
  switch (of.what) {
    case awaited::timer: co_await sleep_for(std::chrono::microseconds(of.patience)); break;
    case awaited::descriptor: {
      std::array<std::byte, 4> room{};
      const result<std::size_t> got = co_await of.sockets->first.read_some(room);
      value = static_cast<int>(got.value_or(0));
      break;
    }
    case awaited::future: {
      future<int> mine = std::move(of.ahead);
      value = co_await std::move(mine);
      break;
    }
    case awaited::channel: {
      const std::optional<int> got = co_await of.line->receive();
      value = got.value_or(0);
      break;
    }
    case awaited::oneshot: {
      oneshot_receiver<int> mine = std::move(*of.receiver);
      const result<int> got = co_await mine.receive();
      value = got.value_or(0);
      break;
    }
    case awaited::offload: {
      auto there = braid::offload(elsewhere_, [fails = of.fails] { return fails ? throw failure() : 1; });
      value = co_await there;
      break;
    }
    case awaited::post: co_await of.arrived; break;
    case awaited::computes: {
      scope& in = co_await this_scope();
      for (auto left = 50 * of.patience; left != 0 && !in.stop().requested(); --left) asm volatile("");
      if (of.by == stopper::home || of.by == stopper::both) in.request_stop();
      break;
    }
  }
  ++of.came;
  co_return value;
}

inline auto stop_races::run(stop_race& of) -> task<int> {
  const local here(of);
  auto coming = arrival(of);
  const int value = co_await std::move(coming);
  expect(value == 1, "what was awaited is what was sent");
  if (of.fails) throw failure();
  co_return value;
}

/// What it throws, the scope gives at its join; where it is stopped, nobody is told.
inline auto stop_races::told_by_scope(stop_race& of) -> task<void> {
  auto running = run(of);
  static_cast<void>(co_await std::move(running));
  tell(of, ending::value);
}

inline auto stop_races::told_by_outcome(stop_race& of) -> task<void> {
  const outcome<int> ended = co_await as_outcome(run(of));
  tell(of, ended);
}

/// Ends when all that it has posted has arrived.
inline auto stop_races::completes(races& all, way order) -> task<void> {
  std::size_t posts = 0;
  auto there = braid::offload(helpers_, [this, &all, &posts, order] {
    random_source random(order.seed);
    for (std::size_t step = 0; step < in_a_round; ++step) {
      pause(random);
      complete(all[order.at(step)], posts);
    }
  });
  co_await there;
  while (posts_ran_ != posts) co_await yield();
}

inline void stop_races::complete(stop_race& of, std::size_t& posts) {
  switch (of.what) {
    case awaited::descriptor: {
      const char byte = 'x';
      of.refused = ::send(of.sockets->second.number(), &byte, 1, MSG_NOSIGNAL) != 1;
      break;
    }
    case awaited::future:
      of.refused =
          of.fails ? !of.promised->set_exception(std::make_exception_ptr(failure())) : !of.promised->set_value(1);
      break;
    case awaited::channel: of.refused = !of.line->try_send(1); break;
    case awaited::oneshot: of.refused = !of.sender->send(1); break;
    case awaited::post: {
      auto arrives = [this, &of] {
        ++posts_ran_;
        of.arrived.set();
      };
      of.refused = !braid::post(*home_, arrives);
      if (!of.refused) ++posts;
      break;
    }
    default: break;
  }
}

inline auto stop_races::stops_elsewhere(races& all, way order) -> task<void> {
  auto there = braid::offload(helpers_, [&all, order] {
    random_source random(order.seed + 1);
    for (std::size_t step = 0; step < in_a_round; ++step) {
      pause(random);
      stop_race& of = all[order.at(step)];
      if (of.by != stopper::elsewhere && of.by != stopper::both) continue;
      if (of.whom == told_to::handle)
        of.handle.request_stop();
      else
        of.around.request_stop();
    }
  });
  co_await there;
}

inline auto stop_races::stops_here(races& all, way order) -> task<void> {
  random_source random(order.seed);
  for (std::size_t step = 0; step < in_a_round; ++step) {
    if (random.below(16) == 0) co_await yield();
    stop_race& of = all[order.at(step)];
    if (of.by == stopper::home || of.by == stopper::both) of.around.request_stop();
  }
}

inline auto stop_races::finish(stop_race& of) -> task<void> {
  try {
    co_await of.around.join();
  } catch (const failure&) {
    tell(of, ending::error);
  }
  if (of.whom == told_to::handle) {
    const outcome<int> ended = co_await as_outcome(std::move(of.handle));
    tell(of, ended);
  }
  if (of.what == awaited::descriptor || of.what == awaited::channel)
    expect(of.came + left_over(of) == 1, "what was sent is received once, or still there");
  judge(of);
  ++counts_[static_cast<std::size_t>(of.what)][static_cast<std::size_t>(of.how)];
}

/// How many things that were sent the race has not received.
inline auto stop_races::left_over(stop_race& of) -> unsigned {
  if (of.what == awaited::channel) return of.line->try_receive() ? 1 : 0;
  std::array<std::byte, 4> room{};
  const auto got = ::recv(of.sockets->first.number(), room.data(), room.size(), MSG_DONTWAIT);
  return got > 0 ? static_cast<unsigned>(got) : 0;
}

inline void stop_races::judge(const stop_race& of) {
  const bool has_begun = of.born != 0;
  expect(of.told <= 1, "a race ends once");
  expect(of.died == of.born && (of.born == 2 || !has_begun), "every local dies once");
  expect(of.strayed == 0, "locals die at home");
  expect(!of.refused || of.what == awaited::oneshot, "only a receiver that has gone is not reached");
  expect(!of.refused || of.came == 0, "what was refused does not come");
  switch (of.how) {
    case ending::value: return expect(of.came == 1 && !of.fails, "a value is one that came");
    case ending::error: return expect(of.fails && has_begun, "an error is one that was thrown");
    case ending::stopped: break;
  }
  expect(of.came == 0, "what a task gives in spite of a stop wins");
  expect(of.by != stopper::nobody, "who is stopped was asked to stop");
  expect(of.what != awaited::computes || !has_begun, "a task is stopped at its waits only");
}

}  // namespace braid::testing
