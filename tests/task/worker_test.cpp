// tests/task/worker_test.cpp: a thread knows which worker it is, for as long as it is one.
#include <braid/task/worker.hpp>

#include <doctest/doctest.h>

#include <tests/support/bare_workers.hpp>

#include <cstdint>
#include <thread>

using braid::detail::current_worker;
using braid::detail::worker_scope;
using braid::testing::bare_workers;

TEST_CASE("a thread is a worker within the scope, and none outside of it") {
  bare_workers scheduler_base(4);
  CHECK(braid::detail::current_worker() == nullptr);
  {
    const worker_scope here(scheduler_base[3]);
    CHECK(braid::detail::current_worker() == &scheduler_base[3]);
    CHECK(braid::detail::current_worker()->index == 3);
    CHECK(braid::detail::current_worker()->pool == &scheduler_base.nowhere);
  }
  CHECK(braid::detail::current_worker() == nullptr);
}

TEST_CASE("other threads do not become workers with it") {
  bare_workers scheduler_base(1);
  const worker_scope here(scheduler_base[0]);
  const braid::worker* seen = &scheduler_base[0];
  std::thread([&] { seen = braid::detail::current_worker(); }).join();
  CHECK(seen == nullptr);
  CHECK(braid::detail::current_worker() == &scheduler_base[0]);
}

TEST_CASE("a worker that becomes another one for a while is itself again afterwards") {
  bare_workers first(1);
  bare_workers second(1);
  const worker_scope here(first[0]);
  {
    const worker_scope there(second[0]);
    CHECK(braid::detail::current_worker() == &second[0]);
  }
  CHECK(braid::detail::current_worker() == &first[0]);
}

TEST_CASE("workers share no cache line") {
  bare_workers scheduler_base(1);
  CHECK(reinterpret_cast<std::uintptr_t>(&scheduler_base[0]) % braid::cache_line == 0);
  CHECK(sizeof(braid::worker) % braid::cache_line == 0);
}
