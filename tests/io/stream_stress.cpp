// tests/io/stream_stress.cpp: connections by the thousand, stops against completions, and what is left when loops end.
#include <braid/base/random.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/sync_wait.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/io/buffered_reader.hpp>
#include <braid/io/stream_listener.hpp>
#include <braid/io/stream_socket.hpp>
#include <braid/sync/atomic.hpp>

#include <tests/support/connections.hpp>
#include <tests/support/looping_threads.hpp>
#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

using namespace braid;
using testing::looping_threads;

namespace {

auto byte_of(std::uint64_t index) -> char { return static_cast<char>(index * 131 % 251); }

/// Reads with deadlines that come at any moment, until `expected` bytes have come; each is the one that is next.
struct racing_reader {
  stream_socket from;
  std::uint64_t expected;
  std::uint64_t read = 0;
  std::uint64_t late = 0;
  std::uint64_t wrong = 0;

  auto once(std::span<std::byte> room) const -> task<std::size_t> {
    const auto got = co_await from.read_some(room);
    co_return got.value();
  }

  auto all(std::uint64_t seed) -> task<void> {
    random_source random(seed);
    std::array<std::byte, 3> room{};
    while (read < expected) {
      room.fill(std::byte{0xff});
      const std::chrono::microseconds limit(random.below(40));
      const auto got = co_await with_timeout(limit, once(room));
      if (!got) {
        ++late;
        continue;
      }
      for (std::size_t i = 0; i < *got; ++i)
        if (room[i] != static_cast<std::byte>(byte_of(read + i))) ++wrong;
      read += *got;
    }
  }
};

auto echo(stream_socket of) -> task<void> {
  std::array<std::byte, 4096> room;
  for (;;) {
    const auto got = co_await of.read_some(room);
    if (!got || *got == 0) break;
    const auto wrote = co_await of.write_all(std::span(room).first(*got));
    if (!wrote) break;
  }
}

auto serve(stream_listener& listener) -> task<void> {
  auto body = [&listener](scope& connections) -> task<void> {
    for (;;) {
      auto accepted = co_await listener.accept();
      if (!accepted) break;
      connections.spawn(echo(std::move(*accepted)));
    }
  };
  co_await with_scope(body);
}

/// Sends texts of any size and expects them back. True when all came back.
auto talk(loop& io, socket_address to, std::uint64_t seed, int rounds) -> task<bool> {
  random_source random(seed);
  auto made = co_await stream_socket::connect(io, to);
  if (!made) co_return false;
  for (int round = 0; round < rounds; ++round) {
    std::string text(1 + random.below(3000), '\0');
    for (char& c : text) c = static_cast<char>(random());
    if (const auto wrote = co_await made->write_all(bytes_of(text)); !wrote) co_return false;
    std::vector<std::byte> back(text.size());
    if (const auto got = co_await made->read_exactly(back); !got || text_of(back) != text) co_return false;
  }
  co_return true;
}

}  // namespace

TEST_CASE("deadlines race with arrivals, and no byte is lost, doubled or out of order") {
  const testing::watchdog guard(std::chrono::seconds(120));
  const std::uint64_t seed = testing::printed_seed();
  looping_threads loops(1);
  auto both = testing::served_peer::on(loops[0]);
  racing_reader reader{.from = std::move(both.served), .expected = testing::scaled(25) * 1000};
  std::thread writer([&] {
    random_source random(seed);
    for (std::uint64_t sent = 0; sent < reader.expected; ++sent) {
      const char byte = byte_of(sent);
      both.peer.send(std::string_view(&byte, 1));
      for (auto pause = random.below(200); pause != 0; --pause) std::this_thread::yield();
    }
  });
  sync_wait(loops[0], [&]() -> task<void> {
    co_await reader.all(seed + 1);
    reader.from.close();
  }());
  writer.join();
  std::printf("%llu bytes, %llu reads came too late\n", static_cast<unsigned long long>(reader.read),
              static_cast<unsigned long long>(reader.late));
  CHECK(reader.read == reader.expected);
  CHECK(reader.wrong == 0);
}

