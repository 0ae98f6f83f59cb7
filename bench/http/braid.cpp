// bench/http/braid.cpp: braid's server on one loop, with each backend.
#include <bench/http/cases.hpp>

#include <braid/io/loop.hpp>
#include <braid/net/http_server.hpp>

#include <utility>

namespace {

using bench::parameters;
using bench::sample;

auto serve(braid::http_server& server, braid::stream_listener listener) -> braid::task<void> {
  static_cast<void>(co_await server.serve(std::move(listener)));
}

template <braid::io_backend_kind Kind>
auto hello(const parameters& given) -> sample {
  return bench::timed_server(given, [](auto ready) {
    const auto io = braid::loop::create({.backend = Kind}).value();
    braid::http_router routes;
    routes.get("/", [](braid::http_exchange& x) { x.reply(braid::http_status::ok, "text/plain", bench::hello_text); });
    braid::http_server server(*io, routes);
    io->run([&] {
      auto listener = braid::stream_listener::listen(*io, braid::socket_address::loopback(0)).value();
      const auto port = listener.local_address().value().port();
      io->spawn(serve(server, std::move(listener)));
      ready(port);
    });
  });
}

}  // namespace

auto main(int count, char** arguments) -> int {
  using braid::io_backend_kind;
  return bench::run_program(count, arguments, "http",
                            {{"hello", bench::braid_contender("braid, io_uring"), &hello<io_backend_kind::uring>},
                             {"hello", bench::braid_contender("braid, epoll"), &hello<io_backend_kind::epoll>}});
}
