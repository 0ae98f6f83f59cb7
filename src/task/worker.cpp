// src/task/worker.cpp: stores and returns the worker context of the calling thread.
#include <braid/task/worker.hpp>

#include "../platform/system.hpp"

#include <utility>

namespace braid {
namespace detail {

constinit thread_local worker* worker_of_thread __attribute__((tls_model("initial-exec"))) = nullptr;
constinit thread_local bool thread_runs_a_loop __attribute__((tls_model("initial-exec"))) = false;

}  // namespace detail

namespace {

/// Resets the state of the child's only thread after a fork. The thread is not a worker and runs no loop, even if it
/// did in the parent.
void forget_worker_in_child() noexcept {
  detail::worker_of_thread = nullptr;
  detail::thread_runs_a_loop = false;
  detail::contention_of_thread = nullptr;
}

[[maybe_unused]] const int worker_fork_handler = detail::call_at_fork(nullptr, nullptr, &forget_worker_in_child);

}  // namespace

[[gnu::noinline]] auto detail::current_worker() noexcept -> worker* { return detail::worker_of_thread; }

[[gnu::noinline]] auto detail::waits_for_io() noexcept -> bool {
  if (detail::thread_runs_a_loop) return true;
  return detail::worker_of_thread != nullptr && detail::worker_of_thread->has_own_work;
}

worker::worker(executor& owner, std::size_t number, detail::asymmetric_barrier& barrier, const clock_source& clock,
               std::unique_ptr<driver> sleeps_in)
    : pool(&owner),
      index(number),
      sleep(std::move(sleeps_in)),
      has_own_work(sleep->has_own_work()),
      forking{.pace = detail::fork_pace(clock, decltype(forks)::no_entries(barrier.kind()))},
      pace(clock),
      box(barrier),
      own_producer(box.open_producer()),  // before any other thread can request one
      forks(first_forks, barrier, max_forks) {}

namespace detail {

worker_scope::worker_scope(worker* self) noexcept
    : outer_(std::exchange(worker_of_thread, self)),
      outer_counts_(std::exchange(contention_of_thread, self != nullptr ? &self->counters.contention : nullptr)) {}

worker_scope::~worker_scope() {
  worker_of_thread = outer_;
  contention_of_thread = outer_counts_;
}

}  // namespace detail
}  // namespace braid
