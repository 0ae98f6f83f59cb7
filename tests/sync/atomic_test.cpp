// tests/sync/atomic_test.cpp: the library's atomic is the standard's, and the short names mean what they say.
#include <braid/sync/atomic.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <type_traits>

#if !defined(BRAID_MODEL)
TEST_CASE("outside of the model build the atomic is std::atomic") {
  CHECK(std::is_same_v<braid::atomic<int>, std::atomic<int>>);
  CHECK(braid::atomic<void*>::is_always_lock_free);
}
#endif

TEST_CASE("the short names are the memory orders of the standard") {
  CHECK(braid::relaxed == std::memory_order_relaxed);
  CHECK(braid::acquire == std::memory_order_acquire);
  CHECK(braid::release == std::memory_order_release);
  CHECK(braid::acq_rel == std::memory_order_acq_rel);
  CHECK(braid::seq_cst == std::memory_order_seq_cst);
}
