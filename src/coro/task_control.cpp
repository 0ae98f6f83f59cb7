// src/coro/task_control.cpp: stops a spawned task from any thread, while the task runs or ends.
#include <braid/coro/detail/task_control.hpp>

#include <braid/coro/scope.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/trace/detail/hooks.hpp>

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

namespace braid::detail {
namespace {

constinit atomic<std::uint64_t> last_number{0};  // the number of the newest task; written by the spawning threads

constinit thread_local unsigned depth __attribute__((tls_model("initial-exec"))) = 0;

}  // namespace

constinit const char task_info_key = 0;

task_control::task_control(std::string&& name)
    : info_{.id = {.number = last_number.fetch_add(1, relaxed) + 1}, .name = {}} {
  if (!name.empty()) [[unlikely]]
    info_.name = task_name(std::move(name));
}

/// Stops the task. Calls the scope without holding the lock, because the stop may run steps of the task on this thread
/// if an executor has refused the drain of the task's home executor. If the task awaits the end of this call, its scope
/// exists until `last` has run.
void task_control::request_stop(errc reason, job& last) noexcept {
  scope* running = nullptr;
  {
    const std::lock_guard guard(lock_);
    if (stops_ != stops::passed) {
      if (requested_ == 0) requested_ = static_cast<std::uint8_t>(reason);
      return;
    }
    running = own_;
    ++stopping_;
  }
  running->request_stop(reason);
  bool is_awaited = false;
  {
    const std::lock_guard guard(lock_);
    if (--stopping_ == 0 && stops_ == stops::awaited) {
      stops_ = stops::none;
      is_awaited = true;
    }
  }
  if (is_awaited) running->where().post_resumption(last);
}

void task_control::begin(scope& own) noexcept {
  is_traced_ = is_traced();
  if (is_traced_) [[unlikely]]
    trace_task_begin(info_.id.number, info_.name);
  std::uint8_t requested = 0;
  {
    const std::lock_guard guard(lock_);
    own_ = &own;
    stops_ = stops::passed;
    requested = requested_;
  }
  if (requested != 0) own.request_stop(static_cast<errc>(requested));
}

auto task_control::try_leave() noexcept -> bool {
  const std::lock_guard guard(lock_);
  stops_ = stopping_ == 0 ? stops::none : stops::awaited;
  return stopping_ == 0;
}

void task_control::note_end() const noexcept {
  if (is_traced_ && is_traced()) [[unlikely]]
    trace_note(trace_group::tasks, trace_kind::task_end, info_.id.number);
}

ending_depth::ending_depth() noexcept { ++depth; }
ending_depth::~ending_depth() { --depth; }

auto ending_depth::is_deep() const noexcept -> bool {
  // docs/design/constants.md explains how this value was chosen.
  constexpr unsigned max_depth = 64;
  return depth > max_depth;
}

}  // namespace braid::detail
