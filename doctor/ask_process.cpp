// doctor/ask_process.cpp: asks the socket that BRAID_TOP=1 opens, and whether it is the process's own.
#include <doctor/ask_process.hpp>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <system_error>

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

namespace braid::doctor {
namespace {

constexpr std::string_view last_line = "# EOF\n";

/// A name in the abstract namespace belongs to the first process that takes it.
auto is_of(int socket, int process) -> bool {
  ::ucred who{};
  ::socklen_t size = sizeof who;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && who.pid == process;
}

/// A process that is stopped or hangs takes the connection all the same, and says nothing.
auto limit_waits(int socket) -> bool {
  const ::timeval limit{.tv_sec = 5, .tv_usec = 0};
  return ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0 &&
         ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) == 0;
}

auto exchange(int socket, int process, char question) -> process_answer {
  ::sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const int length = std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "braid.%d", process);
  const auto size = static_cast<::socklen_t>(offsetof(::sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(length));
  if (::connect(socket, reinterpret_cast<const ::sockaddr*>(&address), size) != 0) return {};
  if (!is_of(socket, process)) return {.became = process_answer::how::impostor};
  if (::send(socket, &question, 1, MSG_NOSIGNAL) != 1) return {};
  process_answer given;
  std::array<char, 16'384> part;
  for (::ssize_t got = 0; (got = ::recv(socket, part.data(), part.size(), 0)) > 0;)
    given.text.append(part.data(), static_cast<std::size_t>(got));
  if (!given.text.ends_with(last_line)) return {};
  given.text.resize(given.text.size() - last_line.size());
  given.became = process_answer::how::answered;
  return given;
}

}  // namespace

auto ask_process(int process, char question) -> process_answer {
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) throw std::system_error(errno, std::generic_category(), "no socket");
  process_answer given;  // silent
  if (limit_waits(socket)) given = exchange(socket, process, question);
  ::close(socket);
  return given;
}

auto process_number(std::string_view word) -> std::optional<int> {
  int number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc{} || end != word.data() + word.size() || number <= 0) return std::nullopt;
  return number;
}

}  // namespace braid::doctor
