// tests/io/resolver_test.cpp: names that are asked for, answers that are remembered, and tries that overlap.
#include <braid/io/sockets.hpp>

#include <braid/coro/schedule_on.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/task/executors.hpp>
#include <braid/task/pool.hpp>

#include <tests/support/child.hpp>
#include <tests/support/connections.hpp>
#include <tests/support/manual_executor.hpp>
#include <tests/support/queue_executor.hpp>
#include <tests/support/scripted_home.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <latch>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

using namespace braid;
using testing::test_loop;

namespace {

/// Answers by a rule, and counts the questions.
struct oracle {
  std::atomic<int> asked{0};
  auto options() -> resolver::options {
    return {.lookup = [this](const std::string& name) -> result<socket_address::list> {
      ++asked;
      if (name == "nowhere") return fail(errc::unknown_host);
      return socket_address::list{socket_address::ip("10.0.0.1", 0).value(), socket_address::ip("::1", 0).value()};
    }};
  }
};

auto count_of(test_loop& here, resolver& of, std::string name) -> std::size_t {
  auto found = here.run(of.resolve(std::move(name), 80)).take();
  return found ? found->size() : 0;
}

}  // namespace

TEST_CASE("a name has its addresses, with the port that was asked for") {
  test_loop here;
  blocking_pool blocking_threads;
  oracle asked;
  resolver names(here.io(), blocking_threads, asked.options());
  const auto found = here.run(names.resolve("somewhere", 81)).take();
  REQUIRE(found.has_value());
  REQUIRE(found->size() == 2);
  CHECK((*found)[0].to_string() == "10.0.0.1:81");
  CHECK((*found)[1].to_string() == "[::1]:81");
  const auto none = here.run(names.resolve("nowhere", 81)).take();
  CHECK(none.error() == errc::unknown_host);
}

TEST_CASE("numbers are no names, and what cannot be a name is not asked for") {
  test_loop here;
  blocking_pool blocking_threads;
  oracle asked;
  resolver names(here.io(), blocking_threads, asked.options());
  CHECK(here.run(names.resolve("192.0.2.7", 5)).take()->at(0).to_string() == "192.0.2.7:5");
  CHECK(here.run(names.resolve("fe80::1", 5)).take()->at(0).to_string() == "[fe80::1]:5");
  CHECK(here.run(names.resolve("", 5)).take().error() == errc::unknown_host);
  CHECK(here.run(names.resolve(std::string("a\0b", 3), 5)).take().error() == errc::unknown_host);
  CHECK(asked.asked == 0);
}

TEST_CASE("an answer is remembered for its lifetime, and a failure for a shorter one") {
  test_loop here;
  blocking_pool blocking_threads;
  oracle asked;
  resolver names(here.io(), blocking_threads, asked.options());
  CHECK(count_of(here, names, "a") == 2);
  CHECK(count_of(here, names, "a") == 2);
  CHECK(asked.asked == 1);
  here.advance(29s);
  CHECK(count_of(here, names, "a") == 2);
  CHECK(asked.asked == 1);
  here.advance(1s);
  CHECK(count_of(here, names, "a") == 2);
  CHECK(asked.asked == 2);
  CHECK(count_of(here, names, "nowhere") == 0);
  CHECK(count_of(here, names, "nowhere") == 0);
  CHECK(asked.asked == 3);
  here.advance(1s);
  CHECK(count_of(here, names, "nowhere") == 0);
  CHECK(asked.asked == 4);
  names.clear();
  CHECK(count_of(here, names, "a") == 2);
  CHECK(asked.asked == 5);
}

TEST_CASE("no more names are remembered than the limit, and the oldest goes first") {
  test_loop here;
  blocking_pool blocking_threads;
  oracle asked;
  auto options = asked.options();
  options.max_names = 2;
  resolver names(here.io(), blocking_threads, options);
  for (const char* name : {"a", "b", "c"}) {
    here.advance(1ms);
    static_cast<void>(count_of(here, names, name));
  }
  CHECK(asked.asked == 3);
  static_cast<void>(count_of(here, names, "b"));
  static_cast<void>(count_of(here, names, "c"));
  CHECK(asked.asked == 3);
  static_cast<void>(count_of(here, names, "a"));
  CHECK(asked.asked == 4);
}

TEST_CASE("who asks meanwhile waits for the same answer, and a deadline ends the wait but not the question") {
  test_loop here;
  blocking_pool blocking_threads;
  std::latch may_answer(1);
  std::atomic<int> asked{0};
  resolver names(here.io(), blocking_threads, {.lookup = [&](const std::string&) -> result<socket_address::list> {
                   ++asked;
                   may_answer.wait();
                   return socket_address::list{socket_address::loopback(0)};
                 }});
  std::size_t found = 0;
  auto asks = [&]() -> task<void> { found += (co_await names.resolve("slow", 1))->size(); };
  for (int i = 0; i < 3; ++i) here.io().spawn(asks());
  auto hurries = [&]() -> task<void> {
    const auto late = co_await with_timeout(1ms, asks());
    CHECK(late.error() == errc::deadline_exceeded);
  };
  CHECK(here.run_through(hurries(), 100us).has_value());
  CHECK(found == 0);
  may_answer.count_down();
  CHECK(here.run_until([&] { return found == 3; }));
  CHECK(asked == 1);
}

