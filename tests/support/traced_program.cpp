// tests/support/traced_program.cpp: what tests/trace/programs.py traces: jobs, tasks, a fork, a death, too many events.
#include <braid/coro/bridge.hpp>
#include <braid/coro/offload.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/io/sockets.hpp>
#include <braid/net/http_client.hpp>
#include <braid/net/http_server.hpp>
#include <braid/runtime/runtime.hpp>
#include <braid/task/executors.hpp>
#include <braid/task/fork_join.hpp>
#include <braid/task/pool.hpp>
#include <braid/trace/trace.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <latch>
#include <string>
#include <thread>
#include <utility>

#include <sys/wait.h>
#include <unistd.h>

namespace {

using braid::task;
using namespace std::chrono_literals;

/// 100 jobs from outside, each of which posts another one.
void jobs() {
  braid::pool workers({.workers = 2, .name = "traced"});
  for (int i = 0; i < 100; ++i)
    static_cast<void>(post(workers, [&workers] { static_cast<void>(post(workers, [] {})); }));
  static_cast<void>(workers.wait_idle());
}

auto naps(int count) -> task<void> {
  for (int i = 0; i < count; ++i) co_await braid::sleep_for(1ms);
}

/// A hundred thousand spans, of which each fifth finds its ring empty unless the machine is overloaded.
void bursts() {
  const braid::trace::span outer("outer");
  for (int burst = 0; burst < 5; ++burst) {
    for (int i = 0; i < 20'000; ++i) const braid::trace::span inner("inner");
    std::this_thread::sleep_for(50ms);
  }
}

auto long_nap() -> task<void> { co_await braid::sleep_for(1h); }

auto two_tasks() -> task<void> {
  braid::scope& here = co_await braid::this_scope();
  auto named = spawn(here, {.name = "the named one"}, naps(3));
  auto other = spawn(here, naps(2));
  auto stopped = spawn(here, naps(1'000'000));
  co_await std::move(named);
  co_await std::move(other);
  stopped.request_stop();
  static_cast<void>(co_await as_outcome(std::move(stopped)));
}

void tasks() {
  const auto runtime = braid::runtime::create({.workers = 2}).value();
  runtime->run(two_tasks());
}

void blocking() {
  braid::blocking_pool pool;
  std::latch done(3);
  for (int i = 0; i < 3; ++i) static_cast<void>(post(pool, [&done] { done.count_down(); }));
  done.wait();
}

void spans() {
  const braid::trace::span outer("outer");
  for (int i = 0; i < 10; ++i) {
    const braid::trace::span inner(braid::trace::intern("inner " + std::to_string(i % 2)));
    braid::trace::mark("here");
    braid::trace::counter("level", -i);
  }
}

auto errand() -> task<void> {
  braid::trace::activity shown("the errand");
  co_await braid::sleep_for(1ms);
  shown.is_now("on its way");
  braid::trace::activity moved = std::move(shown);
  co_await braid::sleep_for(1ms);
  moved.is_now("back");
}

/// One that goes on across waits, one that ends on another thread, and none.
void activities() {
  const auto runtime = braid::runtime::create({.workers = 1}).value();
  runtime->run(errand());
  std::thread([shown = braid::trace::activity("handed over")] {}).join();
  const braid::trace::activity none;
  none.is_now("never shown");
}

// --- planted: what a critical path has to name ---

/// Computes for a time, visible by its name in the trace.
void spin(braid::trace::name as, std::chrono::milliseconds span) {
  const braid::trace::span shown(as);
  for (const auto end = std::chrono::steady_clock::now() + span; std::chrono::steady_clock::now() < end;) {}
}

/// Waits for the kernel, a timer and a node that computes for long on a worker.
auto slow_node(braid::runtime& on) -> task<void> {
  const braid::trace::activity shown("request slow_node");
  co_await braid::sleep_for(2ms);
  auto quick = [] { spin("quick_node", 1ms); };
  co_await braid::offload(on.workers(), std::move(quick));
  auto slow = [] { spin("slow_node", 30ms); };
  co_await braid::offload(on.workers(), std::move(slow));
}

auto with_lock(braid::async_semaphore& lock, std::string name) -> task<void> {
  const braid::trace::activity shown(name);
  const auto held = co_await lock.acquire();
  co_await braid::sleep_for(5ms);
  spin("under_the_lock", 5ms);
}

/// The last of four that want one lock.
auto convoy() -> task<void> {
  braid::async_semaphore lock(1);
  auto all = [&lock](braid::scope& here) -> task<void> {
    for (int i = 1; i <= 4; ++i) here.spawn(with_lock(lock, "request convoy " + std::to_string(i)));
    co_return;
  };
  co_await braid::with_scope(all);
}

auto naps_in_time() -> task<void> {
  const braid::trace::activity shown("request stalled");
  co_await braid::sleep_for(5ms);
}

auto stalls_the_loop() -> task<void> {
  co_await braid::sleep_for(1ms);
  spin("stalls_the_loop", 40ms);
}

auto stalled_loop() -> task<void> {
  auto both = [](braid::scope& here) -> task<void> {
    here.spawn(naps_in_time());
    here.spawn(stalls_the_loop());
    co_return;
  };
  co_await braid::with_scope(both);
}

/// Its job comes after one that the only worker is busy with.
auto queue_wait(braid::runtime& on) -> task<void> {
  static_cast<void>(post(on.workers(), [] { spin("in_front", 30ms); }));
  const braid::trace::activity shown("request queued");
  auto own = [] { spin("own_job", 1ms); };
  co_await braid::offload(on.workers(), std::move(own));
}

auto waits_for_nobody() -> task<void> {
  braid::event never;
  co_await never;
}

/// The deadline ends a sleep and a wait for another task, each inside another task. It counts from before the wait, so
/// it is far longer than what the test expects of the wait.
auto times_out() -> task<void> {
  const braid::trace::activity shown("request timed_out");
  spin("before_the_wait", 20ms);
  static_cast<void>(co_await braid::with_timeout(100ms, long_nap()));
  static_cast<void>(co_await braid::with_timeout(200ms, waits_for_nobody()));
}

/// The same where no loop has the timers.
auto times_out_on_a_pool() -> task<void> {
  const braid::trace::activity shown("request timed_out_on_a_pool");
  static_cast<void>(co_await braid::with_timeout(200ms, waits_for_nobody()));
}

/// Another task ends the wait, after it has computed.
auto stopped_by_another() -> task<void> {
  const braid::trace::activity shown("request stopped");
  auto both = [](braid::scope& here) -> task<void> {
    here.spawn(long_nap());
    spin("before_the_stop", 10ms);
    here.request_stop();
    co_return;
  };
  co_await braid::with_scope(both);
}

void planted() {
  const auto runtime = braid::runtime::create({.workers = 1, .name = "planted"}).value();
  runtime->run(slow_node(*runtime));
  runtime->run(convoy());
  runtime->run(stalled_loop());
  runtime->run(queue_wait(*runtime));
  runtime->run(times_out());
  runtime->run(stopped_by_another());
  spawn(runtime->workers(), times_out_on_a_pool()).get();
}

// --- requests of a server ---

auto get(braid::http_client& client, std::string at) -> task<void> {
  const auto answer = co_await client.get(at);
  if (!answer) std::printf("%s: %s\n", at.c_str(), answer.error().message().c_str());
}

/// Asks a server for a path that waits, one without a handler, and one that answers at once.
auto ask_server(braid::loop& io, braid::http_server::options how) -> task<void> {
  braid::http_router routes;
  routes.get("/items/{id}", [](braid::http_exchange& x) -> task<void> {
    co_await braid::sleep_for(20ms);
    x.reply(braid::http_status::ok, "item");
  });
  routes.get("/", [](braid::http_exchange& x) { x.reply(braid::http_status::ok, "all"); });
  auto listener = braid::or_throw(braid::stream_listener::listen(io, braid::socket_address::loopback(0)));
  const std::string at = "http://" + listener.local_address().value().to_string();
  braid::http_server server(io, routes, std::move(how));
  braid::http_client client(io);
  auto asks = [&](braid::scope& here) -> task<void> {
    auto serving = spawn(here, server.serve(std::move(listener)));
    co_await get(client, at + "/items/7");
    co_await get(client, at + "/no/such/path");
    co_await get(client, at + "/");
    co_await server.stop(1s);
    static_cast<void>(co_await std::move(serving));
  };
  co_await braid::with_scope(std::ref(asks));
}

void http() {
  const auto runtime = braid::runtime::create({.workers = 1, .name = "served"}).value();
  runtime->run(ask_server(runtime->io(), {}));
}

void http_without_activities() {
  const auto runtime = braid::runtime::create({.workers = 1, .name = "served"}).value();
  runtime->run(ask_server(runtime->io(), {.activities = false}));
}

/// A runtime with three tasks that wait, until nobody writes to stdin any more.
void until_input_ends() {
  const auto runtime = braid::runtime::create({.workers = 1, .name = "watched"}).value();
  for (int i = 0; i < 3; ++i) static_cast<void>(post(*runtime, long_nap()));
  std::puts("waits");
  std::fflush(stdout);
  while (std::getchar() != EOF) {}
}

/// The child runs jobs as well, and ends as programs do.
void fork_a_child() {
  const braid::trace::span around("around the fork");
  const ::pid_t child = ::fork();
  if (child == 0) {
    for (int i = 0; i < 1000; ++i) const braid::trace::span of_child("of the child");
    jobs();
    std::exit(0);
  }
  ::waitpid(child, nullptr, 0);
  jobs();
}

/// More than a ring holds, faster than they are read.
void flood() {
  const braid::trace::span outer("outer");
  for (int i = 0; i < 200'000; ++i) const braid::trace::span inner("inner");
}

/// A slice and a wait that begin long before what is kept of 300 ms, what is older than that, and what is not.
auto remembered() -> task<void> {
  braid::scope& here = co_await braid::this_scope();
  auto sleeper = spawn(here, {.name = "the sleeper"}, long_nap());
  co_await braid::sleep_for(1ms);  // until it sleeps
  const braid::trace::span outer("outer");
  for (int i = 0; i < 2'000; ++i) const braid::trace::span old("old");
  std::this_thread::sleep_for(600ms);  // NOLINT: nothing else runs here
  for (auto begin = std::chrono::steady_clock::now();; begin = std::chrono::steady_clock::now()) {
    {
      const braid::trace::span shown("recent");
    }
    if (std::chrono::steady_clock::now() - begin < 100ms) break;
  }
  std::printf("%d", braid::trace::save("slow request"));
  std::printf("%d\n", braid::trace::save("left out, for the one before"));
  sleeper.request_stop();
  static_cast<void>(co_await as_outcome(std::move(sleeper)));
}

void remember() {
  jobs();
  braid::runtime::create({.workers = 1}).value()->run(remembered());
}

/// The last 100 ms of what is kept for longer, on standard output; or why not.
void read_back() {
  const braid::trace::span outer("outer");
  for (int i = 0; i < 100; ++i) const braid::trace::span old("old");
  std::this_thread::sleep_for(150ms);
  for (;;) {
    const auto begin = std::chrono::steady_clock::now();
    { const braid::trace::span shown("recent"); }
    const braid::result<std::string> bytes = braid::trace::last(100ms);
    if (bytes && std::chrono::steady_clock::now() - begin >= 100ms) continue;
    const std::string text = bytes ? *bytes : bytes.error().message();
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
    ::_exit(0);
  }
}

/// Until the test kills it.
void endless() {
  for (;;) {
    jobs();
    std::puts("jobs have run");
    std::fflush(stdout);
  }
}

/// Ends from one moment to the next, in the middle of slices of two threads and of a task.
void die() {
  const braid::trace::span open("open at the end");
  const braid::trace::activity going_on("goes on");
  std::thread([] {
    const braid::trace::span shown("of a thread that dies");
    braid::trace::mark("the last one");
    ::kill(::getpid(), SIGKILL);
  }).join();
}

/// Until a mark of this thread is in the file, and so all that was before it.
void await_written() {
  const char* const file = std::getenv("BRAID_TRACE");
  if (file == nullptr) return;
  braid::trace::mark("the last one");
  for (std::string text; text.find("the last one") == std::string::npos;) {
    std::this_thread::sleep_for(1ms);
    std::ifstream in(file, std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
}

/// Threads that come and go.
void short_threads() {
  for (int i = 0; i < 50; ++i) std::thread([] { const braid::trace::span shown("of a thread"); }).join();
}

}  // namespace

int main(int count, char** words) {
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "jobs") jobs();
    if (word == "tasks") tasks();
    if (word == "blocking") blocking();
    if (word == "spans") spans();
    if (word == "activities") activities();
    if (word == "planted") planted();
    if (word == "http") http();
    if (word == "http_without_activities") http_without_activities();
    if (word == "fork") fork_a_child();
    if (word == "flood") flood();
    if (word == "bursts") bursts();
    if (word == "remember") remember();
    if (word == "signal") std::raise(SIGUSR2);
    if (word == "save") std::printf("%d\n", braid::trace::save("by the program"));
    if (word == "read_back") read_back();
    if (word == "endless") endless();
    if (word == "until_input_ends") until_input_ends();
    if (word == "threads") short_threads();
    if (word == "pause") std::this_thread::sleep_for(50ms);
    if (word == "die") die();
    if (word == "_exit") {
      spans();
      await_written();
      ::_exit(0);
    }
  }
  std::puts("done");
}
