// tests/io/tls_stream_test.cpp: bytes through TLS: in any pieces, to a proper end, and to others.
#include <braid/io/tls.hpp>

#include <braid/base/random.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/with_scope.hpp>

#include <tests/support/child.hpp>
#include <tests/support/connections.hpp>
#include <tests/support/raw_tls.hpp>
#include <tests/support/seed.hpp>
#include <tests/support/tls_scene.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <system_error>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <sys/socket.h>

using namespace braid;
using testing::client_context;
using testing::raw_context;
using testing::raw_tls;
using testing::server_context;
using testing::shake_hands;
using testing::test_loop;
using testing::tls_people;

namespace {

struct open_pair {
  tls_stream client;
  tls_stream server;

  explicit open_pair(test_loop& here) {
    auto ends = here.run(shake_hands(here.io(), client_context(), server_context())).take();
    client = std::move(ends.client.value());
    server = std::move(ends.server.value());
  }
};

auto pattern(std::size_t size, std::uint64_t seed) -> std::string {
  random_source random(seed);
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

auto write_in_pieces(const tls_stream& to, std::string_view text, std::uint64_t seed) -> task<void> {
  random_source random(seed);
  while (!text.empty()) {
    const std::size_t max_count = random.below(4) == 0 ? 300'000 : 20'000;
    const std::size_t size = std::min<std::size_t>(text.size(), random.below(max_count));
    const auto wrote = co_await to.write_all(bytes_of(text.substr(0, size)));
    REQUIRE(wrote.has_value());
    text.remove_prefix(size);
  }
  const auto ended = co_await to.shutdown();
  CHECK(ended.has_value());
}

auto read_in_pieces(const tls_stream& from, std::string& into, std::uint64_t seed) -> task<void> {
  random_source random(seed);
  std::vector<std::byte> room(100'000);
  for (;;) {
    const std::size_t max_count = random.below(4) == 0 ? room.size() : 2000;
    const auto got = co_await from.read_some(std::span(room).first(1 + random.below(max_count)));
    REQUIRE(got.has_value());
    if (*got == 0) co_return;
    into += text_of(std::span(room).first(*got));
  }
}

auto read_to_end(const tls_stream& from) -> task<std::pair<std::string, std::error_code>> {
  std::string text;
  std::array<std::byte, 5000> room{};
  for (;;) {
    const auto got = co_await from.read_some(room);
    if (!got) co_return {text, got.error()};
    if (*got == 0) co_return {text, std::error_code()};
    text += text_of(std::span(room).first(*got));
  }
}

/// Our end over TCP after a handshake with a raw peer, which has a thread of its own.
template <typename Peer>
struct with_raw_peer {
  tls_stream ours;
  std::thread other;

  with_raw_peer(test_loop& here, const raw_context& as, Peer peer) {
    auto ends = testing::served_peer::on(here.io());
    other = std::thread([&as, peer, end = std::move(ends.peer)]() mutable {
      const raw_tls raw(as, end.number());
      REQUIRE(raw.shake_hands());
      peer(raw, end);
    });
    const bool serves = as.which() == raw_context::side::client;
    auto hands = serves ? tls_stream::accept(server_context(), std::move(ends.served))
                        : tls_stream::connect(client_context(), std::move(ends.served), "localhost");
    ours = std::move(here.run(std::move(hands)).take().value());
  }
  with_raw_peer(const with_raw_peer&) = delete;
  auto operator=(const with_raw_peer&) -> with_raw_peer& = delete;
  ~with_raw_peer() {
    ours.close();
    other.join();
  }
};

}  // namespace

TEST_CASE("any number of bytes goes through in any pieces, both ways at once") {
  const std::uint64_t seed = testing::printed_seed();
  test_loop here;
  std::uint64_t run = seed;
  for (const std::size_t size : {0UL, 1UL, 2UL, 16383UL, 16384UL, 16385UL, 70'000UL, 10UL * 1024 * 1024}) {
    CAPTURE(size);
    const open_pair both(here);
    const std::string there = pattern(size, ++run);
    const std::string back = pattern(size, ++run);
    std::string got_there;
    std::string got_back;
    auto all = when_all(write_in_pieces(both.client, there, run + 1), read_in_pieces(both.server, got_there, run + 2),
                        write_in_pieces(both.server, back, run + 3), read_in_pieces(both.client, got_back, run + 4));
    here.run(std::move(all)).take();
    CHECK((got_there == there));
    CHECK((got_back == back));
  }
}

TEST_CASE("parts of any sizes arrive as one text") {
  test_loop here;
  const open_pair both(here);
  const std::string big = pattern(40'000, 1);
  const std::string small = "small";
  const std::vector<std::string_view> texts{"", small, "", small, big, small, "", big, big, ""};
  std::vector<std::span<const std::byte>> parts;
  std::string expected;
  for (const auto text : texts) {
    parts.push_back(bytes_of(text));
    expected += text;
  }
  std::string got;
  auto writes = [&]() -> task<void> {
    const auto wrote = co_await both.client.write_all(parts);
    CHECK(wrote.has_value());
    const auto nothing = co_await both.client.write_all(std::span<const std::span<const std::byte>>());
    CHECK(nothing.has_value());
    static_cast<void>(co_await both.client.shutdown());
  };
  auto all = when_all(writes(), read_in_pieces(both.server, got, 7));
  here.run(std::move(all)).take();
  CHECK((got == expected));
}

TEST_CASE("small parts share a record") {
  test_loop here;
  const raw_context as(raw_context::side::client);
  std::string first;
  {
    const with_raw_peer pair(here, as, [&](const raw_tls& raw, testing::plain_peer&) { first = raw.receive(); });
    const std::array parts{bytes_of("head"), bytes_of(" and "), bytes_of("body")};
    CHECK(here.run(pair.ours.write_all(parts)).take().has_value());
  }
  CHECK(first == "head and body");  // OpenSSL gives one record at a time
}

TEST_CASE("a read of an exact size spans records, and tells where there is less") {
  test_loop here;
  const open_pair both(here);
  auto body = [&]() -> task<void> {
    static_cast<void>(co_await both.client.write_all(bytes_of("abc")));
    static_cast<void>(co_await both.client.write_all(bytes_of("defgh")));
    static_cast<void>(co_await both.client.shutdown());
    std::array<std::byte, 6> room{};
    const auto six = co_await both.server.read_exactly(room);
    CHECK(six.has_value());
    CHECK(text_of(room) == "abcdef");
    const auto less = co_await both.server.read_exactly(room);
    CHECK(less.error() == errc::ended);
  };
  here.run(body()).take();
}

TEST_CASE("after the end of one direction the other goes on, and no more can be written") {
  test_loop here;
  const open_pair both(here);
  auto body = [&]() -> task<void> {
    std::array<std::byte, 10> room{};
    const auto ended = co_await both.client.shutdown();
    CHECK(ended.has_value());
    const auto again = co_await both.client.shutdown();
    CHECK(again.has_value());
    const auto wrote = co_await both.client.write_all(bytes_of("late"));
    CHECK(wrote.error() == std::errc::broken_pipe);
    for (int i = 0; i < 2; ++i) {
      const auto end = co_await both.server.read_some(room);
      CHECK(end == 0);
    }
    const auto back = co_await both.server.write_all(bytes_of("back"));
    CHECK(back.has_value());
    const auto got = co_await both.client.read_some(room);
    CHECK(got == 4);
  };
  here.run(body()).take();
}

TEST_CASE("a connection that ends without notice was cut, and what came before is read") {
  test_loop here;
  open_pair both(here);
  std::array<std::byte, 10> room{};
  here.run(both.server.write_all(bytes_of("x"))).take().value();
  CHECK(here.run(both.client.read_some(room)).take() == 1);  // what nobody has read would make a reset of the end
  here.run(both.client.write_all(bytes_of("last words"))).take().value();
  both.client.close();
  const auto [text, why] = here.run(read_to_end(both.server)).take();
  CHECK(text == "last words");
  CHECK(why == tls_errc::truncated);
  CHECK(here.run(both.server.read_some(room)).take().error() == tls_errc::truncated);
}

TEST_CASE("who has no time to wait may still say that it ends") {
  test_loop here;
  open_pair both(here);
  std::array<std::byte, 10> room{};
  here.run(both.server.write_all(bytes_of("x"))).take().value();
  CHECK(here.run(both.client.read_some(room)).take() == 1);  // what nobody has read would make a reset of the end
  here.run(both.client.write_all(bytes_of("last words"))).take().value();
  CHECK(both.client.try_shutdown());
  CHECK(both.client.try_shutdown());
  CHECK(here.run(both.client.write_all(bytes_of("more"))).take().error() == std::errc::broken_pipe);
  both.client.close();
  const auto [text, why] = here.run(read_to_end(both.server)).take();
  CHECK(text == "last words");
  CHECK_FALSE(static_cast<bool>(why));
}

TEST_CASE("a notice that does not go at once is not waited for, and the peer sees a cut") {
  test_loop here;
  open_pair both(here);
  std::array<std::byte, 10> room{};
  here.run(both.server.write_all(bytes_of("x"))).take().value();
  CHECK(here.run(both.client.read_some(room)).take() == 1);
  const std::string big = pattern(4 * 1024 * 1024, 8);
  auto writes = [&]() -> task<void> { static_cast<void>(co_await both.client.write_all(bytes_of(big))); };
  const auto late = here.run_through(with_timeout(1ms, writes()), 1ms).take();
  REQUIRE(late.error() == errc::deadline_exceeded);
  CHECK_FALSE(both.client.try_shutdown());
  both.client.close();
  const auto [text, why] = here.run(read_to_end(both.server)).take();
  CHECK((text == big.substr(0, text.size())));
  CHECK(text.size() < big.size());
  CHECK(why == tls_errc::truncated);
}

TEST_CASE("a record that is cut in the middle counts for nothing") {
  test_loop here;
  const raw_context as(raw_context::side::client);
  const with_raw_peer pair(here, as, [&](const raw_tls& raw, testing::plain_peer& end) {
    CHECK(raw.send("whole"));
    end.send(std::string_view("\x17\x03\x03\x00\x40 and only a part", 20));
    end.end_writing();
  });
  const auto [text, why] = here.run(read_to_end(pair.ours)).take();
  CHECK(text == "whole");
  CHECK(why == tls_errc::truncated);
}

TEST_CASE("what is no record, or was changed on its way, ends both directions") {
  test_loop here;
  struct row {
    std::string_view bytes;
    const char* diagnostic;
  };
  using namespace std::string_view_literals;
  for (const row& one :
       {row{"\x17\x03\x03\x00\x20this was never encrypted by us.."sv, "decryption failed or bad record mac"},
        row{"GET / HTTP/1.1\r\n\r\n"sv, "wrong version number"},
        row{"\x17\x03\x03\xff\xff"sv, "packet length too long"}}) {
    CAPTURE(one.diagnostic);
    const raw_context as(raw_context::side::client);
    std::string alert;
    {
      const with_raw_peer pair(here, as, [&](const raw_tls& raw, testing::plain_peer& end) {
        CHECK(raw.send("before"));
        end.send(one.bytes);
        CHECK(raw.receive().empty());
        alert = raw_tls::diagnostic();
      });
      const auto [text, why] = here.run(read_to_end(pair.ours)).take();
      CHECK(text == "before");
      CHECK(why.category() == braid::detail::tls_category());
      CHECK(why.message() == one.diagnostic);
      CHECK(here.run(pair.ours.write_all(bytes_of("more"))).take().error() == why);
      CHECK(here.run(pair.ours.shutdown()).take().error() == why);
      CHECK_FALSE(pair.ours.try_shutdown());
      std::array<std::byte, 10> room{};
      CHECK(here.run(pair.ours.read_some(room)).take().error() == why);
    }
    CHECK_FALSE(alert.empty());  // the peer was told
  }
}

TEST_CASE("a client that wants to negotiate anew is refused") {
  test_loop here;
  const raw_context as(raw_context::side::client);
  ::SSL_CTX_set_max_proto_version(as.get(), TLS1_2_VERSION);
  std::string answer;
  {
    const with_raw_peer pair(here, as, [&](const raw_tls& raw, testing::plain_peer&) {
      CHECK(raw.send("before"));
      CHECK(::SSL_renegotiate(raw.get()) == 1);
      CHECK_FALSE(raw.shake_hands());
      answer = raw_tls::diagnostic();
    });
    const auto [text, why] = here.run(read_to_end(pair.ours)).take();
    CHECK(text == "before");
    CHECK(why.category() == braid::detail::tls_category());  // the client breaks off
  }
  CHECK(answer == "no renegotiation");
}

TEST_CASE("a peer may change its keys as often as it likes, and ask us to") {
  test_loop here;
  const raw_context as(raw_context::side::client);
  constexpr int changes = 3000;
  std::string back;
  {
    const with_raw_peer pair(here, as, [&](const raw_tls& raw, testing::plain_peer&) {
      for (int i = 0; i < changes; ++i) {
        CHECK(::SSL_key_update(raw.get(), SSL_KEY_UPDATE_REQUESTED) == 1);
        CHECK(raw.shake_hands());
      }
      CHECK(raw.send("after"));
      back = raw.receive();
    });
    std::array<std::byte, 20> room{};
    CHECK(here.run(pair.ours.read_some(room)).take() == 5);
    CHECK(here.run(pair.ours.write_all(bytes_of("and back"))).take().has_value());
  }
  CHECK(back == "and back");
}

TEST_CASE("a read that is stopped loses nothing") {
  test_loop here;
  const open_pair both(here);
  std::array<std::byte, 20> room{};
  auto reads = [&]() -> task<result<std::size_t>> {
    const auto got = co_await both.server.read_some(room);
    co_return got;
  };
  for (int i = 0; i < 3; ++i) {
    const auto late = here.run_through(with_timeout(1ms, reads()), 1ms).take();
    CHECK(late.error() == errc::deadline_exceeded);
  }
  here.run(both.client.write_all(bytes_of("kept"))).take().value();
  CHECK(here.run(reads()).take() == 4);
  CHECK(text_of(room).starts_with("kept"));
}

TEST_CASE("a write that is stopped leaves a part written, whole records and in order, and the stream goes on") {
  test_loop here;
  const open_pair both(here);
  const std::string big = pattern(4 * 1024 * 1024, 3);
  auto writes = [&]() -> task<void> { static_cast<void>(co_await both.client.write_all(bytes_of(big))); };
  const auto late = here.run_through(with_timeout(1ms, writes()), 1ms).take();
  REQUIRE(late.error() == errc::deadline_exceeded);
  auto goes_on = [&]() -> task<void> {
    const auto wrote = co_await both.client.write_all(bytes_of("after it"));
    CHECK(wrote.has_value());
    const auto ended = co_await both.client.shutdown();
    CHECK(ended.has_value());
  };
  std::string got;
  auto all = when_all(goes_on(), read_in_pieces(both.server, got, 5));
  here.run(std::move(all)).take();
  REQUIRE(got.ends_with("after it"));
  got.resize(got.size() - 8);
  CHECK(got.size() > 0);
  CHECK(got.size() < big.size());
  CHECK((got == big.substr(0, got.size())));
}

TEST_CASE("writing to a peer that has gone is an error, and raises no signal") {
  test_loop here;
  open_pair both(here);
  both.server.close();
  const std::string big = pattern(300'000, 4);
  std::error_code why;
  auto writes = [&]() -> task<void> {
    const auto wrote = co_await both.client.write_all(bytes_of(big));
    if (!wrote) why = wrote.error();
  };
  for (int i = 0; i < 20 && !why; ++i) here.run(writes()).take();  // SIGPIPE would end the test
  CHECK((why == std::errc::broken_pipe || why == std::errc::connection_reset));
}

TEST_CASE("a reader does not wait for a writer whose peer does not read") {
  test_loop here;
  const open_pair both(here);
  const std::string big = pattern(4 * 1024 * 1024, 6);
  auto body = [&](scope& tasks) -> task<void> {
    auto writes = [&]() -> task<void> { static_cast<void>(co_await both.client.write_all(bytes_of(big))); };
    tasks.spawn(writes());
    static_cast<void>(co_await both.server.write_all(bytes_of("meanwhile")));
    std::array<std::byte, 20> room{};
    const auto got = co_await both.client.read_some(room);
    CHECK(got == 9);
    CHECK(tasks.tasks() != 0);
    tasks.request_stop();
  };
  static_cast<void>(here.run(with_scope(body)));
}

TEST_CASE("a stream that is moved is the same connection") {
  test_loop here;
  open_pair both(here);
  tls_stream moved = std::move(both.client);
  CHECK_FALSE(static_cast<bool>(both.client));
  CHECK(static_cast<bool>(moved));
  CHECK(&moved.on() == &here.io());
  CHECK(here.run(moved.write_all(bytes_of("x"))).take().has_value());
  std::array<std::byte, 4> room{};
  CHECK(here.run(both.server.read_some(room)).take() == 1);
  const auto ends = [&](auto ask) {
    const testing::child_end end = testing::run_in_child([&] { static_cast<void>(ask(both.client)); });
    CHECK(end.signal == SIGABRT);
    CHECK(end.errors.find("is not open") != std::string::npos);
  };
  ends([](const tls_stream& closed) { return closed.version(); });
  ends([](const tls_stream& closed) { return closed.peer_certificate(); });
  ends([](const tls_stream& closed) { return &closed.on(); });
}
