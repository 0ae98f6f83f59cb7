// tests/io/pipe_stream_test.cpp: pipes as streams.
#include <braid/io/byte_stream.hpp>

#include <tests/support/pipes.hpp>
#include <tests/support/scratch_folder.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

using namespace braid;
using testing::test_loop;

TEST_CASE("what is written to one end is read at the other, to the end, however long it is") {
  test_loop here;
  auto both = pipe_stream::pair(here.io()).value();
  const std::string text(300'000, 'p');
  std::string arrived;
  auto writes = [&]() -> task<void> {
    const auto wrote = co_await both.second.write_all(bytes_of(text));
    CHECK(wrote.has_value());
    both.second.close();
  };
  auto reads = [&]() -> task<void> {
    std::vector<std::byte> room(10'000);
    for (;;) {
      const auto got = co_await both.first.read_some(room);
      if (got.value() == 0) break;
      arrived += text_of(std::span(room).first(*got));
    }
  };
  here.io().spawn(writes());
  CHECK(here.run(reads()).has_value());
  CHECK(arrived == text);
}

TEST_CASE("a pipe that nobody reads is an error and no signal, and a signal of others is left alone") {
  test_loop here;
  std::signal(SIGPIPE, SIG_DFL);
  auto both = pipe_stream::pair(here.io()).value();
  both.first.close();
  auto writes = [&]() -> task<std::error_code> {
    const auto wrote = co_await both.second.write_all(bytes_of("x"));
    co_return wrote.error();
  };
  CHECK(here.run(writes()).take() == std::errc::broken_pipe);
  sigset_t pipe;
  sigset_t before;
  sigset_t pending;
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, &before);
  ::pthread_kill(::pthread_self(), SIGPIPE);
  CHECK(here.run(writes()).take() == std::errc::broken_pipe);
  ::sigpending(&pending);
  CHECK(::sigismember(&pending, SIGPIPE) == 1);
  constexpr timespec at_once{.tv_sec = 0, .tv_nsec = 0};
  ::sigtimedwait(&pipe, nullptr, &at_once);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_CASE("the wrong end is refused, and so is a file that nobody can wait for") {
  test_loop here;
  auto both = pipe_stream::pair(here.io()).value();
  auto reads = [&]() -> task<std::error_code> {
    std::array<std::byte, 1> room{};
    const auto got = co_await both.second.read_some(room);
    co_return got.error();
  };
  CHECK(here.run(reads()).take() == std::errc::bad_file_descriptor);
  const testing::scratch_folder folder;
  descriptor plain(::open(folder.write("plain", "x").c_str(), O_RDONLY | O_CLOEXEC));
  CHECK(pipe_stream::adopt(here.io(), std::move(plain)).error() == std::errc::operation_not_permitted);
  descriptor opened_folder(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  CHECK(pipe_stream::adopt(here.io(), std::move(opened_folder)).error() == std::errc::operation_not_permitted);
  CHECK(pipe_stream::adopt(here.io(), descriptor()).error() == std::errc::bad_file_descriptor);
  auto ends = testing::ends::of_pipe();
  CHECK(pipe_stream::adopt(here.io(), std::move(ends.first)).has_value());
}

TEST_CASE("an adopted end does not block, and no other program inherits it") {
  test_loop here;
  std::array<int, 2> numbers{};
  REQUIRE(::pipe(numbers.data()) == 0);
  const descriptor written(numbers[1]);
  const auto adopted = pipe_stream::adopt(here.io(), descriptor(numbers[0]));
  REQUIRE(adopted.has_value());
  CHECK((::fcntl(adopted->number(), F_GETFL) & O_NONBLOCK) != 0);
  CHECK((::fcntl(adopted->number(), F_GETFD) & FD_CLOEXEC) != 0);
}
