// src/runtime/metrics_reader.hpp: declares a class with access to the private counters of pools and loops.
#pragma once

#include <braid/runtime/detail/stall_watch.hpp>
#include <braid/runtime/runtime.hpp>
#include <braid/task/worker.hpp>
#include <braid/trace/detail/metric_source.hpp>

#include <string>
#include <vector>

namespace braid::detail {

/// A class that is a friend of pools and loops, and reads their counters.
/// Threads: any, while the pool or loop exists.
struct metrics_reader {
  static void add(runtime& runtime, metric_list& metrics);
  /// Adds the metrics of a pool that belongs to no runtime. `stalls` may be null.
  static void add_pool(const pool& pool, const stall_watch* stalls, metric_list& metrics);

  [[nodiscard]] static auto loop_name(const runtime& runtime, std::size_t index) -> std::string;
  [[nodiscard]] static auto targets(const runtime& runtime) -> std::vector<stall_target>;
  [[nodiscard]] static auto targets(const pool& pool) -> std::vector<stall_target>;
  [[nodiscard]] static auto progress(const stall_target& target) noexcept -> stall_progress;
  [[nodiscard]] static auto thread(const stall_target& target) noexcept -> ::pid_t;

 private:
  static void add(const worker& worker, metric_list& metrics);
  static void add(const pool& pool, metric_list& metrics);
  static void add_stalls(const pool& pool, const stall_watch* stalls, metric_list& metrics);
  static void add(const blocking_pool& pool, metric_list& metrics);
  static void add(loop& loop, const std::string& name, metric_list& metrics);
};

}  // namespace braid::detail