TEST_CASE("a thousand connections at once all get their answers") {
  const testing::watchdog guard(std::chrono::seconds(120));
  const std::uint64_t seed = testing::printed_seed();
  const std::size_t before = testing::open_descriptors();
  for (const bool by_name : {false, true}) {
    looping_threads loops(2);
    const auto name = "braid-stress-" + std::to_string(::getpid());
    const auto at = by_name ? socket_address::unix_abstract(name).value() : socket_address::loopback(0);
    std::size_t answered = 0;
    constexpr std::size_t clients = 1000;
    stream_listener listener = stream_listener::listen(loops[0], at).value();
    const auto bound = listener.local_address().value();
    std::thread server([&] {
      try {
        sync_wait(loops[0], serve(listener));
      } catch (const std::system_error& ended) {
        CHECK(ended.code() == errc::stopped);
      }
    });
    auto one = [&](std::uint64_t number) -> task<void> {
      if (co_await talk(loops[1], bound, seed + number, 5)) ++answered;
    };
    auto all = [&](scope& children) -> task<void> {
      for (std::size_t i = 0; i < clients; ++i) children.spawn(one(i));
      co_return;
    };
    sync_wait(loops[1], with_scope(all));
    CHECK(answered == clients);
    CHECK(listener.refused() == 0);
    loops[0].stop();
    server.join();
  }
  CHECK(testing::open_descriptors() == before);
}

TEST_CASE("a loop that stops with accepts, reads and writes under way leaves no descriptor open") {
  const testing::watchdog guard(std::chrono::seconds(120));
  random_source random(testing::printed_seed());
  const std::size_t before = testing::open_descriptors();
  const std::size_t cycles = testing::scaled(200);
  for (std::size_t cycle = 0; cycle < cycles; ++cycle) {
    const auto io = loop::create().value();
    stream_listener listener = stream_listener::listen(*io, socket_address::loopback(0)).value();
    const auto at = listener.local_address().value();
    auto floods = [&]() -> task<void> {
      auto made = co_await stream_socket::connect(*io, at);
      const std::string text(1 << 20U, 'x');
      while (made && co_await made->write_all(bytes_of(text))) {}
    };
    auto waits = [&]() -> task<void> {
      auto made = co_await stream_socket::connect(*io, at);
      std::byte room[1];
      if (made) static_cast<void>(co_await made->read_some(room));
    };
    auto accepts = [&](std::vector<stream_socket>& kept) -> task<void> {
      for (;;) {
        auto accepted = co_await listener.accept();
        if (accepted) kept.push_back(std::move(*accepted));
      }
    };
    std::vector<stream_socket> kept;
    std::thread runs([&] {
      io->run([&] {
        io->spawn(accepts(kept));
        for (int i = 0; i < 5; ++i) {
          io->spawn(floods());
          io->spawn(waits());
        }
      });
    });
    while (io->status() != loop::state::running) std::this_thread::yield();
    for (auto pause = random.below(400); pause != 0; --pause) std::this_thread::yield();
    io->stop();
    runs.join();
  }
  CHECK(testing::open_descriptors() == before);
}

TEST_CASE("a connection to an address on which nobody listens is never made, not even to itself") {
  const testing::watchdog guard(std::chrono::seconds(120));
  looping_threads loops(1);
  // The system binds to odd ports first, and connects from even ones; of those it takes one that nobody has.
  auto at = stream_listener::listen(loops[0], socket_address::loopback(0)).value().local_address().value();
  do at = socket_address::loopback(static_cast<std::uint16_t>((at.port() & ~1U) - 2));
  while (!stream_listener::listen(loops[0], at));
  std::uint64_t refused = 0;
  const std::uint64_t tries = testing::scaled(300) * 100;
  auto body = [&]() -> task<void> {
    for (std::uint64_t i = 0; i < tries; ++i) {
      const auto made = co_await stream_socket::connect(loops[0], at);
      if (!made && made.error() == std::errc::connection_refused) ++refused;
    }
  };
  sync_wait(loops[0], body());
  CHECK(refused == tries);
}
