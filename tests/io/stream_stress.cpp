// tests/io/stream_stress.cpp: connections by the thousand, stops against completions, and what is left when loops end.
#include <braid/base/random.hpp>
#include <braid/coro/offload.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/io/byte_stream.hpp>
#include <braid/io/file.hpp>
#include <braid/io/sockets.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/executors.hpp>

#include <tests/support/busy.hpp>
#include <tests/support/connections.hpp>
#include <tests/support/looping_threads.hpp>
#include <tests/support/scratch_folder.hpp>
#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/// Signals to threads, one after the other, as fast as they take them. The handler is one after which the kernel does
/// not go on with the system call.
class interrupter {
 public:
  explicit interrupter(std::vector<::pid_t> threads) : threads_(std::move(threads)) {
    struct sigaction how{};
    how.sa_handler = [](int) { taken_.fetch_add(1); };
    ::sigaction(SIGUSR1, &how, &before_);
    thread_ = std::thread([this] {
      while (!stop_.load()) {
        for (const ::pid_t one : threads_) ::syscall(SYS_tgkill, ::getpid(), one, SIGUSR1);
        testing::busy_for(std::chrono::microseconds(10));
      }
    });
  }
  interrupter(const interrupter&) = delete;
  auto operator=(const interrupter&) -> interrupter& = delete;
  ~interrupter() {
    stop_.store(true);
    thread_.join();
    ::signal(SIGUSR1, SIG_IGN);  // drops those that are pending
    ::sigaction(SIGUSR1, &before_, nullptr);
  }

  [[nodiscard]] static auto taken() noexcept -> std::uint64_t { return taken_.load(); }

 private:
  static inline std::atomic<std::uint64_t> taken_{0};
  std::vector<::pid_t> threads_;
  struct sigaction before_{};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

auto own_id() -> ::pid_t { return static_cast<::pid_t>(::syscall(SYS_gettid)); }

/// Opens a FIFO again and again until the threads have been interrupted many times. True when each open was refused, as
/// it is without interruptions.
auto is_refused_a_fifo(blocking_pool& blocking_threads, std::string path) -> task<bool> {
  const std::uint64_t first = interrupter::taken();
  while (interrupter::taken() < first + 500) {
    const auto got = co_await file::open(blocking_threads, path, file::mode::read);
    if (got || got.error() != std::errc::invalid_seek) co_return false;
    co_await sleep_for(100us);
  }
  co_return true;
}

/// Writes a file, reads it in both ways, renames and removes it.
auto use_file(blocking_pool& blocking_threads, std::string path, std::string text) -> task<bool> {
  const auto made = co_await file::open(blocking_threads, path, file::mode::make);
  if (!made) co_return false;
  if (const auto wrote = co_await made->write_at(0, bytes_of(text)); !wrote) co_return false;
  if (const auto synced = co_await made->sync(); !synced) co_return false;
  std::vector<std::byte> back(text.size());
  const auto read = co_await made->read_at(0, back);
  if (!read || *read != text.size() || text_of(back) != text) co_return false;
  if (const auto renamed = co_await file::rename(blocking_threads, path, path + ".new"); !renamed) co_return false;
  const auto whole = co_await file::read(blocking_threads, path + ".new");
  if (!whole || *whole != text) co_return false;
  const auto removed = co_await file::remove(blocking_threads, path + ".new");
  co_return removed.has_value();
}

}  // namespace

TEST_CASE("system calls that signals interrupt are made again: every byte arrives, and every file is whole") {
  const testing::watchdog guard(std::chrono::seconds(120));
  const std::uint64_t seed = testing::printed_seed();
  const testing::scratch_folder folder;
  const std::string pipe = folder.path() / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  looping_threads loops(1);
  blocking_pool blocking_threads({.max_threads = 1, .linger = 1h});
  stream_listener listener = stream_listener::listen(loops[0], socket_address::loopback(0)).value();
  const auto bound = listener.local_address().value();
  auto ids = [&]() -> task<std::vector<::pid_t>> {
    auto there = offload(blocking_threads, &own_id);
    const ::pid_t of_blocking = co_await there;
    co_return std::vector<::pid_t>{own_id(), of_blocking};
  };
  const interrupter storm(sync_wait(loops[0], ids()));
  const std::uint64_t before = interrupter::taken();
  bool refused = false;
  std::size_t answered = 0;
  std::size_t files = 0;
  const std::size_t rounds = testing::scaled(20);
  auto talks = [&](std::uint64_t number) -> task<void> {
    if (co_await talk(loops[0], bound, seed + number, static_cast<int>(rounds))) ++answered;
  };
  auto uses_files = [&]() -> task<void> {
    refused = co_await is_refused_a_fifo(blocking_threads, pipe);
    for (std::size_t i = 0; i < rounds; ++i) {
      const std::string text(200'000 + i, byte_of(i));
      if (co_await use_file(blocking_threads, folder.path() / std::to_string(i), text)) ++files;
    }
  };
  auto all = [&](scope& children) -> task<void> {
    children.spawn(serve(listener));
    auto guests = [&](scope& clients) -> task<void> {
      clients.spawn(uses_files());
      for (std::uint64_t i = 0; i < 8; ++i) clients.spawn(talks(i));
      co_return;
    };
    co_await with_scope(std::ref(guests));
    children.request_stop();
  };
  sync_wait(loops[0], with_scope(std::ref(all)));
  std::printf("%llu signals\n", static_cast<unsigned long long>(interrupter::taken() - before));
  CHECK(refused);
  CHECK(answered == 8);
  CHECK(files == rounds);
  CHECK(interrupter::taken() >= before + 500);
}

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
      testing::busy_for(std::chrono::nanoseconds(random.below(100'000)));
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
    testing::busy_for(std::chrono::microseconds(random.below(200)));
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
