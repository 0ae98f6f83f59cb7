// tests/io/loop_test.cpp: the life of an event loop, its queue, its timers and its stop.
#include <braid/io/loop.hpp>

#include <braid/coro/schedule_on.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/parker.hpp>
#include <braid/task/executor.hpp>

#include <tests/support/child.hpp>
#include <tests/support/deaths.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/manual_executor.hpp>
#include <tests/support/sleeper.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

using namespace braid;
using testing::deaths;
using testing::manual_executor;
using testing::mortal;
using testing::test_loop;

namespace {

/// A loop on a thread of its own, from `running` on.
class threaded_loop {
 public:
  explicit threaded_loop(loop::options options = {})
      : io_(loop::create(std::move(options)).value()), thread_([this] { io_->run([this] { started_.unpark(); }); }) {
    started_.park();
  }
  threaded_loop(const threaded_loop&) = delete;
  auto operator=(const threaded_loop&) -> threaded_loop& = delete;
  ~threaded_loop() { stop(); }

  [[nodiscard]] auto io() noexcept -> loop& { return *io_; }
  void stop() {
    io_->stop();
    if (thread_.joinable()) thread_.join();
  }

 private:
  braid::detail::parker started_;
  std::unique_ptr<loop> io_;
  std::thread thread_;
};

struct counting_timer : timer {
  explicit counting_timer(int& n) noexcept : timer(&count), times(&n) {}
  static void count(timer& self) noexcept { ++*static_cast<counting_timer&>(self).times; }
  int* times;
};

}  // namespace

TEST_CASE("a loop goes through its states, and takes posts until it is stopped") {
  const auto io = loop::create().value();
  CHECK(io->status() == loop::state::idle);
  CHECK_FALSE(io->is_current());
  CHECK(post(*io, [] {}).has_value());

  REQUIRE(io->run_once());
  CHECK(io->status() == loop::state::running);
  CHECK(io->is_current());
  CHECK(post(*io, [] {}).has_value());

  io->stop();
  CHECK(io->status() == loop::state::stopping);
  CHECK(post(*io, [] {}).error() == errc::closed);

  CHECK_FALSE(io->run_once());
  CHECK(io->status() == loop::state::stopped);
  CHECK_FALSE(io->is_current());
  CHECK(post(*io, [] {}).error() == errc::closed);
  CHECK_FALSE(io->run_once());
}

TEST_CASE("a refused function is destroyed without being called") {
  const auto io = loop::create().value();
  io->stop();
  deaths seen;
  auto held = std::make_shared<mortal>(seen);
  CHECK_FALSE(post(*io, [held = std::move(held)] {}));
  CHECK(seen.count == 1);
}

TEST_CASE("run calls back once posts are taken, and returns after stop") {
  const auto io = loop::create().value();
  bool taken = false;
  bool ran = false;
  io->run([&] {
    CHECK(io->status() == loop::state::running);
    CHECK(io->is_current());
    taken = post(*io, [&] {
              ran = true;
              io->stop();
            }).has_value();
  });
  CHECK(taken);
  CHECK(ran);
  CHECK(io->status() == loop::state::stopped);
}

