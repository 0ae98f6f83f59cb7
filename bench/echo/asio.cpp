// bench/echo/asio.cpp: Boost.Asio with callbacks, told that one thread runs the loop; a write is tried at once.
#include <bench/echo/asio_server.hpp>
#include <bench/echo/cases.hpp>

namespace {

auto ping_pong(const bench::parameters& given) -> bench::sample {
  bench::asio_echo_server served;
  return bench::timed_echo(
      given,
      [&](auto ready) {
        served.accept();
        ready(served.port());
        served.loop.run();
      },
      [&] { served.loop.stop(); });
}

}  // namespace

auto main(int count, char** arguments) -> int {
  return bench::run_program(count, arguments, "echo", {{"ping_pong", bench::asio_contender(), &ping_pong}});
}
