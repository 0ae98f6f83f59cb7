// bench/echo/asio_server.hpp: an echo server of Boost.Asio with callbacks, told that one thread runs the loop; a write
// is tried at once.
#pragma once

#include <bench/harness/program.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/version.hpp>

namespace bench {

inline auto asio_contender(std::string name = "Boost.Asio") -> contender {
  return {.name = std::move(name), .kind = kind::rival, .version = BOOST_LIB_VERSION};
}

// clang-format off: a page shows these lines
// [client]
class asio_client : public std::enable_shared_from_this<asio_client> {
 public:
  explicit asio_client(boost::asio::ip::tcp::socket socket)
      : socket_(std::move(socket)) {}

  void read() {
    socket_.async_read_some(
        boost::asio::buffer(room_),
        [self = shared_from_this()](boost::system::error_code error,
                                    std::size_t got) {
          if (!error) self->write(got);
        });
  }

 private:
  void write(std::size_t size) {
    boost::asio::async_write(socket_, boost::asio::buffer(room_, size),
                             [self = shared_from_this()](
                                 boost::system::error_code error, std::size_t) {
                               if (!error) self->read();
                             });
  }

  boost::asio::ip::tcp::socket socket_;
  std::array<char, 4096> room_{};
  // [/client]
  // clang-format on
};

/// Listens from the start, and serves from `accept` on, while `loop` runs.
class asio_echo_server {
 public:
  boost::asio::io_context loop{1};

  [[nodiscard]] auto port() const -> std::uint16_t { return listener_.local_endpoint().port(); }

  void accept() {
    listener_.async_accept([this](boost::system::error_code error, boost::asio::ip::tcp::socket made) {
      if (error) return;
      made.set_option(boost::asio::ip::tcp::no_delay(true));
      std::make_shared<asio_client>(std::move(made))->read();
      accept();
    });
  }

 private:
  boost::asio::ip::tcp::acceptor listener_{loop,
                                           boost::asio::ip::tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0)};
};

}  // namespace bench
