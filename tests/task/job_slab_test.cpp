// tests/task/job_slab_test.cpp: jobs of a slab run once, in the order that was asked for, and never over each other.
#include <braid/task/job_slab.hpp>

#include <braid/thread/this_thread.hpp>

#include <doctest/doctest.h>

#include <tests/support/eventually.hpp>
#include <tests/support/sanitizer.hpp>
#include <tests/support/watchdog.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using braid::errc;
using braid::job_slab;
using braid::when_full;
using braid::testing::eventually;
using braid::testing::watchdog;
using namespace std::chrono_literals;

namespace {

std::atomic<std::size_t> blocks_made{0};
std::atomic<std::ptrdiff_t> blocks_alive{0};

}  // namespace

#if !defined(BRAID_TEST_ADDRESS) && !defined(BRAID_TEST_THREAD)  // they have replaced these operators themselves
namespace {

auto counted(std::size_t size) -> void* {
  blocks_made.fetch_add(1);
  blocks_alive.fetch_add(1);
  if (void* block = std::malloc(size == 0 ? 1 : size)) return block;
  throw std::bad_alloc();
}

void release_counted(void* block) {
  if (block == nullptr) return;
  blocks_alive.fetch_sub(1);
  std::free(block);
}

}  // namespace

// Out of line, because g++ 12 otherwise sees a malloc that a delete frees.
[[gnu::noinline]] auto operator new(std::size_t size) -> void* { return counted(size); }
[[gnu::noinline]] void operator delete(void* block) noexcept { release_counted(block); }
[[gnu::noinline]] void operator delete(void* block, std::size_t) noexcept { release_counted(block); }
constexpr bool counts_blocks = true;
#else
constexpr bool counts_blocks = false;
#endif

namespace {

/// A callable with a state that can be copied back.
struct adder {
  int sum = 0;
  int add = 1;
  void operator()() { sum += add; }
};

auto error_of(const auto& result) -> std::error_code { return result ? std::error_code() : result.error(); }

auto scheduled(job_slab& slab, auto fn) -> job_slab::handle {
  const job_slab::handle job = slab.allocate(std::move(fn)).value();
  REQUIRE(slab.schedule(job));
  return job;
}

auto text_of_failure(auto&& call) -> std::string {
  try {
    static_cast<void>(call());
  } catch (const std::runtime_error& thrown) {
    return thrown.what();
  }
  return "nothing was thrown";
}

/// Made stale by using its slot again.
auto stale_handle(job_slab& slab, std::size_t slots) -> job_slab::handle {
  const job_slab::handle first = scheduled(slab, [] {});
  REQUIRE(slab.wait(first));
  for (std::size_t i = 0; i < slots; ++i) REQUIRE(slab.wait(scheduled(slab, [] {})));
  return first;
}

}  // namespace

TEST_CASE("without threads the maker runs everything while it waits") {
  const watchdog patience(60s);
  job_slab slab({.jobs_per_thread = 8, .threads = 0});
  int runs = 0;
  std::vector<job_slab::handle> jobs;
  for (int i = 0; i < 8; ++i) jobs.push_back(scheduled(slab, [&runs] { ++runs; }));
  CHECK(runs == 0);
  for (const job_slab::handle& job : jobs) CHECK(slab.wait(job));
  CHECK(runs == 8);
  CHECK(slab.jobs_begun_by(0) == 8);
}

TEST_CASE("jobs may be scheduled before and after the start") {
  const watchdog patience(60s);
  std::atomic<int> runs{0};
  job_slab slab({.jobs_per_thread = 64, .threads = 1});
  for (int i = 0; i < 20; ++i) scheduled(slab, [&] { ++runs; });
  REQUIRE(slab.start());
  for (int i = 0; i < 20; ++i) scheduled(slab, [&] { ++runs; });
  CHECK(eventually([&] { return runs == 40; }));  // the maker does not help
  CHECK(slab.jobs_begun_by(0) == 40);
  CHECK(error_of(slab.start()) == errc::invalid_argument);
}

