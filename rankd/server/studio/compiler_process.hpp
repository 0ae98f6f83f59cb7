// rankd/server/studio/compiler_process.hpp: the compiler of plans as a child process that answers questions, `dslc
// serve`.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/task.hpp>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

namespace braid {
class runtime;
}

namespace rankd {

/// A process that takes a line for each question and gives one for its answer, both JSON. It is started by the first
/// question, and again by the next one where it has ended. Threads: any; questions wait for each other.
class compiler_process {
 public:
  struct settings {
    std::string program;                                 ///< a path, or a name that is looked for in PATH
    std::filesystem::path project;                       ///< the folder with rankd.toml
    std::string engine = {};                             ///< the rankd that it checks plans by; empty: it looks for one
    braid::duration max_wait = std::chrono::minutes(1);  ///< for an answer; a process that takes longer is killed
    std::size_t max_answer = std::size_t{64} << 20U;     ///< bytes; a process that writes more is killed
  };

  explicit compiler_process(settings how);
  /// Kills it.
  ~compiler_process();
  compiler_process(const compiler_process&) = delete;
  auto operator=(const compiler_process&) -> compiler_process& = delete;

  /// The line that answers a question without a line feed. A line that `fits` refuses answers another question: then
  /// the process is killed. Blocks: until it is there. Errors: compiler_failed, no_runtime.
  auto ask(std::string question, const std::function<bool(const std::string&)>& fits = {})
      -> braid::checked<std::string>;

  /// The next question goes to a new process: this one may know what has changed meanwhile. It goes then,
  /// so that this waits for no question that is under way.
  void begin_anew();

  /// Kills the process. What is asked, and will be, is refused.
  void close();

 private:
  struct running;

  auto start() -> braid::checked<void>;
  [[nodiscard]] auto is_closed() const -> bool;
  auto was_outdated() -> bool;
  auto ask_here(const std::string& question, const std::function<bool(const std::string&)>& fits)
      -> braid::task<braid::checked<std::string>>;
  auto kill() -> braid::task<void>;
  auto end() -> braid::task<void>;

  settings how_;
  std::mutex mutex_;                    // held by one question from its begin to its end
  mutable std::mutex closing_;          // taken last
  bool is_closed_ = false;              // under it; true for good
  bool is_outdated_ = false;            // under it: the process is to end before the next question
  std::unique_ptr<braid::runtime> on_;  // set once, under it; null before the first question
  std::unique_ptr<running> running_;    // on the loop of that; null where there is no process
};

}  // namespace rankd
