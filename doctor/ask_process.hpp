// doctor/ask_process.hpp: sends requests to a program that runs with BRAID_TOP=1.
#pragma once

#include <braid/base/clock.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace braid::doctor {

/// The limits of one request. They are enforced even if the other process is hostile.
struct question_limits {
  duration time = std::chrono::seconds(5);            ///< the time from the connection to the end of the answer
  std::size_t bytes = std::size_t{64} * 1024 * 1024;  ///< the maximum size of the answer
};

/// The answer of a process, or the reason why the process did not answer.
struct process_answer {
  enum class how : std::uint8_t {
    answered,
    silent,     ///< it has no such socket, or its answer was not complete in time
    impostor,   ///< another process has taken the name of its socket
    too_large,  ///< its answer is longer than the limit
  };

  how became = how::silent;
  std::string text = {};  ///< without its last line, which shows that it is complete; empty if there is no answer
};

/// Sends a request to the socket of the process, and returns the answer.
/// Blocks: for `limits.time` at most. Errors: std::system_error if a socket cannot be created.
auto ask_process(int process, char question, const question_limits& limits = {}) -> process_answer;

/// Returns the error message for a process whose answer is too large.
auto too_large_problem(int process) -> std::string;

/// Returns the error message for a process that did not answer. The message suggests BRAID_TOP=1, unless the process
/// was started with that setting.
auto silent_problem(int process) -> std::string;

/// Returns whether the process was started with BRAID_TOP=1. Returns false if this user may not read the environment of
/// the process.
auto runs_with_top(int process) -> bool;

/// Returns the error message for a word of a command line that is neither a known option nor the number of a process.
/// `has_process` is true if a process has been named already.
auto unexpected_word(const std::string& word, bool has_process) -> std::string;

/// Parses the number of a process. Returns nothing if the word is not a number.
auto process_number(std::string_view word) -> std::optional<int>;

/// Runs the command `braid-doctor tasks` with the arguments after its name. Returns the exit status.
auto run_tasks(std::span<const std::string> words) -> int;

}  // namespace braid::doctor