TEST_CASE("where the executor takes nothing the error says so, and the next question is asked anew") {
  test_loop here;
  blocking_pool blocking_threads;
  REQUIRE(blocking_threads.shutdown(shutdown_mode::drain));
  oracle asked;
  resolver names(here.io(), blocking_threads, asked.options());
  for (int i = 0; i < 2; ++i) CHECK(here.run(names.resolve("a", 1)).take().error() == errc::closed);
  CHECK(asked.asked == 0);
}

TEST_CASE("the system knows this machine by its name, and no name that cannot be") {
  const auto own = braid::detail::lookup_host("localhost");
  REQUIRE(own.has_value());
  for (const auto& each : *own) CHECK((each.host() == "127.0.0.1" || each.host() == "::1"));
  CHECK_FALSE(braid::detail::lookup_host("no such host.invalid"));
}

TEST_CASE("the first address that answers is taken, whatever stands before it") {
  test_loop here;
  stream_listener listener = stream_listener::listen(here.io(), socket_address::loopback(0)).value();
  const auto good = listener.local_address().value();
  const auto bad = socket_address::unix_abstract("braid-nobody-is-here").value();
  auto made = here.run(stream_socket::connect_to_first(here.io(), {bad, bad, good})).take();
  REQUIRE(made.has_value());
  CHECK(made->peer_address().value() == good);
  const auto none = here.run(stream_socket::connect_to_first(here.io(), {bad, bad})).take();
  CHECK(none.error() == std::errc::connection_refused);
  CHECK(here.run(stream_socket::connect_to_first(here.io(), {})).take().error() == errc::invalid_argument);
  CHECK_FALSE(here.io().backend().has_watches());
}

TEST_CASE("where no address answers the error is that of the first that failed") {
  test_loop here;
  const auto refuses = socket_address::unix_abstract("braid-nobody-is-here").value();
  const auto missing = socket_address::unix_file("/nowhere/braid-no-such-socket").value();
  const auto error_of = [&](socket_address::list to) {
    return here.run(stream_socket::connect_to_first(here.io(), std::move(to))).take().error();
  };
  CHECK(error_of({refuses, missing}) == std::errc::connection_refused);
  CHECK(error_of({missing, refuses, refuses}) == std::errc::no_such_file_or_directory);
}

TEST_CASE("an address that does not answer is overtaken by the next one") {
  test_loop here;
  const auto silent = socket_address::unix_abstract("braid-silent-" + std::to_string(::getpid())).value();
  stream_listener deaf = stream_listener::listen(here.io(), silent, {.backlog = 0}).value();
  const auto first = testing::plain_peer::connected_to(silent);  // the only one it has room for
  stream_listener listener = stream_listener::listen(here.io(), socket_address::loopback(0)).value();
  const auto good = listener.local_address().value();
  const std::size_t before = testing::open_descriptors();
  auto made = here.run_through(stream_socket::connect_to_first(here.io(), {silent, good}), 10ms).take();
  REQUIRE(made.has_value());
  CHECK(made->peer_address().value() == good);
  CHECK(testing::open_descriptors() <= before + 2);
  auto late =
      here.run_through(with_timeout(1s, stream_socket::connect_to_first(here.io(), {silent, silent})), 10ms).take();
  CHECK(late.error() == errc::deadline_exceeded);
}

TEST_CASE("a task that was away comes home before it asks") {
  test_loop here;
  pool workers({.workers = 1});
  oracle asked;
  resolver names(here.io(), workers, asked.options());
  auto body = [&]() -> task<bool> {
    co_await schedule_on(workers);
    const auto found = co_await names.resolve("somewhere", 80);
    co_return found.has_value() && here.io().is_current();
  };
  CHECK(here.run(body()).take());
}

TEST_CASE("a task that is not at home on the loop of a resolver ends the program when it asks, also after the loop") {
  const testing::child_end end = testing::run_in_child([] {
    test_loop its_own;
    testing::manual_executor nobody;
    resolver strange(its_own.io(), nobody);
    its_own.stop();
    testing::scripted_home elsewhere;
    auto asks = [&]() -> task<void> { static_cast<void>(co_await strange.resolve("somewhere", 80)); };
    elsewhere.root().spawn(asks());
  });
  CHECK(end.signal == SIGABRT);
  CHECK(end.errors.find("tasks of its own loop") != std::string::npos);
}
