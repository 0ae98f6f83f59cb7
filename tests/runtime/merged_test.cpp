// tests/runtime/merged_test.cpp: a runtime whose workers wait in loops of their own: what is at home where, what is
// refused, how long ready I/O waits behind jobs, and the end in every order.
#include <braid/runtime/runtime.hpp>

#include <braid/coro/bridge.hpp>
#include <braid/coro/channel.hpp>
#include <braid/coro/fork_task.hpp>
#include <braid/coro/offload.hpp>
#include <braid/coro/schedule_on.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/io/loop.hpp>
#include <braid/io/sockets.hpp>
#include <braid/coro/serial_executor.hpp>
#include <braid/task/executors.hpp>
#include <braid/task/fork_join.hpp>
#include <braid/task/parallel.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/spawn.hpp>
#include <braid/thread/this_thread.hpp>

#include <tests/support/chosen_pool.hpp>
#include <tests/support/deaths.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/pipes.hpp>
#include <tests/support/sleeper.hpp>
#include <tests/support/watchdog.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <functional>
#include <latch>
#include <memory>
#include <numeric>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

using namespace braid;
using testing::deaths;
using testing::ends;
using testing::eventually;
using testing::mortal;

namespace {

/// A merged runtime of so many workers, with the chosen scheduler.
struct scene {
  explicit scene(unsigned workers, std::string name = "braid")
      : all(runtime::create({.workers = workers,
                             .name = std::move(name),
                             .scheduler = testing::chosen_scheduler(scheduler::work_stealing),
                             .shape = runtime_shape::merged})
                .value()) {}

  auto operator->() const noexcept -> runtime* { return all.get(); }

  testing::watchdog dog{std::chrono::seconds(100)};
  std::unique_ptr<runtime> all;
};

auto sleep_for_ever(mortal /*local*/) -> task<void> { co_await sleep_for(1h); }

/// A worker runs so many jobs, which lie there together, each with its number, while a task of its own reads bytes from
/// a pipe; a job that says so writes one, if none is on its way. How many jobs then ran before each was read.
auto jobs_before_steps(int jobs, const std::function<bool(int)>& work) -> std::vector<int> {
  const ends pipe = ends::of_pipe();
  int ran = 0;
  std::vector<int> waited;
  int written_at = 0;
  atomic<bool> over{false};
  const scene all(1);
  auto reader = [&]() -> task<void> {
    while (ran < jobs) {
      static_cast<void>(co_await readable(all->io(), pipe.first.number()));
      testing::read_byte(pipe.first);
      waited.push_back(ran - written_at);
      written_at = 0;
    }
    over.store(true, release);  // edge test.over: publish
  };
  REQUIRE(all->post(reader()));
  REQUIRE(eventually([&] { return all->loops()[0]->spawned() == 1; }));
  auto one = [&] {
    if (!work(ran++) || written_at != 0) return;
    written_at = ran;
    testing::write_byte(pipe.second);
  };
  REQUIRE(post(all->workers(), [&] {
    for (int i = 0; i < jobs; ++i) static_cast<void>(post(all->workers(), one));
  }));
  REQUIRE(eventually([&] { return over.load(acquire); }));  // edge test.over: observe
  return waited;
}

auto fib(int n) -> fork_task<int> {
  if (n < 2) co_return n;
  const auto [left, right] = co_await fork_join(fib(n - 1), fib(n - 2));
  co_return left + right;
}

/// What a wait that is refused says; empty where it was not.
template <typename Fn>
auto refusal_of(Fn&& waits) -> std::string {
  try {
    waits();
  } catch (const std::system_error& thrown) {
    if (thrown.code() == errc::would_deadlock) return thrown.what();
  }
  return "";
}

}  // namespace

TEST_CASE("tasks wait on workers, each goes on where it began, and no thread is there but the workers") {
  const scene all(2, "whole");
  CHECK(all->shape() == runtime_shape::merged);
  CHECK(all->loops().size() == 2);
  auto body = [&]() -> task<std::string> {
    const std::thread::id home = std::this_thread::get_id();
    const loop* const here = loop::current();
    CHECK(&all->io() == here);
    CHECK(all->workers().is_current());
    for (int i = 0; i < 10; ++i) {
      co_await sleep_for(10us);
      auto hop = offload(all->workers(), [] { return 1; });
      co_await hop;
      CHECK(std::this_thread::get_id() == home);
      CHECK(loop::current() == here);
    }
    co_return this_thread::name();
  };
  CHECK(all->run(body()).starts_with("whole-"));
}

