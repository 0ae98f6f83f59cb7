// src/io/backends.hpp: the backends that there are, and what they share.
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
auto make_poll_backend() -> result<std::unique_ptr<io_backend>>;

/// The descriptors of an event that one side raises by a write of eight bytes and the other side sees as readable: an
/// eventfd, or a pipe if the system refuses that.
struct event_ends {
  descriptor read;
  descriptor write;  // not open for an eventfd, which has one descriptor for both

  /// Creates an event whose ends do not block.
  /// Errors: the system's.
  [[nodiscard]] static auto create() -> result<event_ends>;

  [[nodiscard]] auto writable() const noexcept -> int { return write ? write.number() : read.number(); }
};

/// Wake-up event of a waiting backend, which other threads raise.
class wake_signal {
 public:
  [[nodiscard]] static auto create() -> result<wake_signal>;

  [[nodiscard]] auto number() const noexcept -> int { return ends_.read.number(); }
  /// Returns true if the event keeps each raise until it is cleared, so that its room is limited.
  [[nodiscard]] auto fills_up() const noexcept -> bool { return static_cast<bool>(ends_.write); }
  /// Threads: any.
  void raise() const noexcept;
  void clear() const noexcept;

 private:
  explicit wake_signal(event_ends ends) noexcept : ends_(std::move(ends)) {}
  event_ends ends_;
};

/// Ends the program because a loop can neither wait nor continue: the system refuses `call` with `error` for good, and
/// a loop that ignored this would use a whole processor and never see an event.
[[noreturn]] void cannot_wait(const char* call, int error) noexcept;

/// The records of a backend, by the number of the descriptor.
template <typename Entry>
class descriptor_table {
 public:
  /// Errors: bad_file_descriptor for a negative number, not_enough_memory. The entry does not move until the next call.
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

  /// Requires that `at` had it before.
  [[nodiscard]] auto known(int number) noexcept -> Entry& { return entries_[static_cast<std::size_t>(number)]; }

 private:
  std::vector<Entry> entries_;
};

[[nodiscard]] constexpr auto index_of(io_interest interest) noexcept -> std::size_t {
  return interest == io_interest::read ? 0 : 1;
}

/// Returns the call to the kernel that a trace shows from here to the end of the slice.
[[nodiscard]] inline auto trace_wait(std::optional<duration> timeout) noexcept -> trace_slice {
  return {trace_group::io, timeout == duration::zero() ? "poll" : "wait"};
}

[[nodiscard]] constexpr auto as_timespec(duration span) noexcept -> timespec {
  constexpr duration::rep second = 1'000'000'000;
  return {.tv_sec = static_cast<time_t>(span.count() / second), .tv_nsec = static_cast<long>(span.count() % second)};
}

/// Returns the timeout of a wait in milliseconds, rounded up; -1 without one.
[[nodiscard]] constexpr auto as_milliseconds(std::optional<duration> timeout) noexcept -> int {
  if (!timeout) return -1;
  const auto rounded_up = std::chrono::ceil<std::chrono::milliseconds>(*timeout).count();
  return static_cast<int>(std::min<decltype(rounded_up)>(rounded_up, INT_MAX));
}

}  // namespace braid::detail
