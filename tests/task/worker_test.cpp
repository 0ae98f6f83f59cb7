// tests/task/worker_test.cpp: a thread knows which worker it is, for as long as it is one.
#include <braid/task/worker.hpp>

#include <doctest/doctest.h>

#include <tests/support/child.hpp>
#include <tests/support/manual_executor.hpp>

#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

using braid::current_worker;
using braid::detail::worker_scope;

TEST_CASE("a thread is a worker within the scope, and none outside of it") {
  braid::testing::manual_executor pool;
  braid::worker self(pool, 3);
  CHECK(current_worker() == nullptr);
  {
    const worker_scope here(self);
    CHECK(current_worker() == &self);
    CHECK(current_worker()->index == 3);
    CHECK(current_worker()->pool == &pool);
  }
  CHECK(current_worker() == nullptr);
}

TEST_CASE("other threads do not become workers with it") {
  braid::testing::manual_executor pool;
  braid::worker self(pool, 0);
  const worker_scope here(self);
  const braid::worker* seen = &self;
  std::thread([&] { seen = current_worker(); }).join();
  CHECK(seen == nullptr);
  CHECK(current_worker() == &self);
}

TEST_CASE("a thread cannot be two workers at a time") {
  const auto end = braid::testing::run_in_child([] {
    braid::testing::manual_executor pool;
    braid::worker first(pool, 0);
    braid::worker second(pool, 1);
    const worker_scope here(first);
    const worker_scope there(second);
  });
  CHECK(end.signal == SIGABRT);
  CHECK(end.errors.find("a thread is the worker of one pool at a time") != std::string::npos);
}

TEST_CASE("workers share no cache line") {
  braid::testing::manual_executor pool;
  const auto one = std::make_unique<braid::worker>(pool, 0);
  CHECK(reinterpret_cast<std::uintptr_t>(one.get()) % braid::cache_line == 0);
  CHECK(sizeof(braid::worker) % braid::cache_line == 0);
}
