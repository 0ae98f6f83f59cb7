// tests/io/byte_stream_test.cpp: reading and writing streams whose peers do as they like.
#include <braid/io/byte_stream.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/io/sockets.hpp>

#include <tests/support/child.hpp>
#include <tests/support/connections.hpp>
#include <tests/support/deaths.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

using namespace braid;
using testing::deaths;
using testing::mortal;
using testing::served_peer;
using testing::test_loop;

namespace {

/// Reads once and gives the text.
auto read_text(const byte_stream& from, std::size_t max_count = 100) -> task<std::string> {
  std::vector<std::byte> room(max_count);
  const result<std::size_t> got = co_await from.read_some(room);
  if (!got) throw std::system_error(got.error());
  co_return std::string(text_of(std::span(room).first(*got)));
}

auto big_text(std::size_t size) -> std::string {
  std::string text(size, ' ');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + i % 23);
  return text;
}

}  // namespace

TEST_CASE("what the peer sends is read, and what is written arrives there") {
  test_loop here;
  served_peer both = served_peer::on(here.io());
  both.peer.send("hello");
  auto body = [&]() -> task<void> {
    const std::string text = co_await read_text(both.served);
    CHECK(text == "hello");
    const auto wrote = co_await both.served.write_all("good day");
    CHECK(wrote.has_value());
  };
  CHECK(here.run(body()).has_value());
  CHECK(both.peer.receive(8) == "good day");
}

TEST_CASE("a reader waits until something comes") {
  test_loop here;
  served_peer both = served_peer::on(here.io());
  std::string text;
  auto body = [&]() -> task<void> { text = co_await read_text(both.served); };
  here.io().spawn(body());
  here.run_once();
  CHECK(text.empty());
  both.peer.send("late");
  CHECK(here.run_until([&] { return !text.empty(); }));
  CHECK(text == "late");
}

TEST_CASE("the end of the peer is a read of no bytes, again and again, after all that it sent") {
  test_loop here;
  served_peer both = served_peer::on(here.io());
  std::vector<std::string> read;
  auto body = [&]() -> task<void> {
    for (int i = 0; i < 4; ++i) read.push_back(co_await read_text(both.served, 4));
  };
  here.io().spawn(body());
  here.run_once();
  both.peer.send("abcdef");
  both.peer.end_writing();
  CHECK(here.run_until([&] { return read.size() == 4; }));
  CHECK(read == std::vector<std::string>{"abcd", "ef", "", ""});
}

TEST_CASE("a peer that has ended its side is still written to") {
  test_loop here;
  served_peer both = served_peer::on(here.io());
  both.peer.end_writing();
  auto body = [&]() -> task<void> {
    const std::string end = co_await read_text(both.served);
    CHECK(end.empty());
    const auto wrote = co_await both.served.write_all(bytes_of("bye"));
    CHECK(wrote.has_value());
    both.served.close();
  };
  CHECK(here.run(body()).has_value());
  CHECK(both.peer.receive() == "bye");
}

TEST_CASE("an end that comes with the last bytes is seen by a reader that has read before") {
  test_loop here;
  served_peer both = served_peer::on(here.io());
  int rounds = 0;
  bool ended = false;
  auto body = [&]() -> task<void> {
    for (;;) {
      const std::string text = co_await read_text(both.served);
      if (text.empty()) break;
      ++rounds;
    }
    ended = true;
  };
  here.io().spawn(body());
  here.run_once();
  both.peer.send("one");
  CHECK(here.run_until([&] { return rounds == 1; }));
  both.peer.send("two");
  both.peer.end_writing();
  CHECK(here.run_until([&] { return ended; }));
  CHECK(rounds == 2);
}

namespace {

/// What a read gives: a text, or the word of its error.
auto read_or_why(const byte_stream& from) -> task<std::string> {
  std::array<std::byte, 8> room{};
  const result<std::size_t> got = co_await from.read_some(room);
  if (got) co_return std::string(text_of(std::span(room).first(*got)));
  co_return got.error() == std::errc::operation_canceled ? "gave up" : got.error().message();
}

/// Reads into a list, as often as that.
auto read_times(const byte_stream& from, int times, std::vector<std::string>& read) -> task<void> {
  for (; times > 0; --times) read.push_back(co_await read_or_why(from));
}

}  // namespace