TEST_CASE("posts run in the order in which one thread made them") {
  threaded_loop there;
  std::vector<int> order;
  atomic<bool> done{false};
  for (int i = 0; i < 1000; ++i) REQUIRE(post(there.io(), [&, i] { order.push_back(i); }));
  REQUIRE(post(there.io(), [&] { done.store(true, release); }));   // edge test.done: publish
  CHECK(testing::eventually([&] { return done.load(acquire); }));  // edge test.done: observe
  REQUIRE(order.size() == 1000);
  for (int i = 0; i < 1000; ++i) CHECK(order[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("a post wakes a loop that sleeps") {
  const auto io = loop::create().value();
  atomic<int> ran{0};
  {
    const testing::sleeper running([&] { io->run(); });
    for (int i = 1; i <= 3; ++i) {
      CHECK(running.falls_asleep());
      REQUIRE(post(*io, [&] { ran.fetch_add(1, relaxed); }));
      CHECK(testing::eventually([&] { return ran.load(relaxed) == i; }));
    }
    CHECK(running.falls_asleep());
    io->stop();  // and so does a stop
  }
  CHECK(io->status() == loop::state::stopped);
}

TEST_CASE("everything that was accepted runs before run returns, also what was posted in the last moment") {
  for (int round = 0; round < 50; ++round) {
    threaded_loop there;
    atomic<int> ran{0};
    int accepted = 0;
    std::thread producer([&] {
      while (post(there.io(), [&] { ran.fetch_add(1, relaxed); })) ++accepted;
    });
    there.io().stop();
    producer.join();
    there.stop();
    CHECK(ran.load(relaxed) == accepted);
  }
}

TEST_CASE("more jobs than one turn takes all run, and others get their turn in between") {
  test_loop here;
  int ran = 0;
  for (int i = 0; i < 1000; ++i) REQUIRE(post(here.io(), [&] { ++ran; }));
  here.run_once(1);
  CHECK(ran > 0);
  CHECK(ran < 1000);
  here.run_once(20);
  CHECK(ran == 1000);
}

TEST_CASE("a turn takes many short jobs, and few long ones") {
  manual_clock clock;
  const auto io = loop::create({.clock = &clock}).value();
  REQUIRE(io->run_once());
  int ran = 0;
  const auto post_many = [&](duration each) {
    for (int i = 0; i < 400; ++i)
      REQUIRE(post(*io, [&ran, &clock, each] {
        ++ran;
        clock.advance(each);
      }));
  };
  const auto in_an_iteration = [&] {
    const int before = ran;
    io->run_once();
    return ran - before;
  };
  struct expected {
    duration each;
    int in_an_iteration;
  };
  for (const auto& [each, count] : {expected{0us, 128}, {1us, 112}, {20us, 8}, {60us, 2}, {101us, 1}, {1ms, 1}}) {
    ran = 0;
    post_many(each);
    CHECK(in_an_iteration() == count);
    while (ran < 400) io->run_once();
  }
  io->stop();
  while (io->run_once()) {}
}

TEST_CASE("a post from elsewhere waits for no more than two rounds of jobs that post themselves") {
  test_loop here;
  std::string order;
  struct again {
    loop& io;
    std::string& order;
    char name;
    int left;
    void operator()() const {
      order += name;
      if (name == 'a' && left == 17) std::thread([this] { REQUIRE(post(io, [to = &order] { *to += '!'; })); }).join();
      if (left > 0) REQUIRE(post(io, again{io, order, name, left - 1}));
    }
  };
  REQUIRE(post(here.io(), again{here.io(), order, 'a', 20}));
  REQUIRE(post(here.io(), again{here.io(), order, 'b', 20}));
  here.io().run_once();
  CHECK(order.substr(0, 12) == "ababababab!a");  // posted by the fourth a; one turn, whose bounds are far away
  CHECK(order.size() == 43);
}

TEST_CASE("a job that posts itself for ever does not keep timers from firing") {
  test_loop here;
  struct again {
    loop& io;
    void operator()() const { static_cast<void>(post(io, again{io})); }
  };
  REQUIRE(post(here.io(), again{here.io()}));
  int fired = 0;
  counting_timer pending(fired);
  here.io().arm(pending, here.now() + 1ms);
  here.advance(2ms);
  CHECK(fired == 1);
}

TEST_CASE("stop before run makes run return at once") {
  const auto io = loop::create().value();
  io->stop();
  CHECK(io->status() == loop::state::stopped);
  io->run();
  CHECK(io->status() == loop::state::stopped);
  CHECK_FALSE(io->is_current());
  CHECK_FALSE(io->run_once());
}

TEST_CASE("what is posted and spawned before the loop runs is queued, and runs in its order") {
  manual_clock clock;
  const auto io = loop::create({.clock = &clock}).value();
  std::vector<int> ran;
  auto work = [&](int number) -> task<int> {
    ran.push_back(number);
    co_await sleep_for(1h);
    co_return number;
  };
  auto first = spawn(*io, work(1));
  REQUIRE(post(*io, [&] { ran.push_back(2); }));
  auto refusable = try_spawn(*io, work(3));
  REQUIRE(refusable);
  auto function = spawn(*io, [] { return 4; });
  REQUIRE(post(*io, [](std::vector<int>& into) -> task<void> {
    into.push_back(5);
    co_return;
  }(ran)));
  CHECK(ran.empty());
  CHECK_FALSE(first.is_ready());
  CHECK_FALSE(function.is_ready());
  REQUIRE(io->run_once());
  CHECK(ran == std::vector{1, 2, 3, 5});
  CHECK(function.get() == 4);
  clock.advance(2h);
  for (int i = 0; i < 100 && !(first.is_ready() && refusable->is_ready()); ++i) REQUIRE(io->run_once());
  REQUIRE(first.is_ready());
  CHECK(first.get() == 1);
  REQUIRE(refusable->is_ready());
  CHECK(refusable->get() == 3);
  io->stop();
  while (io->run_once()) {}
}

TEST_CASE("what was posted to a loop that is stopped or destroyed before it runs is dropped") {
  deaths seen;
  const auto code_of = [](auto& ahead) -> std::error_code {
    try {
      static_cast<void>(ahead.get());
    } catch (const std::system_error& thrown) {
      return thrown.code();
    }
    return {};
  };
  auto never = [](mortal /*held*/) -> task<int> { co_return 1; };
  future<int> ahead;
  {
    const auto io = loop::create().value();
    ahead = spawn(*io, never(mortal(seen)));
    REQUIRE(post(*io, [held = std::make_shared<mortal>(seen)] {}));
    CHECK(seen.count == 0);
  }
  CHECK(seen.count == 2);
  REQUIRE(ahead.is_ready());
  CHECK(code_of(ahead) == errc::stopped);

  const auto io = loop::create().value();
  ahead = spawn(*io, never(mortal(seen)));
  io->stop();
  CHECK(io->status() == loop::state::stopped);
  CHECK(seen.count == 3);
  REQUIRE(ahead.is_ready());
  CHECK(code_of(ahead) == errc::stopped);
  CHECK(post(*io, [] {}).error() == errc::closed);
  io->run();
}

TEST_CASE("a dropped job may post to the loop that drops it: it is refused") {
  struct poster {
    loop* to;
    bool* refused;
    ~poster() {
      *refused = !post(*to, [] {});
    }
  };
  bool refused = false;
  {
    const auto io = loop::create().value();
    REQUIRE(post(*io, [last = std::make_unique<poster>(io.get(), &refused)] {}));
  }
  CHECK(refused);
}

TEST_CASE("tasks that were spawned before the loop runs start in their order when it does") {
  const auto io = loop::create().value();
  std::vector<int> started;
  auto work = [&](int number) -> task<void> {
    CHECK(io->is_current());
    started.push_back(number);
    co_await sleep_for(0ns);
    if (number == 3) io->stop();
  };
  for (const int number : {1, 2, 3}) io->spawn(work(number));
  CHECK(started.empty());
  CHECK(io->spawned() == 3);
  io->run([&] { CHECK(started == std::vector{1, 2, 3}); });
  CHECK(io->spawned() == 0);
}

TEST_CASE("a task that was spawned before the loop is destroyed or stopped never starts, and what it holds ends") {
  deaths seen;
  int started = 0;
  auto work = [&](mortal /*held*/) -> task<void> {
    ++started;
    co_return;
  };
  {
    const auto io = loop::create().value();
    io->spawn(work(mortal(seen)));
  }
  CHECK(seen.count == 1);
  const auto io = loop::create().value();
  io->spawn(work(mortal(seen)));
  io->stop();
  io->spawn(work(mortal(seen)));
  CHECK(seen.count == 2);
  io->run();
  CHECK(seen.count == 3);
  CHECK(io->spawned() == 0);
  CHECK(started == 0);
}

TEST_CASE("stop may be repeated, from any thread, at any time") {
  threaded_loop there;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { there.io().stop(); });
  for (std::thread& each : threads) each.join();
  there.stop();
  CHECK(there.io().status() == loop::state::stopped);
  there.io().stop();
  CHECK(there.io().status() == loop::state::stopped);
}

TEST_CASE("a loop stopped while it starts stops") {
  const auto io = loop::create().value();
  io->run([&] { io->stop(); });
  CHECK(io->status() == loop::state::stopped);
}

TEST_CASE("a stop from a task of its own stops the tasks, destroys what they hold, and ends run") {
  deaths seen;
  const auto io = loop::create().value();
  auto sleeper = [&]() -> task<void> {
    const mortal local(seen);
    co_await sleep_for(1h);
  };
  auto stopper = [&]() -> task<void> {
    co_await sleep_for(1us);
    io->stop();
  };
  io->run([&] {
    for (int i = 0; i < 10; ++i) io->spawn(sleeper());
    io->spawn(stopper());
  });
  CHECK(seen.count == 10);
  CHECK(io->root().tasks() == 0);
}

TEST_CASE("a stopping loop ends only after its tasks, however long they take, and starts none") {
  test_loop here;
  bool started = false;
  auto late = [&]() -> task<void> {
    started = true;
    co_return;
  };
  event may_end;
  auto stubborn = [&]() -> task<void> {
    auto never = []() -> task<void> { co_await sleep_for(1h); };
    static_cast<void>(co_await as_outcome(never()));
    scope apart(here.io());  // not below the root: nothing has stopped it
    auto wait = [&]() -> task<void> { co_await may_end; };
    apart.spawn(wait());
    co_await apart.join();
  };
  here.io().spawn(stubborn());
  here.io().stop();
  for (int i = 0; i < 10; ++i) CHECK(here.io().run_once());
  here.io().spawn(late());
  CHECK_FALSE(started);
  may_end.set();
  CHECK(testing::eventually([&] { return !here.io().run_once(); }));
}

TEST_CASE("timers fire once, in their order and never early") {
  test_loop here;
  int first = 0;
  int second = 0;
  counting_timer early(first);
  counting_timer late(second);
  here.io().arm(late, here.now() + 2ms);
  here.io().arm(early, here.now() + 1ms);
  here.advance(999us);
  CHECK(first == 0);
  here.advance(20us);
  CHECK(first == 1);
  CHECK(second == 0);
  here.advance(1h);
  CHECK(first == 1);
  CHECK(second == 1);
}

TEST_CASE("a timer that is moved fires at its new time, and one that is taken back not at all") {
  test_loop here;
  int moved = 0;
  int taken = 0;
  counting_timer mover(moved);
  counting_timer taker(taken);
  here.io().arm(mover, here.now() + 1ms);
  here.io().arm(taker, here.now() + 1ms);
  here.io().arm(mover, here.now() + 3ms);
  here.io().disarm(taker);
  here.io().disarm(taker);
  here.advance(2ms);
  CHECK(moved == 0);
  here.advance(2ms);
  CHECK(moved == 1);
  CHECK(taken == 0);
}

TEST_CASE("a timer may take back another one that is due in the same turn") {
  test_loop here;
  int fired = 0;
  counting_timer victim(fired);
  struct killing_timer : timer {
    killing_timer(loop& l, timer& v) noexcept : timer(&kill), io(&l), victim(&v) {}
    static void kill(timer& self) noexcept {
      auto& mine = static_cast<killing_timer&>(self);
      mine.io->disarm(*mine.victim);
    }
    loop* io;
    timer* victim;
  } killer(here.io(), victim);
  here.io().arm(killer, here.now() + 1ms);
  here.io().arm(victim, here.now() + 1ms);
  here.advance(2ms);
  CHECK(fired == 0);
}

TEST_CASE("a sleeping loop wakes for its timers") {
  const auto io = loop::create().value();
  const auto begin = steady_time().now();
  auto body = [&]() -> task<void> {
    co_await sleep_for(2ms);
    co_await sleep_for(1us);
    io->stop();
  };
  io->run([&] { io->spawn(body()); });
  CHECK(steady_time().now() - begin >= 2ms);
}

TEST_CASE("what jobs and tasks throw goes to on_error, and the loop goes on") {
  std::vector<std::string> errors;
  const auto note = [&](std::exception_ptr error) {
    try {
      std::rethrow_exception(std::move(error));
    } catch (const std::exception& thrown) {
      errors.emplace_back(thrown.what());
    }
  };
  test_loop here(loop::options{.clock = nullptr, .on_error = note});
  bool ran = false;
  auto body = []() -> task<void> {
    co_await sleep_for(0ns);
    throw std::runtime_error("task");
  };
  REQUIRE(post(here.io(), [] { throw std::runtime_error("job"); }));
  REQUIRE(post(here.io(), [&] { ran = true; }));
  here.io().spawn(body());
  here.run_once();
  std::ranges::sort(errors);
  CHECK(errors == std::vector<std::string>{"job", "task"});
  CHECK(ran);
  CHECK_FALSE(here.io().root().stop().requested());
}

TEST_CASE("a task that ends away counts until it is home, and what it throws is told there") {
  manual_executor away;
  int errors = 0;
  test_loop here(loop::options{.clock = nullptr, .on_error = [&](const std::exception_ptr&) { ++errors; }});
  auto body = [&]() -> task<void> {
    co_await schedule_on(away);
    throw std::runtime_error("away");
  };
  here.io().spawn(body());
  std::thread([&] { away.run_all(); }).join();
  CHECK(here.io().spawned() == 1);
  CHECK(errors == 0);
  here.run_once();
  CHECK(here.io().spawned() == 0);
  CHECK(errors == 1);
}

TEST_CASE("an on_error that throws does not hurt the loop") {
  const auto rethrow = [](std::exception_ptr error) { std::rethrow_exception(std::move(error)); };
  test_loop here(loop::options{.clock = nullptr, .on_error = rethrow});
  bool ran = false;
  REQUIRE(post(here.io(), [] { throw std::runtime_error("on purpose, for a test"); }));
  REQUIRE(post(here.io(), [&] { ran = true; }));
  here.run_once();
  CHECK(ran);
}

TEST_CASE("a loop that never ran can be destroyed") { CHECK(loop::create().has_value()); }

TEST_CASE("destroying a loop that runs ends the program") {
  const auto end = testing::run_in_child([] {
    const auto io = loop::create().value();
    io->run_once();
  });
  CHECK(end.signal == SIGABRT);
  CHECK(end.errors.find("must be stopped before it is destroyed") != std::string::npos);
}

TEST_CASE("a resumption for a loop that has stopped ends the program, because it could not run any more") {
  const auto end = testing::run_in_child([] {
    const auto io = loop::create().value();
    io->run_once();
    io->stop();
    while (io->run_once()) {}
    io->post_resumption(braid::detail::make_job([] {}));
  });
  CHECK(end.signal == SIGABRT);
  CHECK(end.errors.find("a task cannot outlive its loop") != std::string::npos);
}

TEST_CASE("a loop can run only once, and a thread can run only one loop at a time") {
  const auto twice = testing::run_in_child([] {
    const auto io = loop::create().value();
    io->run_once();
    io->run();
  });
  CHECK(twice.signal == SIGABRT);
  const auto nested = testing::run_in_child([] {
    const auto outer = loop::create().value();
    const auto inner = loop::create().value();
    outer->run_once();
    inner->run_once();
  });
  CHECK(nested.signal == SIGABRT);
  CHECK(nested.errors.find("one loop at a time") != std::string::npos);
}
