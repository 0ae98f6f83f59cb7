// braid/io/signal_set.hpp: signals of the process as something that a task awaits.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/task.hpp>
#include <braid/io/loop.hpp>
#include <braid/io/pipe_stream.hpp>

#include <cstddef>
#include <initializer_list>
#include <optional>

namespace braid {

/// While it lives, these signals do nothing but wake it; afterwards they do what they did before the first set that had
/// them. Several sets may have the same signal: each sees it. A signal is pending or not, as the system has it: what
/// comes again before it was taken counts once, and no signal, however often it comes, hides another. Whatever threads
/// there are, and whatever they block, one that does not block the signal is enough.
/// Threads: the loop's own, for `next` and its end. Protocol: docs/design/sockets.md
class BRAID_API signal_set {
 public:
  /// How many sets a process may have at a time.
  static constexpr std::size_t max_sets = 16;

  /// Errors: invalid_argument for what is no signal or cannot be caught; errc::full; the system's.
  [[nodiscard]] static auto create(loop& on, std::initializer_list<int> signals) -> result<signal_set>;

  signal_set(signal_set&& other) noexcept;
  auto operator=(signal_set&&) -> signal_set& = delete;
  ~signal_set();

  /// Waits for a signal of the set and gives its number. Where several are pending they are given round robin,
  /// whichever came first. One task at a time.
  [[nodiscard]] auto next() -> task<result<int>>;

 private:
  signal_set(pipe_stream wakes, std::size_t place) noexcept;

  pipe_stream wakes_;  // an eventfd: the handler writes, `next` reads
  std::optional<std::size_t> place_;
  int last_ = 0;  // the signal that was taken last
};

}  // namespace braid
