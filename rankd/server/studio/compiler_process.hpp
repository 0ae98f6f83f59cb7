// rankd/server/studio/compiler_process.hpp: runs the compiler of plans, `dslc serve`, as a child process that answers
// questions.
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

/// A child process that reads one line of JSON for each question, and writes one line of JSON for each answer. The
/// first question starts the process. If the process has ended, the next question starts it again. Threads: any. Only
/// one question is sent at a time; other questions wait.
class compiler_process {
 public:
  struct settings {
    std::string program;            ///< a path, or a name that is searched in PATH
    std::filesystem::path project;  ///< the folder with rankd.toml
    std::string engine = {};        ///< the rankd that checks the plans; empty: dslc searches for one
    /// The maximum time for an answer. A process that takes longer is killed.
    braid::duration max_wait = std::chrono::minutes(1);
    std::size_t max_answer = std::size_t{64}
                             << 20U;  ///< the maximum size of an answer; a process that writes more is killed
  };

  explicit compiler_process(settings settings);
  /// Kills the compiler's process.
  ~compiler_process();
  compiler_process(const compiler_process&) = delete;
  auto operator=(const compiler_process&) -> compiler_process& = delete;

  /// Sends a question, without a line feed, and returns the line that answers it. `fits` decides whether a line is the
  /// answer to this question. If the line is not an answer to this question, the process is killed. Blocks: until the
  /// answer arrives. Errors: compiler_failed, no_runtime.
  auto ask(std::string question, const std::function<bool(const std::string&)>& fits = {})
      -> braid::checked<std::string>;

  /// Makes the next question use a new process, because the current process may have cached outdated files. Does not
  /// wait for a running question: the current process is ended when the next question is asked.
  void begin_anew();

  /// Kills the process. Refuses pending and future questions.
  void close();

 private:
  struct running;
  struct process_end;

  auto start() -> braid::checked<void>;
  [[nodiscard]] auto is_closed() const -> bool;
  auto was_outdated() -> bool;
  auto ask_here(const std::string& question, const std::function<bool(const std::string&)>& fits)
      -> braid::task<braid::checked<std::string>>;
  auto kill() -> braid::task<void>;
  auto end() -> braid::task<void>;

  settings settings_;
  std::mutex mutex_;                         // held by one question from start to end
  mutable std::mutex closing_;               // locked last
  bool is_closed_ = false;                   // guarded by closing_; never reset
  bool is_outdated_ = false;                 // guarded by closing_; the process must end before the next question
  std::unique_ptr<braid::runtime> runtime_;  // set once, guarded by closing_; null before the first question
  std::unique_ptr<running> running_;         // used on the loop of `runtime_`; null if there is no process
};

}  // namespace rankd
