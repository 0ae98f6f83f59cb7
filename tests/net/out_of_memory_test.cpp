// tests/net/out_of_memory_test.cpp: servers and what they stand on are made whole or refused, whatever is missing.
#include <braid/coro/task.hpp>
#include <braid/io/byte_stream.hpp>
#include <braid/io/loop.hpp>
#include <braid/io/process.hpp>
#include <braid/io/sockets.hpp>
#include <braid/io/tls.hpp>
#include <braid/net/http_client.hpp>
#include <braid/net/http_server.hpp>
#include <braid/net/redis_cluster.hpp>
#include <braid/net/redis_connection.hpp>
#include <braid/task/executors.hpp>

#include <doctest/doctest.h>

#include <tests/support/certificates.hpp>
#include <tests/support/child.hpp>
#include <tests/support/scarce_memory.hpp>
#include <tests/support/scarce_system.hpp>
#include <tests/support/watchdog.hpp>

#include <cerrno>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

using namespace braid;
using testing::fail_everywhere;
using testing::watchdog;

namespace {

/// What was made. Errors: a refusal as an exception.
template <typename T>
auto made(result<T> what) -> T {
  if (!what) throw std::system_error(what.error());
  if constexpr (!std::is_void_v<T>) return std::move(*what);
}

auto any_port() -> socket_address { return socket_address::loopback(0); }

/// A loop on this thread, which is stopped at the end.
class own_loop {
 public:
  own_loop() : io_(made(loop::create())) { io_->run_once(); }
  own_loop(const own_loop&) = delete;
  auto operator=(const own_loop&) -> own_loop& = delete;
  ~own_loop() {
    io_->stop();
    while (io_->run_once()) {}
  }

  [[nodiscard]] auto io() noexcept -> loop& { return *io_; }

  void run_until(const bool& over) {
    while (!over) io_->run_once();
  }

 private:
  std::unique_ptr<loop> io_;
};

auto wait_for(task<result<void>> work, std::error_code& why, bool& over) -> task<void> {
  auto ended = co_await as_outcome(std::move(work));
  if (ended.has_value())
    if (const result<void> served = ended.take(); !served) why = served.error();
  over = true;
}

/// A server that listens and is stopped, with a client beside it. All that is made is made before something runs.
void make_server(own_loop& by) {
  loop& io = by.io();
  http_router routes;
  routes.get("/{name}/long/enough/to/be/no/short/string", [](http_exchange&) {}).get("/", [](http_exchange&) {});
  http_server server(io, routes, {.pacing = {.share = 0.5}});
  const http_client client(io);
  bool over = false;
  std::error_code why;
  auto serving = wait_for(server.serve(made(stream_listener::listen(io, any_port()))), why, over);
  auto stopping = server.stop(0s);
  io.spawn(std::move(serving));
  io.spawn(std::move(stopping));
  by.run_until(over);
  if (why) throw std::system_error(why);
}

/// The rest of what is made on a loop by a function that may fail.
void make_others(loop& io) {
  const auto datagrams = made(udp_socket::bind(io, any_port()));
  const auto pipes = made(pipe_stream::pair(io));
  const auto signals = made(signal_set::create(io, {SIGUSR2}));
  redis_pool store(io, {.socket_path = "/nonexistent/long/enough/to/be/no/short/string"}, 2);
  store.close();
}

/// A task whose result is kept. Errors: what it throws, and what it fails with.
template <typename T>
auto run_on(own_loop& by, task<result<T>> work) -> T {
  std::optional<outcome<result<T>>> ended;
  bool over = false;
  const auto keep = [](task<result<T>> of, std::optional<outcome<result<T>>>& into, bool& done) -> task<void> {
    into.emplace(co_await as_outcome(std::move(of)));
    done = true;
  };
  by.io().spawn(keep(std::move(work), ended, over));
  by.run_until(over);
  return made(ended->take());
}

/// A child that ends at once. Its status comes, or the start or the wait is refused, and no zombie is left.
void run_child(own_loop& by) {
  const child_process::options how{
      .program = "/bin/sh",
      .arguments = {"-c", "exit 3"},
      .environment = std::vector<std::string>{"LONG_ENOUGH_TO_BE=no short string of characters"},
      .out = child_process::stream::pipe};
  auto child = made(child_process::start(by.io(), how));
  CHECK(run_on(by, child.wait()).code == 3);
}

constexpr int was_made = 0;
constexpr int was_refused = 1;
constexpr int was_wrong = 2;

/// How the making of all ends in this process.
auto status_of_making() -> int {
  try {
    own_loop here;
    make_server(here);
    make_others(here.io());
    return was_made;
  } catch (const std::system_error& error) {
    return error.code() == std::errc::too_many_files_open ? was_refused : was_wrong;
  }
}

}  // namespace

