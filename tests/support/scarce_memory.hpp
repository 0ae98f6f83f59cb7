// tests/support/scarce_memory.hpp: runs a scene again and again while one allocation after the other fails.
#pragma once

#include <doctest/doctest.h>

#include <tests/support/sanitizer.hpp>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <system_error>
#include <thread>

// Including this replaces the operators of the program, so one source of it does. The address sanitizer watches malloc
// and free, and sees these as well as its own. The thread sanitizer wants to have its own: there nothing fails, and
// each scene runs a few times.

namespace braid::testing {

/// Which allocations fail, of all threads together.
enum class scarcity : std::uint8_t {
  one,   ///< the n-th
  rest,  ///< the n-th and all that come after it
};

namespace detail {

inline constexpr long never = -1;
inline std::atomic<long> until_failure{never};  // allocations that still succeed; `never`: all do
inline std::atomic<bool> goes_on{false};        // whether those after the first that fails do, too
inline std::atomic<long> failed{0};             // since `begin_failing`
inline std::atomic<long> alive{0};              // blocks that were not given back
inline std::atomic<long> requested{0};          // bytes of all blocks so far

inline auto fails_now() noexcept -> bool {
  long left = until_failure.load();
  while (left > 0)
    if (until_failure.compare_exchange_weak(left, left - 1)) return false;
  if (left == never) return false;
  if (!goes_on.load() && !until_failure.compare_exchange_strong(left, never)) return false;
  failed.fetch_add(1);
  return true;
}

inline auto get(std::size_t size, std::size_t alignment) noexcept -> void* {
  if (fails_now()) return nullptr;
  if (size == 0) size = 1;
  void* const place = alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__
                          ? std::malloc(size)
                          : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (place != nullptr) {
    alive.fetch_add(1);
    requested.fetch_add(static_cast<long>(size));
  }
  return place;
}

inline auto get_or_throw(std::size_t size, std::size_t alignment) -> void* {
  void* const place = get(size, alignment);
  return place != nullptr ? place : throw std::bad_alloc();
}

inline void give_back(void* place) noexcept {
  if (place == nullptr) return;
  alive.fetch_sub(1);
  std::free(place);
}

}  // namespace detail

/// What memory does while this lives, on all threads.
class scarce_memory {
 public:
  scarce_memory(long succeed, scarcity then) noexcept {
    detail::failed.store(0);
    detail::goes_on.store(then == scarcity::rest);
    detail::until_failure.store(succeed);
  }
  scarce_memory(const scarce_memory&) = delete;
  auto operator=(const scarce_memory&) -> scarce_memory& = delete;
  ~scarce_memory() { end(); }

  /// There is memory again.
  static void end() noexcept { detail::until_failure.store(detail::never); }
};

/// Blocks that came from operator new and have not gone back.
inline auto blocks_alive() noexcept -> long { return detail::alive.load(); }

/// Returns the number of bytes that operator new has returned so far.
inline auto bytes_requested() noexcept -> long { return detail::requested.load(); }

/// How many allocations have failed since memory became scarce.
inline auto failures() noexcept -> long { return detail::failed.load(); }

/// Whether what was thrown says that memory was short.
inline auto is_shortage(const std::exception_ptr& thrown) -> bool {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    return true;
  } catch (const std::system_error& error) {
    return error.code() == std::errc::not_enough_memory || error.code() == std::errc::resource_unavailable_try_again;
  } catch (...) {
    return false;
  }
}

/// Calls `part` and tells whether it came to its end. Fails the case where what it throws is not that memory was short.
template <typename Part>
auto survives(Part&& part) -> bool {
  try {
    part();
    return true;
  } catch (...) {
    if (is_shortage(std::current_exception())) return false;
    scarce_memory::end();
    throw;
  }
}

/// When the blocks of a scene are freed: at its end, or by threads that go on.
enum class frees : bool { at_once, later };

