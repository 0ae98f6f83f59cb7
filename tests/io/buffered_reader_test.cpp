// tests/io/buffered_reader_test.cpp: lines and blocks out of pieces.
#include <braid/io/byte_stream.hpp>

#include <braid/coro/with_scope.hpp>
#include <braid/io/sockets.hpp>

#include <tests/support/connections.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <system_error>
#include <vector>

using namespace braid;
using testing::served_peer;
using testing::test_loop;

namespace {

/// A line without its end; "<end>" or the message of the error where there is none.
auto format_line(buffered_reader& from, std::string_view delimiter = "\r\n") -> task<std::string> {
  const auto line = co_await from.read_until(delimiter);
  if (!line) co_return line.error().message();
  if (line->empty()) co_return "<end>";
  co_return std::string(text_of(line->first(line->size() - delimiter.size())));
}

}  // namespace

TEST_CASE("lines come out whole, whatever pieces they came in") {
  const std::string_view text = "one\r\n\r\nthree \r four\n\r\n";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    test_loop here;
    served_peer both = served_peer::on(here.io());
    std::vector<std::string> lines;
    auto body = [&]() -> task<void> {
      buffered_reader reader(both.served);
      while (lines.empty() || lines.back() != "<end>") lines.push_back(co_await format_line(reader));
    };
    here.io().spawn(body());
    for (std::size_t at = 0; at < text.size(); at += piece) {
      both.peer.send(text.substr(at, piece));
      here.run_once(2);
    }
    both.peer.end_writing();
    CHECK(here.run_until([&] { return !lines.empty() && lines.back() == "<end>"; }));
    CHECK(lines == std::vector<std::string>{"one", "", "three \r four\n", "<end>"});
  }
}

TEST_CASE("an end in the middle of a line is an error, and so is a line beyond the limit") {
  test_loop here;
  served_peer both = served_peer::on(here.io());
  both.peer.send("short\n" + std::string(105, 'x'));
  both.peer.end_writing();
  auto body = [&]() -> task<void> {
    buffered_reader reader(both.served, 50);
    const std::string first = co_await format_line(reader, "\n");
    CHECK(first == "short");
    const auto second = co_await reader.read_until("\n");
    CHECK(second.error() == errc::too_long);
    reader.consume(reader.buffered().size());
    const auto third = co_await reader.read_until("\n");
    CHECK(third.error() == errc::too_long);
    reader.consume(reader.buffered().size());
    const auto last = co_await reader.read_until("\n");
    CHECK(last.error() == errc::ended);
  };
  auto all = here.run(body());
  CHECK(all.has_value());
}

TEST_CASE("blocks and lines follow each other from one buffer") {
  test_loop here;
  served_peer both = served_peer::on(here.io());
  both.peer.send("5\nabcde3\nfgh");
  auto body = [&]() -> task<void> {
    buffered_reader reader(both.served);
    const std::string size = co_await format_line(reader, "\n");
    CHECK(size == "5");
    const auto block = co_await reader.read_exactly(5);
    CHECK(text_of(block.value()) == "abcde");
    CHECK(text_of(reader.buffered()) == "3\nfgh");
    reader.consume(2);
    const auto rest = co_await reader.read_exactly(3);
    CHECK(text_of(rest.value()) == "fgh");
    const auto nothing = co_await reader.read_exactly(0);
    CHECK(nothing.value().empty());
    const auto too_much = co_await reader.read_exactly(buffered_reader::default_max_size + 1);
    CHECK(too_much.error() == errc::too_long);
    both.peer.send("xy");
    both.peer.end_writing();
    const auto early = co_await reader.read_exactly(3);
    CHECK(early.error() == errc::ended);
    CHECK(text_of(reader.buffered()) == "xy");
  };
  CHECK(here.run(body()).has_value());
}

TEST_CASE("the buffer grows to its limit and is used again and again") {
  test_loop here;
  auto both = stream_socket::pair(here.io()).value();
  const std::string line(10'000, 'y');
  auto writer = [&]() -> task<void> {
    for (int i = 0; i < 200; ++i) static_cast<void>(co_await both.first.write_all(bytes_of(line + "\n")));
    both.first.close();
  };
  auto reader = [&]() -> task<int> {
    buffered_reader from(both.second, 16'384);
    int lines = 0;
    for (;;) {
      const std::string text = co_await format_line(from, "\n");
      if (text == "<end>") break;
      if (text == line) ++lines;
    }
    co_return lines;
  };
  here.io().spawn(writer());
  CHECK(here.run(reader()).take() == 200);
}

TEST_CASE("a deadline in the middle of a line loses nothing") {
  test_loop here;
  served_peer both = served_peer::on(here.io());
  both.peer.send("first ha");
  auto body = [&]() -> task<void> {
    buffered_reader reader(both.served);
    const auto late = co_await with_timeout(1ms, format_line(reader, "\n"));
    CHECK(late.error() == errc::deadline_exceeded);
    both.peer.send("lf, second half\n");
    const std::string line = co_await format_line(reader, "\n");
    CHECK(line == "first half, second half");
  };
  CHECK(here.run_through(body(), 100us).has_value());
}

TEST_CASE("a reset is told, after the lines before it") {
  test_loop here;
  served_peer both = served_peer::on(here.io());
  std::vector<std::string> lines;
  auto body = [&]() -> task<void> {
    buffered_reader reader(both.served);
    for (int i = 0; i < 2; ++i) lines.push_back(co_await format_line(reader, "\n"));
  };
  here.io().spawn(body());
  both.peer.send("a\n");
  CHECK(here.run_until([&] { return lines.size() == 1; }));
  both.peer.reset();
  CHECK(here.run_until([&] { return lines.size() == 2; }));
  CHECK(lines == std::vector<std::string>{"a", "Connection reset by peer"});
}
