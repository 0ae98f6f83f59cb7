// tests/runtime/start_stop_stress.cpp: pools, lanes and runtimes that come and go leave nothing behind.
#include <braid/coro/channel.hpp>
#include <braid/coro/offload.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/coro/task.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/io/sockets.hpp>
#include <braid/runtime/runtime.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/coro/serial_executor.hpp>
#include <braid/task/executors.hpp>
#include <braid/task/inline_executor.hpp>
#include <braid/task/manual_executor.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/spawn.hpp>

#include <doctest/doctest.h>

#include <tests/support/eventually.hpp>
#include <tests/support/sanitizer.hpp>
#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <utility>

#include <unistd.h>

using braid::relaxed;
using braid::scheduler;
using braid::shutdown_mode;
using braid::spawn;
using braid::testing::eventually;
using braid::testing::scaled;
using namespace std::chrono_literals;

namespace {

auto find_entries(const char* folder) -> std::ptrdiff_t {
  return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
}

/// What this process holds of the system.
struct holdings {
  std::ptrdiff_t threads = find_entries("/proc/self/task");
  std::ptrdiff_t descriptors = find_entries("/proc/self/fd");
};

auto resident_bytes() -> std::size_t {
  std::ifstream file("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  file >> total >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// Runs so many rounds after some that warm up, and looks what they have left behind.
template <typename Round>
void check_growth(std::size_t rounds, Round round) {
  const braid::testing::watchdog dog(200s);
  for (std::size_t i = 0; i < 100; ++i) round(i);
  const holdings before;
  const std::size_t memory = resident_bytes();
  for (std::size_t i = 0; i < rounds; ++i) round(i);
  // A thread that was joined may be seen for a moment.
  CHECK(eventually([&] { return holdings().threads <= before.threads; }));
  CHECK(holdings().descriptors == before.descriptors);
  const std::size_t after = resident_bytes();
  const std::size_t grown = after > memory ? after - memory : 0;
  std::printf("%zu rounds: %zu KiB more\n", rounds, grown / 1024);
  // A page for each round would be the least that a forgotten thread or pool costs.
  if (!braid::testing::under_address_sanitizer && !braid::testing::under_thread_sanitizer)
    CHECK(grown < rounds * 2048 + (std::size_t{1} << 20));
}

/// How many of these live, wherever they were made and destroyed.
class counted {
 public:
  explicit counted(braid::atomic<int>& alive) noexcept : alive_(&alive) { alive.fetch_add(1, braid::relaxed); }
  counted(counted&& other) noexcept : alive_(std::exchange(other.alive_, nullptr)) {}
  auto operator=(counted&&) -> counted& = delete;
  ~counted() {
    if (alive_ != nullptr) alive_->fetch_sub(1, braid::relaxed);
  }

 private:
  braid::atomic<int>* alive_;
};

/// A runtime whose tasks wait for all that there is to wait for, and hold something counted meanwhile.
class busy_runtime {
 public:
  /// What stays with a channel that outlives the runtime.
  static constexpr int left_in_channel = 1;

  busy_runtime(braid::runtime_shape shape, braid::atomic<int>& alive)
      : alive_(alive), all_(braid::runtime::create({.workers = 2, .shape = shape}).value()) {
    using kind = braid::task<void> (busy_runtime::*)(counted);
    constexpr kind kinds[] = {&busy_runtime::sleeps,   &busy_runtime::sleeps_with_a_deadline,
                              &busy_runtime::receives, &busy_runtime::sends,
                              &busy_runtime::locks,    &busy_runtime::reads,
                              &busy_runtime::hears,    &busy_runtime::accepts};
    constexpr int of_each = 4;
    REQUIRE(full_.try_send(counted(alive_)));
    for (int i = 0; i < of_each; ++i)
      for (const kind start : kinds) REQUIRE(all_->post((this->*start)(counted(alive_))));
    REQUIRE(eventually([&] { return begun_.load() == of_each * static_cast<int>(std::size(kinds)); }));
    REQUIRE(all_->post(computes(all_->blocking(), counted(alive_))));
    REQUIRE(eventually([&] { return away_.load() == 1; }));
    REQUIRE(all_->post(computes(all_->workers(), counted(alive_))));
    REQUIRE(eventually([&] { return away_.load() == 2; }));
    for (int i = 0; i < 5; ++i) REQUIRE(all_->post(sleeps(counted(alive_))));  // which may not begin any more
  }

  /// Ends it by `end(the pointer to it)`, with functions away until that has begun.
  template <typename End>
  void finish(End end) {
    braid::runtime& ending = *all_;
    std::thread by([&] { end(all_); });
    const auto has_begun = [&] {
      return ending.loops()[0]->status() != braid::loop::state::running || !post(ending.workers(), [] {});
    };
    CHECK(eventually(has_begun));
    home_calls_.store(true);
    by.join();
  }

 private:
  void begin() noexcept { begun_.fetch_add(1); }

  auto sleeps(counted /*held*/) -> braid::task<void> {
    begin();
    co_await braid::sleep_for(1h);
  }
  auto sleeps_with_a_deadline(counted held) -> braid::task<void> {
    static_cast<void>(co_await braid::with_timeout(30min, sleeps(std::move(held))));
  }
  auto receives(counted /*held*/) -> braid::task<void> {
    begin();
    static_cast<void>(co_await empty_.receive());
  }
  auto sends(counted held) -> braid::task<void> {
    begin();
    static_cast<void>(co_await full_.send(std::move(held)));
  }
  auto locks(counted /*held*/) -> braid::task<void> {
    begin();
    const auto guard = co_await lock_.lock();
    co_await braid::sleep_for(1h);
  }
  auto reads(counted /*held*/) -> braid::task<void> {
    auto both = braid::stream_socket::pair(all_->io()).value();
    std::array<std::byte, 8> room{};
    begin();
    static_cast<void>(co_await both.first.read_some(room));
  }
  auto hears(counted /*held*/) -> braid::task<void> {
    const auto socket = braid::udp_socket::bind(all_->io(), braid::socket_address::loopback(0)).value();
    std::array<std::byte, 8> room{};
    begin();
    static_cast<void>(co_await socket.receive(room));
  }
  auto accepts(counted /*held*/) -> braid::task<void> {
    auto listener = braid::stream_listener::listen(all_->io(), braid::socket_address::loopback(0)).value();
    begin();
    static_cast<void>(co_await listener.accept());
  }
  auto computes(braid::executor& where, counted /*held*/) -> braid::task<void> {
    auto until_called = [this, own = counted(alive_)] {
      away_.fetch_add(1);
      static_cast<void>(eventually([&] { return home_calls_.load(); }));
    };
    auto hop = braid::offload(where, std::move(until_called));
    co_await hop;
  }

  braid::atomic<int>& alive_;
  std::atomic<int> begun_{0};            // tasks that wait, or will in this step
  std::atomic<int> away_{0};             // functions on a worker, and on a thread that may block
  std::atomic<bool> home_calls_{false};  // whether these may come home
  braid::channel<int> empty_{1};         // nobody sends
  braid::channel<counted> full_{1};      // nobody receives
  braid::async_mutex lock_;
  std::unique_ptr<braid::runtime> all_;  // its tasks use the others
};

/// In each way in turn.
void check_ends_of_busy_runtimes(braid::runtime_shape shape) {
  constexpr shutdown_mode modes[] = {shutdown_mode::drain, shutdown_mode::drop_pending, shutdown_mode::stop_now};
  check_growth(scaled(200), [&](std::size_t round) {
    braid::atomic<int> alive{0};
    {
      busy_runtime all(shape, alive);
      REQUIRE(alive.load(relaxed) > 30);
      all.finish([&](std::unique_ptr<braid::runtime>& ending) {
        if (round % 4 == 3) return ending.reset();
        CHECK(ending->shutdown(modes[round % 4]));
      });
      CHECK(alive.load(relaxed) == busy_runtime::left_in_channel);
    }
    CHECK(alive.load(relaxed) == 0);
  });
}

}  // namespace

TEST_CASE("a thousand pools that start, work and stop in every way leave no thread, descriptor or memory behind") {
  constexpr scheduler schedulers[] = {scheduler::work_stealing, scheduler::least_loaded, scheduler::shared_queue};
  constexpr shutdown_mode modes[] = {shutdown_mode::drain, shutdown_mode::drop_pending, shutdown_mode::stop_now};
  check_growth(scaled(1'000), [&](std::size_t round) {
    const auto use = [&](auto& where) {
      for (int i = 0; i < 20; ++i) spawn(where, [] { return 1; }).then([](int n) { return n; }).detach();
      if (round % 4 == 0)
        static_cast<void>(where.shutdown_for(0s));
      else if (round % 4 == 1)
        static_cast<void>(where.shutdown(modes[round % 3]));
    };
    if (round % 5 < 3) {
      braid::pool where({.workers = 2, .scheduler = schedulers[round % 5]});
      use(where);
    } else if (round % 5 == 3) {
      braid::manual_executor where;
      use(where);
    } else {
      braid::inline_executor where;
      use(where);
    }
  });
}

TEST_CASE("lanes and serial executors leave nothing behind") {
  check_growth(scaled(1'000), [](std::size_t) {
    braid::blocking_pool blocking_threads;
    braid::serial_executor one(blocking_threads);
    for (int i = 0; i < 5; ++i) spawn(one, [] {}).detach();
    spawn(blocking_threads, [] {}).get();
  });
}

TEST_CASE("runtimes leave nothing behind") {
  check_growth(scaled(300), [](std::size_t) {
    const auto all = braid::runtime::create({.workers = 2}).value();
    spawn(all->workers(), [&] { return spawn(all->blocking(), [] { return 1; }).get(); }).get();
  });
}

TEST_CASE("a runtime that ends amid tasks that wait for everything leaves no thread, descriptor, memory or object") {
  check_ends_of_busy_runtimes(braid::runtime_shape::separate);
}

TEST_CASE("a merged runtime that ends amid such tasks leaves nothing either") {
  check_ends_of_busy_runtimes(braid::runtime_shape::merged);
}