TEST_CASE("a server and a client are made and end, or say that there is no memory") {
  const watchdog dog(600s);
  fail_everywhere([] {
    own_loop here;
    make_server(here);
  });
}

TEST_CASE("sockets, pipes, signals and connections to a store are made, or say that there is no memory") {
  const watchdog dog(600s);
  fail_everywhere([] {
    own_loop here;
    make_others(here.io());
  });
}

TEST_CASE("names are asked for, or there is no memory for the question") {
  const watchdog dog(600s);
  fail_everywhere([] {
    // Its thread lets go of a job after the answer has come, so it ends before what is left is counted.
    blocking_pool blocking({.max_threads = 1});
    own_loop here;
    resolver names(here.io(), blocking);
    try {
      CHECK(run_on(here, names.resolve("127.0.0.1", 80)).size() == 1);
      CHECK_FALSE(run_on(here, names.resolve("localhost", 80)).empty());
    } catch (const std::system_error& refused) {
      if (refused.code() != errc::closed) throw;  // what a lane says that has no thread and gets none
    }
  });
}

TEST_CASE("a child runs and its status comes, or there is no memory for it and no child is left") {
  const watchdog dog(600s);
  struct no_child_is_left {
    ~no_child_is_left() {
      const pid_t left = ::waitpid(-1, nullptr, WNOHANG | __WALL);
      const bool none = left == -1 && errno == ECHILD;
      testing::scarce_memory::end();
      CHECK(none);
    }
  };
  fail_everywhere([] {
    const no_child_is_left check;
    own_loop here;
    run_child(here);
  });
}

TEST_CASE("contexts of TLS are made, or there is no memory for them") {
  const watchdog dog(600s);
  const testing::certified own = testing::make_certificate({});
  fail_everywhere([&own] {
    const tls_context::identity identity{.chain = tls_context::pem::text(own.certificate),
                                         .key = tls_context::pem::text(own.key)};
    const auto server = made(tls_context::server({.identity = identity, .protocols = {"http/1.1"}}));
    const auto client =
        made(tls_context::client({.authorities = tls_context::pem::text(own.certificate), .identity = identity}));
  });
}

TEST_CASE("a client of a cluster asks for its map, or there is no memory to ask") {
  const watchdog dog(600s);
  fail_everywhere([] {
    own_loop here;
    redis_cluster cluster(here.io(), {.nodes = {{.host = "/nonexistent/long/enough/to/be/no/short/string"}}});
    try {
      run_on(here, cluster.refresh());
      FAIL("nobody answers");
    } catch (const std::system_error& error) {
      if (error.code() != std::errc::no_such_file_or_directory) throw;
    }
    cluster.close();
  });
}

TEST_CASE("with too few descriptors a server is refused, and nothing stays open") {
  int refusals = 0;
  int made_with = 0;
  for (unsigned limit = 3; made_with == 0; ++limit) {
    CAPTURE(limit);
    REQUIRE(limit < 60);
    const testing::child_end end = testing::run_in_child([&] {
      testing::close_descriptors_from(3);
      testing::limit_descriptors(limit);
      const int status = status_of_making();
      ::_exit(testing::descriptors_below(limit) == 3 ? status : was_wrong);
    });
    CAPTURE(end.errors);
    REQUIRE(end.signal == 0);
    REQUIRE((end.status == was_made || end.status == was_refused));
    if (end.status == was_made)
      made_with = static_cast<int>(limit);
    else
      ++refusals;
  }
  CHECK(refusals > 2);
}
