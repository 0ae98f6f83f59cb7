// tests/sync/asymmetric_barrier_test.cpp: which kind a process gets, and that both sides of either kind can be crossed.
#include <braid/sync/detail/asymmetric_barrier.hpp>

#include <doctest/doctest.h>

#include <tests/support/sanitizer.hpp>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using braid::detail::asymmetric_barrier;
using braid::detail::barrier_kind;

namespace {

auto system_can() -> bool {
  const long commands = ::syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
  return commands >= 0 && (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0;
}

/// From here on this process is refused the system call. False where filters are refused as well.
auto refuse_membarrier() -> bool {
  std::array<sock_filter, 4> code{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program{.len = code.size(), .filter = code.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

constexpr int passed = 0;
constexpr int failed = 1;
constexpr int no_filters = 2;

/// What a child that is refused the call makes of the barrier.
[[noreturn]] void cross_refused() {
  if (!refuse_membarrier()) ::_exit(no_filters);
  asymmetric_barrier barrier;
  barrier.light();
  barrier.heavy();
  ::_exit(barrier.kind() == barrier_kind::symmetric ? passed : failed);
}

/// Returns the exit status of a child in which BRAID_BARRIER has that value: `passed` if its barrier has that kind.
auto child_with(const char* value, barrier_kind expected) -> int {
  const ::pid_t child = ::fork();
  if (child == 0) {
    ::setenv("BRAID_BARRIER", value, 1);
    ::_exit(asymmetric_barrier().kind() == expected ? passed : failed);
  }
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : failed;
}

auto best_of_system() -> barrier_kind {
  const bool can = system_can() && !braid::testing::under_thread_sanitizer;
  return can ? barrier_kind::asymmetric : barrier_kind::symmetric;
}

}  // namespace

TEST_CASE("where the system refuses, a barrier is symmetric") {
  // First in this file: the process must not have asked yet, since it asks once.
  const ::pid_t child = ::fork();
  if (child == 0) cross_refused();
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == no_filters) MESSAGE("this system refuses filters of system calls");
  CHECK(WEXITSTATUS(status) != failed);
}

TEST_CASE("BRAID_BARRIER chooses the kind, and a wrong value is ignored") {
  // Before the cases below, in which this process asks.
  CHECK(child_with("fence", barrier_kind::symmetric) == passed);
  CHECK(child_with("membarrier", best_of_system()) == passed);
  CHECK(child_with("mfence", best_of_system()) == passed);
}

TEST_CASE("a barrier is asymmetric where the system can and no thread sanitizer watches") {
  CHECK(asymmetric_barrier().kind() == best_of_system());
  CHECK(asymmetric_barrier::best_kind() == asymmetric_barrier().kind());
}

TEST_CASE("both sides of both kinds can be crossed") {
  for (const barrier_kind kind : {asymmetric_barrier::best_kind(), barrier_kind::symmetric}) {
    asymmetric_barrier barrier(kind);
    CHECK(barrier.kind() == kind);
    barrier.light();
    barrier.heavy();
  }
}
