// examples/24_execution.cpp: senders of std::execution in tasks, and tasks as
// senders.
#include <braid/execution.hpp>

#include <braid/coro/serial_executor.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/task/pool.hpp>

#include <cstdio>
#include <exception>
#include <latch>
#include <utility>

namespace execution = braid::execution;

namespace {

// [task]
/// Computes on the pool, and continues at home.
auto square(braid::serial_executor& home, braid::pool& workers, int n)
    -> braid::task<int> {
  co_await execution::schedule(braid::scheduler_of(workers));
  std::printf("at home again: %s\n", home.is_current() ? "yes" : "no");
  co_return n* n;
}
// [/task]

// [receiver]
/// The end of a chain of senders, as algorithms of std::execution write it.
struct print_and_count {
  using receiver_concept = execution::receiver_t;

  void set_value(int value) && noexcept {
    std::printf("value %d\n", value);
    over->count_down();
  }
  void set_error(std::exception_ptr) && noexcept { over->count_down(); }
  void set_stopped() && noexcept {
    std::puts("stopped");
    over->count_down();
  }

  std::latch* over;
};
// [/receiver]

}  // namespace

auto main() -> int {
  braid::pool workers({.workers = 2});
  braid::serial_executor home(workers);
  std::latch over(1);
  // [sender]
  // Nothing runs before `start`, and the operation allocates nothing.
  auto work = execution::connect(
      braid::as_sender(home, square(home, workers, 7)), print_and_count{&over});
  execution::start(work);
  // [/sender]
  over.wait();
}
