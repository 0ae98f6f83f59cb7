// src/io/program.hpp: starts a program in a child process, and returns a descriptor of the process.
#pragma once

#include <braid/base/error.hpp>
#include <braid/io/backend.hpp>
#include <braid/io/process.hpp>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>
#include <unistd.h>

namespace braid::detail {

/// Identifies a child process by a pidfd, and also by its number for systems that refuse calls with a pidfd.
struct child_name {
  int process;  // the pidfd of the process
  pid_t id;
};

/// The result of checking a child process. It says whether the child has ended, and how.
struct child_look {
  int error = 0;                                         // the system's error, or 0
  std::optional<child_process::exit_status> ended = {};  // empty while it runs
};

/// Reaps a child process if it has ended. Blocks until the child has ended, unless `flags` contains WNOHANG. Uses
/// waitid(2) with the pidfd, or wait4(2) if the system refuses that.
[[nodiscard]] auto look_at(child_name child, int flags) noexcept -> child_look;

/// Waits for the end of a child process, and reaps it.
void reap(child_name child) noexcept;

/// Sends a signal to a child process by its pidfd, or with kill(2) if the system refuses that.
/// Errors: no_such_process if the child was reaped, or another error of the system.
[[nodiscard]] auto send_signal(child_name child, int signal) noexcept -> result<void>;

/// A running program. If the object still owns the descriptor, its destructor kills the process and reaps it.
class running_program {
 public:
  running_program(pid_t id, descriptor process) noexcept : process_(std::move(process)), id_(id) {}
  running_program(running_program&&) noexcept = default;
  auto operator=(running_program&&) -> running_program& = delete;
  ~running_program();

  [[nodiscard]] auto id() const noexcept -> pid_t { return id_; }
  [[nodiscard]] auto process() noexcept -> descriptor& { return process_; }

 private:
  descriptor process_;  // the pidfd of the process
  pid_t id_;
};

/// Starts a program. All data of the child is prepared before the child is created. Until the child executes the
/// program, the child shares the memory of this process and may only make system calls.
class program_start {
 public:
  /// Lifetime: `options` must exist until `run` has returned.
  explicit program_start(const child_process::options& options);

  /// Prepares one standard stream of the child. Returns the parent's end of a pipe, or a closed descriptor if the
  /// stream is not a pipe.
  [[nodiscard]] auto lead(int stream, child_process::stream target) -> result<descriptor>;

  /// Starts the program.
  /// Errors: those of the system calls. If the start fails, no child process remains.
  [[nodiscard]] auto run() -> result<running_program>;

  /// The data that the child reads. It contains only pointers and numbers, so that reading it calls no functions.
  struct child_view {
    const char* const* paths = nullptr;  // the paths to try, ended by a null
    char* const* words = nullptr;
    char* const* variables = nullptr;
    const char* folder = nullptr;  // null: the folder of this process
    int sources[3] = {};           // a descriptor above 2 for each stream, `inherited` or `nothing`
    int error = 0;                 // set by the child if it cannot execute the program
  };
  static constexpr int inherited = -1;
  static constexpr int nothing = -2;

 private:
  void list_paths(const std::string& program);

  std::vector<std::string> in_path_;  // the paths to try
  std::vector<const char*> paths_;
  std::vector<char*> words_;
  std::vector<char*> variables_;
  std::array<descriptor, 3> theirs_;  // closed once the child has them
  std::unique_ptr<std::byte[]> stack_;
  child_view view_;
};

}  // namespace braid::detail
