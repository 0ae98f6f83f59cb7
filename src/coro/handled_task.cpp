// src/coro/handled_task.cpp: stopping a task from any thread while it ends.
#include <braid/coro/detail/handled_task.hpp>

#include <braid/coro/home.hpp>
#include <braid/sync/atomic.hpp>

#include <cstdint>
#include <string>

namespace braid::detail {
namespace {

constinit atomic<std::uint64_t> last_number{0};  // of a task; written by the spawning threads

}  // namespace

constinit const char task_info_key = 0;

handled_task_base::handled_task_base(std::string name)
    : info_{.id = {.number = last_number.fetch_add(1, relaxed) + 1}, .name = std::move(name)} {}

/// Not with the lock held: a stop may run steps of the task here, where an executor has refused its home.
void handled_task_base::request_stop(errc reason) noexcept {
  scope* running = nullptr;
  {
    const std::lock_guard guard(lock_);
    if (running_ == nullptr) {
      asked_ = asked_.value_or(reason);
      return;
    }
    running = running_;
    ++stopping_;
  }
  running->request_stop(reason);
  leave_awaiter* last = nullptr;
  {
    const std::lock_guard guard(lock_);
    if (--stopping_ == 0) last = std::exchange(leaving_, nullptr);
  }
  if (last != nullptr) last->home_->post_resumption(*last);
}

void handled_task_base::begin(scope& in) noexcept {
  std::optional<errc> asked;
  {
    const std::lock_guard guard(lock_);
    running_ = &in;
    asked = asked_;
  }
  if (asked) in.request_stop(*asked);
}

/// Whether no other thread is about to stop the scope.
auto handled_task_base::leave_awaiter::left() noexcept -> bool {
  const std::lock_guard guard(of_->lock_);
  of_->running_ = nullptr;
  if (of_->stopping_ == 0) return true;
  of_->leaving_ = this;
  return false;
}

auto handled_task_base::settle() noexcept -> bool {
  wake_list woken;
  const std::lock_guard guard(lock_);
  is_done_ = true;
  waiting_.pop_all(woken);
  return is_detached_;
}

}  // namespace braid::detail
