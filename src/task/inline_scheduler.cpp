// src/task/inline_scheduler.cpp: runs jobs on the thread that posts them, without growing the stack.
#include <braid/task/detail/inline_scheduler.hpp>

#include <braid/base/detail/intrusive_queue.hpp>
#include <braid/sync/detail/user_code.hpp>
#include <braid/task/pool.hpp>

#include <exception>
#include <utility>

namespace braid::detail {
namespace {

/// The jobs that a thread runs without being a worker, innermost_inline_run first.
struct inline_run {
  const inline_scheduler* where;
  inline_run* outer;
  intrusive_queue<job> waiting{};  // posted by the job that runs
};

constinit thread_local inline_run* innermost_inline_run = nullptr;

auto find_run(const inline_scheduler& where) noexcept -> inline_run* {
  inline_run* found = innermost_inline_run;
  while (found != nullptr && found->where != &where) found = found->outer;
  return found;
}

}  // namespace

auto runs_inline() noexcept -> bool { return innermost_inline_run != nullptr; }

auto inline_scheduler::place(job& work, worker* /*poster*/, priority /*level*/) noexcept -> placement {
  constexpr placement done{.how = placement::verdict::can_wait};
  if (inline_run* const running = find_run(*this); running != nullptr) {
    if ((state_.load(relaxed) & closed) != 0) return {};
    running->waiting.push(work);
    return done;
  }
  const bool accepted = (state_.fetch_add(1, relaxed) & closed) == 0;
  if (accepted) {
    const user_code_section section;
    inline_run mine{.where = this, .outer = innermost_inline_run};
    innermost_inline_run = &mine;
    run(work);
    while (job* const next = mine.waiting.pop()) drops_.load(relaxed) ? next->drop() : run(*next);
    innermost_inline_run = mine.outer;
  }
  // edge inline_scheduler.done: publish, the waiter sees what the jobs did
  const std::uint32_t before = state_.fetch_sub(1, release);
  if ((before & ~closed) == 1) owner_.sleepers_->became_idle();
  return accepted ? done : placement{};
}

auto inline_scheduler::is_current() const noexcept -> bool { return find_run(*this) != nullptr; }

auto inline_scheduler::empty() noexcept -> bool {
  return (state_.load(acquire) & ~closed) == 0;  // edge inline_scheduler.done: observe, what the jobs did is seen
}

void inline_scheduler::close() noexcept { state_.fetch_or(closed, relaxed); }

void inline_scheduler::run(job& work) noexcept {
  try {
    run_job(work);
  } catch (...) {
    owner_.report(std::current_exception());
  }
}

}  // namespace braid::detail
