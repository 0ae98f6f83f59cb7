// rankd/plan/fallback.hpp: what stands in for a node or a plan that fails, and the failures that it stands in for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

/// Codes of failures. Each is a code as it is, or the beginning of codes with a `*` behind it.
using failure_patterns = std::vector<std::string>;

/// Source of the rows that a node has when it has failed.
enum class fallback_kind : std::uint8_t {
  node,   ///< another node
  input,  ///< its first input, whose rows it passes on
  empty,  ///< nothing: it has no rows
};

/// The fallback of a node.
struct node_fallback {
  failure_patterns on;
  fallback_kind kind = fallback_kind::empty;
  std::uint32_t node = 0;            ///< of `fallback_kind::node`: a position in `plan::nodes`
  std::vector<std::uint32_t> nulls;  ///< keys that the node gives its rows, and what stands in does not
  std::string pointer;
};

/// The plan that a request is given to when its own has failed.
struct plan_fallback {
  std::string plan;
  failure_patterns on;
  std::int64_t reserve_ms = 0;  ///< so much of the time of a request is left to that plan
  std::string pointer;
};

/// Returns the failures of nodes that a fallback may name, in ascending order. An exhausted budget is not among them,
/// nor are failures that only a fault of the engine can cause.
[[nodiscard]] auto node_failure_codes() noexcept -> std::span<const std::string_view>;

/// Returns the same for plans: the failures of their nodes, and those of time and budget.
[[nodiscard]] auto plan_failure_codes() noexcept -> std::span<const std::string_view>;

/// Returns whether a pattern stands for that code.
[[nodiscard]] auto stands_for(std::string_view pattern, std::string_view code) noexcept -> bool;

/// Returns the code among `known` that one of the patterns stands for, if `code` is that.
[[nodiscard]] auto find_failure(const failure_patterns& patterns, std::string_view code,
                                std::span<const std::string_view> known) noexcept -> std::optional<std::string_view>;

/// Returns whether some of these failures depend on how long something takes: then answers do, too.
[[nodiscard]] auto names_time(const failure_patterns& patterns) noexcept -> bool;

}  // namespace rankd
