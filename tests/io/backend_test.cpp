// tests/io/backend_test.cpp: the readiness interface, without a loop around it.
#include <braid/io/backend.hpp>

#include <braid/base/clock.hpp>

#include <tests/support/child.hpp>
#include <tests/support/environment.hpp>
#include <tests/support/io_uring.hpp>
#include <tests/support/pipes.hpp>
#include <tests/support/scratch_folder.hpp>
#include <tests/support/sleeper.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

using namespace braid;
using testing::ends;

namespace {

/// Calls a function of the test when it is ready.
struct timed_watch : io_watch {
  timed_watch(const braid::descriptor& of, io_interest what) {
    descriptor = of.number();
    interest = what;
    ready = [](io_watch& self) noexcept {
      auto& mine = static_cast<timed_watch&>(self);
      ++mine.times;
      if (mine.call) mine.call();
    };
  }
  std::function<void()> call;
  int times = 0;
};

/// The one that BRAID_IO names, or the best that there is.
auto made() -> std::unique_ptr<io_backend> { return io_backend::make().value(); }

}  // namespace

TEST_CASE("the backend says what it is, and begins without watches") {
  const auto backend = made();
  if (const char* named = std::getenv("BRAID_IO")) CHECK(backend->name() == named);
  CHECK_FALSE(backend->has_watches());
  backend->wait(0ns);
}

TEST_CASE("a watch is called once when its descriptor is ready, and is over then") {
  const auto backend = made();
  const ends pipe = ends::of_pipe();
  timed_watch reading(pipe.first, io_interest::read);
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
  timed_watch writing(pipe.second, io_interest::write);
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
  timed_watch reading(sockets.first, io_interest::read);
  REQUIRE(backend->watch(reading));
  sockets.second.close();
  backend->wait(std::nullopt);
  CHECK(reading.times == 1);

  ends pipe = ends::of_pipe();
  testing::fill(pipe.second);
  timed_watch writing(pipe.second, io_interest::write);
  REQUIRE(backend->watch(writing));
  pipe.first.close();
  backend->wait(std::nullopt);
  CHECK(writing.times == 1);
}

TEST_CASE("a descriptor is watched by one reader and one writer at a time") {
  const auto backend = made();
  const ends sockets = ends::of_sockets();
  timed_watch reading(sockets.first, io_interest::read);
  timed_watch another(sockets.first, io_interest::read);
  timed_watch writing(sockets.first, io_interest::write);
  REQUIRE(backend->watch(reading));
  CHECK(backend->watch(another).error() == std::errc::file_exists);
  REQUIRE(backend->watch(writing));
  backend->wait(std::nullopt);
  CHECK(reading.times == 0);
  CHECK(writing.times == 1);
  CHECK(backend->has_watches());
  testing::write_byte(sockets.second);
  REQUIRE(backend->watch(writing));
  while (reading.times == 0 || writing.times == 1) backend->wait(std::nullopt);
  CHECK(reading.times == 1);
  CHECK(writing.times == 2);
  CHECK(another.times == 0);
  CHECK_FALSE(backend->has_watches());
}

TEST_CASE("a reader that is called leaves the writer of the descriptor waiting, and the other way round") {
  const auto backend = made();
  for (const bool reader_first : {true, false}) {
    const ends sockets = ends::of_sockets();
    testing::fill(sockets.first);
    timed_watch reading(sockets.first, io_interest::read);
    timed_watch writing(sockets.first, io_interest::write);
    REQUIRE(backend->watch(reading));
    REQUIRE(backend->watch(writing));
    const auto make_readable = [&] { testing::write_byte(sockets.second); };
    const auto make_writable = [&] {
      std::array<char, 65'536> room;
      while (::read(sockets.second.number(), room.data(), room.size()) > 0) {}
    };
    timed_watch& first = reader_first ? reading : writing;
    timed_watch& second = reader_first ? writing : reading;
    reader_first ? make_readable() : make_writable();
    while (first.times == 0) backend->wait(std::nullopt);
    backend->wait(0ns);
    CHECK(second.times == 0);
    CHECK(backend->has_watches());
    reader_first ? make_writable() : make_readable();
    for (int i = 0; i < 10 && second.times == 0; ++i) backend->wait(100ms);
    CHECK(second.times == 1);
    CHECK(first.times == 1);
    if (second.times == 0) backend->unwatch(second);
  }
}

TEST_CASE("a reader that is called may give up the writer, and the other way round") {
  const auto backend = made();
  const ends sockets = ends::of_sockets();
  timed_watch reading(sockets.first, io_interest::read);
  timed_watch writing(sockets.first, io_interest::write);
  reading.call = [&] { backend->unwatch(writing); };
  writing.call = [&] { backend->unwatch(reading); };
  testing::write_byte(sockets.second);
  REQUIRE(backend->watch(reading));
  REQUIRE(backend->watch(writing));
  backend->wait(std::nullopt);
  CHECK(reading.times + writing.times == 1);
  CHECK_FALSE(backend->has_watches());
  backend->wait(0ns);
  CHECK(reading.times + writing.times == 1);
}

TEST_CASE("the writer goes on waiting after the reader was given up") {
  const auto backend = made();
  const ends sockets = ends::of_sockets();
  testing::fill(sockets.first);
  timed_watch reading(sockets.first, io_interest::read);
  timed_watch writing(sockets.first, io_interest::write);
  REQUIRE(backend->watch(reading));
  REQUIRE(backend->watch(writing));
  backend->unwatch(reading);
  testing::write_byte(sockets.second);
  backend->wait(0ns);
  CHECK(writing.times == 0);
  std::vector<char> drain(1U << 20U);
  REQUIRE(::read(sockets.second.number(), drain.data(), drain.size()) > 0);
  backend->wait(std::nullopt);
  CHECK(writing.times == 1);
  CHECK(reading.times == 0);
}