TEST_CASE("one worker does everything: its task sleeps, reads, computes and waits for jobs") {
  const ends pipe = ends::of_pipe();
  channel<int> numbers(1);
  const scene all(1);
  auto writer = [&]() -> task<void> {
    co_await sleep_for(100us);
    testing::write_byte(pipe.second);
    static_cast<void>(co_await numbers.send(20));
  };
  auto body = [&]() -> task<int> {
    REQUIRE(all->post(writer()));
    static_cast<void>(co_await readable(all->io(), pipe.first.number()));
    const auto got = co_await numbers.receive();
    auto hop = offload(all->workers(), [] { return 21; });
    const int computed = co_await hop;
    const std::vector<int> one(1, 1);
    co_return got.value() + computed + parallel_reduce(one, 0, std::plus<>());
  };
  CHECK(all->run(body()) == 42);
}

TEST_CASE("what a task posts while every worker sleeps is run, also with jobs that post jobs") {
  atomic<int> ran{0};
  const scene all(2);
  auto body = [&]() -> task<void> {
    for (int i = 0; i < 200; ++i) {
      co_await sleep_for(20us);
      auto first = [&] {
        ran.fetch_add(1, relaxed);
        static_cast<void>(post(all->workers(), [&] { ran.fetch_add(1, relaxed); }));
      };
      REQUIRE(post(all->workers(), first));
    }
  };
  all->run(body());
  CHECK(eventually([&] { return ran.load(relaxed) == 400; }));
  CHECK(all->workers().wait_idle());
}

TEST_CASE("ready I/O goes on at the worker that owns it") {
  std::vector<ends> pipes;  // closed after the workers have ended
  for (int i = 0; i < 8; ++i) pipes.push_back(ends::of_pipe());
  const scene all(2);
  atomic<int> at_home{0};
  atomic<int> waiting{0};
  auto reader = [&](const ends& pipe) -> task<void> {
    const std::thread::id home = std::this_thread::get_id();
    for (int i = 0; i < 20; ++i) {
      waiting.fetch_add(1, relaxed);
      static_cast<void>(co_await readable(all->io(), pipe.first.number()));
      testing::read_byte(pipe.first);
      if (std::this_thread::get_id() == home) at_home.fetch_add(1, relaxed);
    }
  };
  for (const ends& pipe : pipes) REQUIRE(all->post(reader(pipe)));
  for (int i = 0; i < 20; ++i) {
    REQUIRE(eventually([&] { return waiting.load(relaxed) >= 8 * (i + 1); }));
    for (const ends& pipe : pipes) testing::write_byte(pipe.second);
  }
  CHECK(eventually([&] { return at_home.load(relaxed) == 160; }));
}

TEST_CASE("many tasks that sleep are spread over the workers") {
  const scene all(2);
  constexpr std::size_t many = 1'000;
  atomic<std::size_t> begun{0};
  auto sleeping = [&]() -> task<void> {
    begun.fetch_add(1, relaxed);
    co_await sleep_for(1h);
  };
  for (std::size_t i = 0; i < many; ++i) REQUIRE(all->post(sleeping()));
  REQUIRE(eventually([&] { return begun.load(relaxed) == many; }));
  for (const loop* each : all->loops()) CHECK(each->spawned() >= many / 3);
}

TEST_CASE("waits that would block a worker are refused, with a sentence that says what to do instead") {
  const scene all(2);
  auto never = promise<int>();
  auto later = never.get_future();
  auto nothing = []() -> task<void> { co_return; };
  auto check_all = [&] {
    CHECK(refusal_of([&] { later.wait(); }).find("co_await the future") != std::string::npos);
    CHECK(refusal_of([&] { all->run(nothing()); }).find("use co_await here") != std::string::npos);
    for (loop* each : all->loops())
      CHECK(refusal_of([&] { sync_wait(*each, nothing()); }).find("co_await") != std::string::npos);
    CHECK(refusal_of([&] { sync_wait(nothing()); }).find("co_await the task") != std::string::npos);
    CHECK(ready_future<int>(3).get() == 3);
  };
  std::latch checked(1);
  REQUIRE(post(all->workers(), [&] {
    check_all();
    checked.count_down();
  }));
  checked.wait();
  auto body = [&]() -> task<void> {
    check_all();
    auto hop = offload(all->blocking(), [&] { return all->run(nothing()), true; });
    CHECK(co_await hop);
  };
  all->run(body());
}