TEST_CASE("a full slab refuses, and what lies in it is untouched") {
  const watchdog patience(60s);
  job_slab slab({.jobs_per_thread = 4, .threads = 0});
  std::vector<job_slab::handle> jobs;
  for (int i = 0; i < 4; ++i) jobs.push_back(slab.allocate(adder{.sum = 10 * i}).value());
  CHECK(error_of(slab.allocate([] {})) == errc::full);
  for (const job_slab::handle& job : jobs) REQUIRE(slab.schedule(job));
  CHECK(error_of(slab.allocate([] {})) == errc::full);
  for (int i = 0; i < 4; ++i) CHECK(slab.wait_result<adder>(jobs[static_cast<std::size_t>(i)])->sum == 10 * i + 1);
  const auto next = slab.allocate([] {});
  CHECK(next.has_value());
  CHECK(error_of(slab.allocate([] {})) == std::error_code());
  CHECK(error_of(slab.wait(jobs[0])) == errc::stale);
  CHECK(slab.result<adder>(jobs[2])->sum == 21);  // its slot was not used again
}

TEST_CASE("the next slot counts: one that has not finished is not jumped over") {
  job_slab slab({.jobs_per_thread = 2, .threads = 0});
  const job_slab::handle held = slab.allocate([] {}).value();
  REQUIRE(slab.wait(scheduled(slab, [] {})));
  CHECK(error_of(slab.allocate([] {})) == errc::full);
  REQUIRE(slab.schedule(held));
  REQUIRE(slab.wait(held));
  CHECK(slab.allocate([] {}).has_value());
}

TEST_CASE("a full slab may run the job at once") {
  job_slab slab({.jobs_per_thread = 1, .threads = 0, .full = when_full::run_inline});
  int runs = 0;
  const job_slab::handle held = slab.allocate([] {}).value();
  const job_slab::handle inlined = slab.allocate([&] { ++runs; }).value();
  CHECK(runs == 1);
  CHECK(slab.schedule(inlined));
  CHECK(slab.wait(inlined));
  CHECK(runs == 1);
  CHECK(error_of(slab.result<adder>(inlined)) == errc::stale);
  CHECK(error_of(slab.finish_with(held, inlined)) == errc::finished);
  CHECK(slab.finish_with(inlined, held));
  CHECK(error_of(slab.continue_with(held, inlined)) == errc::finished);
  CHECK(slab.continue_with(inlined, held));  // schedules it
  CHECK(slab.wait(held));
  const job_slab::handle again = slab.allocate([] {}).value();
  CHECK(text_of_failure([&] { return slab.allocate([] { throw std::runtime_error("inline"); }); }) == "inline");
  CHECK(slab.schedule(again));
}

TEST_CASE("a stale handle is refused everywhere") {
  const watchdog patience(60s);
  job_slab slab({.jobs_per_thread = 2, .threads = 0});
  const job_slab::handle stale = stale_handle(slab, 2);
  const job_slab::handle fresh = slab.allocate(adder{}).value();
  const auto all_refuse = [&](const job_slab::handle& job, errc why) {
    CHECK(error_of(slab.schedule(job)) == why);
    CHECK(error_of(slab.wait(job)) == why);
    CHECK(error_of(slab.result<adder>(job)) == why);
    CHECK(error_of(slab.wait_result<adder>(job)) == why);
    CHECK(error_of(slab.continue_with(job, fresh)) == why);
    CHECK(error_of(slab.continue_with(fresh, job)) == why);
    CHECK(error_of(slab.finish_with(job, fresh)) == why);
    CHECK(error_of(slab.finish_with(fresh, job)) == why);
  };
  all_refuse(stale, errc::stale);
  all_refuse(job_slab::handle(), errc::invalid_argument);
  std::thread([&] { all_refuse(stale, errc::stale); }).join();
  REQUIRE(slab.schedule(fresh));  // the refusals have left it as it was
  CHECK(slab.wait_result<adder>(fresh)->sum == 1);
}

