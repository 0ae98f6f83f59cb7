// bench/echo/braid.cpp: an echo server of braid with each backend: a task for each connection.
#include <bench/echo/cases.hpp>

#include <braid/coro/with_scope.hpp>
#include <braid/io/stream_listener.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>

namespace {

using bench::parameters;
using bench::sample;
using braid::task;

auto echo(braid::stream_socket client) -> task<void> {
  std::array<std::byte, 4096> room;
  for (;;) {
    const auto got = co_await client.read_some(room);
    if (!got || *got == 0) co_return;
    if (!co_await client.write_all(std::span(room).first(*got))) co_return;
  }
}

auto serve(braid::stream_listener listener) -> task<void> {
  auto accept_all = [&](braid::scope& clients) -> task<void> {
    while (auto accepted = co_await listener.accept()) clients.spawn(echo(std::move(*accepted)));
  };
  co_await braid::with_scope(accept_all);
}

template <braid::io_backend_kind Kind>
auto ping_pong(const parameters& given) -> sample {
  const auto io = braid::loop::create({.backend = Kind}).value();
  return bench::timed_echo(
      given,
      [&](auto ready) {
        io->run([&] {
          auto listener = braid::stream_listener::listen(*io, braid::socket_address::loopback(0)).value();
          const auto port = listener.local_address().value().port();
          io->spawn(serve(std::move(listener)));
          ready(port);
        });
      },
      [&] { io->stop(); });
}

}  // namespace

auto main(int count, char** arguments) -> int {
  using braid::io_backend_kind;
  return bench::run_program(
      count, arguments, "echo",
      {{"ping_pong", bench::braid_contender("braid, io_uring"), &ping_pong<io_backend_kind::uring>},
       {"ping_pong", bench::braid_contender("braid, epoll"), &ping_pong<io_backend_kind::epoll>},
       {"ping_pong", bench::braid_contender("braid, poll"), &ping_pong<io_backend_kind::poll>}});
}
