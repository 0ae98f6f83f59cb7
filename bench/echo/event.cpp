// bench/echo/event.cpp: libevent by its events; its buffered streams would copy each message once more.
#include <bench/echo/cases.hpp>

#include <array>
#include <memory>

#include <event2/event.h>
#include <event2/event_struct.h>
#include <event2/listener.h>
#include <event2/thread.h>
#include <event2/util.h>

namespace {

struct client {
  event readable{};
  std::array<char, 4096> room{};
};

void echo(evutil_socket_t socket, short, void* given) {
  auto* const mine = static_cast<client*>(given);
  const ::ssize_t got = ::recv(socket, mine->room.data(), mine->room.size(), 0);
  if (got <= 0) {
    event_del(&mine->readable);
    ::close(socket);
    delete mine;
    return;
  }
  if (::send(socket, mine->room.data(), static_cast<std::size_t>(got), MSG_NOSIGNAL) != got)
    bench::detail::give_up("send");  // 64 bytes always have room
}

void take(evconnlistener* listener, evutil_socket_t accepted, sockaddr*, int, void*) {
  const int on = 1;
  ::setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  auto* const made = new client;
  event_assign(&made->readable, evconnlistener_get_base(listener), accepted, EV_READ | EV_PERSIST, &echo, made);
  event_add(&made->readable, nullptr);
}

struct server {
  std::unique_ptr<event_base, decltype(&event_base_free)> base{event_base_new(), &event_base_free};

  template <typename Ready>
  void run(Ready ready) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    evconnlistener* const listener =
        evconnlistener_new_bind(base.get(), &take, nullptr, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 1024,
                                reinterpret_cast<const sockaddr*>(&at), sizeof(at));
    if (listener == nullptr) bench::detail::give_up("listen");
    ::socklen_t size = sizeof(at);
    ::getsockname(evconnlistener_get_fd(listener), reinterpret_cast<sockaddr*>(&at), &size);
    ready(ntohs(at.sin_port));
    event_base_dispatch(base.get());
    evconnlistener_free(listener);
    event_base_dispatch(base.get());  // clients see the end of their connections
  }
};

auto ping_pong(const bench::parameters& given) -> bench::sample {
  server served;
  return bench::timed_echo(
      given, [&](auto ready) { served.run(ready); }, [&] { event_base_loopbreak(served.base.get()); });
}

}  // namespace

auto main(int count, char** arguments) -> int {
  evthread_use_pthreads();
  const bench::contender who{.name = "libevent", .kind = bench::kind::rival, .version = event_get_version()};
  return bench::run_program(count, arguments, "echo", {{"ping_pong", who, &ping_pong}});
}
