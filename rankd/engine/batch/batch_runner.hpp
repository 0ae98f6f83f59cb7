// rankd/engine/batch/batch_runner.hpp: answers many requests on several threads, and returns the answers in the order
// of the requests.
#pragma once

#include <rankd/engine/engine.hpp>

#include <braid/base/clock.hpp>
#include <braid/base/error.hpp>
#include <braid/thread/thread.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

/// One line of a file of requests.
struct batch_line {
  std::uint64_t number = 0;  ///< counted from 1
  std::string text;
  std::optional<braid::diagnostic> unreadable;  ///< why there is no text
};

/// The answers to consecutive lines.
struct batch_answers {
  std::string text;  ///< a line for each answer, in order
  std::uint64_t answered = 0;
  std::uint64_t failed = 0;  ///< answers that are errors
};

struct batch_options {
  unsigned workers = 0;  ///< threads that answer; 0: braid::default_worker_count()
  /// The number of requests that each thread answers at the same time. A value of 0, or above max_lines, means
  /// max_lines.
  std::size_t in_flight = 0;
  std::string given_plan;  ///< the plan for requests that do not name a plan
  /// Returns the plan with this name. The plan lives as long as the runner. Threads: any.
  std::function<braid::checked<const bound_plan*>(std::string_view name)> find_plan;
  engine_options engine = {};
};

/// Answers the lines of a batch on several threads. Each thread has its own loop, worker and engine, and shares only
/// stores and plans with the others. So an answer depends only on its line, and more threads answer more lines per
/// second. A loop begins with the lines of the next `submit` while the last lines of the previous one still run, so the
/// loop is never idle in between. Threads: one thread calls all functions. Lifetime: the registries and the stores must
/// outlive the runner.
class batch_runner {
 public:
  /// The maximum number of lines in one call of `submit`. One thread answers all of them.
  static constexpr std::size_t max_lines = 32;

  /// Starts the threads. Errors: no_runtime.
  static auto create(const registries& declared, const std::vector<store*>& stores, batch_options options)
      -> braid::checked<std::unique_ptr<batch_runner>>;

  /// Drops the lines that no thread has started. Every other line is stopped at its next suspension point.
  ~batch_runner();

  /// Returns whether more lines should be submitted to keep the threads busy.
  [[nodiscard]] auto wants_more() const -> bool;

  /// Queues lines for one thread. Requires 1 to `max_lines` lines.
  void submit(std::vector<batch_line> lines);

  /// Waits until `next` can return without blocking, but at most for `limit`. Returns whether `next` can then return
  /// without blocking.
  /// Blocks: at most for `limit`.
  auto wait_for(braid::duration limit) -> bool;

  /// Returns the answers to the oldest submitted lines that have not been returned yet. Returns nothing if there are no
  /// such lines. Blocks: until the answers are ready.
  auto next() -> std::optional<batch_answers>;

 private:
  struct worker_loop;
  struct piece;

  explicit batch_runner(batch_options options);

  void serve(worker_loop& worker);
  auto take() -> piece*;
  auto find_line(worker_loop& worker) -> piece*;
  void finish(piece& work);
  void start_lanes(worker_loop& worker);
  static auto answer_pieces(batch_runner& owner, worker_loop& worker) -> braid::task<void>;
  static auto answer_lines(batch_runner& owner, worker_loop& worker) -> braid::task<void>;
  static auto answer_one(batch_runner& owner, worker_loop& worker, const batch_line& line, std::string& out,
                         std::uint64_t& failed) -> braid::task<void>;

  batch_options options_;
  std::vector<std::unique_ptr<worker_loop>> loops_;

  mutable std::mutex mutex_;
  // A condition variable that is notified when a piece (the lines of one `submit`) was submitted, or when the runner is
  // being destroyed.
  std::condition_variable submitted_;
  std::condition_variable answered_;           // the next piece to return was answered
  std::deque<std::unique_ptr<piece>> pieces_;  // in order, from the next one to return
  std::size_t begun_ = 0;                      // pieces in pieces_ that a thread has begun
  std::size_t bytes_ = 0;                      // bytes of the lines and the answers of these pieces
  bool ending_ = false;
  std::vector<braid::thread> threads_;
};

}  // namespace rankd
