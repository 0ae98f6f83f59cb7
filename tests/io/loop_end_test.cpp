// tests/io/loop_end_test.cpp: what a loop waits for that is destroyed while a thread that has woken it is on its way
// out.
#include <braid/io/loop.hpp>

#include <braid/sync/atomic.hpp>
#include <braid/task/executor.hpp>

#include <tests/support/eventually.hpp>
#include <tests/support/sleeper.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <latch>
#include <memory>

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace braid;
using testing::sleeper;

namespace {

/// What a thread does after each of its writes and yields; null for most.
struct hooks {
  std::latch* holds_after_write = nullptr;
  atomic<std::size_t>* counts_yields = nullptr;
};
constinit thread_local hooks of_thread;

}  // namespace

// In place of those of the system, so that the test stops a thread between a write and what follows it.
extern "C" {

[[gnu::visibility("default")]] auto write(int file, const void* data, std::size_t size) -> ::ssize_t {
  const ::ssize_t written = ::syscall(SYS_write, file, data, size);
  if (of_thread.holds_after_write != nullptr) of_thread.holds_after_write->wait();
  return written;
}

[[gnu::visibility("default")]] auto sched_yield() noexcept -> int {
  if (of_thread.counts_yields != nullptr) of_thread.counts_yields->fetch_add(1, relaxed);
  return static_cast<int>(::syscall(SYS_sched_yield));
}

}  // extern "C"

TEST_CASE("a loop is there until a thread has left that woke it, though it has stopped long ago") {
  auto io = loop::create().value();
  std::latch goes_on(1);
  atomic<std::size_t> yields{0};
  {
    const sleeper runs([&] { io->run(); });
    REQUIRE(runs.falls_asleep());
    const sleeper posts([&] {
      of_thread.holds_after_write = &goes_on;
      CHECK(post(*io, [&io] { io->stop(); }).has_value());
      of_thread = {};
    });
    REQUIRE(testing::eventually([&] { return runs.returned(); }));
    const sleeper ends([&] {
      of_thread.counts_yields = &yields;
      io.reset();
      of_thread = {};
    });
    CHECK(testing::eventually([&] { return ends.returned() || yields.load(relaxed) != 0; }));
    CHECK(yields.load(relaxed) != 0);
    goes_on.count_down();
  }
  CHECK(io == nullptr);
}
