// tests/base/config_test.cpp: the cache line is no smaller than the machine's, the library exports what it should, and
// sums are those of every processor.
#include <braid/base/config.hpp>

#include <braid/base/clock.hpp>

#include <doctest/doctest.h>

#include <cstddef>

#include <dlfcn.h>
#include <unistd.h>

TEST_CASE("objects aligned to a cache line share none") {
  struct alignas(braid::cache_line) lonely {
    char value;
  };
  CHECK(sizeof(lonely) == braid::cache_line);
  const long line = ::sysconf(_SC_LEVEL1_DCACHE_LINESIZE);  // 0 where the machine does not tell
  CHECK(static_cast<long>(braid::cache_line) >= line);
}

#if !defined(BRAID_STATIC)
TEST_CASE("functions marked as interface can be found in the shared library, and there is one of each") {
  const auto* clock = &braid::steady_time();
  void* found = ::dlsym(RTLD_DEFAULT, "_ZN5braid11steady_timeEv");
  REQUIRE(found != nullptr);
  CHECK(reinterpret_cast<const braid::clock_source& (*)()>(found)().now() >= clock->now() - std::chrono::hours(1));
  CHECK(&reinterpret_cast<const braid::clock_source& (*)()>(found)() == clock);
}
#endif

TEST_CASE("a product and a sum are rounded one after the other, whatever the processor could do at once") {
  volatile double above = 1 + 0x1p-30;  // read when the program runs
  volatile double below = 1 - 0x1p-30;
  volatile double minus_one = -1;
  const double product = above * below + minus_one;  // the exact product is 1 - 2^-60, and the double next to it 1
  CHECK(product == 0);
}
