// tests/windows/ported_parts_test.cpp: what the layer io does in another way on Windows, and what it refuses there.
#include <braid/coro/task.hpp>
#include <braid/io/backend.hpp>
#include <braid/io/byte_stream.hpp>
#include <braid/io/file.hpp>
#include <braid/io/loop.hpp>
#include <braid/io/process.hpp>
#include <braid/io/sockets.hpp>
#include <braid/io/tls.hpp>

#include <tests/support/manual_executor.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <string>
#include <system_error>
#include <utility>

using namespace braid;
using testing::test_loop;

TEST_CASE("a loop waits by poll, and epoll is refused") {
  const auto backend = io_backend::make();
  REQUIRE(backend.has_value());
  CHECK((*backend)->name() == "poll");
  CHECK(io_backend::make(io_backend::kind::epoll).error() == std::errc::function_not_supported);
  CHECK_FALSE(io_backend::make(io_backend::kind::uring).has_value());
}

TEST_CASE("a Unix socket and a shared port are refused") {
  test_loop here;
  const auto name = socket_address::unix_file("C:\\socket").value();
  CHECK(name.to_string().starts_with("unix:"));
  auto connecting = stream_socket::connect(here.io(), name);
  CHECK(here.run(std::move(connecting)).take().error() == std::errc::operation_not_supported);
  CHECK(stream_listener::listen(here.io(), name).error() == std::errc::operation_not_supported);
  const auto any_port = socket_address::loopback(0);
  CHECK(stream_listener::listen(here.io(), any_port, {.reuse_port = true}).error() ==
        std::errc::operation_not_supported);
  CHECK(udp_socket::bind(here.io(), any_port, {.reuse_port = true}).error() == std::errc::operation_not_supported);
}

TEST_CASE("two listeners cannot have one address, and waiting connections are not counted") {
  test_loop here;
  const auto first = stream_listener::listen(here.io(), socket_address::loopback(0)).value();
  const auto second = stream_listener::listen(here.io(), first.local_address().value());
  REQUIRE_FALSE(second.has_value());
  CHECK(second.error() == std::errc::address_in_use);
  CHECK(first.waiting().error() == std::errc::operation_not_supported);
}

TEST_CASE("a write to a pipe whose other end is closed is an error in the end") {
  test_loop here;
  auto both = pipe_stream::pair(here.io()).value();
  both.first.close();
  auto writes = [&]() -> task<std::error_code> {
    for (;;) {
      const auto wrote = co_await both.second.write_all(bytes_of("x"));
      if (!wrote) co_return wrote.error();
    }
  };
  CHECK(here.run(writes()).take() == std::errc::broken_pipe);
}

TEST_CASE("the ends of a pair of sockets are connected with each other") {
  test_loop here;
  auto both = stream_socket::pair(here.io()).value();
  CHECK(both.first.local_address().value() == both.second.peer_address().value());
  CHECK(both.second.local_address().value() == both.first.peer_address().value());
}

TEST_CASE("TLS, files, child processes and signals are refused") {
  test_loop here;
  testing::manual_executor blocking;
  CHECK(tls_context::client({}).error() == std::errc::operation_not_supported);
  CHECK(tls_context::server({}).error() == std::errc::operation_not_supported);
  CHECK(child_process::start(here.io(), {.program = "cmd"}).error() == std::errc::operation_not_supported);
  CHECK(signal_set::create(here.io(), {SIGINT}).error() == std::errc::operation_not_supported);
  auto opening = file::open(blocking, "x", file::mode::read);
  CHECK(here.run(std::move(opening)).take().error() == std::errc::operation_not_supported);
}

TEST_CASE("a shutdown ends a read that waits on the same socket") {
  test_loop here;
  auto both = stream_socket::pair(here.io()).value();
  bool over = false;
  auto reads = [&]() -> task<void> {
    std::array<std::byte, 8> room{};
    CHECK((co_await both.first.read_some(room)).value() == 0);
    over = true;
  };
  here.io().spawn(reads());
  here.run_once();
  CHECK_FALSE(over);
  REQUIRE(both.first.shutdown(stream_socket::side::both));
  CHECK(here.run_until([&] { return over; }));
}
