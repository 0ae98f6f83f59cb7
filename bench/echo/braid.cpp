// bench/echo/braid.cpp: an echo server of braid with each backend.
#include <bench/echo/braid_server.hpp>
#include <bench/echo/cases.hpp>

#include <memory>
#include <utility>

namespace {

using bench::parameters;
using bench::sample;

template <braid::io_backend::kind Kind>
auto ping_pong(const parameters& given) -> sample {
  const auto io = braid::loop::create({.backend = Kind}).value();
  return bench::timed_echo(
      given,
      [&](auto ready) {
        io->run([&] {
          auto listener = braid::stream_listener::listen(*io, braid::socket_address::loopback(0)).value();
          const auto port = listener.local_address().value().port();
          io->spawn(bench::serve_echo(std::move(listener)));
          ready(port);
        });
      },
      [&] { io->stop(); });
}

}  // namespace

auto main(int count, char** arguments) -> int {
  using braid::io_backend;
  return bench::run_program(
      count, arguments, "echo",
      {{"ping_pong", bench::braid_contender("braid, io_uring"), &ping_pong<io_backend::kind::uring>},
       {"ping_pong", bench::braid_contender("braid, epoll"), &ping_pong<io_backend::kind::epoll>},
       {"ping_pong", bench::braid_contender("braid, poll"), &ping_pong<io_backend::kind::poll>}});
}
