// tests/io/backend_test.cpp: the readiness interface, without a loop around it.
#include <braid/io/backend.hpp>

#include <braid/base/clock.hpp>
#include <braid/io/descriptor.hpp>

#include <tests/support/pipes.hpp>
#include <tests/support/scratch_folder.hpp>
#include <tests/support/sleeper.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <optional>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>

using namespace braid;
using testing::ends;

namespace {

/// Calls a function of the test when it is ready.
struct watch : io_watch {
  watch(const braid::descriptor& of, io_interest what) {
    descriptor = of.number();
    interest = what;
    ready = [](io_watch& self) noexcept {
      auto& mine = static_cast<watch&>(self);
      ++mine.times;
      if (mine.call) mine.call();
    };
  }
  std::function<void()> call;
  int times = 0;
};

auto made() -> std::unique_ptr<io_backend> { return make_epoll_backend().value(); }

}  // namespace

TEST_CASE("the backend says what it is, and begins without watches") {
  const auto backend = made();
  CHECK(backend->name() == "epoll");
  CHECK_FALSE(backend->has_watches());
  backend->wait(0ns);
}

TEST_CASE("a watch is called once when its descriptor is ready, and is over then") {
  const auto backend = made();
  const ends pipe = ends::of_pipe();
  watch reading(pipe.first, io_interest::read);
  REQUIRE(backend->watch(reading));
  CHECK(backend->has_watches());
  backend->wait(0ns);
  CHECK(reading.times == 0);
  testing::write_byte(pipe.second);
  backend->wait(std::nullopt);
  CHECK(reading.times == 1);
  CHECK_FALSE(backend->has_watches());
  backend->wait(0ns);  // it is still readable, but nobody watches any more
  CHECK(reading.times == 1);
}

TEST_CASE("what is ready already is reported by the next wait") {
  const auto backend = made();
  const ends pipe = ends::of_pipe();
  watch writing(pipe.second, io_interest::write);
  REQUIRE(backend->watch(writing));
  backend->wait(std::nullopt);
  CHECK(writing.times == 1);
  testing::fill(pipe.second);
  REQUIRE(backend->watch(writing));
  backend->wait(0ns);
  CHECK(writing.times == 1);
  testing::read_byte(pipe.first);
  backend->unwatch(writing);
  CHECK_FALSE(backend->has_watches());
}

TEST_CASE("an end that is closed is reported to the other") {
  const auto backend = made();
  ends sockets = ends::of_sockets();
  watch reading(sockets.first, io_interest::read);
  REQUIRE(backend->watch(reading));
  sockets.second.close();
  backend->wait(std::nullopt);
  CHECK(reading.times == 1);

  ends pipe = ends::of_pipe();
  testing::fill(pipe.second);
  watch writing(pipe.second, io_interest::write);
  REQUIRE(backend->watch(writing));
  pipe.first.close();
  backend->wait(std::nullopt);
  CHECK(writing.times == 1);
}

TEST_CASE("a second watch of the same descriptor is refused, and the first one stays") {
  const auto backend = made();
  const ends sockets = ends::of_sockets();
  watch reading(sockets.first, io_interest::read);
  watch writing(sockets.first, io_interest::write);
  REQUIRE(backend->watch(reading));
  CHECK(backend->watch(writing).error() == std::errc::file_exists);
  testing::write_byte(sockets.second);
  backend->wait(std::nullopt);
  CHECK(reading.times == 1);
  CHECK(writing.times == 0);
  CHECK(backend->watch(writing).has_value());
  backend->wait(std::nullopt);
  CHECK(writing.times == 1);
}

TEST_CASE("what cannot be watched is refused with the system's own code") {
  const auto backend = made();
  const testing::scratch_folder folder;
  const descriptor file(::open(folder.write("plain", "x").c_str(), O_RDONLY | O_CLOEXEC));
  watch regular(file, io_interest::read);
  CHECK(backend->watch(regular).error() == std::errc::operation_not_permitted);
  watch nothing(descriptor(), io_interest::read);
  CHECK(backend->watch(nothing).error() == std::errc::bad_file_descriptor);
  CHECK_FALSE(backend->has_watches());
}

TEST_CASE("a watch that is given up is not called, not even in the batch that had it") {
  const auto backend = made();
  const ends first = ends::of_pipe();
  const ends second = ends::of_pipe();
  watch one(first.first, io_interest::read);
  watch two(second.first, io_interest::read);
  testing::write_byte(first.second);
  testing::write_byte(second.second);
  REQUIRE(backend->watch(one));
  REQUIRE(backend->watch(two));
  one.call = [&] { backend->unwatch(two); };
  two.call = [&] { backend->unwatch(one); };
  backend->wait(std::nullopt);
  CHECK(one.times + two.times == 1);
  CHECK_FALSE(backend->has_watches());
  backend->wait(0ns);
  CHECK(one.times + two.times == 1);
}

TEST_CASE("a watch may be renewed from its own call") {
  const auto backend = made();
  const ends pipe = ends::of_pipe();
  watch reading(pipe.first, io_interest::read);
  bool renewed = true;
  reading.call = [&] {
    testing::read_byte(pipe.first);
    renewed = renewed && backend->watch(reading).has_value();
  };
  for (int i = 0; i < 3; ++i) testing::write_byte(pipe.second);
  REQUIRE(backend->watch(reading));
  for (int i = 1; i <= 3; ++i) {
    backend->wait(std::nullopt);
    CHECK(reading.times == i);
  }
  CHECK(renewed);
  backend->unwatch(reading);
}

TEST_CASE("three hundred ready descriptors are all reported, each once") {
  const auto backend = made();
  std::vector<ends> pipes;
  std::vector<std::unique_ptr<watch>> watches;
  for (int i = 0; i < 300; ++i) {
    pipes.push_back(ends::of_pipe());
    testing::write_byte(pipes.back().second);
    watches.push_back(std::make_unique<watch>(pipes.back().first, io_interest::read));
    REQUIRE(backend->watch(*watches.back()));
  }
  for (int i = 0; i < 4; ++i) backend->wait(0ns);
  for (const auto& each : watches) CHECK(each->times == 1);
}

TEST_CASE("a wake ends the next wait, and many wakes end one") {
  const auto backend = made();
  for (int i = 0; i < 3; ++i) backend->wake();
  backend->wait(std::nullopt);
  const auto before = steady_time().now();
  backend->wait(1ms);
  CHECK(steady_time().now() - before >= 1ms);
}

TEST_CASE("a wake from another thread ends a wait that has begun") {
  const auto backend = made();
  const testing::sleeper waiting([&] { backend->wait(std::nullopt); });
  CHECK(waiting.falls_asleep());
  backend->wake();
}

TEST_CASE("without a free descriptor none is made, and the error is the system's") {
  ::rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  ::rlimit none = before;
  none.rlim_cur = 0;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  const auto refused = make_epoll_backend();
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error() == std::errc::too_many_files_open);
}
