// rankd/cli/serve/service_manager.cpp: sends each message to the service manager as one datagram.
#include <rankd/cli/serve/service_manager.hpp>

#include <braid/io/sockets.hpp>

#include <cstdlib>
#include <string_view>

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace rankd {

void notify_service_manager(std::string_view lines) noexcept {
  const char* const variable = std::getenv("NOTIFY_SOCKET");
  if (variable == nullptr) return;
  const std::string_view name = variable;
  const auto to = name.starts_with('@') ? braid::socket_address::unix_abstract(name.substr(1))
                                        : braid::socket_address::unix_file(name);
  if (!to) return;
  const int from = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (from < 0) return;
  // The maximum time to wait if the queue of a busy service manager is full.
  constexpr ::timeval limit{.tv_sec = 5, .tv_usec = 0};
  ::setsockopt(from, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  static_cast<void>(::sendto(from, lines.data(), lines.size(), MSG_NOSIGNAL, to->data(), to->size()));
  ::close(from);
}

}  // namespace rankd
