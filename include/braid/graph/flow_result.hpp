// braid/graph/flow_result.hpp: what a run of a flow gave, how far each node came, and where the time went.
#pragma once

#include <braid/base/assert.hpp>
#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/graph/critical_path.hpp>
#include <braid/graph/detail/flow_plan.hpp>
#include <braid/graph/run.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace braid {

namespace detail {
struct flow_ending;
}  // namespace detail

/// How far the nodes of a run came. Nodes have the numbers in which they were added, and stand in that order.
/// Lifetime: keeps the names of the nodes; nothing else of the flow, and nothing of the run. Threads: any, because it
/// does not change.
class BRAID_API flow_report {
 public:
  [[nodiscard]] auto size() const noexcept -> std::size_t { return progress_.size(); }
  [[nodiscard]] auto name(node_index node) const noexcept -> const std::string&;
  /// Never `running`: the run is over.
  [[nodiscard]] auto progress(node_index node) const noexcept -> node_progress { return progress_[node]; }
  /// The nodes that never began, because a stop or a failure came first.
  [[nodiscard]] auto skipped() const -> std::vector<node_index>;
  /// How many nodes ended so late that their result was not used.
  [[nodiscard]] auto late() const noexcept -> std::size_t { return late_; }

  /// Whether the times were recorded; without them the rest says nothing.
  [[nodiscard]] auto has_times() const noexcept -> bool { return has_times_; }
  [[nodiscard]] auto times(node_index node) const noexcept -> node_times;
  /// From the begin of the run to the end of its last node.
  [[nodiscard]] auto total() const noexcept -> duration;
  /// The steps add up to `total()`.
  [[nodiscard]] auto critical_path() const -> std::vector<critical_step>;
  /// A line for each node, and the critical path.
  [[nodiscard]] auto to_text() const -> std::string;

 private:
  friend struct detail::flow_ending;

  std::shared_ptr<const detail::flow_plan> plan_;
  std::vector<node_progress> progress_;
  std::vector<node_times> times_;
  time_point begin_{};
  std::size_t late_ = 0;
  bool has_times_ = false;
};

namespace detail {

/// Throws what stands for a failure.
[[noreturn]] BRAID_API void throw_flow_failure(const graph_failure& why, const flow_report& report);

}  // namespace detail

/// A value, or why there is none.
template <typename T>
class [[nodiscard]] flow_result {
  using stored = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

 public:
  [[nodiscard]] auto has_value() const noexcept -> bool { return value_.has_value(); }
  [[nodiscard]] explicit operator bool() const noexcept { return has_value(); }

  /// Moves the value out. Errors: rethrows what the failed node threw; std::system_error that names the node, with
  /// errc::deadline_exceeded for one that did not end in its time, and errc::stopped for one that gave up; and without
  /// a name for the deadline of the run.
  auto take() -> T {
    if (!has_value()) detail::throw_flow_failure(*failure_, report_);
    if constexpr (!std::is_void_v<T>) return std::move(*value_);
  }

  /// Nothing where there is a value. Of several nodes that failed, the one that was added first, whatever the timing.
  [[nodiscard]] auto failure() const noexcept -> const std::optional<graph_failure>& { return failure_; }
  [[nodiscard]] auto report() const noexcept -> const flow_report& { return report_; }

 private:
  friend struct detail::flow_ending;

  std::optional<stored> value_;
  std::optional<graph_failure> failure_;
  flow_report report_;
};

}  // namespace braid
