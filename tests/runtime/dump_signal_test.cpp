// tests/runtime/dump_signal_test.cpp: BRAID_DUMP=quit, in a process whose first home is made here.
#include <braid/runtime/default_runtime.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/coro/spawn.hpp>

#include <tests/support/eventually.hpp>

#include <doctest/doctest.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <unistd.h>

using namespace braid;

namespace {

auto dozes() -> task<void> { co_await sleep_for(1h); }

/// What is written to stderr goes here while this lives.
class caught_errors {
 public:
  caught_errors() {
    REQUIRE(::pipe2(ends_.data(), O_CLOEXEC | O_NONBLOCK) == 0);
    before_ = ::dup(STDERR_FILENO);
    ::dup2(ends_[1], STDERR_FILENO);
  }
  caught_errors(const caught_errors&) = delete;
  auto operator=(const caught_errors&) -> caught_errors& = delete;
  ~caught_errors() {
    ::dup2(before_, STDERR_FILENO);
    for (const int each : {before_, ends_[0], ends_[1]}) ::close(each);
  }

  auto text() -> const std::string& {
    std::array<char, 4096> block{};
    for (::ssize_t read = 1; read > 0;) {
      read = ::read(ends_[0], block.data(), block.size());
      if (read > 0) text_.append(block.data(), static_cast<std::size_t>(read));
    }
    return text_;
  }

 private:
  std::array<int, 2> ends_{};
  int before_ = -1;
  std::string text_;
};

}  // namespace

TEST_CASE("each SIGQUIT writes the tasks of the process to stderr, and the program goes on") {
  REQUIRE(::setenv("BRAID_DUMP", "quit", 1) == 0);
  const auto all = runtime::create({.workers = 1}).value();
  auto ahead = spawn(*all, {.name = "sleeper"}, dozes());
  REQUIRE(testing::eventually([] { return dump().to_text().find("\"sleeper\"") != std::string::npos; }));
  caught_errors errors;
  ::kill(::getpid(), SIGQUIT);
  CHECK(testing::eventually([&] { return errors.text().find("\"sleeper\"") != std::string::npos; }));
  CHECK(errors.text().find("braid: tasks of process ") == 0);
}
