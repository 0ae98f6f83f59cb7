// braid/thread/chaos.hpp: disturbs the affinity and the nice value of chosen threads, to show what relies on them.
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

/// The settings of a thread that are disturbed.
struct disturbed_settings {
  cpu_set affinity;
  braid::scheduling scheduling;

  auto operator==(const disturbed_settings&) const -> bool = default;
};

/// Decides what one thread gets, step by step, and changes no thread. The answers depend only on the numbers that it is
/// made with and on `before`. Threads: one at a time.
class BRAID_API chaos_sequence {
 public:
  /// `index`: which of the threads of a `chaos` this is.
  chaos_sequence(std::uint64_t seed, std::size_t index) noexcept;

  /// Some of the CPUs that the thread had before, one at least. A policy with a nice value keeps it or gets a larger
  /// one; other policies stay.
  auto next(const disturbed_settings& before) -> disturbed_settings;

 private:
  random_source random_;
};

}  // namespace detail

/// Disturbs threads from a thread of its own, `braid-chaos`: at once and then at each interval, each thread gets the
/// next settings of its `chaos_sequence`. The destructor restores the original settings.
///
/// A setting that other code changes meanwhile is neither disturbed nor restored any more. Threads that have ended are
/// skipped. Nice values are disturbed only if the system lets the process restore them, and never those of real-time
/// threads.
/// Threads: one at a time; `steps` and `refusals` from any. Blocks: the destructor for less than 100 ms with up to 100
/// threads, whatever the interval.
class BRAID_API chaos {
 public:
  /// The interval, and the seed of the random numbers.
  struct options {
    std::uint64_t seed = 0;
    duration interval = 10ms;  ///< between the steps; more than 0
  };

  /// Errors: invalid_argument if the interval is not positive; the system's error if the thread cannot be started.
  [[nodiscard]] static auto start(const std::vector<thread_info>& threads, options options) -> result<chaos>;

  /// As above for the threads that `find()` returns, which is called again before each step, on the thread that
  /// disturbs: threads that it returns later are disturbed from then on, and those that it no longer returns are put
  /// back as they were. It must not throw. Errors: as above.
  template <std::invocable Find>
    requires std::convertible_to<std::invoke_result_t<Find&>, std::vector<thread_info>>
  [[nodiscard]] static auto start(Find find, options options) -> result<chaos> {
    return start_finding(std::move(find), options);
  }

  chaos(chaos&& other) noexcept;
  auto operator=(chaos&& other) noexcept -> chaos&;
  ~chaos();

  /// Returns the thread that disturbs the others. Errors: the system's own codes.
  [[nodiscard]] auto info() const -> result<thread_info>;

  /// Returns how often all threads were disturbed.
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
