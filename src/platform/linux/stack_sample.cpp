// src/platform/linux/stack_sample.cpp: reads the stack of another thread. A signal handler on that thread writes it to
// a shared slot.
#include "../../runtime/stack_sample.hpp"

#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/futex.hpp>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstddef>
#include <mutex>
#include <new>

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

namespace braid::detail {
namespace {

constexpr std::uint32_t unused = 0;
constexpr std::uint32_t asked_for = 1;
constexpr std::uint32_t answering = 2;
constexpr std::uint32_t answered = 3;

/// The slot that the sampling thread and the sampled thread share. In the state `asked_for`, both threads may
/// change the state: the sampled thread to `answering`, and the sampling thread back to `unused`.
struct {
  atomic<std::uint32_t> state{unused};      // written by the sampling and the sampled thread
  atomic<::pid_t> thread{0};                // written by the sampling thread
  std::array<std::uintptr_t, 64> frames{};  // owned by the sampled thread from `answering` to `answered`
  std::size_t count = 0;                    // owned by the sampled thread as well
  bool is_in_program = false;               // the walk has passed the handler's frames; owned likewise
} slot;

std::mutex sampling;

/// Resets the slot in the child of a fork, which has neither the sampling nor the sampled thread.
void forget_sample_in_child() noexcept {
  ::new (static_cast<void*>(&sampling)) std::mutex;
  slot.state.store(unused, relaxed);
  slot.thread.store(0, relaxed);
}

[[maybe_unused]] const int sample_fork_handler = ::pthread_atfork(nullptr, nullptr, &forget_sample_in_child);

auto add_frame(_Unwind_Context* frame, void* /*nothing*/) -> _Unwind_Reason_Code {
  int is_interrupted = 0;
  const std::uintptr_t address = ::_Unwind_GetIPInfo(frame, &is_interrupted);
  slot.is_in_program = slot.is_in_program || is_interrupted != 0;
  if (slot.is_in_program && slot.count < slot.frames.size()) slot.frames[slot.count++] = address;
  return slot.count == slot.frames.size() ? _URC_END_OF_STACK : _URC_NO_REASON;
}

/// The signal handler: writes the stack of this thread to the slot. Does nothing if no sample of this thread was
/// requested, because other code may have sent the signal.
void write_down(int /*number*/) {
  const int before = errno;
  std::uint32_t seen = asked_for;
  const auto self = static_cast<::pid_t>(::syscall(SYS_gettid));
  // edge stack_sample.asked: observe, the slot is empty
  if (slot.thread.load(relaxed) == self && slot.state.compare_exchange_strong(seen, answering, acquire, relaxed)) {
    ::_Unwind_Backtrace(&add_frame, nullptr);
    slot.state.store(answered, release);  // edge stack_sample.answered: publish the frames
    futex_wake(slot.state, INT_MAX);
  }
  errno = before;
}

/// Installs the signal handler if the program has none of its own. Returns whether it is installed.
auto install() noexcept -> bool {
  struct sigaction known{};
  if (::sigaction(SIGURG, nullptr, &known) != 0) return false;
  if ((known.sa_flags & SA_SIGINFO) != 0) return false;
  if (known.sa_handler == &write_down) return true;
  if (known.sa_handler != SIG_DFL && known.sa_handler != SIG_IGN) return false;
  struct sigaction next{};
  next.sa_handler = &write_down;
  next.sa_flags = SA_RESTART | SA_ONSTACK;
  return ::sigaction(SIGURG, &next, nullptr) == 0;
}

}  // namespace

auto sample_stack(::pid_t thread, duration limit) -> std::vector<std::uintptr_t> {
  std::vector<std::uintptr_t> frames;
  frames.reserve(slot.frames.size());
  const std::lock_guard lock(sampling);
  if (thread == 0 || !install()) return frames;
  slot.count = 0;
  slot.is_in_program = false;
  slot.thread.store(thread, relaxed);
  slot.state.store(asked_for, release);  // edge stack_sample.asked: publish the empty slot
  if (::syscall(SYS_tgkill, ::getpid(), thread, SIGURG) == 0) {
    const time_point end = steady_time().now() + limit;
    // edge stack_sample.answered: observe, the frames are complete
    for (std::uint32_t seen = slot.state.load(acquire); seen != answered; seen = slot.state.load(acquire)) {
      std::uint32_t unanswered = asked_for;
      const bool in_time = steady_time().now() < end;
      if (!in_time && slot.state.compare_exchange_strong(unanswered, unused, relaxed, relaxed)) return frames;
      // If the sampled thread has begun to answer, this function waits without a limit, because that thread still
      // writes to the slot.
      static_cast<void>(futex_wait(slot.state, seen, in_time ? end : time_point::max()));
    }
    frames.assign(slot.frames.begin(), slot.frames.begin() + static_cast<std::ptrdiff_t>(slot.count));
  }
  slot.state.store(unused, relaxed);
  return frames;
}

}  // namespace braid::detail