/// Runs `scene` on a thread of its own with the n-th allocation failing, for each n, until it passes several times
/// without a failure: so many, because what other threads allocate comes at another count each time. `scene` is called
/// again and again, and lets what is thrown at it pass. Nothing may be left of it: that is seen where every block comes
/// from operator new, under the address sanitizer, unless threads of the scene free blocks when it has ended.
template <typename Scene>
void fail_everywhere(Scene&& scene, frees when = frees::at_once) {
  constexpr int passes_enough = 3;
  constexpr long max_count = 20'000;
  const auto once = [&scene](long succeed, scarcity then) {
    std::exception_ptr unexpected;
    std::thread([&] {
      const scarce_memory scarce(succeed, then);
      try {
        static_cast<void>(survives(scene));
      } catch (...) {
        unexpected = std::current_exception();
      }
    }).join();
    if (unexpected != nullptr) std::rethrow_exception(unexpected);
    return failures();
  };
  for (const scarcity then : {scarcity::one, scarcity::rest}) {
    CAPTURE(then == scarcity::rest);
    for (int warm = 0; warm < 2; ++warm) once(max_count, scarcity::one);
    long injected = 0;
    for (long n = 0, passed = 0; passed < passes_enough; ++n) {
      CAPTURE(n);
      REQUIRE(n < max_count);
      const long before = blocks_alive();
      const long hit = once(n, then);
      injected += hit;
      passed = hit == 0 ? passed + 1 : 0;
      if (under_address_sanitizer && when == frees::at_once) CHECK(blocks_alive() == before);
    }
    CHECK((injected != 0 || under_thread_sanitizer));
  }
}

}  // namespace braid::testing

#if !defined(BRAID_TEST_THREAD)
// Out of line, because g++ 12 otherwise sees a malloc that a delete frees.
[[gnu::noinline]] auto operator new(std::size_t size) -> void* {
  return braid::testing::detail::get_or_throw(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
[[gnu::noinline]] auto operator new[](std::size_t size) -> void* {
  return braid::testing::detail::get_or_throw(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
[[gnu::noinline]] auto operator new(std::size_t size, std::align_val_t alignment) -> void* {
  return braid::testing::detail::get_or_throw(size, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] auto operator new[](std::size_t size, std::align_val_t alignment) -> void* {
  return braid::testing::detail::get_or_throw(size, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] auto operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept -> void* {
  return braid::testing::detail::get(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
[[gnu::noinline]] auto operator new[](std::size_t size, const std::nothrow_t& /*tag*/) noexcept -> void* {
  return braid::testing::detail::get(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
[[gnu::noinline]] auto operator new(std::size_t size, std::align_val_t alignment,
                                    const std::nothrow_t& /*tag*/) noexcept -> void* {
  return braid::testing::detail::get(size, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] auto operator new[](std::size_t size, std::align_val_t alignment,
                                      const std::nothrow_t& /*tag*/) noexcept -> void* {
  return braid::testing::detail::get(size, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* place) noexcept { braid::testing::detail::give_back(place); }
[[gnu::noinline]] void operator delete[](void* place) noexcept { braid::testing::detail::give_back(place); }
[[gnu::noinline]] void operator delete(void* place, std::size_t /*size*/) noexcept {
  braid::testing::detail::give_back(place);
}
[[gnu::noinline]] void operator delete[](void* place, std::size_t /*size*/) noexcept {
  braid::testing::detail::give_back(place);
}
[[gnu::noinline]] void operator delete(void* place, std::align_val_t /*alignment*/) noexcept {
  braid::testing::detail::give_back(place);
}
[[gnu::noinline]] void operator delete[](void* place, std::align_val_t /*alignment*/) noexcept {
  braid::testing::detail::give_back(place);
}
[[gnu::noinline]] void operator delete(void* place, std::size_t /*size*/, std::align_val_t /*alignment*/) noexcept {
  braid::testing::detail::give_back(place);
}
[[gnu::noinline]] void operator delete[](void* place, std::size_t /*size*/, std::align_val_t /*alignment*/) noexcept {
  braid::testing::detail::give_back(place);
}
#endif
