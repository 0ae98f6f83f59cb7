// src/sync/user_code.cpp: keeps a list of the threads that run code of the program, with a marker for each thread.
#include <braid/sync/detail/user_code.hpp>

#include "../platform/system.hpp"

#include <braid/base/detail/never_destroyed.hpp>
#include <braid/sync/detail/fork_safe_mutex.hpp>
#include <braid/sync/detail/let_others_run.hpp>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

namespace braid::detail {
namespace {

using namespace std::chrono_literals;

/// The record of a thread. The record is in the list from the thread's first section of user code until the thread
/// ends.
struct marked_thread {
  code_marker marker;
  std::uint32_t sections = 0;  // the number of nested sections of the thread; used only by it
  bool is_listed = false;      // used only by the thread
  bool has_ended = false;      // the thread's thread-local objects are being destroyed; used only by the thread
  std::uint64_t id = 0;        // never used again; under the lock
  marked_thread* next = nullptr;
  marked_thread** link = nullptr;  // the pointer that refers to this record
};

struct marked_threads {
  fork_safe_mutex mutex;
  marked_thread* first = nullptr;  // the first record; under the lock
  std::uint64_t last_id = 0;       // the last id; under the lock
};

/// The list is never destroyed, because threads may end after static objects are destroyed.
constinit never_destroyed<marked_threads> known;
constinit thread_local marked_thread own __attribute__((tls_model("initial-exec")));

void leave_list() noexcept {
  const std::lock_guard lock(known.value.mutex);
  *own.link = own.next;
  if (own.next != nullptr) own.next->link = own.link;
  own.is_listed = false;
}

/// Removes the thread from the list when the thread ends.
struct end_of_thread {
  end_of_thread() = default;
  end_of_thread(const end_of_thread&) = delete;
  auto operator=(const end_of_thread&) -> end_of_thread& = delete;
  ~end_of_thread() {
    own.has_ended = true;
    if (own.is_listed) leave_list();
  }
};

/// Adds the thread to the list. Does nothing if the thread is ending. So user code that is called by destructors of
/// thread-local objects is not counted.
void enter_list() noexcept {
  if (own.has_ended) return;
  static thread_local const end_of_thread at_end;
  const std::lock_guard lock(known.value.mutex);
  own.id = ++known.value.last_id;
  own.next = known.value.first;
  own.link = &known.value.first;
  if (own.next != nullptr) own.next->link = &own.next;
  known.value.first = &own;
  own.is_listed = true;
}

/// Resets the list in the child of a fork, which has one thread. This thread counts as outside of any section, even if
/// it forked inside a section.
void forget_others_in_child() noexcept {
  own.sections = 0;
  own.marker.leave();
  known.value.first = own.is_listed ? &own : nullptr;
  own.next = nullptr;
  own.link = &known.value.first;
}

[[maybe_unused]] const int user_code_fork_handler = call_at_fork(nullptr, nullptr, &forget_others_in_child);

/// A thread that was in user code, and the value of its marker at that time.
struct awaited_thread {
  std::uint64_t id;
  std::uint64_t seen;
};

auto threads_in_user_code() -> std::vector<awaited_thread> {
  std::vector<awaited_thread> found;
  const std::lock_guard lock(known.value.mutex);
  for (const marked_thread* each = known.value.first; each != nullptr; each = each->next)
    if (const std::uint64_t seen = each->marker.look(); !each->marker.has_left(seen)) found.push_back({each->id, seen});
  return found;
}

/// Removes the threads that have left the section or have ended. An ending thread locks the list, so the caller sees
/// that thread's last writes.
void drop_those_that_left(std::vector<awaited_thread>& awaited) noexcept {
  const std::lock_guard lock(known.value.mutex);
  std::erase_if(awaited, [](const awaited_thread& one) {
    const marked_thread* at = known.value.first;
    while (at != nullptr && at->id != one.id) at = at->next;
    return at == nullptr || at->marker.has_left(one.seen);
  });
}

}  // namespace

user_code_section::user_code_section() noexcept : marker_(nullptr) {
  if (own.sections++ != 0) return;
  if (!own.is_listed) [[unlikely]]
    enter_list();
  marker_ = &own.marker;
  marker_->enter();
}

/// Leaves the section. In the child of a fork, sections that began before the fork are already over, so the count of
/// sections may be 0.
user_code_section::~user_code_section() {
  if (own.sections != 0) --own.sections;
  if (marker_ != nullptr) marker_->leave();
}

[[gnu::noinline]] auto outermost_code_marker() noexcept -> code_marker* {
  return own.sections == 1 ? &own.marker : nullptr;
}

[[gnu::noinline]] auto is_in_user_code() noexcept -> bool { return own.sections != 0; }

/// Waits until every thread that is now in user code has left that code. Polls, because a notification would cost time
/// in each job.
auto await_user_code(time_point deadline) -> bool {
  // docs/design/constants.md explains how these values were chosen.
  constexpr int yields = 64;
  constexpr duration max_pause = 1ms;
  duration pause = 20us;
  std::vector<awaited_thread> awaited = threads_in_user_code();
  for (int round = 0; !awaited.empty(); ++round) {
    if (round < yields) {
      let_others_run();
    } else {
      const duration left = deadline - steady_time().now();
      if (left <= duration::zero()) return false;
      std::this_thread::sleep_for(std::min(pause, left));
      pause = std::min(2 * pause, max_pause);
    }
    drop_those_that_left(awaited);
  }
  return true;
}

}  // namespace braid::detail
