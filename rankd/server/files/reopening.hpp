// rankd/server/files/reopening.hpp: the outcome of reopening a file, for logs and metrics.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <new>
#include <system_error>
#include <utility>

namespace rankd {

/// The outcome of reopening a file for log rotation. Until reopening succeeds, lines are written to the previous file,
/// which was renamed.
/// Threads: any.
class reopening {
 public:
  /// Receives the error of a failed attempt, or no error when an attempt succeeds after a failure.
  using listener = std::function<void(std::error_code)>;
  /// States whether an attempt was requested, or whether the writer repeats a failed attempt.
  enum class attempt : std::uint8_t { asked, repeated };

  /// Sets the listener, which the writing thread calls. If a repeated attempt fails again, it is counted but not
  /// reported.
  void listen(listener to) {
    const std::scoped_lock lock(mutex_);
    listener_ = std::move(to);
  }

  /// Called by the writer after each attempt. If memory for the report cannot be allocated, only the counter changes.
  void note(std::error_code error, attempt kind) noexcept {
    try {
      listener report;
      {
        const std::scoped_lock lock(mutex_);
        const bool was_pending = std::exchange(is_pending_, static_cast<bool>(error));
        if (error) ++failures_;
        if (error ? kind == attempt::asked || !was_pending : was_pending) report = listener_;
      }
      if (report) report(error);
    } catch (const std::bad_alloc&) {
      return;  // the metrics count the failure
    }
  }

  /// Returns true while lines are still written to the previous file.
  [[nodiscard]] auto is_pending() const -> bool {
    const std::scoped_lock lock(mutex_);
    return is_pending_;
  }
  /// Returns how many attempts have failed.
  [[nodiscard]] auto failures() const -> std::uint64_t {
    const std::scoped_lock lock(mutex_);
    return failures_;
  }

 private:
  mutable std::mutex mutex_;
  listener listener_;
  std::uint64_t failures_ = 0;
  bool is_pending_ = false;
};

}  // namespace rankd
