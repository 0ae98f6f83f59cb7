// braid/graph/run_options.hpp: the options of a graph run, and the ways in which its nodes can end.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/error.hpp>
#include <braid/graph/shape.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory_resource>
#include <span>

namespace braid {

/// Selects where a node runs.
enum class node_mode : std::uint8_t {
  here,    ///< on the thread of the run, at once: for small work
  worker,  ///< on the executor for computing
  task,    ///< a task on the home of the run, which may wait
};

/// The way in which the function of a node has ended.
enum class node_status : std::uint8_t {
  done,
  failed,
  skipped,  ///< it did not begin, because a stop was requested before it could
};

/// The progress of a node in a run.
enum class node_progress : std::uint8_t {
  skipped,  ///< it has not begun; once the run is joined: it never will
  running,
  done,
  failed,    ///< it returned a failure, threw, gave up, or exceeded its time
  stopped,   ///< stopped by the run, or by the failure of a node before it in the order
  late,      ///< it ended after the result of the run was known, so its own result was not used
  replaced,  ///< it failed, and the run continues as if it were done
};

/// The reason why a run or a node did not succeed.
struct graph_failure {
  enum class cause : std::uint8_t {
    node_failed,   ///< `node` has returned a failure, or thrown `error`
    node_timeout,  ///< `node` exceeded its time limit
    run_stopped,   ///< the scope of the run was stopped; `reason` is the reason
  };
  cause why = cause::node_failed;
  node_index node = 0;
  std::exception_ptr error;
  errc reason = errc::stopped;
};

/// Selects what a run does after a node has failed.
enum class after_failure : std::uint8_t {
  stop,        ///< nodes after the failed node in the order are stopped or never start
  keep_going,  ///< only nodes that depend on the failed node are skipped, as with `make -k`
};

/// The options of a `graph_run`.
struct graph_run_options {
  after_failure on_failure = after_failure::stop;
  /// The maximum number of nodes with the mode `worker` or `task` that run at a time, like the number after `make -j`.
  /// It must be at least 1.
  std::size_t max_running = std::numeric_limits<std::size_t>::max();
  /// A priority for each node, as `remaining_paths` computes it. If several nodes are ready, the node with the largest
  /// priority starts first; nodes of equal priority start in the order of the shape. Without priorities the order is
  /// not specified. Priorities matter most together with `max_running`, because the executor determines the order of
  /// nodes that have been started.
  std::span<const duration> priorities = {};
  const clock_source* clock = nullptr;  ///< records the times of each node, read on any thread; null: no times
  std::pmr::memory_resource* memory = std::pmr::get_default_resource();  ///< the memory for the arrays of the run
};

}  // namespace braid
