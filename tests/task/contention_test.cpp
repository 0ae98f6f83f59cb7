// tests/task/contention_test.cpp: what workers pay where others want the same words is counted, and nothing elsewhere.
#include <braid/sync/detail/contention.hpp>

#include <braid/sync/detail/asymmetric_barrier.hpp>
#include <braid/task/pool.hpp>

#include <doctest/doctest.h>

#include <tests/support/eventually.hpp>

#include <utility>

using braid::relaxed;
using braid::detail::asymmetric_barrier;
using braid::detail::contention_counts;
using braid::detail::contention_of_thread;

namespace {

/// Heavy sides that interrupt no processor are not counted.
auto is_counted() -> bool { return asymmetric_barrier::best_kind() == braid::detail::barrier_kind::asymmetric; }

}  // namespace

TEST_CASE("a thread counts where it has been told to") {
  contention_counts counts;
  asymmetric_barrier barrier;
  contention_counts* const before = std::exchange(contention_of_thread, &counts);
  barrier.heavy();
  braid::detail::note_lost_exchange();
  contention_of_thread = nullptr;
  barrier.heavy();
  braid::detail::note_lost_exchange();
  contention_of_thread = before;
  CHECK(counts.heavy_barriers.load(relaxed) == (is_counted() ? 1 : 0));
  CHECK(counts.lost_exchanges.load(relaxed) == 1);
}

TEST_CASE("a worker that falls asleep has crossed the heavy side of its pool's barrier") {
  braid::pool workers({.workers = 1});
  CHECK(braid::testing::eventually([&] { return workers.statistics().sleeps != 0; }));
  CHECK((workers.statistics().heavy_barriers != 0) == is_counted());
  CHECK(contention_of_thread == nullptr);
}
