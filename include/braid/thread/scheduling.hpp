// braid/thread/scheduling.hpp: the scheduling policies of threads, each with the parameters that it supports.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>

#include <chrono>
#include <compare>
#include <concepts>
#include <optional>
#include <string>
#include <system_error>
#include <variant>

namespace braid {

namespace detail {

/// Called if a number is out of range. This function is not constexpr, so that an expression with a constant out of
/// range does not compile.
BRAID_API void number_out_of_range();

template <typename T, typename... All>
concept one_of = (std::same_as<T, All> || ...);

}  // namespace detail

/// The priority of a thread, from -20 (highest) to 19 (lowest). A constant outside this range does not compile.
class nice_value {
 public:
  static constexpr int smallest = -20;
  static constexpr int largest = 19;

  constexpr nice_value() = default;  ///< 0
  consteval nice_value(int value) : value_(value) {
    if (value < smallest || value > largest) detail::number_out_of_range();
  }

  /// Converts a number at run time. Errors: invalid_argument if the number is out of range.
  [[nodiscard]] static constexpr auto from(int value) -> result<nice_value>;

  [[nodiscard]] constexpr auto value() const noexcept -> int { return value_; }
  auto operator<=>(const nice_value&) const = default;

 private:
  int value_ = 0;
};

/// The priority of a real-time thread, from 1 to 99 (highest). A constant outside this range does not compile.
class realtime_priority {
 public:
  static constexpr int smallest = 1;
  static constexpr int largest = 99;

  consteval realtime_priority(int value) : value_(value) {
    if (value < smallest || value > largest) detail::number_out_of_range();
  }

  /// Converts a number at run time. Errors: invalid_argument if the number is out of range.
  [[nodiscard]] static constexpr auto from(int value) -> result<realtime_priority>;

  [[nodiscard]] constexpr auto value() const noexcept -> int { return value_; }
  auto operator<=>(const realtime_priority&) const = default;

 private:
  int value_;
};

/// A policy of the system's scheduler with its parameters. It is a value type.
/// Invalid combinations, such as a nice value for a real-time policy, do not compile.
class BRAID_API scheduling {
 public:
  /// The default policy of threads: a fair share of the CPU, weighted by the nice value.
  struct other {
    nice_value nice;
    auto operator==(const other&) const -> bool = default;
  };
  /// A policy like `other`, for threads that compute and rarely wait: the thread is woken later and interrupted less.
  struct batch {
    nice_value nice;
    auto operator==(const batch&) const -> bool = default;
  };
  /// A policy under which a thread runs only if no other thread needs the CPU. The thread keeps its nice value, which
  /// then has almost no effect.
  struct idle {
    auto operator==(const idle&) const -> bool = default;
  };
  /// A real-time policy under which a thread runs before all fair threads until it waits. Threads of equal priority run
  /// in the order in which they became ready.
  struct fifo {
    realtime_priority priority;
    auto operator==(const fifo&) const -> bool = default;
  };
  /// A policy like `fifo`, but threads of equal priority take turns.
  struct round_robin {
    realtime_priority priority;
    auto operator==(const round_robin&) const -> bool = default;
  };
  /// A policy that gives a thread `runtime` of CPU time in every `period`, within the first `deadline` of that period.
  /// Requires that `runtime` is at most `deadline`, and that `deadline` is at most `period`. The system refuses the
  /// policy if it cannot guarantee the CPU time.
  struct deadline {
    std::chrono::nanoseconds runtime;
    std::chrono::nanoseconds deadline;
    std::chrono::nanoseconds period;
    auto operator==(const struct deadline&) const -> bool = default;
  };
  using policies = std::variant<other, batch, idle, fifo, round_robin, deadline>;

  constexpr scheduling() = default;  ///< other, nice 0
  template <typename Policy>
    requires detail::one_of<Policy, other, batch, idle, fifo, round_robin, deadline>
  constexpr scheduling(Policy policy) : policy_(policy) {}

  /// Returns the policy, for std::visit.
  [[nodiscard]] constexpr auto policy() const noexcept -> const policies& { return policy_; }

  template <typename Policy>
  [[nodiscard]] constexpr auto is() const noexcept -> bool {
    return std::holds_alternative<Policy>(policy_);
  }

  /// Returns the nice value, or nothing for a policy without a nice value.
  [[nodiscard]] auto nice() const noexcept -> std::optional<nice_value>;
  [[nodiscard]] auto priority() const noexcept -> std::optional<realtime_priority>;

  /// Describes the policy, for example as `other, nice 5`, `fifo, priority 10`, `deadline, 1000000 ns of every 8000000
  /// ns within 4000000 ns`.
  [[nodiscard]] auto to_string() const -> std::string;

  auto operator==(const scheduling&) const -> bool = default;

 private:
  policies policy_;
};

constexpr auto nice_value::from(int value) -> result<nice_value> {
  if (value < smallest || value > largest) return fail(errc::invalid_argument);
  nice_value checked;
  checked.value_ = value;
  return checked;
}

constexpr auto realtime_priority::from(int value) -> result<realtime_priority> {
  if (value < smallest || value > largest) return fail(errc::invalid_argument);
  realtime_priority checked = smallest;
  checked.value_ = value;
  return checked;
}

}  // namespace braid
