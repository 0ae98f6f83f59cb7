// bench/loop/braid.cpp: loops of braid with each backend: posts from other threads as jobs and as closures, and how
// long one is on its way; timers as callbacks and as coroutines; and timers armed and disarmed among many that are
// pending.
#include <bench/harness/moment.hpp>
#include <bench/loop/cases.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/io/loop.hpp>
#include <braid/task/executor.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

namespace {

using bench::parameters;
using bench::sample;
using bench::timers_result;
using braid::io_backend;
using std::chrono::milliseconds;

/// Counts itself. The last one stops the loop.
struct counted final : braid::job {
  counted() noexcept : job(&count_one) {}
  static void count_one(job& self, action) { static_cast<counted&>(self).tell(); }
  void tell() const {
    if (++*ran == expected) io->stop();
  }

  std::uint64_t* ran = nullptr;
  std::uint64_t expected = 0;
  braid::loop* io = nullptr;
};

struct run_of {
  braid::io_backend::kind kind;
  unsigned producers;
  std::size_t each;

  /// `produce(loop, ran)` is what each producer does.
  template <typename Produce>
  auto operator()(Produce produce) const -> std::uint64_t {
    const auto io = braid::loop::create({.backend = kind}).value();
    std::uint64_t ran = 0;
    std::vector<std::thread> threads;
    io->run([&] {
      for (unsigned i = 0; i < producers; ++i) threads.emplace_back([&, i] { produce(*io, ran, i); });
    });
    for (std::thread& thread : threads) thread.join();
    return ran;
  }
};

template <io_backend::kind Kind>
auto post_jobs(const parameters& given) -> sample {
  const auto producers = static_cast<unsigned>(given.number("producers", 1));
  std::vector<std::vector<counted>> jobs;
  for (unsigned i = 0; i < producers; ++i) jobs.emplace_back(given.number("tasks", 1'000'000) / producers);
  return bench::timed_posts(given, [&](unsigned, std::size_t each) {
    return run_of{.kind = Kind, .producers = producers, .each = each}(
        [&](braid::loop& io, std::uint64_t& ran, unsigned producer) {
          for (counted& one : jobs[producer]) {
            one.ran = &ran;
            one.expected = producers * each;
            one.io = &io;
            static_cast<void>(io.try_post(one));
          }
        });
  });
}

auto post_closures(const parameters& given) -> sample {
  return bench::timed_posts(given, [](unsigned producers, std::size_t each) {
    return run_of{.kind = io_backend::kind::automatic, .producers = producers, .each = each}(
        [=](braid::loop& io, std::uint64_t& ran, unsigned) {
          const std::uint64_t expected = producers * each;
          const auto work = [&ran, &io, expected] {
            if (++ran == expected) io.stop();
          };
          for (std::size_t n = 0; n < each; ++n) static_cast<void>(braid::post(io, work));
        });
  });
}

struct counting : braid::timer {
  counting() noexcept : timer(&fired) {}
  static void fired(timer& self) noexcept {
    auto& mine = static_cast<counting&>(self);
    ++mine.result->fired;
    if (bench::now_ns() < mine.due_ns) ++mine.result->early;
    if (mine.result->fired == mine.expected) mine.io->stop();
  }

  std::int64_t due_ns = 0;
  timers_result* result = nullptr;
  std::size_t expected = 0;
  braid::loop* io = nullptr;
};

auto by_callbacks(braid::io_backend::kind kind, std::size_t count) -> timers_result {
  const auto io = braid::loop::create({.backend = kind}).value();
  timers_result result;
  std::vector<counting> all(count);
  io->run([&] {
    for (counting& each : all) {
      each.result = &result;
      each.expected = count;
      each.io = io.get();
      const braid::time_point due = io->now() + milliseconds(1);
      each.due_ns = due.time_since_epoch().count();
      io->arm(each, due);
    }
  });
  return result;
}

auto sleeper(braid::loop& io, timers_result& result, std::size_t expected) -> braid::task<void> {
  const std::int64_t due_ns = bench::now_ns() + 1'000'000;
  co_await braid::sleep_for(milliseconds(1));
  ++result.fired;
  if (bench::now_ns() < due_ns) ++result.early;
  if (result.fired == expected) io.stop();
}

auto by_coroutines(braid::io_backend::kind kind, std::size_t count) -> timers_result {
  const auto io = braid::loop::create({.backend = kind}).value();
  timers_result result;
  io->run([&] {
    for (std::size_t i = 0; i < count; ++i) io->spawn(sleeper(*io, result, count));
  });
  return result;
}

/// None of ours may be early.
template <io_backend::kind Kind>
auto timers(const parameters& given, timers_result (*run)(io_backend::kind, std::size_t)) -> sample {
  sample measured = bench::timed_timers(given, [run](std::size_t count) { return run(Kind, count); });
  measured.is_right = measured.is_right && measured.extra.at("early_timers") == 0;
  return measured;
}

template <io_backend::kind Kind>
auto callback_timers(const parameters& given) -> sample {
  return timers<Kind>(given, by_callbacks);
}

template <io_backend::kind Kind>
auto coroutine_timers(const parameters& given) -> sample {
  return timers<Kind>(given, by_coroutines);
}

/// Timers of a wheel in which so many others are pending, disarmed and armed again.
auto rearm(const parameters& given) -> sample {
  const std::size_t pending = given.number("pending", 1'000'000);
  const braid::time_point start = braid::steady_time().now();
  braid::timer_wheel wheel(start);
  std::vector<counting> all(pending);
  for (std::size_t i = 0; i < pending; ++i) wheel.arm(all[i], start + bench::rearm_due(i));
  const sample measured = bench::timed_rearm(pending, [&](std::size_t i, std::chrono::microseconds due) {
    wheel.disarm(all[i]);
    wheel.arm(all[i], start + due);
  });
  for (counting& each : all) wheel.disarm(each);
  return measured;
}

/// Timers as a task of the loop arms them.
class loop_wheel {
 public:
  explicit loop_wheel(braid::loop& io) : io_(&io), start_(io.now()), all_(bench::timers_armed_at_once) {}