TEST_CASE(
    "a wait that is ended gives an error, once the caller has gone on, and so do the next ones until they may wait") {
  test_loop here;
  served_peer both = served_peer::on(here.io());
  std::vector<std::string> read;
  here.io().spawn(read_times(both.served, 3, read));
  here.run_once();
  both.served.end_read_waits();
  CHECK(read.empty());
  both.served.end_read_waits();  // again changes nothing
  CHECK(here.run_until([&] { return read.size() == 3; }));
  CHECK(read == std::vector<std::string>{"gave up", "gave up", "gave up"});
  both.served.allow_read_waits();
  here.io().spawn(read_times(both.served, 2, read));
  here.run_once(20);
  CHECK(read.size() == 3);
  both.peer.send("later");
  CHECK(here.run_until([&] { return read.size() == 4; }));
  both.peer.end_writing();
  CHECK(here.run_until([&] { return read.size() == 5; }));
  CHECK(read[3] == "later");
  CHECK(read[4].empty());
}

TEST_CASE("a wait that is ended gives what has come and nobody has looked at, and after that the error") {
  test_loop here;
  served_peer both = served_peer::on(here.io());
  std::vector<std::string> read;
  here.io().spawn(read_times(both.served, 1, read));
  here.run_once();
  both.peer.send("first");
  CHECK(here.run_until([&] { return read.size() == 1; }));
  here.io().spawn(read_times(both.served, 3, read));  // after a short read it waits without a try
  both.peer.send("and more");
  both.served.end_read_waits();
  CHECK(here.run_until([&] { return read.size() == 4; }));
  CHECK(read == std::vector<std::string>{"first", "and more", "gave up", "gave up"});
  both.peer.send("the rest");
  both.peer.end_writing();
  here.io().spawn(read_times(both.served, 3, read));
  CHECK(here.run_until([&] { return read.size() == 7; }));
  CHECK(read[4] == "the rest");
  CHECK(read[5].empty());
  CHECK(read[6].empty());
}

TEST_CASE("bytes that come while a wait is being ended are read then, or stay for the next read") {
  test_loop here;
  served_peer both = served_peer::on(here.io());
  std::string all;
  int gave_up = 0;
  auto body = [&]() -> task<void> {
    for (;;) {
      const std::string text = co_await read_or_why(both.served);
      if (text.empty()) co_return;
      if (text != "gave up") {
        all += text;
        continue;
      }
      ++gave_up;
      both.served.allow_read_waits();
    }
  };
  here.io().spawn(body());
  const std::string sent = big_text(600);
  for (std::size_t at = 0; at < sent.size(); ++at) {
    if (at % 3 == 0) here.run_once(2);
    both.served.end_read_waits();
    both.peer.send(std::string_view(sent).substr(at, 1));
    if (at % 2 == 0) here.run_once(1);
  }
  both.peer.end_writing();
  CHECK(here.run_until([&] { return all.size() == sent.size(); }));
  CHECK(all == sent);
  CHECK(gave_up > 0);
}

TEST_CASE("a task whose wait is being ended can still be stopped") {
  test_loop here;
  served_peer both = served_peer::on(here.io());
  bool went_on = false;
  bool over = false;
  auto reader = [&]() -> task<void> {
    static_cast<void>(co_await read_or_why(both.served));
    co_await sleep_for(1ms);
    went_on = true;
  };
  auto body = [&](scope& children) -> task<void> {
    children.spawn(reader());
    co_await sleep_for(1ms);
    both.served.end_read_waits();
    children.request_stop();
  };
  auto whole = [&]() -> task<void> {
    auto inside = with_scope(std::ref(body));
    static_cast<void>(co_await as_outcome(std::move(inside)));
    over = true;
  };
  here.io().spawn(whole());
  here.run_once();
  here.advance(2ms);
  CHECK(here.run_until([&] { return over; }));
  CHECK_FALSE(went_on);
}

