// tests/runtime/merged_stress.cpp: merged runtimes that work and end under load: nothing is lost, doubled or left, and
// no wake goes missing, whether it is for a job, a post, a timer or a descriptor.
#include <braid/runtime/runtime.hpp>

#include <braid/base/random.hpp>
#include <braid/coro/channel.hpp>
#include <braid/coro/offload.hpp>
#include <braid/coro/schedule_on.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/io/loop.hpp>
#include <braid/sync/detail/parker.hpp>
#include <braid/task/fork_join.hpp>

#include <tests/support/pipes.hpp>
#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

using namespace braid;
using testing::ends;

namespace {

/// What began and ended in one life of a runtime.
struct ledger {
  atomic<std::uint64_t> accepted{0};
  atomic<std::uint64_t> ran{0};
  atomic<std::uint64_t> made{0};
  atomic<std::uint64_t> gone{0};
};

/// One for each job and each task; counted when it goes.
class token {
 public:
  explicit token(ledger& in) noexcept : in_(&in) { in_->made.fetch_add(1, relaxed); }
  token(token&& other) noexcept : in_(std::exchange(other.in_, nullptr)) {}
  auto operator=(token&&) -> token& = delete;
  ~token() {
    if (in_ != nullptr) in_->gone.fetch_add(1, relaxed);
  }

 private:
  ledger* in_;
};

struct life {
  life(std::uint64_t seed, scheduler chosen, unsigned workers)
      : random(seed),
        all(runtime::create({.workers = workers, .scheduler = chosen, .shape = runtime_shape::merged}).value()) {}

  auto any_loop(std::uint64_t pick) -> loop& { return *all->loops()[pick % all->loops().size()]; }

  random_source random;
  ledger counts;
  atomic<std::uint64_t> posts{0};
  channel<int> numbers{2};
  ends pipe = ends::of_pipe();
  std::unique_ptr<runtime> all;
};

auto fibonacci(int n) -> int {
  if (n < 2) return n;
  const auto [one, other] = fork_join([n] { return fibonacci(n - 1); }, [n] { return fibonacci(n - 2); });
  return one + other;
}

void post_job(life& in, std::uint64_t pick);

auto compute_away(life& in) -> task<void> {
  try {
    auto hop = offload(in.all->workers(), [] { return fibonacci(8); });
    static_cast<void>(co_await hop);
    co_await schedule_on(in.all->workers());
    static_cast<void>(fibonacci(6));
    co_await resume_home();
  } catch (const std::system_error&) {
    co_return;  // refused or dropped by the end
  }
}

auto talk(life& in, bool sends) -> task<void> {
  if (sends)
    static_cast<void>(co_await in.numbers.send(1));
  else
    static_cast<void>(co_await in.numbers.receive());
}

/// The pipe is never emptied, so that it is readable from the first byte on; one task at a home waits for it.
auto read_for_a_while(life& in) -> task<void> {
  static_cast<void>(co_await readable(in.all->io(), in.pipe.first.number()));
}

auto act(life& in, std::uint64_t pick, token /*held*/) -> task<void> {
  const std::thread::id home = std::this_thread::get_id();
  for (int step = 0; step < 4; ++step, pick /= 8) {
    switch (pick % 8) {
      case 0: co_await sleep_for(1us); break;
      case 1: co_await sleep_for(200us); break;
      case 2: co_await yield(); break;
      case 3: {
        auto computing = compute_away(in);
        co_await std::move(computing);
        break;
      }
      case 4: {
        auto limited = with_timeout(50us, talk(in, pick / 8 % 2 == 0));
        static_cast<void>(co_await std::move(limited));
        break;
      }
      case 5: {
        auto limited = with_timeout(50us, read_for_a_while(in));
        static_cast<void>(co_await std::move(limited));
        break;
      }
      case 6: static_cast<void>(fibonacci(7)); break;
      default: post_job(in, pick / 8); break;
    }
    if (std::this_thread::get_id() != home) std::abort();  // a task goes on where it began
  }
}

void post_job(life& in, std::uint64_t pick) {
  const bool to_loop = pick % 4 == 0;
  auto job = [&in, held = token(in.counts)] {
    static_cast<void>(held);
    in.counts.ran.fetch_add(1, relaxed);
  };
  const bool accepted =
      (to_loop ? post(in.any_loop(pick / 4), std::move(job)) : post(in.all->workers(), std::move(job))).has_value();
  if (accepted) in.counts.accepted.fetch_add(1, relaxed);
}

/// Lets a thread through once so many posts have been made. Turns of the scheduler would be no measure: beside busy
/// strangers each of them takes milliseconds.
struct threshold {
  std::uint64_t posts;
  braid::detail::parker reached;
};

void produce(life& in, std::uint64_t seed, int posts, std::array<threshold, 2>& limits) {
  random_source random(seed);
  for (int i = 0; i < posts; ++i) {
    const std::uint64_t before = in.posts.fetch_add(1, relaxed);
    for (threshold& each : limits)
      if (each.posts == before) each.reached.unpark();
    const std::uint64_t pick = random();
    if (pick % 3 == 0)
      post_job(in, pick / 3);
    else
      static_cast<void>(in.all->post(act(in, pick / 3, token(in.counts))));
    if (pick % 128 == 1) static_cast<void>(::write(in.pipe.second.number(), "x", 1));
  }
}

}  // namespace

