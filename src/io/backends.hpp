// src/io/backends.hpp: declares the functions that create backends, and helpers that the backends share.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/error.hpp>
#include <braid/io/backend.hpp>
#include <braid/trace/detail/hooks.hpp>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstddef>
#include <ctime>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

namespace braid::detail {

auto make_uring_backend() -> result<std::unique_ptr<io_backend>>;
auto make_epoll_backend() -> result<std::unique_ptr<io_backend>>;
auto make_kqueue_backend() -> result<std::unique_ptr<io_backend>>;
auto make_poll_backend() -> result<std::unique_ptr<io_backend>>;

/// The two descriptors of an event. A write of eight bytes to one end makes the other end readable. The event is an
/// eventfd, or a pipe if the system refuses to create an eventfd.
struct event_ends {
  descriptor read;
  descriptor write;  // not open for an eventfd, which has one descriptor for both

  /// Creates an event with non-blocking ends.
  /// Errors: those of the system calls.
  [[nodiscard]] static auto create() -> result<event_ends>;

  [[nodiscard]] auto writable() const noexcept -> int { return write ? write.number() : read.number(); }
};

/// The event that wakes a waiting backend. Other threads raise it.
class wake_signal {
 public:
  [[nodiscard]] static auto create() -> result<wake_signal>;

  [[nodiscard]] auto number() const noexcept -> int { return ends_.read.number(); }
  /// Returns whether the event is a pipe, which stores each raise and can therefore become full.
  [[nodiscard]] auto fills_up() const noexcept -> bool { return static_cast<bool>(ends_.write); }
  /// Makes the event readable.
  /// Threads: any.
  void raise() const noexcept;
  void clear() const noexcept;

 private:
  explicit wake_signal(event_ends ends) noexcept : ends_(std::move(ends)) {}
  event_ends ends_;
};

/// Ends the program because the system refuses `call` with `error`, and will refuse it again. If the loop continued, it
/// would use a whole processor and never see an event.
[[noreturn]] void cannot_wait(const char* call, int error) noexcept;

/// A table of a backend's records, indexed by the number of the descriptor.
template <typename Entry>
class descriptor_table {
 public:
  /// Returns the record of a descriptor, after growing the table if necessary. The record does not move until the next
  /// call.
  /// Errors: bad_file_descriptor for a negative number, not_enough_memory.
  [[nodiscard]] auto at(int number) noexcept -> result<Entry*> {
    if (number < 0) return fail(std::make_error_code(std::errc::bad_file_descriptor));
    const auto index = static_cast<std::size_t>(number);
    try {
      if (index >= entries_.size()) entries_.resize(index + 1);
    } catch (const std::bad_alloc&) {
      return fail(std::make_error_code(std::errc::not_enough_memory));
    }
    return &entries_[index];
  }

  /// Returns the record of a descriptor. Requires an earlier call of `at` with this number.
  [[nodiscard]] auto known(int number) noexcept -> Entry& { return entries_[static_cast<std::size_t>(number)]; }

 private:
  std::vector<Entry> entries_;
};

[[nodiscard]] constexpr auto index_of(io_interest interest) noexcept -> std::size_t {
  return interest == io_interest::read ? 0 : 1;
}

/// Begins a slice in the trace of the process. The slice shows the system call with which the backend waits.
[[nodiscard]] inline auto trace_wait(std::optional<duration> timeout) noexcept -> trace_slice {
  return {trace_group::io, timeout == duration::zero() ? "poll" : "wait"};
}

[[nodiscard]] constexpr auto as_timespec(duration span) noexcept -> timespec {
  constexpr duration::rep second = 1'000'000'000;
  return {.tv_sec = static_cast<time_t>(span.count() / second), .tv_nsec = static_cast<long>(span.count() % second)};
}

/// Converts a timeout to milliseconds, rounded up, or to -1 for no timeout.
[[nodiscard]] constexpr auto as_milliseconds(std::optional<duration> timeout) noexcept -> int {
  if (!timeout) return -1;
  const auto rounded_up = std::chrono::ceil<std::chrono::milliseconds>(*timeout).count();
  return static_cast<int>(std::min<decltype(rounded_up)>(rounded_up, INT_MAX));
}

}  // namespace braid::detail