TEST_CASE("a number that means another file now is watched as that file") {
  const auto backend = made();
  auto first = std::make_optional(ends::of_pipe());
  const int number = first->first.number();
  {
    timed_watch reading(first->first, io_interest::read);
    testing::write_byte(first->second);
    REQUIRE(backend->watch(reading));
    backend->wait(std::nullopt);
    REQUIRE(reading.times == 1);
  }
  const ends second = ends::of_pipe();
  REQUIRE(::dup3(second.first.number(), number, O_CLOEXEC) == number);  // closes what it was
  timed_watch reading(first->first, io_interest::read);
  REQUIRE(backend->watch(reading));
  backend->wait(0ns);
  CHECK(reading.times == 0);
  testing::write_byte(second.second);
  backend->wait(std::nullopt);
  CHECK(reading.times == 1);
}

TEST_CASE("a regular file is ready at once, and another time") {
  const auto backend = made();
  const testing::scratch_folder folder;
  const descriptor file(::open(folder.write("plain", "x").c_str(), O_RDONLY | O_CLOEXEC));
  timed_watch regular(file, io_interest::read);
  for (int times = 1; times <= 2; ++times) {
    REQUIRE(backend->watch(regular));
    CHECK(backend->watch(regular).error() == std::errc::file_exists);
    backend->wait(std::nullopt);
    CHECK(regular.times == times);
    CHECK_FALSE(backend->has_watches());
  }
  REQUIRE(backend->watch(regular));
  backend->unwatch(regular);
  backend->wait(0ns);
  CHECK(regular.times == 2);
}

TEST_CASE("what is no descriptor is refused, and what is not open any more is refused or reported") {
  const auto backend = made();
  timed_watch nothing(descriptor(), io_interest::read);
  CHECK(backend->watch(nothing).error() == std::errc::bad_file_descriptor);
  ends pipe = ends::of_pipe();
  timed_watch closed(pipe.first, io_interest::read);
  pipe.first.close();
  const auto watched = backend->watch(closed);
  if (watched) backend->wait(std::nullopt);
  CHECK(closed.times == (watched ? 1 : 0));
  CHECK_FALSE(backend->has_watches());
}

TEST_CASE("a watch that is given up is not called, not even in the batch that had it") {
  const auto backend = made();
  const ends first = ends::of_pipe();
  const ends second = ends::of_pipe();
  timed_watch one(first.first, io_interest::read);
  timed_watch two(second.first, io_interest::read);
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
  timed_watch reading(pipe.first, io_interest::read);
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
  std::vector<std::unique_ptr<timed_watch>> watches;
  for (int i = 0; i < 300; ++i) {
    pipes.push_back(ends::of_pipe());
    testing::write_byte(pipes.back().second);
    watches.push_back(std::make_unique<timed_watch>(pipes.back().first, io_interest::read));
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
  const auto refused = io_backend::make();
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error() == std::errc::too_many_files_open);
}

TEST_CASE("each backend can be chosen, by the caller and by a variable") {
  const std::pair<io_backend::kind, const char*> kinds[] = {{io_backend::kind::epoll, "epoll"},
                                                            {io_backend::kind::poll, "poll"}};
  for (const auto& [kind, name] : kinds) {
    const testing::environment said("BRAID_IO", name);
    CHECK(io_backend::make().value()->name() == name);
    const testing::environment says_nothing("BRAID_IO", nullptr);
    CHECK(io_backend::make(kind).value()->name() == name);
  }
}

TEST_CASE("who insists on io_uring, by the variable or in the program, gets it or the system's error") {
  std::error_code refusal = testing::io_uring_refusal();
#if !defined(BRAID_URING)
  refusal = std::make_error_code(std::errc::function_not_supported);
#endif
  MESSAGE("loops that nobody chooses for wait by ", refusal ? "epoll: " + refusal.message() : std::string("io_uring"));
  const testing::environment said("BRAID_IO", "uring");
  for (const io_backend::kind kind : {io_backend::kind::automatic, io_backend::kind::uring}) {
    const auto insisted = io_backend::make(kind);
    CHECK((insisted ? std::error_code() : insisted.error()) == refusal);
    if (insisted) CHECK((*insisted)->name() == "uring");
  }
  const testing::environment says_nothing("BRAID_IO", nullptr);
  CHECK(made()->name() == (refusal ? "epoll" : "uring"));
}

TEST_CASE("a variable that names no backend is refused, unless the caller has chosen") {
  for (const char* wrong : {"", "kqueue", "EPOLL", "uring "}) {
    const testing::environment said("BRAID_IO", wrong);
    const auto refused = io_backend::make();
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error() == errc::unknown_backend);
    CHECK(io_backend::make(io_backend::kind::epoll).has_value());
  }
}

TEST_CASE("where the system refuses io_uring, the next is taken, and who insists is told") {
  const testing::environment says_nothing("BRAID_IO", nullptr);
  const testing::child_end end = testing::run_in_child([] {
    if (!testing::refuse_io_uring()) ::_exit(1);
    if (io_backend::make().value()->name() != "epoll") ::_exit(2);
    const auto insisted = io_backend::make(io_backend::kind::uring);
    if (insisted) ::_exit(3);
    const testing::environment said("BRAID_IO", "uring");
    const auto named = io_backend::make();
    if (named || named.error() != insisted.error()) ::_exit(4);
    std::fputs(insisted.error().message().c_str(), stderr);
  });
  CHECK(end.status == 0);
  CHECK(end.signal == 0);
  CHECK((end.errors == "Operation not permitted" || end.errors == "Function not implemented"));
}