TEST_CASE("a task that forks and joins does not run another task in between") {
  bool inside = false;
  int met_inside = 0;
  bool other_ran = false;
  atomic<int> ran{0};
  const scene all(2);
  auto other = [&]() -> task<void> {
    co_await yield();
    if (inside) ++met_inside;
    other_ran = true;
  };
  auto body = [&]() -> task<void> {
    scope& around = co_await this_scope();
    for (int round = 0; round < 100; ++round) {
      other_ran = false;
      around.spawn(other());
      inside = true;
      ran.store(0, relaxed);
      {
        task_group group;
        for (int i = 0; i < 50; ++i) group.run([&] { ran.fetch_add(1, relaxed); });
        for (int i = 0; i < 5; ++i) static_cast<void>(post(all->workers(), [&] { ran.fetch_add(1, relaxed); }));
        CHECK(group.wait());
      }
      inside = false;
      while (!other_ran) co_await yield();
      while (ran.load(relaxed) != 55) co_await yield();
    }
  };
  auto whole = [&]() -> task<void> {
    auto run_in = [&](scope& in) -> task<void> {
      in.spawn(body());
      co_return;
    };
    co_await with_scope(std::ref(run_in));
  };
  all->run(whole());
  CHECK(met_inside == 0);
}

TEST_CASE("a task that waits for another pool does not run another task in between") {
  bool began = false;  // of the only worker
  bool met_inside = false;
  pool other({.workers = 1});
  const scene all(1);
  auto next = [&]() -> task<void> {
    began = true;
    co_return;
  };
  auto body = [&]() -> task<void> {
    const auto self = this_thread::info().value().id();
    REQUIRE(all->post(next()));  // lies at the seat of this worker
    const bool slept = run_in(other, [self] { return eventually([self] { return testing::is_asleep(self); }); });
    CHECK(slept);
    met_inside = began;
    while (!began) co_await yield();
  };
  all->run(body());
  CHECK_FALSE(met_inside);
}

TEST_CASE("a serial executor that ends in a task has its jobs run by the worker, if there is no other") {
  int ran = 0;
  const scene all(1);
  auto body = [&]() -> task<void> {
    {
      serial_executor one(all->workers());
      for (int i = 0; i < 100; ++i) REQUIRE(post(one, [&] { ++ran; }));
    }
    CHECK(ran == 100);
    co_return;
  };
  all->run(body());
}

TEST_CASE("a task has coroutines that fork compute on the workers, and goes on at home") {
  for (const unsigned workers : {1U, 2U}) {
    const scene all(workers);
    auto body = [&]() -> task<int> {
      const loop* const here = loop::current();
      auto ahead = spawn(all->workers(), fib(16));
      const int computed = co_await std::move(ahead);
      CHECK(loop::current() == here);
      co_return computed + run_in(all->workers(), fib(10));  // which the worker may wait for: it computes
    };
    CHECK(all->run(body()) == 987 + 55);
  }
}

TEST_CASE("what is ready waits for so many jobs at most, whatever their number") {
  constexpr int jobs = 5'000;
  constexpr int bound = 256 + 8;
  const std::vector<int> waited = jobs_before_steps(jobs, [](int /*number*/) { return true; });
  CHECK(waited.size() >= jobs / bound);
  for (const int each : waited) CHECK(each <= bound);
}

TEST_CASE("what is ready behind a long job waits for few others, also where some are short") {
  constexpr int jobs = 2'400;
  const auto a_third_is_long = [](int number) {
    if (number % 24 < 16) return false;
    const time_point over = steady_time().now() + 50us;
    while (steady_time().now() < over) {}
    return true;
  };
  const std::vector<int> waited = jobs_before_steps(jobs, a_third_is_long);
  // As a rule: a look at the system may come a job late where the processor is taken away.
  CHECK(std::accumulate(waited.begin(), waited.end(), 0) <= 2 * static_cast<int>(waited.size()));
}

