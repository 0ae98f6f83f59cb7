// rankd/plan/fallback.hpp: the fallbacks of nodes and plans, and the failures that trigger them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

/// Patterns for failure codes. A pattern is a complete code, or a prefix of codes followed by `*`.
using failure_patterns = std::vector<std::string>;

/// The source from which the rows of a failed node are taken.
enum class fallback_kind : std::uint8_t {
  node,   ///< another node
  input,  ///< the node's first input, whose rows are passed on
  empty,  ///< no rows
};

/// The fallback of a node.
struct node_fallback {
  failure_patterns on;
  fallback_kind kind = fallback_kind::empty;
  std::uint32_t node = 0;            ///< for `fallback_kind::node`: a position in `plan::nodes`
  std::vector<std::uint32_t> nulls;  ///< keys of the node's rows that the fallback's rows lack
  std::string pointer;
};

/// The fallback of a plan: another plan that runs a request after the plan has failed.
struct plan_fallback {
  std::string plan;
  failure_patterns on;
  std::int64_t reserve_ms = 0;  ///< the time that is reserved for the fallback plan within the time of a request
  std::string pointer;
};

/// Returns the failures of nodes for which a fallback is possible, in ascending order. Exhausted budgets and internal
/// errors of the engine are not included.
[[nodiscard]] auto node_failure_codes() noexcept -> std::span<const std::string_view>;

/// Returns the failures of plans for which a fallback is possible: the failures of their nodes, deadlines and exhausted
/// budgets.
[[nodiscard]] auto plan_failure_codes() noexcept -> std::span<const std::string_view>;

/// Returns whether a pattern matches a failure code.
[[nodiscard]] auto stands_for(std::string_view pattern, std::string_view code) noexcept -> bool;

/// If one of the patterns matches `code`, returns the element of `known` that equals `code`. Otherwise, returns
/// nothing.
[[nodiscard]] auto find_failure(const failure_patterns& patterns, std::string_view code,
                                std::span<const std::string_view> known) noexcept -> std::optional<std::string_view>;

/// Returns whether one of the patterns matches a timeout. If so, the answers of the plan depend on time.
[[nodiscard]] auto names_time(const failure_patterns& patterns) noexcept -> bool;

}  // namespace rankd
