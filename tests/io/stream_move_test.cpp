// tests/io/stream_move_test.cpp: streams and listeners that go from one loop to another.
#include <braid/io/byte_stream.hpp>

#include <braid/coro/spawn.hpp>
#include <braid/io/sockets.hpp>
#include <braid/io/tls.hpp>

#include <tests/support/child.hpp>
#include <tests/support/connections.hpp>
#include <tests/support/test_loop.hpp>
#include <tests/support/tls_scene.hpp>
#include <tests/support/watchdog.hpp>

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <functional>
#include <latch>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

using namespace braid;
using testing::served_peer;
using testing::test_loop;

namespace {

/// A loop that a thread of its own runs.
class running_loop {
 public:
  running_loop() : io_(or_throw(loop::create())) {
    std::latch started(1);
    thread_ = std::thread([this, &started] { io_->run([&started] { started.count_down(); }); });
    started.wait();
  }
  running_loop(const running_loop&) = delete;
  auto operator=(const running_loop&) -> running_loop& = delete;
  ~running_loop() {
    io_->stop();
    thread_.join();
  }

  [[nodiscard]] auto io() noexcept -> loop& { return *io_; }

  template <typename T>
  auto run(task<T> work) -> T {
    return sync_wait(*io_, std::move(work));
  }

  /// What a function does on the thread of the loop.
  void call(const std::function<void()>& fn) {
    auto body = [&]() -> task<void> {
      fn();
      co_return;
    };
    run(body());
  }

 private:
  testing::watchdog dog_{std::chrono::seconds(100)};
  std::unique_ptr<loop> io_;
  std::thread thread_;
};

/// Reads once and gives the text.
auto read_text(const byte_stream& from) -> task<std::string> {
  std::array<std::byte, 100> room{};
  const std::size_t got = or_throw(co_await from.read_some(room));
  co_return std::string(text_of(std::span(room).first(got)));
}

/// What a read gives that waits before the peer sends.
auto late_text(running_loop& where, const served_peer& both, std::string_view text) -> std::string {
  auto reading = spawn(where.io(), read_text(both.served));
  where.call([] {});  // behind the begin of the read
  both.peer.send(text);
  return reading.get();
}

}  // namespace

TEST_CASE("a stream that has waited goes on at the loop that it is moved to") {
  running_loop first;
  running_loop second;
  served_peer both = served_peer::on(first.io());
  CHECK(late_text(first, both, "one") == "one");
  for (int i = 0; i < 3; ++i) {
    first.call([&] { both.served.move_to(second.io()); });
    CHECK(&both.served.on() == &second.io());
    CHECK(late_text(second, both, "two") == "two");
    second.call([&] { both.served.move_to(first.io()); });
    CHECK(late_text(first, both, "three") == "three");
  }
  first.call([&] {
    both.served.end_read_waits();
    both.served.move_to(second.io());
  });
  auto reads = [&]() -> task<std::error_code> {
    std::array<std::byte, 4> room{};
    co_return (co_await both.served.read_some(room)).error();
  };
  CHECK(second.run(reads()) == std::errc::operation_canceled);  // there, too
  second.call([&] { both.served.allow_read_waits(); });
  CHECK(late_text(second, both, "four") == "four");
  auto answers = [&]() -> task<void> { or_throw(co_await both.served.write_all(bytes_of("done"))); };
  second.run(answers());
  CHECK(both.peer.receive(4) == "done");
  second.call([&] { both.served.close(); });
  CHECK(both.peer.receive().empty());
}

TEST_CASE("a stream on which no task has waited is moved by any thread") {
  running_loop first;
  running_loop second;
  served_peer both = served_peer::on(first.io());
  both.served.move_to(second.io());
  CHECK(late_text(second, both, "hello") == "hello");
  second.call([&] { both.served.close(); });
}

TEST_CASE("a stream that is read is not moved, nor one that is not open") {
  const testing::child_end end = testing::run_in_child([] {
    test_loop here;
    served_peer both = served_peer::on(here.io());
    auto body = [&]() -> task<void> { static_cast<void>(co_await read_text(both.served)); };
    here.io().spawn(body());
    here.run_once();
    const auto other = or_throw(loop::create());
    both.served.move_to(*other);
  });
  CHECK(end.signal == SIGABRT);
  CHECK(end.errors.find("must not be moved to another loop while a task uses it") != std::string::npos);
  const testing::child_end closed = testing::run_in_child([] {
    const auto other = or_throw(loop::create());
    stream_socket none;
    none.move_to(*other);
  });
  CHECK(closed.signal == SIGABRT);
  CHECK(closed.errors.find("is not open") != std::string::npos);
}

TEST_CASE("a listener accepts for the loop that it is moved to, also after it has waited") {
  running_loop first;
  running_loop second;
  stream_listener door = or_throw(stream_listener::listen(first.io(), socket_address::loopback(0)));
  const socket_address where = or_throw(door.local_address());
  auto accept_one = [&]() -> task<loop*> {
    const stream_socket accepted = or_throw(co_await door.accept());
    co_return &accepted.on();
  };
  const auto accepted = [&](running_loop& here) {
    auto accepting = spawn(here.io(), accept_one());
    here.call([] {});  // it waits now
    const auto peer = testing::plain_peer::connected_to(where);
    return accepting.get();
  };
  CHECK(accepted(first) == &first.io());
  first.call([&] { door.move_to(second.io()); });
  CHECK(accepted(second) == &second.io());
  second.call([&] { door.move_to(first.io()); });
  CHECK(accepted(first) == &first.io());
  first.call([&] { door.close(); });
}

TEST_CASE("a TLS stream moves with what it has agreed on and received") {
  running_loop first;
  running_loop second;
  auto ends = first.run(testing::shake_hands(first.io(), testing::client_context(), testing::server_context()));
  tls_stream client = std::move(ends.client.value());
  tls_stream server = std::move(ends.server.value());
  auto begin = [&]() -> task<void> { or_throw(co_await client.write_all(bytes_of("onetwo"))); };
  auto read_three = [](const tls_stream& from) -> task<std::string> {
    std::array<std::byte, 3> room{};
    or_throw(co_await from.read_exactly(room));
    co_return std::string(text_of(room));
  };
  first.run(begin());
  CHECK(first.run(read_three(server)) == "one");
  first.call([&] { server.move_to(second.io()); });
  CHECK(second.run(read_three(server)) == "two");
  auto answer = [&]() -> task<void> { or_throw(co_await server.write_all(bytes_of("end"))); };
  second.run(answer());
  CHECK(first.run(read_three(client)) == "end");
  first.call([&] { client.close(); });
  second.call([&] { server.close(); });
}
