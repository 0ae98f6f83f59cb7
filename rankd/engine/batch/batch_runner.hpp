// rankd/engine/batch/batch_runner.hpp: many requests answered by several threads, in the order in which they came.
#pragma once

#include <rankd/engine/engine.hpp>

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

/// The answers to some lines that followed each other.
struct batch_answers {
  std::string text;  ///< a line for each, in order
  std::uint64_t answered = 0;
  std::uint64_t failed = 0;  ///< those of them that are errors
};

struct batch_options {
  unsigned workers = 0;    ///< threads that answer; 0: braid::default_worker_count()
  std::string given_plan;  ///< for requests that name none
  /// The plan of a name, for as long as the runner lives. Any thread.
  std::function<braid::checked<const bound_plan*>(std::string_view name)> find_plan;
  engine_options engine = {};
};

/// Each thread has a loop, a worker and an engine of its own, so that requests share nothing but stores and plans: an
/// answer depends on its line alone, and more threads answer more lines.
/// Threads: one thread calls it. Lifetime: registries and stores outlive it.
class batch_runner {
 public:
  /// How many lines are answered at the same time by one thread; what is submitted together waits together.
  static constexpr std::size_t max_lines = 32;

  /// Starts the threads. Errors: no_runtime.
  static auto create(const registries& declared, const std::vector<store*>& stores, batch_options options)
      -> braid::checked<std::unique_ptr<batch_runner>>;

  /// Drops what was not begun.
  ~batch_runner();

  /// Whether the threads have less than they want to have before them.
  [[nodiscard]] auto wants_more() const noexcept -> bool;

  /// Requires at most `max_lines`.
  void submit(std::vector<batch_line> lines);

  /// The answers to what was submitted first and not given yet; nothing where there is none.
  /// Blocks: until they are there.
  auto next() -> std::optional<batch_answers>;

 private:
  struct worker_loop;
  struct piece;

  explicit batch_runner(batch_options options);

  void serve(worker_loop& on);
  auto take() -> piece*;
  static auto answer_all(batch_runner& owner, worker_loop& on, piece& work) -> braid::task<void>;
  static auto answer_one(batch_runner& owner, worker_loop& on, const batch_line& line, std::string& out,
                         std::uint64_t& failed) -> braid::task<void>;

  batch_options options_;
  std::vector<std::unique_ptr<worker_loop>> loops_;

  std::mutex mutex_;
  std::condition_variable changed_;            // a piece was submitted or answered, or the end has come
  std::deque<std::unique_ptr<piece>> pieces_;  // in order, from the next one to give
  std::size_t begun_ = 0;                      // of pieces_
  bool ending_ = false;
  std::vector<braid::thread> threads_;
};

}  // namespace rankd
