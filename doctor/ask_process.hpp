// doctor/ask_process.hpp: questions to a program that runs with BRAID_TOP=1.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace braid::doctor {

struct process_answer {
  enum class how : std::uint8_t {
    answered,
    silent,    ///< it has no such socket, or has said nothing for five seconds
    impostor,  ///< another process has taken the name of its socket
  };

  how became = how::silent;
  std::string text = {};  ///< without its last line, by which it is whole
};

/// Asks the socket of the process. Errors: std::system_error where there can be no socket.
auto ask_process(int process, char question) -> process_answer;

/// The number of a process, where the word is one.
auto process_number(std::string_view word) -> std::optional<int>;

/// The command `braid-doctor tasks`, without its name. Gives the exit status.
auto run_tasks(std::span<const std::string> words) -> int;

}  // namespace braid::doctor
