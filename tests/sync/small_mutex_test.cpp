// tests/sync/small_mutex_test.cpp: one thread at a time is inside, and those that wait for it come in.
#include <braid/sync/detail/small_mutex.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

using braid::detail::small_mutex;

TEST_CASE("a lock is one byte") { CHECK(sizeof(small_mutex) == 1); }

TEST_CASE("a thread that waits for longer than it polls comes in after the holder") {
  small_mutex lock;
  int value = 0;
  lock.lock();
  std::jthread waiting([&] {
    const std::lock_guard guard(lock);
    value *= 2;
  });
  for (int i = 0; i < 1'000; ++i) std::this_thread::yield();  // by now it sleeps, if it has begun
  value = 21;
  lock.unlock();
  waiting.join();
  CHECK(value == 42);
}

TEST_CASE("threads that add under a lock lose nothing") {
  constexpr std::size_t each = 20'000;
  small_mutex lock;
  std::size_t count = 0;
  const auto add = [&] {
    for (std::size_t i = 0; i < each; ++i) {
      const std::lock_guard guard(lock);
      count = count + 1;
      if (i % 1'000 == 0) std::this_thread::yield();  // the others come to wait
    }
  };
  {
    std::vector<std::jthread> all;
    for (int i = 0; i < 4; ++i) all.emplace_back(add);
  }
  CHECK(count == 4 * each);
}