TEST_CASE("a reset is the error connection_reset for a reader") {
  test_loop here;
  served_peer both = served_peer::on(here.io());
  std::error_code why;
  auto body = [&]() -> task<void> {
    std::array<std::byte, 8> room{};
    const auto got = co_await both.served.read_some(room);
    if (!got) why = got.error();
  };
  here.io().spawn(body());
  here.run_once();
  both.peer.reset();
  CHECK(here.run_until([&] { return static_cast<bool>(why); }));
  CHECK(why == std::errc::connection_reset);
}

TEST_CASE("a reset is an error for a writer that waits, and no signal") {
  test_loop here;
  served_peer both = served_peer::on(here.io());
  std::signal(SIGPIPE, SIG_DFL);
  const std::string text = big_text(std::size_t{64} << 20U);
  std::vector<std::error_code> why;
  auto body = [&]() -> task<void> {
    for (int i = 0; i < 2; ++i) {
      const auto wrote = co_await both.served.write_all(bytes_of(text));
      if (!wrote) why.push_back(wrote.error());
    }
  };
  here.io().spawn(body());
  here.run_once();
  CHECK(why.empty());
  both.peer.reset();
  CHECK(here.run_until([&] { return why.size() == 2; }));
  CHECK((why.at(0) == std::errc::connection_reset || why.at(0) == std::errc::broken_pipe));
  CHECK(why.at(1) == std::errc::broken_pipe);
}

