// doctor/ask_process.cpp: sends a request to the socket that BRAID_TOP=1 opens, after checking which process owns it.
#include <doctor/ask_process.hpp>

#include <braid/base/detail/number_in.hpp>
#include <braid/runtime/detail/socket_deadline.hpp>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <ios>
#include <limits>
#include <string>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace braid::doctor {
namespace {

constexpr std::string_view last_line = "# EOF\n";

/// Returns whether the socket's peer is `process`. Another process may have taken the socket's name in the abstract
/// namespace first.
auto belongs_to(int socket, int process) -> bool {
  ::ucred peer{};
  ::socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.pid == process;
}

/// Reads the answer until the process closes the connection.
auto read_answer(int socket, const detail::socket_deadline& deadline, std::size_t max_bytes) -> process_answer {
  process_answer given;
  std::array<char, 16'384> part;
  while (true) {
    const ::ssize_t got = deadline.receive(socket, part);
    if (got < 0) return {};
    if (got == 0) break;
    given.text.append(part.data(), static_cast<std::size_t>(got));
    if (given.text.size() > max_bytes) return {.became = process_answer::how::too_large};
  }
  if (!given.text.ends_with(last_line)) return {};
  given.text.resize(given.text.size() - last_line.size());
  given.became = process_answer::how::answered;
  return given;
}

/// Connects, sends the request and reads the answer. A stopped or hanging process accepts the connection but does not
/// answer, so all steps have a deadline.
auto exchange(int socket, int process, char question, const question_limits& limits) -> process_answer {
  ::sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const int length = std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "braid.%d", process);
  const auto size = static_cast<::socklen_t>(offsetof(::sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(length));
  const detail::socket_deadline deadline(limits.time);
  if (!deadline.limit_connect(socket)) return {};
  if (::connect(socket, reinterpret_cast<const ::sockaddr*>(&address), size) != 0) return {};
  if (!belongs_to(socket, process)) return {.became = process_answer::how::impostor};
  if (!deadline.send_all(socket, std::string_view(&question, 1))) return {};
  return read_answer(socket, deadline, limits.bytes);
}

}  // namespace

auto ask_process(int process, char question, const question_limits& limits) -> process_answer {
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) throw std::system_error(errno, std::generic_category(), "no socket");
  struct guard {
    int number;
    ~guard() { ::close(number); }
  } const owner{socket};
  return exchange(socket, process, question, limits);
}

auto too_large_problem(int process) -> std::string {
  return "process " + std::to_string(process) + " sent more than " +
         std::to_string(question_limits().bytes / 1024 / 1024) + " MiB, the maximum size of an answer";
}

auto runs_with_top(int process) -> bool {
  std::ifstream file("/proc/" + std::to_string(process) + "/environ", std::ios::binary);
  for (std::string variable; std::getline(file, variable, '\0');)
    if (variable == "BRAID_TOP=1") return true;
  return false;
}

auto silent_problem(int process) -> std::string {
  const std::string number = std::to_string(process);
  if (runs_with_top(process))
    return "process " + number +
           " runs with BRAID_TOP=1 but does not answer: it has not created a braid pool or runtime " +
           "yet, or is stopped";
  return "process " + number +
         " does not answer: start it with BRAID_TOP=1, and run braid-doctor as the same user or as root";
}

auto unexpected_word(const std::string& word, bool has_process) -> std::string {
  if (word.starts_with("--")) return "unknown option `" + word + "`";
  if (has_process) return "only one process can be named, got `" + word + "` as well";
  return "the number of a process must be an integer from 1 to " + std::to_string(std::numeric_limits<int>::max()) +
         ", got `" + word + "`";
}

auto process_number(std::string_view word) -> std::optional<int> {
  const auto number = detail::number_in<int>(word);
  return number && *number > 0 ? number : std::nullopt;
}

}  // namespace braid::doctor