TEST_CASE("a capacity of one is a capacity") {
  const watchdog patience(60s);
  for (const unsigned threads : {0U, 1U}) {
    std::atomic<int> runs{0};
    job_slab slab({.jobs_per_thread = 1, .threads = threads});
    REQUIRE(slab.start());
    for (int i = 0; i < 1000; ++i) {
      const job_slab::handle job = scheduled(slab, [&] { ++runs; });
      CHECK(slab.wait(job));
    }
    CHECK(runs == 1000);
  }
}

TEST_CASE("a result is a copy of the callable as it is after its run") {
  job_slab slab({.jobs_per_thread = 4, .threads = 0});
  const job_slab::handle job = slab.allocate(adder{.sum = 40, .add = 2}).value();
  CHECK(error_of(slab.result<adder>(job)) == errc::unfinished);
  REQUIRE(slab.schedule(job));
  CHECK(error_of(slab.schedule(job)) == errc::invalid_argument);
  CHECK(slab.wait_result<adder>(job)->sum == 42);
  CHECK(slab.result<adder>(job)->sum == 42);
  CHECK(error_of(slab.result<int (*)()>(job)) == errc::invalid_argument);
}

TEST_CASE("a callable that is too large for the slot lies in one block, and is destroyed with it") {
  struct large {
    std::array<char, 200> bytes{};
    std::shared_ptr<int> kept;
    void operator()() { bytes[199] = 'x'; }
  };
  const auto kept = std::make_shared<int>(1);
  {
    job_slab slab({.jobs_per_thread = 2, .threads = 0});
    const std::size_t before = blocks_made;
    const job_slab::handle job = slab.allocate(large{.kept = kept}).value();
    CHECK((!counts_blocks || blocks_made == before + 1));
    REQUIRE(slab.schedule(job));
    CHECK(slab.wait_result<large>(job)->bytes[199] == 'x');
    CHECK(kept.use_count() == 2);
    scheduled(slab, [] {});
    REQUIRE(slab.wait(scheduled(slab, [kept] {})));  // the same slot
    CHECK(kept.use_count() == 2);
  }
  CHECK(kept.use_count() == 1);
}

TEST_CASE("76 bytes lie in the slot, and no job allocates") {
  const watchdog patience(60s);
  struct full_slot {
    std::array<int, 19> numbers{};
    void operator()() { ++numbers[18]; }
  };
  static_assert(sizeof(full_slot) == 76);
  for (const unsigned threads : {0U, 1U}) {
    job_slab slab({.jobs_per_thread = 64, .threads = threads, .idle_sleep = 0us});
    REQUIRE(slab.start());
    CHECK(eventually([&] { return threads == 0 || slab.wait(scheduled(slab, [] {})).has_value(); }));
    for (int i = 0; i < 64; ++i) REQUIRE(slab.wait(scheduled(slab, [] {})));
    if (threads == 1) {  // its thread has begun, and all that it allocates lies behind it
      std::atomic<bool> begun = false;
      scheduled(slab, [&] { begun = true; });
      REQUIRE(eventually([&] { return begun.load(); }));
    }
    const auto made = [&slab] {  // a slot is free a moment after the wait for what lay in it
      auto job = slab.allocate(full_slot{});
      for (; !job; job = slab.allocate(full_slot{})) {
        REQUIRE(job.error() == errc::full);
        std::this_thread::yield();
      }
      return *job;
    };
    const std::size_t before = blocks_made;
    for (int round = 0; round < 100; ++round) {
      const job_slab::handle root = made();
      const job_slab::handle child = made();
      const job_slab::handle next = made();
      REQUIRE(slab.finish_with(child, root));
      REQUIRE(slab.continue_with(root, next));
      REQUIRE(slab.schedule(root));
      REQUIRE(slab.schedule(child));
      REQUIRE(slab.wait_result<full_slot>(next)->numbers[18] == 1);
    }
    CHECK(blocks_made == before);
  }
}

