// braid/io/detail/loop_driver.hpp: the driver of a worker with an event loop, so that one thread computes and waits for
// I/O.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/io/loop.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/worker.hpp>

#include <cstdint>
#include <memory>

namespace braid::detail {

/// A driver that gives a worker its own loop. A worker without jobs sleeps in the loop. A worker with jobs runs the
/// loop between two jobs, at least once every 256 jobs. Once 20 µs have passed since the last iteration, the loop runs
/// after at most eight more jobs. If each job takes at least 20 µs, the loop runs after each job. An iteration of the
/// loop takes at most 100 µs, unless a single task takes longer.
/// Threads: any thread may call `unpark` and `await_end`; only the worker may call the other functions.
/// Protocol: docs/design/merged.md
class BRAID_API loop_driver final : public driver {
 public:
  explicit loop_driver(std::unique_ptr<loop> owned) noexcept : loop_(std::move(owned)) {}

  [[nodiscard]] auto io() noexcept -> loop& { return *loop_; }

  /// Makes the calling worker the thread of the loop. From now on the loop accepts posts. Called once, before the first
  /// job.
  void begin();

  /// Stops the loop, and runs it until it has stopped. This call is the last action of the worker.
  void end() noexcept;

  /// Blocks until the loop has stopped and everything that its tasks owned is destroyed. Requires that a stop of the
  /// loop was requested.
  void await_end() noexcept;

  /// Frees the loop and its descriptors. Requires that the loop has stopped, and that no thread uses it any more.
  void free_loop() noexcept { loop_.reset(); }

  void park() noexcept override;
  [[nodiscard]] auto park_until(time_point deadline) noexcept -> bool override;
  void unpark() noexcept override;

  [[nodiscard]] auto has_own_work() const noexcept -> bool override { return true; }
  [[nodiscard]] auto sleep_until(time_point deadline) noexcept -> wake_reason override;
  [[nodiscard]] auto is_ready() noexcept -> bool override { return !has_ended_ && loop_->is_ready(); }
  [[nodiscard]] auto is_due() noexcept -> bool override;
  void work() noexcept override;

 private:
  static constexpr std::uint32_t max_polls = 32;  // at eight jobs each, the loop runs after 256 jobs
  static constexpr duration between_iterations = 20us;

  // The possible values of the permit.
  static constexpr std::uint32_t none = 0;
  static constexpr std::uint32_t given = 1;
  static constexpr std::uint32_t in_loop = 2;  // no permit, and the worker sleeps in the loop, or is about to
  static constexpr std::uint32_t alone = 3;    // no permit, and the worker sleeps on this word, or is about to

  auto take_or_announce(std::uint32_t sleeping) noexcept -> bool;
  void note_end() noexcept;

  std::unique_ptr<loop> loop_;
  bool has_ended_ = false;
  std::uint32_t looks_ = 0;               // the number of polls since the last iteration
  time_point due_;                        // the time of the next iteration
  atomic<std::uint32_t> permit_{none};    // written by the worker, and by unparking threads
  atomic<std::uint32_t> has_stopped_{0};  // 1 once the loop has stopped; written by the worker
};

}  // namespace braid::detail