TEST_CASE("writes that are longer than all buffers arrive whole, from a text and from parts") {
  test_loop here;
  auto both = stream_socket::pair(here.io()).value();
  const std::string text = big_text((std::size_t{4} << 20U) + 17);
  std::vector<std::span<const std::byte>> parts;
  const auto bytes = bytes_of(text);
  for (std::size_t at = 0, size = 0; at < bytes.size(); size = (size * 7 + 1) % 100'000) {
    const std::size_t length = std::min(size, bytes.size() - at);  // some are empty
    parts.push_back(bytes.subspan(at, length));
    at += length;
  }
  REQUIRE(parts.size() > 50);
  std::string arrived;
  auto writer = [&]() -> task<void> {
    const auto whole = co_await both.first.write_all(bytes);
    CHECK(whole.has_value());
    const auto in_parts = co_await both.first.write_all(parts);
    CHECK(in_parts.has_value());
    both.first.close();
  };
  auto reader = [&]() -> task<void> {
    for (;;) {
      const std::string more = co_await read_text(both.second, 65'536);
      if (more.empty()) break;
      arrived += more;
    }
  };
  here.io().spawn(writer());
  CHECK(here.run(reader()).has_value());
  CHECK(arrived.size() == 2 * text.size());
  CHECK(arrived == text + text);
}

TEST_CASE("write_some writes what there is room for, and waits when there is none") {
  test_loop here;
  auto both = stream_socket::pair(here.io()).value();
  const std::string text = big_text(std::size_t{8} << 20U);
  std::size_t first = 0;
  bool second = false;
  auto writer = [&]() -> task<void> {
    const auto some = co_await both.first.write_some(bytes_of(text));
    first = some.value();
    for (;;) {
      const auto more = co_await both.first.write_some(bytes_of("x"));
      if (!more) break;
      second = true;
    }
  };
  here.io().spawn(writer());
  CHECK(here.run_until([&] { return first != 0; }));
  CHECK(first < text.size());
  here.run_once(100);
  second = false;
  here.run_once(100);
  CHECK_FALSE(second);
  auto reader = [&]() -> task<void> {
    while (!second) co_await read_text(both.second, 65'536);
  };
  CHECK(here.run(reader()).has_value());
  here.io().root().request_stop();
  here.run_once();
}

TEST_CASE("empty writes are over at once") {
  test_loop here;
  served_peer both = served_peer::on(here.io());
  auto body = [&]() -> task<void> {
    const auto one = co_await both.served.write_all(std::span<const std::byte>());
    CHECK(one.has_value());
    const std::array<std::span<const std::byte>, 3> empties{};
    const auto parts = co_await both.served.write_all(empties);
    CHECK(parts.has_value());
    const auto some = co_await both.served.write_some({});
    CHECK(some.value() == 0);
  };
  CHECK(here.run(body()).has_value());
}

TEST_CASE("read_exactly collects what comes one byte at a time") {
  test_loop here;
  served_peer both = served_peer::on(here.io(), {.no_delay = true});
  std::array<std::byte, 100> room{};
  bool done = false;
  auto body = [&]() -> task<void> {
    const auto got = co_await both.served.read_exactly(room);
    done = got.has_value();
  };
  here.io().spawn(body());
  const std::string text = big_text(room.size() + 1);
  for (std::size_t i = 0; i < room.size(); ++i) {
    CHECK_FALSE(done);
    both.peer.send(std::string_view(text).substr(i, 1));
    here.run_once(2);
  }
  both.peer.send("z");
  CHECK(here.run_until([&] { return done; }));
  CHECK(text_of(room) == text.substr(0, room.size()));
  auto next = [&]() -> task<std::string> { return read_text(both.served); };
  CHECK(here.run(next()).take() == "z");
}

TEST_CASE("read_exactly says when the stream ends too early, and reads nothing where nothing is wanted") {
  test_loop here;
  served_peer both = served_peer::on(here.io());
  both.peer.send("abc");
  both.peer.end_writing();
  auto body = [&]() -> task<void> {
    const auto nothing = co_await both.served.read_exactly({});
    CHECK(nothing.has_value());
    std::array<std::byte, 4> room{};
    const auto got = co_await both.served.read_exactly(room);
    REQUIRE_FALSE(got.has_value());
    CHECK(got.error() == errc::ended);
  };
  CHECK(here.run(body()).has_value());
}

TEST_CASE("a deadline ends a read, and what comes later is there for the next one") {
  test_loop here;
  served_peer both = served_peer::on(here.io());
  deaths seen;
  auto reader = [&]() -> task<std::string> {
    const mortal local(seen);
    co_return co_await read_text(both.served);
  };
  auto body = [&]() -> task<void> {
    const auto late = co_await with_timeout(1ms, reader());
    CHECK(late.error() == errc::deadline_exceeded);
    CHECK(seen.count == 1);
    both.peer.send("still here");
    const std::string text = co_await reader();
    CHECK(text == "still here");
  };
  CHECK(here.run_through(body(), 100us).has_value());
  CHECK_FALSE(here.io().backend().has_watches());
}

TEST_CASE("a deadline ends a write that waits") {
  test_loop here;
  auto both = stream_socket::pair(here.io()).value();
  const std::string text = big_text(std::size_t{8} << 20U);
  auto writer = [&]() -> task<void> { static_cast<void>(co_await both.first.write_all(bytes_of(text))); };
  auto body = [&]() -> task<void> {
    const auto late = co_await with_timeout(1ms, writer());
    CHECK(late.error() == errc::deadline_exceeded);
  };
  CHECK(here.run_through(body(), 100us).has_value());
  CHECK_FALSE(here.io().backend().has_watches());
}

TEST_CASE("of two that are read in one batch the first may stop the second, whose bytes are not lost") {
  test_loop here;
  served_peer one = served_peer::on(here.io());
  served_peer two = served_peer::on(here.io());
  std::string read;
  auto reader = [&](const stream_socket& from) -> task<void> {
    read += co_await read_text(from);
    here.io().root().request_stop();
  };
  here.io().spawn(reader(one.served));
  here.io().spawn(reader(two.served));
  here.run_once();
  one.peer.send("x");
  two.peer.send("x");
  CHECK(here.run_until([&] { return here.io().root().tasks() == 0; }));
  for (const stream_socket* each : {&one.served, &two.served}) {
    char left = 0;
    if (::recv(each->number(), &left, 1, MSG_DONTWAIT) == 1) read += left;
  }
  CHECK(read == "xx");
}

TEST_CASE("in a stopped scope nothing is read, though there is something") {
  test_loop here;
  served_peer both = served_peer::on(here.io());
  both.peer.send("x");
  bool went_on = false;
  auto body = [&]() -> task<void> {
    here.io().root().request_stop();
    co_await read_text(both.served);
    went_on = true;
  };
  here.io().spawn(body());
  here.run_once();
  CHECK_FALSE(went_on);
  CHECK(here.io().root().tasks() == 0);
  CHECK(both.peer.number() >= 0);
}

TEST_CASE("a reader whose peer never stops sending lets the other tasks of the loop run") {
  test_loop here;
  auto both = stream_socket::pair(here.io()).value();
  bool over = false;
  int others = 0;
  auto writer = [&]() -> task<void> {
    const std::string text = big_text(100'000);
    while (!over) static_cast<void>(co_await both.first.write_all(bytes_of(text)));
  };
  auto reader = [&]() -> task<void> {
    while (!over) co_await read_text(both.second, 1);
  };
  auto other = [&]() -> task<void> {
    for (; others < 20; ++others) co_await sleep_for(0s);
    over = true;
  };
  here.io().spawn(writer());
  here.io().spawn(reader());
  here.io().spawn(other());
  CHECK(here.run_until([&] { return over; }));
  here.stop();
}

TEST_CASE("streams are moved, and one that is not open says so") {
  test_loop here;
  served_peer both = served_peer::on(here.io());
  stream_socket moved = std::move(both.served);
  CHECK(moved);
  CHECK_FALSE(both.served);
  CHECK(both.served.number() == -1);
  both.peer.send("x");
  auto body = [&]() -> task<std::string> { return read_text(moved); };
  CHECK(here.run(body()).take() == "x");
  moved.close();
  CHECK_FALSE(moved);
  const testing::child_end end = testing::run_in_child([&] { static_cast<void>(moved.read_some({})); });
  CHECK(end.signal == SIGABRT);
  CHECK(end.errors.find("is not open") != std::string::npos);
  const testing::child_end homeless = testing::run_in_child([&] { static_cast<void>(moved.on()); });
  CHECK(homeless.signal == SIGABRT);
  CHECK(homeless.errors.find("is not open") != std::string::npos);
}

TEST_CASE("a loop that goes before a stream of its own ends the program") {
  const testing::child_end end = testing::run_in_child([] {
    stream_socket left;
    const auto io = loop::create().value();
    left = stream_socket::pair(*io).value().first;
  });
  CHECK(end.signal == SIGABRT);
  CHECK(end.errors.find("must be destroyed before their loop") != std::string::npos);
}

TEST_CASE("two readers at once, a stream that goes while it is read, and a read of nothing end the program") {
  const auto ends_with = [](std::string_view sentence, auto act) {
    const testing::child_end end = testing::run_in_child([&] {
      test_loop here;
      auto both = stream_socket::pair(here.io()).value();
      act(here, both.first);
    });
    CAPTURE(end.errors);
    CHECK(end.signal == SIGABRT);
    CHECK(end.errors.find(sentence) != std::string::npos);
  };
  auto reader = [](const stream_socket& from) -> task<void> { co_await read_text(from); };
  ends_with("one task at a time may read", [&](test_loop& here, stream_socket& one) {
    here.io().spawn(reader(one));
    here.io().spawn(reader(one));
  });
  ends_with("must not be destroyed while a task reads", [&](test_loop& here, stream_socket& one) {
    here.io().spawn(reader(one));
    one.close();
  });
  ends_with("a read needs room for at least one byte",
            [](test_loop&, stream_socket& one) { static_cast<void>(one.read_some({})); });
}

TEST_CASE("a read, and a write, are given a timeout as they are, and give the result that they would give") {
  test_loop here;
  served_peer both = served_peer::on(here.io());
  const byte_stream& stream = both.served;
  std::array<std::byte, 16> room{};
  auto body = [&]() -> task<void> {
    const result<std::size_t> late = co_await with_timeout(1ms, stream.read_some(room));
    CHECK(late.error() == errc::deadline_exceeded);
    both.peer.send("hello");
    const result<std::size_t> got = co_await with_timeout(1h, stream.read_some(room));
    CHECK(got.value() == 5);
    CHECK(text_of(std::span(room).first(5)) == "hello");
    const result<void> sent = co_await with_timeout(1h, stream.write_all(bytes_of("one ")));
    CHECK(sent.has_value());
    const std::array parts{bytes_of("two "), bytes_of("parts")};
    const result<void> more = co_await with_timeout(1h, stream.write_all(parts));
    CHECK(more.has_value());
    both.peer.send("all of it");
    const result<void> all = co_await with_timeout(1h, stream.read_exactly(std::span(room).first(9)));
    CHECK(all.has_value());
    CHECK(text_of(std::span(room).first(9)) == "all of it");
  };
  here.run_through(body(), 1ms).take();
  CHECK(both.peer.receive(13) == "one two parts");
}
