// braid/task/timer_thread.hpp: timers with a thread of their own, for pools without an event loop.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/task/detail/shared_timers.hpp>
#include <braid/thread/detail/thread_control.hpp>
#include <braid/thread/registry.hpp>
#include <braid/thread/settings_report.hpp>
#include <braid/thread/thread.hpp>
#include <braid/thread/thread_entry.hpp>
#include <braid/thread/thread_info.hpp>

#include <optional>

namespace braid {

/// The settings of the thread, and where it is registered.
struct timer_thread_options {
  thread_options thread = {};                        ///< without a name: braid-timer
  std::optional<thread_label> label = std::nullopt;  ///< with one, the thread is registered under it
  thread_registry registry = default_registry();     ///< and there
};

/// Timers that fire on a thread which does nothing else, so that their functions should be short: to post a job is. It
/// sleeps until the next timer is due, to the precision of the kernel, and is woken when an earlier one is armed. It
/// can be controlled like any other thread. The destructor closes the timers and joins the thread.
/// Threads: any; the destructor not on its own thread. Blocks: the destructor, until the function that fires has ended.
class BRAID_API timer_thread final : public detail::shared_timers, public detail::thread_control<timer_thread> {
 public:
  /// Starts the thread. Blocks: until it has its settings and is registered.
  /// Errors: std::system_error when it cannot be started, or has a setting refused that may not be ignored.
  explicit timer_thread(timer_thread_options options = {});
  ~timer_thread() override;

  /// What became of the name and the settings of the thread.
  [[nodiscard]] auto report() const noexcept -> const settings_report& { return thread_.report(); }

  /// Identity of the thread. Errors: no_such_process once the timers are closed and it has ended.
  [[nodiscard]] auto info() const -> result<thread_info> { return thread_.info(); }

 private:
  [[nodiscard]] auto start(timer_thread_options options) -> result<thread>;

  thread thread_;
};

}  // namespace braid
