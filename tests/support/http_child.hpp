// tests/support/http_child.hpp: an HTTP server in a process of its own, so that what is scarce there is not here.
#pragma once

#include <braid/coro/task.hpp>
#include <braid/io/loop.hpp>
#include <braid/io/sockets.hpp>
#include <braid/net/http_server.hpp>

#include <array>
#include <csignal>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace braid::testing {

/// Answers `hello` to a GET of `/`, and gives back what is posted there. It ends with the object.
class http_child {
 public:
  /// `limit` is called in the child once it listens. Requires that this process has one thread.
  explicit http_child(const std::function<void()>& limit = {}, http_server::options options = {}) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe can be made");
    id_ = ::fork();
    if (id_ < 0) throw std::runtime_error("no process can be made");
    if (id_ == 0) run(ends[1], limit, std::move(options));
    ::close(ends[1]);
    const bool listens = ::read(ends[0], &port_, sizeof(port_)) == sizeof(port_);
    ::close(ends[0]);
    if (!listens) throw std::runtime_error("the server of a child does not listen");
  }
  http_child(const http_child&) = delete;
  auto operator=(const http_child&) -> http_child& = delete;
  ~http_child() {
    ::kill(id_, SIGKILL);
    ::waitpid(id_, nullptr, 0);
  }

  [[nodiscard]] auto address() const -> socket_address { return socket_address::loopback(port_); }
  [[nodiscard]] auto url(const char* scheme = "http") const -> std::string {
    return scheme + ("://" + address().to_string()) + "/";
  }

 private:
  [[noreturn]] static void run(int tell, const std::function<void()>& limit, http_server::options options) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::signal(SIGABRT, SIG_DFL);  // the test framework has a handler of its own
    const auto io = loop::create().value();
    http_router routes;
    routes.get("/", [](http_exchange& x) { x.reply(http_status::ok, "text/plain", "hello"); });
    routes.post("/", [](http_exchange& x) -> task<void> {
      const result<std::string> body = co_await x.read_all();
      if (body) x.reply(http_status::ok, "text/plain", *body);
    });
    http_server server(*io, routes, std::move(options));
    io->run([&] {
      auto listener = stream_listener::listen(*io, socket_address::loopback(0)).value();
      const std::uint16_t port = listener.local_address().value().port();
      io->spawn(serve(server, std::move(listener)));
      if (limit) limit();
      if (::write(tell, &port, sizeof(port)) != sizeof(port)) ::_exit(1);
    });
    ::_exit(0);
  }

  static auto serve(http_server& server, stream_listener listener) -> task<void> {
    static_cast<void>(co_await server.serve(std::move(listener)));
  }

  ::pid_t id_ = -1;
  std::uint16_t port_ = 0;
};

}  // namespace braid::testing
