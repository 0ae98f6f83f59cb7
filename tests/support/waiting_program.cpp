// tests/support/waiting_program.cpp: what tests/doctor/tasks.py looks at: tasks that wait in each way, until it is
// killed.
#include <braid/coro/bridge.hpp>
#include <braid/coro/channel.hpp>
#include <braid/coro/offload.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/coro/when_all.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/io/byte_stream.hpp>
#include <braid/io/loop.hpp>
#include <braid/io/sockets.hpp>
#include <braid/runtime/runtime.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <semaphore>
#include <string>
#include <utility>
#include <vector>

#include <sys/eventfd.h>

namespace {

using braid::task;
using namespace std::chrono_literals;

auto dozes() -> task<void> { co_await braid::sleep_for(24h); }
auto calls_dozes() -> task<void> {
  co_await dozes();
  co_return;
}

/// What the tasks wait for, which lives as long as they do.
struct things {
  braid::channel<int> empty{1};
  braid::async_event never, connected;
  braid::async_mutex one, two;
  braid::async_barrier both{2};
  braid::promise<int> unkept;
  std::binary_semaphore blocks{0};
};

auto takes(things& of, braid::async_mutex& first, braid::async_mutex& second) -> task<void> {
  const auto mine = co_await first.lock();
  co_await of.both.arrive_and_wait();
  const auto other = co_await second.lock();
}

auto receives(things& of) -> task<void> { static_cast<void>(co_await of.empty.receive()); }
auto waits_for_event(things& of) -> task<void> { co_await of.never; }
auto awaits_future(things& of) -> task<void> { static_cast<void>(co_await of.unkept.get_future()); }
auto offloads(things& of, braid::runtime& all) -> task<void> {
  co_await braid::offload(all.blocking(), [&of] { of.blocks.acquire(); });
}
auto limited() -> task<void> { static_cast<void>(co_await braid::with_timeout(24h, dozes())); }
auto has_children() -> task<void> { co_await braid::when_all(dozes(), calls_dozes()); }
auto reads(braid::loop& on) -> task<void> {
  auto ends = braid::pipe_stream::pair(on).value();
  std::array<std::byte, 4> place{};
  static_cast<void>(co_await ends.first.read_some(place));
}

/// From a listener that accepts nothing.
auto reads_socket(things& of, braid::loop& on) -> task<void> {
  const auto listener = braid::stream_listener::listen(on, braid::socket_address::loopback(0)).value();
  auto connection = (co_await braid::stream_socket::connect(on, listener.local_address().value())).value();
  of.connected.set();
  std::array<std::byte, 4> place{};
  static_cast<void>(co_await connection.read_some(place));
}
auto is_never_readable(braid::loop& on) -> task<void> {
  const int number = ::eventfd(0, EFD_CLOEXEC);
  static_cast<void>(co_await braid::readable(on, number));
}
/// Its own frame has gone: the future waits for what is left in its scope.
auto leaves_a_task() -> task<void> { (co_await braid::this_scope()).spawn(dozes()); }
auto awaits(braid::future<void> of) -> task<void> { co_await std::move(of); }

/// Not before all that is ready has run. Then says so.
auto says_ready(things& of) -> task<void> {
  co_await of.connected;
  for (int i = 0; i < 10; ++i) co_await braid::yield();
  std::puts("ready");
  std::fflush(stdout);
}

/// So many sleeping tasks beside it, where the first argument is a number.
auto sleepers(int count) -> task<void> {
  std::vector<task<void>> all;
  for (int i = 0; i < count; ++i) all.push_back(calls_dozes());
  co_await braid::when_all(std::move(all));
}

}  // namespace

int main(int argc, char** argv) {
  const auto all = braid::runtime::create({.workers = 1}).value();
  static things of;
  std::vector<braid::future<void>> open;
  const auto start = [&](std::string name, task<void> work) {
    open.push_back(spawn(all->io(), {.name = std::move(name)}, std::move(work)));
  };
  start("chain", calls_dozes());
  start("channel", receives(of));
  start("event", waits_for_event(of));
  start("future", awaits_future(of));
  start("offload", offloads(of, *all));
  start("deadline", limited());
  start("children", has_children());
  start("descriptor", reads(all->io()));
  start("first", takes(of, of.one, of.two));
  start("second", takes(of, of.two, of.one));
  start("socket", reads_socket(of, all->io()));
  start("readiness", is_never_readable(all->io()));
  start("result", awaits(spawn(all->io(), {.name = "made"}, dozes())));
  start("rest", awaits(spawn(all->io(), {.name = "left"}, leaves_a_task())));
  if (argc > 1) start("many", sleepers(std::atoi(argv[1])));
  auto ready = spawn(all->io(), says_ready(of));
  ready.wait();
  open.front().wait();  // for ever
}
