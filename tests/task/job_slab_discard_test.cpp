// tests/task/job_slab_discard_test.cpp: a job of a slab that is discarded gives its slot back; results that move.
#include <braid/task/job_slab.hpp>

#include <doctest/doctest.h>

#include <tests/support/deaths.hpp>
#include <tests/support/watchdog.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

using braid::errc;
using braid::job_slab;
using braid::when_full;
using braid::testing::deaths;
using braid::testing::mortal;
using braid::testing::watchdog;
using namespace std::chrono_literals;

namespace {

auto error_of(const auto& result) -> std::error_code { return result ? std::error_code() : result.error(); }

auto scheduled(job_slab& slab, auto fn) -> job_slab::handle {
  const job_slab::handle job = slab.allocate(std::move(fn)).value();
  REQUIRE(slab.schedule(job));
  return job;
}

/// Makes a number that nobody can copy.
struct maker {
  std::unique_ptr<int> made;
  void operator()() { made = std::make_unique<int>(7); }
};

/// The same, but too large for a slot.
struct large_maker : maker {
  std::array<char, 500> more{};
};

}  // namespace

TEST_CASE("a job that is discarded gives its slot back, and the ring goes on") {
  job_slab slab({.jobs_per_thread = 4, .threads = 0});
  deaths ended;
  int runs = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto job = slab.allocate([&runs, guard = mortal(ended)] { ++runs; });
    REQUIRE(job);
    CHECK(ended.count == i);
    REQUIRE(slab.discard(*job));
    CHECK(ended.count == i + 1);  // at once
    CHECK(error_of(slab.discard(*job)) == errc::invalid_argument);
    CHECK(error_of(slab.schedule(*job)) == errc::invalid_argument);
  }
  CHECK(runs == 0);
  CHECK(slab.dropped() == 0);
  for (int i = 0; i < 4; ++i) CHECK(slab.wait(scheduled(slab, [&runs] { ++runs; })));
  CHECK(runs == 4);
}

TEST_CASE("a thread without a ring of its own discards its jobs, and those of others") {
  const watchdog patience(60s);
  job_slab slab({.jobs_per_thread = 2, .threads = 0});
  const std::array own{slab.allocate([] {}).value(), slab.allocate([] {}).value()};
  std::thread([&] {
    for (int i = 0; i < 100; ++i) REQUIRE(slab.discard(slab.allocate([] {}).value()));
    for (const job_slab::handle job : own) REQUIRE(slab.discard(job));
  }).join();
  CHECK(slab.wait(scheduled(slab, [] {})));
  CHECK(slab.wait(scheduled(slab, [] {})));
}

TEST_CASE("dependents of a discarded job fail, or go on") {
  const watchdog patience(60s);
  job_slab slab({.jobs_per_thread = 8, .threads = 1});
  REQUIRE(slab.start());
  int runs = 0;
  const job_slab::handle given_up = slab.allocate([] {}).value();
  const job_slab::handle next = slab.allocate([&runs] { ++runs; }).value();
  const job_slab::handle parent = slab.allocate([] {}).value();
  REQUIRE(slab.continue_with(given_up, next));
  REQUIRE(slab.finish_with(given_up, parent));
  REQUIRE(slab.schedule(parent));
  CHECK(error_of(slab.discard(next)) == errc::invalid_argument);  // it continues another
  REQUIRE(slab.discard(given_up));
  CHECK(error_of(slab.wait(given_up)) == errc::dropped);
  CHECK(slab.wait(next));
  CHECK(slab.wait(parent));
  CHECK(runs == 1);
}

TEST_CASE("a job is not discarded twice, nor after it was scheduled, nor once it is gone") {
  job_slab slab({.jobs_per_thread = 1, .threads = 0, .full = when_full::run_inline});
  CHECK(error_of(slab.discard(job_slab::handle())) == errc::invalid_argument);
  const job_slab::handle first = scheduled(slab, [] {});
  CHECK(error_of(slab.discard(first)) == errc::invalid_argument);
  CHECK(error_of(slab.discard(slab.allocate([] {}).value())) == errc::finished);  // it was run inline
  REQUIRE(slab.wait(first));
  const job_slab::handle second = slab.allocate([] {}).value();
  CHECK(error_of(slab.discard(first)) == errc::stale);
  CHECK(slab.discard(second));
  slab.stop(job_slab::stop_mode::drop);
  CHECK(error_of(slab.discard(second)) == errc::closed);
}

TEST_CASE("a result that cannot be copied is moved out, once") {
  job_slab slab({.jobs_per_thread = 4, .threads = 0});
  const job_slab::handle job = slab.allocate(maker{}).value();
  CHECK(error_of(slab.result<maker>(job)) == errc::unfinished);
  REQUIRE(slab.schedule(job));
  CHECK(*slab.wait_result<maker>(job)->made == 7);
  CHECK(error_of(slab.result<maker>(job)) == errc::finished);
  CHECK(slab.wait(job));

  const job_slab::handle large = scheduled(slab, large_maker{});
  CHECK(error_of(slab.wait_result<maker>(large)) == errc::invalid_argument);
  CHECK(*slab.wait_result<large_maker>(large)->made == 7);
  CHECK(error_of(slab.wait_result<large_maker>(large)) == errc::finished);

  const job_slab::handle again = scheduled(slab, maker{});
  const job_slab::handle next = slab.allocate([] {}).value();
  CHECK(*slab.wait_result<maker>(again)->made == 7);
  REQUIRE(slab.continue_with(again, next));  // which changes what the slot says, but not that the result is gone
  CHECK(slab.wait(next));
  CHECK(error_of(slab.result<maker>(again)) == errc::finished);
}

TEST_CASE("of several threads one gets the result") {
  const watchdog patience(60s);
  job_slab slab({.jobs_per_thread = 4, .threads = 0});
  const job_slab::handle job = scheduled(slab, maker{});
  REQUIRE(slab.wait(job));
  std::array<bool, 3> got{};
  {
    std::array<std::jthread, 3> all;
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = std::jthread([&slab, &got, job, i] { got[i] = slab.result<maker>(job).has_value(); });
  }
  CHECK(static_cast<int>(got[0]) + static_cast<int>(got[1]) + static_cast<int>(got[2]) == 1);
}