TEST_CASE("what a job throws is kept for all who ask") {
  const watchdog patience(60s);
  job_slab slab({.jobs_per_thread = 8, .threads = 1});
  REQUIRE(slab.start());
  bool ran = false;
  const job_slab::handle job = slab.allocate([] { throw std::runtime_error("broken"); }).value();
  const job_slab::handle next = slab.allocate([&] { ran = true; }).value();
  REQUIRE(slab.continue_with(job, next));
  REQUIRE(slab.schedule(job));
  CHECK(text_of_failure([&] { return slab.wait(job); }) == "broken");
  CHECK(text_of_failure([&] { return slab.result<adder>(job); }) == "broken");
  std::thread([&] { CHECK(text_of_failure([&] { return slab.wait(job); }) == "broken"); }).join();
  CHECK(slab.wait(next));
  CHECK(ran);
}

TEST_CASE("forty continuations run once each, in order, on one thread") {
  const watchdog patience(60s);
  for (const unsigned threads : {0U, 2U}) {
    job_slab slab({.jobs_per_thread = 64, .threads = threads});
    REQUIRE(slab.start());
    std::vector<int> order;  // of one job's continuations, so never touched by two at once
    std::vector<std::thread::id> where;
    order.reserve(40);
    where.reserve(40);
    const job_slab::handle root = slab.allocate([] {}).value();
    std::vector<job_slab::handle> all;
    for (int i = 0; i < 40; ++i) {
      all.push_back(slab.allocate([&order, &where, i] {
                          order.push_back(i);
                          where.push_back(std::this_thread::get_id());
                        })
                        .value());
      REQUIRE(slab.continue_with(root, all.back()));
    }
    CHECK(error_of(slab.continue_with(root, all.front())) == errc::invalid_argument);
    CHECK(error_of(slab.schedule(all.front())) == errc::invalid_argument);
    REQUIRE(slab.schedule(root));
    for (const job_slab::handle& job : all) CHECK(slab.wait(job));
    REQUIRE(order.size() == 40);
    for (int i = 0; i < 40; ++i) CHECK(order[static_cast<std::size_t>(i)] == i);
    for (const auto& thread : where) CHECK(thread == where.front());
  }
}