  void arm(std::size_t i, std::chrono::microseconds due) { io_->arm(all_[i], start_ + due); }
  void disarm(std::size_t i) { io_->disarm(all_[i]); }
  [[nodiscard]] auto armed() const -> std::size_t {
    return static_cast<std::size_t>(std::ranges::count_if(all_, &counting::is_armed));
  }
  static void rest() {}

 private:
  braid::loop* io_;
  braid::time_point start_;
  std::vector<counting> all_;
};

auto arm(const parameters& given) -> sample {
  const auto io = braid::loop::create().value();
  std::vector<counting> others(given.number("pending", 1'000'000));
  sample measured;
  io->run([&] {
    for (std::size_t i = 0; i < others.size(); ++i) io->arm(others[i], io->now() + bench::arm_due(i));
    loop_wheel wheel(*io);
    measured = bench::timed_arms(wheel);
    for (counting& each : others) io->disarm(each);
    io->stop();
  });
  return measured;
}

/// A loop on a thread of its own, which is to be busy or not.
class hopping_loop {
 public:
  hopping_loop(io_backend::kind kind, bench::loop_is state)
      : io_(braid::loop::create({.backend = kind}).value()),
        steps_(bench::steps_of(bench::busy_job_ns)),
        thread_([this, state] {
          io_->run([this, state] {
            if (state == bench::loop_is::busy) run_once();
            runs_.count_down();
          });
        }) {
    runs_.wait();
  }
  hopping_loop(const hopping_loop&) = delete;
  auto operator=(const hopping_loop&) -> hopping_loop& = delete;
  ~hopping_loop() {
    is_over_.store(true, std::memory_order_relaxed);
    io_->stop();
    thread_.join();
  }

  void post(bench::moment& start) { static_cast<void>(braid::post(*io_, start.as_task())); }

 private:
  void run_once() {
    bench::work_for(steps_);
    if (is_over_.load(std::memory_order_relaxed)) return;
    static_cast<void>(braid::post(*io_, [this] { run_once(); }));
  }

  std::unique_ptr<braid::loop> io_;
  std::uint64_t steps_;
  std::atomic<bool> is_over_{false};  // written by the thread that ends it
  std::latch runs_{1};
  std::thread thread_;
};

template <io_backend::kind Kind>
auto hop(const parameters& given) -> sample {
  const bench::loop_is state = bench::loop_state(given);
  hopping_loop other(Kind, state);
  return bench::timed_hops(given, state, [&](bench::moment& start) { other.post(start); });
}

}  // namespace

auto main(int count, char** arguments) -> int {
  using enum io_backend::kind;
  const bench::contender with_uring = bench::braid_contender("braid uring");
  const bench::contender with_epoll = bench::braid_contender("braid epoll");
  return bench::run_program(count, arguments, "loop",
                            {{"post", with_uring, post_jobs<uring>},
                             {"post", with_epoll, post_jobs<epoll>},
                             {"post", bench::braid_contender("braid closures"), post_closures},
                             {"timers", with_uring, callback_timers<uring>},
                             {"timers", with_epoll, callback_timers<epoll>},
                             {"timers", bench::braid_contender("braid uring, tasks"), coroutine_timers<uring>},
                             {"timers", bench::braid_contender("braid epoll, tasks"), coroutine_timers<epoll>},
                             {"rearm", bench::braid_contender(), rearm},
                             {"arm", bench::braid_contender(), arm},
                             {"hop", with_uring, hop<uring>},
                             {"hop", with_epoll, hop<epoll>}});
}
