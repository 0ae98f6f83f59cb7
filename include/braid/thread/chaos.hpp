// braid/thread/chaos.hpp: disturbs the affinity and the nice value of threads, to find code that relies on these
// settings.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/base/random.hpp>
#include <braid/thread/cpu_set.hpp>
#include <braid/thread/scheduling.hpp>
#include <braid/thread/this_thread.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace braid {

namespace detail {

/// The values of the settings that are disturbed.
struct disturbed_settings {
  cpu_set affinity;
  braid::scheduling scheduling;

  auto operator==(const disturbed_settings&) const -> bool = default;
};

/// A sequence of disturbed settings for one thread. Each call of `next` computes one step and changes no thread. The
/// results depend only on the arguments of the constructor and of `next`. Threads: one at a time.
class BRAID_API chaos_sequence {
 public:
  /// Constructs the sequence of settings for one thread. `index` is the thread's index in its `chaos`.
  chaos_sequence(std::uint64_t seed, std::size_t index) noexcept;

  /// Returns the next settings. `before` contains the original settings of the thread. The result contains at least one
  /// of the original CPUs. A nice value stays the same or becomes larger. Policies without a nice value stay unchanged.
  auto next(const disturbed_settings& before) -> disturbed_settings;

 private:
  random_source random_;
};

}  // namespace detail

/// Disturbs threads from a separate thread, `braid-chaos`. At the start, and then once in each interval, each thread
/// gets the next settings of its `chaos_sequence`. The destructor restores the original settings.
///
/// If other code changes a setting in the meantime, the setting is no longer disturbed or restored. Threads that have
/// ended are skipped. Nice values are disturbed only if the system allows the process to restore them, and never those
/// of real-time threads.
/// Threads: one at a time. Other threads may call `steps` and `refusals` at the same time. Blocks: the destructor
/// blocks for less than 100 ms with up to 100 threads, regardless of the interval.
class BRAID_API chaos {
 public:
  /// The options: the interval, and the seed of the random numbers.
  struct options {
    std::uint64_t seed = 0;
    duration interval = 10ms;  ///< the time between two steps; more than 0
  };

  /// Starts to disturb these threads. Errors: invalid_argument if the interval is not positive; the system's error if
  /// the thread cannot be started.
  [[nodiscard]] static auto start(const std::vector<thread_info>& threads, options options) -> result<chaos>;

  /// Starts to disturb the threads that `find()` returns. `find` is called again before each step, on the disturbing
  /// thread. A thread that `find` returns for the first time is disturbed from then on. If `find` no longer returns a
  /// thread, the settings of this thread are restored. `find` must not throw. Errors: the errors of `start` with a list
  /// of threads.
  template <std::invocable Find>
    requires std::convertible_to<std::invoke_result_t<Find&>, std::vector<thread_info>>
  [[nodiscard]] static auto start(Find find, options options) -> result<chaos> {
    return start_finding(std::move(find), options);
  }

  chaos(chaos&& other) noexcept;
  auto operator=(chaos&& other) noexcept -> chaos&;
  ~chaos();

  /// Returns the thread that disturbs the others. Errors: system errors.
  [[nodiscard]] auto info() const -> result<thread_info>;

  /// Returns the number of steps. In each step, all threads are disturbed.
  [[nodiscard]] auto steps() const noexcept -> std::size_t;

  /// Returns the number of changes that the system refused. Threads that have ended do not count.
  [[nodiscard]] auto refusals() const noexcept -> std::size_t;

 private:
  struct state;

  using find_fn = std::function<std::vector<thread_info>()>;

  explicit chaos(std::unique_ptr<state> running) noexcept;
  [[nodiscard]] static auto start_finding(find_fn find, options options) -> result<chaos>;
  [[nodiscard]] static auto begin(std::unique_ptr<state> running, options options) -> result<chaos>;

  std::unique_ptr<state> state_;
};

}  // namespace braid
