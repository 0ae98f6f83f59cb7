// tests/runtime/pool_watch_test.cpp: BRAID_TOP and BRAID_STALL in a program that has pools and no runtime.
#include <braid/runtime/default_runtime.hpp>

#include <braid/task/pool.hpp>
#include <braid/task/spawn.hpp>

#include <doctest/doctest.h>

#include <tests/support/child.hpp>
#include <tests/support/child_checks.hpp>
#include <tests/support/watchdog.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

using namespace braid;
using namespace std::chrono_literals;
using testing::must;

namespace {

/// What the socket of this process answers to a question for metrics; nothing if there is no socket.
auto metrics_of_this_process() -> std::string {
  const descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ::sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const int length = std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "braid.%d", ::getpid());
  const auto size = static_cast<::socklen_t>(offsetof(::sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(length));
  if (::connect(socket.number(), reinterpret_cast<const ::sockaddr*>(&address), size) != 0) return {};
  must(::send(socket.number(), "m", 1, MSG_NOSIGNAL) == 1);
  std::string all;
  std::array<char, 4096> part{};
  for (::ssize_t got = 0; (got = ::recv(socket.number(), part.data(), part.size(), 0)) > 0;)
    all.append(part.data(), static_cast<std::size_t>(got));
  return all;
}

auto has(const std::string& text, const char* part) -> bool { return text.find(part) != std::string::npos; }

template <typename Fn>
auto end_with(const char* variable, const char* value, Fn fn) -> testing::child_end {
  return testing::run_in_child([&] {
    const testing::watchdog dog(60s);
    ::setenv(variable, value, 1);
    fn();
  });
}

}  // namespace

TEST_CASE("BRAID_TOP shows pools that belong to no runtime, for as long as they live") {
  const auto end = end_with("BRAID_TOP", "1", [] {
    must(metrics_of_this_process().empty());
    pool stays({.workers = 1, .name = "stays"});
    {
      pool goes({.workers = 1, .name = "goes"});
      must(has(metrics_of_this_process(), "pool=\"goes\""));
    }
    const std::string text = metrics_of_this_process();
    must(has(text, "braid_pool_workers{pool=\"stays\"} 1\n"));
    must(has(text, "braid_stalls_total{pool=\"stays\"} 0\n"));
    must(!has(text, "goes"));
    const auto own = or_throw(runtime::create({.workers = 1, .name = "third"}));
    must(has(metrics_of_this_process(), "braid_pool_workers{pool=\"third\"} 1\n"));  // once: sums of two would be 2
  });
  CAPTURE(end.errors);
  CHECK(end.signal == 0);
  CHECK(end.status == 0);
}

TEST_CASE("BRAID_STALL reports a worker of a pool that belongs to no runtime") {
  const auto end = end_with("BRAID_STALL", "1ms", [] {
    ::setenv("BRAID_TOP", "1", 1);
    pool workers({.workers = 1, .name = "slow"});
    std::atomic<bool> is_reported = false;
    auto stalls = spawn(workers, [&is_reported] {
      while (!is_reported) std::this_thread::yield();
    });
    while (!has(metrics_of_this_process(), "braid_stalls_total{pool=\"slow\"} 1\n")) std::this_thread::yield();
    is_reported = true;
    stalls.get();
  });
  CAPTURE(end.errors);
  CHECK(end.signal == 0);
  CHECK(end.status == 0);
  CHECK(has(end.errors, "braid: worker slow-0 has run the same job for "));
}

TEST_CASE("a value of BRAID_STALL that is no time is named where there are only pools, too") {
  const auto end = end_with("BRAID_STALL", "soon", [] { const pool workers({.workers = 1}); });
  CHECK(has(end.errors, "braid: BRAID_STALL is ignored: \"soon\" is not a duration such as 500ms or 2s"));
}