TEST_CASE("a task that never waits keeps no job from running, and jobs that never end keep no task") {
  bool stops = false;
  int ran = 0;
  auto yields = [&]() -> task<void> {
    while (!stops) co_await yield();
  };
  const scene all(1);
  std::function<void()> again = [&] {
    ++ran;
    if (!stops) static_cast<void>(post(all->workers(), again));
  };
  auto body = [&]() -> task<void> {
    static_cast<void>(post(all->workers(), again));
    co_await sleep_for(1ms);
    while (ran < 1'000) co_await sleep_for(100us);
    stops = true;
  };
  REQUIRE(all->post(yields()));
  all->run(body());
  CHECK(all->workers().wait_idle());
  CHECK(ran >= 1'000);
}

TEST_CASE("a job behind a long step is found by a worker whose tasks never wait, also where jobs were short before") {
  constexpr int many = 2'000;
  constexpr int together = 100;
  atomic<bool> stops{false};
  atomic<bool> turns{false};
  atomic<bool> ran{false};
  atomic<int> over{0};
  int here = 0;  // of the short jobs, those that the worker of the long step ran
  auto yields = [&]() -> task<void> {
    while (!stops.load(relaxed)) {
      turns.store(true, relaxed);
      co_await yield();
    }
  };
  const scene all(2);
  // A worker of which nothing is known is taken for one with long jobs, whose backlog everybody helps with.
  auto runs_short_jobs = [&]() -> task<void> {
    const auto one = [&] {
      if (loop::current() == all->loops()[0]) ++here;
      over.fetch_add(1, relaxed);
    };
    int posted = 0;
    while (here < many) {
      for (int i = 0; i < together; ++i) REQUIRE(post(all->workers(), one));
      posted += together;
      while (over.load(relaxed) != posted) co_await yield();
    }
  };
  auto holds_its_worker = [&]() -> task<bool> {
    co_await runs_short_jobs();
    REQUIRE(post(all->workers(), [&] { ran.store(true, relaxed); }));
    const bool was_found = eventually([&] { return ran.load(relaxed); });
    stops.store(true, relaxed);
    co_return was_found;
  };
  REQUIRE(post(*all->loops()[1], [&] { all->loops()[1]->spawn(yields()); }));
  REQUIRE(eventually([&] { return turns.load(relaxed); }));
  CHECK(sync_wait(*all->loops()[0], holds_its_worker()));
}

TEST_CASE("tasks of different workers talk to each other") {
  channel<int> there(1);
  channel<int> back(1);
  auto answers = [&]() -> task<void> {
    while (auto got = co_await there.receive()) static_cast<void>(co_await back.send(*got + 1));
  };
  const scene all(2);
  constexpr int rounds = 2'000;
  auto asks = [&]() -> task<int> {
    int sum = 0;
    for (int i = 0; i < rounds; ++i) {
      static_cast<void>(co_await there.send(i));
      sum += (co_await back.receive()).value() - i;
    }
    there.close();
    co_return sum;
  };
  REQUIRE(post(*all->loops()[0], [&] { all->loops()[0]->spawn(answers()); }));
  CHECK(sync_wait(*all->loops()[1], asks()) == rounds);
}

TEST_CASE("each way to end it stops the tasks at home, runs or drops the jobs, and refuses from then on") {
  for (const auto mode : {shutdown_mode::drain, shutdown_mode::drop_pending, shutdown_mode::stop_now}) {
    for (int round = 0; round < 10; ++round) {
      deaths seen;
      const scene all(2, "ending");
      std::latch slept(1);
      std::thread::id home;
      auto holds = [&]() -> task<void> {
        home = std::this_thread::get_id();
        scope& around = co_await this_scope();
        for (int i = 0; i < 20; ++i) around.spawn(sleep_for_ever(mortal(seen)));
        slept.count_down();
        co_await sleep_for(1h);
      };
      REQUIRE(all->post(holds()));
      slept.wait();
      atomic<int> ran{0};
      for (int i = 0; i < 100; ++i) REQUIRE(post(all->workers(), [&] { ran.fetch_add(1, relaxed); }));
      std::thread another([&] { CHECK(all->shutdown(mode)); });
      CHECK(all->shutdown(mode));
      another.join();
      CHECK(seen.count == 20);
      CHECK(seen.last_on == home);
      if (mode == shutdown_mode::drain) CHECK(ran.load(relaxed) == 100);
      auto nothing = []() -> task<void> { co_return; };
      CHECK(post(all->workers(), [] {}).error() == errc::closed);
      CHECK(all->post(nothing()).error() == errc::closed);
      for (loop* each : all->loops()) CHECK(post(*each, [] {}).error() == errc::closed);
    }
  }
}

TEST_CASE("what a task forks while its worker leaves is run") {
  const scene all(1);
  int ran = 0;
  task_group group(all->workers());
  struct forks_at_its_end {
    forks_at_its_end(task_group& in, int& count) noexcept : group(in), ran(count) {}
    forks_at_its_end(const forks_at_its_end&) = delete;
    auto operator=(const forks_at_its_end&) -> forks_at_its_end& = delete;
    ~forks_at_its_end() {
      group.run([&count = ran] { ++count; });
    }
    task_group& group;
    int& ran;
  };
  auto holds = [&]() -> task<void> {
    const forks_at_its_end local(group, ran);
    co_await sleep_for(1h);
  };
  REQUIRE(all->post(holds()));
  REQUIRE(eventually([&] { return all->loops()[0]->spawned() == 1; }));
  CHECK(all->shutdown(shutdown_mode::stop_now));
  CHECK(group.wait());
  CHECK(ran == 1);
}

TEST_CASE("its parts may be ended one by one, in any order, and tasks that never wait do not keep them") {
  for (int round = 0; round < 24; ++round) {
    const scene all(2);
    auto yields = []() -> task<void> {
      while (true) co_await yield();
    };
    for (int i = 0; i < 4; ++i) REQUIRE(all->post(yields()));
    std::vector<std::function<void()>> ends_in_iteration{
        [&] { all->loops()[0]->stop(); },
        [&] { all->loops()[1]->stop(); },
        [&] { CHECK(all->workers().shutdown(round % 2 == 0 ? shutdown_mode::drain : shutdown_mode::stop_now)); },
    };
    for (std::size_t i = 0; i < 3; ++i) ends_in_iteration[(i + static_cast<std::size_t>(round)) % 3]();
    if (round % 3 == 0) CHECK(all->shutdown(shutdown_mode::drop_pending));
  }
}

TEST_CASE("one that ends waits for functions that are away") {
  for (const auto mode : {shutdown_mode::drain, shutdown_mode::stop_now}) {
    deaths seen;
    scene all(2);
    std::latch away(1);
    std::latch comes_back(1);
    atomic<bool> came_home{false};
    auto tracked = [&]() -> task<void> {
      const mortal local(seen);
      auto hop = offload(all->blocking(), [&] {
        away.count_down();
        comes_back.wait();
      });
      co_await hop;
      came_home.store(true, relaxed);
      co_await sleep_for(1h);
    };
    REQUIRE(all->post(tracked()));
    away.wait();
    std::thread ending([&] { CHECK(all->shutdown(mode)); });
    REQUIRE(eventually([&] { return all->loops()[0]->status() != loop::state::running; }));
    comes_back.count_down();
    ending.join();
    CHECK(came_home.load(relaxed));
    CHECK(seen.count == 1);
  }
}

TEST_CASE("threads that wait for tasks while it ends get an answer") {
  for (int round = 0; round < 20; ++round) {
    const scene all(2);
    atomic<int> answered{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        deaths unused;
        try {
          all->run(sleep_for_ever(mortal(unused)));
        } catch (const std::system_error& thrown) {
          if (thrown.code() == errc::stopped || thrown.code() == errc::closed) answered.fetch_add(1, relaxed);
        }
      });
    }
    CHECK(all->shutdown(round % 2 == 0 ? shutdown_mode::drain : shutdown_mode::stop_now));
    for (std::thread& each : threads) each.join();
    CHECK(answered.load(relaxed) == 3);
  }
}

