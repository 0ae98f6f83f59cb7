// bench/http/asio.cpp: Boost.Beast over Boost.Asio with callbacks, told that one thread runs the loop.
#include <bench/http/cases.hpp>

#include <memory>
#include <string>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/version.hpp>

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

struct client : std::enable_shared_from_this<client> {
  explicit client(tcp::socket s) : socket(std::move(s)) {}

  void read() {
    request = {};
    http::async_read(socket, received, request, [self = shared_from_this()](error_code error, std::size_t) {
      if (!error) self->answer();
    });
  }
  void answer() {
    response = {http::status::ok, request.version()};
    response.set(http::field::content_type, "text/plain");
    response.keep_alive(request.keep_alive());
    response.body() = bench::hello_text;
    response.prepare_payload();
    http::async_write(socket, response, [self = shared_from_this()](error_code error, std::size_t) {
      if (!error && self->response.keep_alive()) self->read();
    });
  }

  tcp::socket socket;
  boost::beast::flat_buffer received;
  http::request<http::empty_body> request;
  http::response<http::string_body> response;
};

struct server {
  asio::io_context loop{1};
  tcp::acceptor listener{loop, tcp::endpoint(asio::ip::address_v4::loopback(), 0)};

  void accept() {
    listener.async_accept([this](error_code error, tcp::socket made) {
      if (error) return;
      made.set_option(tcp::no_delay(true));
      std::make_shared<client>(std::move(made))->read();
      accept();
    });
  }
};

auto hello(const bench::parameters& given) -> bench::sample {
  return bench::timed_server(given, [](auto ready) {
    server served;
    served.accept();
    ready(served.listener.local_endpoint().port());
    served.loop.run();
  });
}

}  // namespace

auto main(int count, char** arguments) -> int {
  const bench::contender who{.name = "Boost.Beast", .kind = bench::kind::rival, .version = BOOST_LIB_VERSION};
  return bench::run_program(count, arguments, "http", {{"hello", who, &hello}});
}
