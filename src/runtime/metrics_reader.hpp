// src/runtime/metrics_reader.hpp: access to the counters that pools and loops keep to themselves.
#pragma once

#include <braid/runtime/detail/stall_watch.hpp>
#include <braid/runtime/runtime.hpp>
#include <braid/task/worker.hpp>
#include <braid/trace/detail/metric_source.hpp>

#include <string>
#include <vector>

namespace braid::detail {

/// Threads: any, while what it reads lives.
struct metrics_reader {
  static void add(runtime& of, metric_list& to);
  /// Adds the metrics of a pool that belongs to no runtime. `stalls` may be null.
  static void add_pool(const pool& of, const stall_watch* stalls, metric_list& to);

  [[nodiscard]] static auto loop_name(const runtime& of, std::size_t index) -> std::string;
  [[nodiscard]] static auto targets(const runtime& of) -> std::vector<stall_target>;
  [[nodiscard]] static auto targets(const pool& of) -> std::vector<stall_target>;
  [[nodiscard]] static auto progress(const stall_target& of) noexcept -> stall_progress;
  [[nodiscard]] static auto thread(const stall_target& of) noexcept -> ::pid_t;

 private:
  static void add(const worker& of, metric_list& to);
  static void add(const pool& of, metric_list& to);
  static void add_stalls(const pool& of, const stall_watch* stalls, metric_list& to);
  static void add(const blocking_pool& of, metric_list& to);
  static void add(loop& of, const std::string& name, metric_list& to);
};

}  // namespace braid::detail