TEST_CASE(
    "whatever is under way when a merged runtime ends is gone afterwards, and what was accepted ran or was dropped") {
  const testing::watchdog guard(std::chrono::seconds(250));
  const std::uint64_t seed = testing::printed_seed();
  random_source random(seed);
  constexpr scheduler schedulers[] = {scheduler::work_stealing, scheduler::least_loaded, scheduler::shared_queue};
  constexpr shutdown_mode modes[] = {shutdown_mode::drain, shutdown_mode::drop_pending, shutdown_mode::stop_now};
  const std::size_t cycles = testing::scaled(300);
  std::uint64_t begun = 0;
  for (std::size_t cycle = 0; cycle < cycles; ++cycle) {
    life in(random(), schedulers[cycle % 3], 1 + static_cast<unsigned>(random.below(3)));
    const shutdown_mode mode = modes[random.below(3)];
    std::vector<std::thread> threads;
    constexpr int posts = 300;
    std::array<threshold, 2> limits;
    for (threshold& each : limits) each.posts = random.below(2 * posts);
    for (int i = 0; i < 2; ++i) threads.emplace_back([&, begin = random()] { produce(in, begin, posts, limits); });
    for (threshold& each : limits) {
      threads.emplace_back([&in, &each, mode] {
        each.reached.park();
        if (!in.all->shutdown(mode)) std::abort();
      });
    }
    for (std::thread& each : threads) each.join();
    in.all.reset();
    REQUIRE(in.counts.gone.load(relaxed) == in.counts.made.load(relaxed));
    REQUIRE(in.counts.ran.load(relaxed) <= in.counts.accepted.load(relaxed));
    if (mode == shutdown_mode::drain) REQUIRE(in.counts.ran.load(relaxed) == in.counts.accepted.load(relaxed));
    begun += in.counts.made.load(relaxed);
  }
  std::printf("%llu jobs and tasks in %zu lives\n", static_cast<unsigned long long>(begun), cycles);
  CHECK(begun > 0);
}

TEST_CASE("no wake of a worker that sleeps in its loop is lost, whatever it is for") {
  for (const unsigned workers : {1U, 2U}) {
    const auto all = runtime::create({.workers = workers, .shape = runtime_shape::merged}).value();
    const ends pipe = ends::of_pipe();
    const std::size_t rounds = testing::scaled(2'000);
    auto reads = [&](braid::detail::parker& done) -> task<void> {
      static_cast<void>(co_await readable(all->io(), pipe.first.number()));
      testing::read_byte(pipe.first);
      done.unpark();
    };
    auto sleeps = [&](braid::detail::parker& done) -> task<void> {
      co_await sleep_for(20us);
      done.unpark();
    };
    for (std::size_t round = 0; round < rounds; ++round) {
      const testing::watchdog guard(std::chrono::seconds(60));
      braid::detail::parker done;
      switch (round % 4) {
        case 0: REQUIRE(post(all->workers(), [&] { done.unpark(); })); break;
        case 1: REQUIRE(post(all->io(), [&] { done.unpark(); })); break;
        case 2: REQUIRE(all->post(sleeps(done))); break;
        default:
          REQUIRE(all->post(reads(done)));
          testing::write_byte(pipe.second);
          break;
      }
      done.park();
    }
    CHECK(all->shutdown(shutdown_mode::drain));
  }
}