TEST_CASE("continuations come before, during and after the end, and keep their order") {
  const watchdog patience(60s);
  job_slab slab({.jobs_per_thread = 64, .threads = 1});
  REQUIRE(slab.start());
  std::vector<int> order;
  const auto numbered = [&](int i) { return slab.allocate([&order, i] { order.push_back(i); }).value(); };
  std::atomic<bool> running = false;
  std::atomic<bool> go_on = false;
  const job_slab::handle root = slab.allocate([&] {
                                      running = true;
                                      while (!go_on) std::this_thread::yield();
                                    })
                                    .value();
  REQUIRE(slab.continue_with(root, numbered(0)));
  REQUIRE(slab.schedule(root));
  REQUIRE(eventually([&] { return running.load(); }));
  REQUIRE(slab.continue_with(root, numbered(1)));
  go_on = true;
  REQUIRE(slab.wait(root));
  job_slab::handle last;
  for (int i = 2; i < 20; ++i) REQUIRE(slab.continue_with(root, last = numbered(i)));
  REQUIRE(slab.wait(last));
  REQUIRE(order.size() == 20);
  for (int i = 0; i < 20; ++i) CHECK(order[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("a long chain does not use the stack") {
  const watchdog patience(60s);
  constexpr std::size_t links = 20'000;
  job_slab slab({.jobs_per_thread = links, .threads = 0});
  std::size_t runs = 0;
  std::vector<job_slab::handle> jobs;
  for (std::size_t i = 0; i < links; ++i) jobs.push_back(slab.allocate([&] { ++runs; }).value());
  for (std::size_t i = 1; i < links; ++i) REQUIRE(slab.continue_with(jobs[i - 1], jobs[i]));
  REQUIRE(slab.schedule(jobs.front()));
  CHECK(slab.wait(jobs.back()));
  CHECK(runs == links);
}

TEST_CASE("a parent finishes after its children, and then takes no more") {
  const watchdog patience(60s);
  job_slab slab({.jobs_per_thread = 64, .threads = 1});
  REQUIRE(slab.start());
  std::atomic<int> children{0};
  const job_slab::handle parent = slab.allocate([] {}).value();
  const job_slab::handle second = slab.allocate([] {}).value();
  const job_slab::handle third = slab.allocate([] {}).value();
  std::vector<job_slab::handle> all;
  for (int i = 0; i < 10; ++i) {
    all.push_back(slab.allocate([&] { ++children; }).value());
    REQUIRE(slab.finish_with(all.back(), parent));
  }
  REQUIRE(slab.finish_with(all.back(), second));
  CHECK(error_of(slab.finish_with(all.back(), third)) == errc::full);
  REQUIRE(slab.schedule(parent));
  REQUIRE(slab.schedule(second));
  REQUIRE(slab.schedule(third));
  CHECK(slab.wait(third));
  CHECK(error_of(slab.result<adder>(parent)) == errc::unfinished);
  for (int i = 0; i < 9; ++i) REQUIRE(slab.schedule(all[static_cast<std::size_t>(i)]));
  for (int i = 0; i < 9; ++i) REQUIRE(slab.wait(all[static_cast<std::size_t>(i)]));
  CHECK(error_of(slab.result<adder>(parent)) == errc::unfinished);
  CHECK(error_of(slab.result<adder>(second)) == errc::unfinished);
  REQUIRE(slab.schedule(all.back()));
  CHECK(slab.wait(parent));
  CHECK(children == 10);
  CHECK(slab.wait(second));
  const job_slab::handle late = slab.allocate([] {}).value();
  CHECK(error_of(slab.finish_with(late, parent)) == errc::finished);
  CHECK(slab.finish_with(parent, late));  // holds nothing up
  CHECK(slab.schedule(late));
  CHECK(slab.wait(late));
}

TEST_CASE("jobs that would wait for each other are refused") {
  job_slab slab({.jobs_per_thread = 8, .threads = 0});
  const job_slab::handle a = slab.allocate([] {}).value();
  const job_slab::handle b = slab.allocate([] {}).value();
  const job_slab::handle c = slab.allocate([] {}).value();
  CHECK(error_of(slab.continue_with(a, a)) == errc::cycle);
  CHECK(error_of(slab.finish_with(a, a)) == errc::cycle);
  REQUIRE(slab.continue_with(a, b));
  REQUIRE(slab.continue_with(b, c));
  CHECK(error_of(slab.continue_with(c, a)) == errc::cycle);
  CHECK(error_of(slab.finish_with(c, a)) == errc::cycle);  // c runs when a has finished
  CHECK(slab.finish_with(a, c));
  REQUIRE(slab.schedule(a));
  CHECK(slab.wait(c));
}

TEST_CASE("a cycle is found through each parent of a job") {
  job_slab slab({.jobs_per_thread = 8, .threads = 0});
  const job_slab::handle child = slab.allocate([] {}).value();
  const job_slab::handle first = slab.allocate([] {}).value();
  const job_slab::handle second = slab.allocate([] {}).value();
  REQUIRE(slab.finish_with(child, first));
  REQUIRE(slab.finish_with(child, second));
  for (const job_slab::handle parent : {first, second}) {
    CHECK(error_of(slab.finish_with(parent, child)) == errc::cycle);
    CHECK(error_of(slab.continue_with(parent, child)) == errc::cycle);
  }
  for (const job_slab::handle each : {first, second, child}) REQUIRE(slab.schedule(each));  // none of it was kept
  for (const job_slab::handle each : {first, second, child}) CHECK(slab.wait(each));
}

TEST_CASE("threads are called by their number, from 0") {
  job_slab slab({.jobs_per_thread = 8, .threads = 2});
  REQUIRE(slab.start());
  CHECK(eventually([] { return braid::thread_info::find("slab-0") && braid::thread_info::find("slab-1"); }));
  CHECK_FALSE(braid::thread_info::find("slab-2"));
}

TEST_CASE("a thread without a seat allocates, schedules and waits, too") {
  const watchdog patience(60s);
  for (const unsigned threads : {0U, 1U}) {
    job_slab slab({.jobs_per_thread = 16, .threads = threads, .idle_sleep = 0us});
    REQUIRE(slab.start());
    std::atomic<bool> done = false;
    std::thread other([&] {
      for (int i = 0; i < 100; ++i) {
        const job_slab::handle root = slab.allocate(adder{}).value();
        const job_slab::handle next = slab.allocate(adder{.sum = i}).value();
        REQUIRE(slab.continue_with(root, next));
        REQUIRE(slab.schedule(root));
        CHECK(slab.wait_result<adder>(next)->sum == i + 1);
      }
      done = true;
    });
    while (threads == 0 && !done) static_cast<void>(slab.wait(scheduled(slab, [] {})));
    other.join();
  }
}

TEST_CASE("a job behind a long one is taken by a thread that has nothing to do") {
  const watchdog patience(60s);
  for (const braid::duration idle_sleep : {braid::duration(0us), braid::duration(1ms)}) {
    job_slab slab({.jobs_per_thread = 8, .threads = 1, .idle_sleep = idle_sleep});
    REQUIRE(slab.start());
    for (int round = 0; round < 50; ++round) {
      std::atomic<bool> quick_ran = false;
      job_slab::handle quick;
      const job_slab::handle longer = scheduled(slab, [&] {
        quick = scheduled(slab, [&] { quick_ran = true; });
        while (!quick_ran) std::this_thread::yield();
      });
      REQUIRE(slab.wait(longer));
    }
  }
}

TEST_CASE("a slot that a call looks at is not used again by what runs meanwhile") {
  job_slab slab({.jobs_per_thread = 2, .threads = 0});
  std::error_code inner;
  const job_slab::handle waited = scheduled(slab, adder{});
  scheduled(slab, [&] {
    CHECK(slab.wait(waited));  // runs it, while the wait below has not seen that
    inner = error_of(slab.allocate([] {}));
  });
  CHECK(slab.wait_result<adder>(waited)->sum == 1);
  CHECK(inner == errc::full);
}

TEST_CASE("a stop that drops says how many, and nobody waits for them in vain") {
  const watchdog patience(60s);
  job_slab slab({.jobs_per_thread = 16, .threads = 0});
  bool ran = false;
  const auto job = [&] { return slab.allocate([&] { ran = true; }).value(); };
  const job_slab::handle root = job();
  const job_slab::handle next = job();
  const job_slab::handle parent = job();
  const job_slab::handle child = job();
  const job_slab::handle idle = job();
  const job_slab::handle behind_idle = job();
  REQUIRE(slab.continue_with(root, next));
  REQUIRE(slab.finish_with(child, parent));
  REQUIRE(slab.continue_with(idle, behind_idle));
  for (const job_slab::handle& each : {root, parent, child}) REQUIRE(slab.schedule(each));
  CHECK(slab.stop(job_slab::stop_mode::drop) == 4);
  for (const job_slab::handle& each : {root, next, parent, child, idle, behind_idle})
    CHECK(error_of(slab.wait(each)) == errc::dropped);
  CHECK(error_of(slab.result<adder>(root)) == errc::dropped);
  CHECK(error_of(slab.allocate([] {})) == errc::closed);
  CHECK(error_of(slab.schedule(idle)) == errc::closed);
  CHECK(error_of(slab.continue_with(idle, root)) == errc::closed);
  CHECK(error_of(slab.finish_with(idle, root)) == errc::closed);
  CHECK(error_of(slab.start()) == errc::closed);
  CHECK(slab.stop(job_slab::stop_mode::drop) == 4);
  CHECK(slab.join());
  CHECK(slab.join());
  CHECK(!ran);
}

TEST_CASE("a stop ends the waits of threads without a seat") {
  const watchdog patience(60s);
  for (const job_slab::stop_mode mode : {job_slab::stop_mode::drain, job_slab::stop_mode::drop}) {
    job_slab slab({.jobs_per_thread = 4, .threads = 1, .idle_sleep = 0us});
    REQUIRE(slab.start());
    const job_slab::handle never = slab.allocate([] {}).value();
    std::atomic<bool> begun = false;
    std::thread waiter([&] {
      begun = true;
      CHECK(error_of(slab.wait(never)) == errc::dropped);
    });
    REQUIRE(eventually([&] { return begun.load(); }));
    slab.stop(mode);
    waiter.join();
    CHECK(error_of(slab.wait(never)) == errc::dropped);
  }
}

TEST_CASE("a stop that drains runs what is queued, and what continues it") {
  const watchdog patience(60s);
  for (const unsigned threads : {0U, 2U}) {
    std::atomic<int> runs{0};
    job_slab slab({.jobs_per_thread = 128, .threads = threads});
    for (int i = 0; i < 60; ++i) {
      const job_slab::handle first = slab.allocate([&] { ++runs; }).value();
      REQUIRE(slab.continue_with(first, slab.allocate([&] { ++runs; }).value()));
      REQUIRE(slab.schedule(first));
    }
    REQUIRE(slab.start());
    CHECK(slab.stop(job_slab::stop_mode::drain) == 0);
    REQUIRE(slab.join());
    CHECK(runs == 120);
    CHECK(slab.dropped() == 0);
  }
}

TEST_CASE("a join waits for a stop, and is refused to jobs") {
  const watchdog patience(60s);
  job_slab slab({.jobs_per_thread = 4, .threads = 0});
  REQUIRE(slab.wait(scheduled(slab, [&] { CHECK(error_of(slab.join()) == errc::would_deadlock); })));
  std::atomic<bool> stopped = false;
  std::thread joiner([&] {
    CHECK(slab.join());
    CHECK(stopped);
  });
  stopped = true;
  slab.stop(job_slab::stop_mode::drain);
  joiner.join();
}

TEST_CASE("a thousand slabs that start and stop leave nothing behind") {
  const watchdog patience(200s);
  std::ptrdiff_t before = 0;
  for (int cycle = 0; cycle < 1000; ++cycle) {
    if (cycle == 10) before = blocks_alive;
    job_slab slab({.jobs_per_thread = 8, .threads = 1, .idle_sleep = 0us});
    REQUIRE(slab.start());
    scheduled(slab, [kept = std::make_unique<int>(cycle)] {});
    if (cycle % 2 == 0) slab.stop(job_slab::stop_mode::drain);
    if (cycle % 6 == 0) CHECK(slab.join());
  }
  CHECK(blocks_alive == before);
}

TEST_CASE("a job may use another slab than the one that runs it") {
  const watchdog patience(60s);
  job_slab outer({.jobs_per_thread = 8, .threads = 1});
  REQUIRE(outer.start());
  int sum = 0;
  REQUIRE(outer.wait(scheduled(outer, [&] {
    job_slab inner({.jobs_per_thread = 8, .threads = 1});
    REQUIRE(inner.start());
    sum = inner.wait_result<adder>(scheduled(inner, adder{.sum = 1})).value().sum;
    sum += outer.wait_result<adder>(scheduled(outer, adder{.sum = 2})).value().sum;
  })));
  CHECK(sum == 5);
}
