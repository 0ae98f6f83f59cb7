// bench/echo/asio.cpp: Boost.Asio with callbacks, told that one thread runs the loop; a write is tried at once.
#include <bench/echo/cases.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/version.hpp>

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

struct client : std::enable_shared_from_this<client> {
  explicit client(tcp::socket s) : socket(std::move(s)) {}

  void read() {
    socket.async_read_some(asio::buffer(room),
                           [self = shared_from_this()](boost::system::error_code error, std::size_t got) {
                             if (!error) self->write(got);
                           });
  }
  void write(std::size_t size) {
    asio::async_write(socket, asio::buffer(room, size),
                      [self = shared_from_this()](boost::system::error_code error, std::size_t) {
                        if (!error) self->read();
                      });
  }

  tcp::socket socket;
  std::array<char, 4096> room{};
};

struct server {
  asio::io_context loop{1};
  tcp::acceptor listener{loop, tcp::endpoint(asio::ip::address_v4::loopback(), 0)};

  void accept() {
    listener.async_accept([this](boost::system::error_code error, tcp::socket made) {
      if (error) return;
      made.set_option(tcp::no_delay(true));
      std::make_shared<client>(std::move(made))->read();
      accept();
    });
  }
};

auto ping_pong(const bench::parameters& given) -> bench::sample {
  server served;
  return bench::timed_echo(
      given,
      [&](auto ready) {
        served.accept();
        ready(served.listener.local_endpoint().port());
        served.loop.run();
      },
      [&] { served.loop.stop(); });
}

}  // namespace

auto main(int count, char** arguments) -> int {
  const bench::contender who{.name = "Boost.Asio", .kind = bench::kind::rival, .version = BOOST_LIB_VERSION};
  return bench::run_program(count, arguments, "echo", {{"ping_pong", who, &ping_pong}});
}
