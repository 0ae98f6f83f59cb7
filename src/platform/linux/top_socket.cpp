// src/platform/linux/top_socket.cpp: a thread that sends the metrics of all runtimes and pools to each client that
// connects.
#include "../../runtime/top_socket.hpp"

#include "../../runtime/metrics_reader.hpp"
#include "../../runtime/pool_watch.hpp"

#include <braid/coro/dump.hpp>
#include <braid/runtime/detail/socket_deadline.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/user_code.hpp>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <span>
#include <string>
#include <string_view>

#include <poll.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace braid::detail {
namespace {

int listener = -1;  // written before the thread starts, and in the child of a fork

void refuse(const char* reason) noexcept { std::fprintf(stderr, "braid: BRAID_TOP is ignored: %s\n", reason); }

/// Creates a listening socket with a name in the abstract namespace. Such a name disappears with the process, so no
/// file remains.
auto bound_socket() noexcept -> int {
  const int made = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (made < 0) return -1;
  ::sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const int length = std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "braid.%d", ::getpid());
  const auto size = static_cast<::socklen_t>(offsetof(::sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(length));
  constexpr int backlog = 8;
  if (::bind(made, reinterpret_cast<const ::sockaddr*>(&address), size) == 0 && ::listen(made, backlog) == 0)
    return made;
  const int error = errno;
  ::close(made);
  errno = error;
  return -1;
}

/// Returns whether the client's user is root or the user of this process.
auto may_ask(int client) noexcept -> bool {
  ::ucred peer{};
  ::socklen_t size = sizeof peer;
  if (::getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == 0 || peer.uid == ::geteuid();
}

void add_waits(metric_list& metrics) {
  for (const auto& [wait, tasks] : count_waits(100ms)) {
    metrics.label({{"for", wait}});
    metrics.gauge("braid_waiting_tasks", "Suspended tasks, by the object that they wait for.",
                  static_cast<double>(tasks));
  }
}

/// Answers one client. Its request is one byte: `m` for metrics, `w` for metrics and the waits of tasks, `t` for a dump
/// of the tasks. A client has one second to send the request and five seconds to read the answer; other clients wait in
/// the meantime.
void answer(int client) {
  const user_code_section section;
  char asked = 0;
  if (!may_ask(client) || socket_deadline(1s).receive(client, std::span(&asked, 1)) != 1) return;
  std::string text;
  if (asked == 't') {
    text = dump().to_text() + "# EOF\n";
  } else {
    metric_list all;
    runtime_list::for_each([&all](runtime& each) { metrics_reader::add(each, all); });
    add_metrics_of_pools(all);
    if (asked == 'w') add_waits(all);
    text = metrics_text(all.take(), metric::format::open_metrics);
  }
  static_cast<void>(socket_deadline(5s).send_all(client, text));  // a client that is too slow gets only a part
}

auto serve(void* /*nothing*/) -> void* {
  ::prctl(PR_SET_NAME, "braid-top");
  while (true) {
    const int client = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) {
      // docs/design/constants.md gives the reason for this value.
      constexpr int pause_ms = 100;  // the pause after an error, such as a lack of descriptors
      if (errno != EINTR && errno != ECONNABORTED) ::poll(nullptr, 0, pause_ms);
      continue;
    }
    try {
      answer(client);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "braid: the metrics cannot be sent: %s\n", error.what());
    }
    ::close(client);
  }
}

/// Starts the thread with all signals blocked, so that signals reach the program's own threads.
auto start_server() noexcept -> bool {
  ::sigset_t all;
  ::sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  ::pthread_t made{};
  const int error = ::pthread_create(&made, nullptr, &serve, nullptr);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error == 0) ::pthread_detach(made);
  return error == 0;
}

/// Closes the socket in the child of a fork. The child has no thread that answers, and must not occupy the name of its
/// parent.
void forget_listener_in_child() noexcept {
  ::close(listener);
  listener = -1;
}

/// Opens the socket and starts the thread if `value`, the value of BRAID_TOP, is 1.
void open_as_asked(const char* value) noexcept {
  if (std::string_view(value) != "1") return refuse("it must be 1");
  listener = bound_socket();
  if (listener < 0) return refuse(std::strerror(errno));
  if (start_server()) {
    ::pthread_atfork(nullptr, nullptr, &forget_listener_in_child);
    return;
  }
  forget_listener_in_child();
  refuse("no thread can be started");
}

}  // namespace

/// Uses an atomic flag instead of a static object. A thread of the parent might hold the guard of a static object
/// during a fork; in the child the guard would be held for ever.
void begin_top_socket() noexcept {
  constinit static atomic<bool> has_begun{false};
  const char* const value = ::secure_getenv("BRAID_TOP");
  if (value == nullptr || value[0] == 0) return;
  if (!has_begun.load(relaxed) && !has_begun.exchange(true, relaxed)) open_as_asked(value);
}

}  // namespace braid::detail