TEST_CASE("connections are accepted at one worker and served at the others") {
  const scene all(3);
  constexpr int count = 24;
  std::vector<loop*> served_at(count, nullptr);
  auto serve = [&](int number, stream_socket peer) -> task<void> {
    peer.move_to(all->io());
    served_at[static_cast<std::size_t>(number)] = loop::current();
    std::array<std::byte, 4> bytes{};
    while (co_await peer.read_exactly(bytes)) static_cast<void>(co_await peer.write_all(bytes));
  };
  auto accept_all = [&](stream_listener door) -> task<void> {
    door.move_to(all->io());
    for (int number = 0; number < count; ++number) {
      auto peer = or_throw(co_await door.accept());
      auto job = [&serve, number, peer = std::move(peer)]() mutable { return serve(number, std::move(peer)); };
      or_throw(post(*all.all, std::move(job)));
    }
  };
  auto ask = [&](socket_address where) -> task<bool> {
    const stream_socket peer = or_throw(co_await stream_socket::connect(all->io(), where));
    std::array<std::byte, 4> bytes{};
    for (int round = 0; round < 20; ++round) {
      if (!co_await peer.write_all(bytes_of("ping"))) co_return false;
      if (!co_await peer.read_exactly(bytes) || text_of(bytes) != "ping") co_return false;
    }
    co_return true;
  };
  auto program = [&]() -> task<void> {
    stream_listener door = or_throw(stream_listener::listen(all->io(), socket_address::loopback(0)));
    const socket_address where = or_throw(door.local_address());
    or_throw(post(*all.all, accept_all(std::move(door))));
    for (int i = 0; i < count; ++i) CHECK(co_await ask(where));
  };
  all->run(program());
  for (loop* const each : served_at) CHECK(each != nullptr);
}
