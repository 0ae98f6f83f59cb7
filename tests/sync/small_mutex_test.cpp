// tests/sync/small_mutex_test.cpp: one thread at a time is inside, and those that sleep for it are woken.
#include <braid/sync/detail/small_mutex.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

using braid::detail::small_mutex;

TEST_CASE("a lock has the size of its word") { CHECK(sizeof(small_mutex) == 4); }

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
