// src/sync/asymmetric_barrier.cpp: implements the heavy side of the asymmetric barrier, with membarrier(2).
#include <braid/sync/detail/asymmetric_barrier.hpp>

#include "../platform/system.hpp"

#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/contention.hpp>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#if defined(__SANITIZE_THREAD__)
#define BRAID_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BRAID_THREAD_SANITIZER 1
#endif
#endif

namespace braid::detail {
namespace {

#if defined(BRAID_THREAD_SANITIZER)
// The thread sanitizer does not know membarrier(2). The sanitizer understands the ordering of a locked add, so the code
// uses a locked add instead.
auto try_register() noexcept -> bool { return false; }
#else
auto try_register() noexcept -> bool { return register_process_barrier(); }
#endif

/// Returns whether BRAID_BARRIER=fence selects the symmetric barrier.
auto is_fence_chosen() noexcept -> bool {
  const char* const value = trusted_environment("BRAID_BARRIER");
  if (value == nullptr) return false;
  const std::string_view name = value;
  if (name != "fence" && name != "membarrier")
    std::fprintf(stderr, "braid: BRAID_BARRIER is ignored: \"%s\" is neither membarrier nor fence\n", value);
  return name == "fence";
}

constexpr int unknown = -1;
constinit atomic<int> best{unknown};  // no guard: one held during a fork would block the child

/// Registers the child of a fork for membarrier(2) again. If a thread of the parent registered during the fork, the
/// registration is recorded in the child's memory, but the kernel may not have copied the registration to the child.
void register_again() noexcept {
  if (best.load(relaxed) == static_cast<int>(barrier_kind::asymmetric)) static_cast<void>(try_register());
}

/// The handler is registered when the library is loaded, because the first barrier may be created while another thread
/// forks.
[[maybe_unused]] const int barrier_fork_handler = call_at_fork(nullptr, nullptr, &register_again);

}  // namespace

auto asymmetric_barrier::best_kind() noexcept -> barrier_kind {
#if defined(BRAID_MODEL)
  if (detail::model_active()) return barrier_kind::asymmetric;  // the explorer has its own barrier on every machine
#endif
  int known = best.load(relaxed);
  if (known != unknown) return static_cast<barrier_kind>(known);
  const auto found =
      static_cast<int>(!is_fence_chosen() && try_register() ? barrier_kind::asymmetric : barrier_kind::symmetric);
  return static_cast<barrier_kind>(best.compare_exchange_strong(known, found, relaxed, relaxed) ? found : known);
}

/// Executes a full fence, with a locked instruction on the caller's own stack. If all threads changed one shared word
/// instead, the cache line of that word would move between the threads, and a fence would take several times as long.
void asymmetric_barrier::fence() noexcept {
#if defined(BRAID_MODEL) || defined(BRAID_THREAD_SANITIZER)
  meet();
#elif defined(__x86_64__)
  // A locked instruction is as strong as mfence, and faster. Its operand is 64 bytes below the stack pointer, not at
  // the return address, because the return would wait for the locked instruction.
  asm volatile("lock; orl $0, -64(%%rsp)" ::: "memory", "cc");
#elif defined(__aarch64__)
  asm volatile("dmb ish" ::: "memory");
#else
  meet();
#endif
}

constinit thread_local contention_counts* contention_of_thread __attribute__((tls_model("initial-exec"))) = nullptr;

void asymmetric_barrier::interrupt_processors() noexcept {
  count_contention(&contention_counts::heavy_barriers);
  BRAID_EXPECTS(run_process_barrier(),
                "membarrier(2) failed, but was allowed before. The call must stay allowed: install seccomp filters "
                "before the first pool is created");
}

}  // namespace braid::detail
