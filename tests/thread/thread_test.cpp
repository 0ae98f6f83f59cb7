// tests/thread/thread_test.cpp: settings come before the callable or instead of it; threads are joined, given and
// taken.
#include <braid/thread/thread.hpp>

#include <braid/thread/this_thread.hpp>

#include <doctest/doctest.h>

#include <tests/support/child.hpp>
#include <tests/support/deaths.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/privileges.hpp>

#include <csignal>
#include <functional>
#include <latch>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <pthread.h>
#include <unistd.h>

using braid::cpu_set;
using braid::refusal;
using braid::scheduling;
using braid::settings_report;
using braid::thread;
using braid::testing::eventually;
using braid::testing::settings_can_change;

namespace {

void wait_for_stop(const std::stop_token& stop) {
  while (!stop.stop_requested()) std::this_thread::yield();
}

struct counter {
  int value = 0;
  void add(int amount) { value += amount; }
  void add_one() && { ++value; }
};

auto default_stack_size() -> std::size_t {
  ::pthread_attr_t standard;
  std::size_t bytes = 0;
  ::pthread_attr_init(&standard);
  ::pthread_attr_getstacksize(&standard, &bytes);
  ::pthread_attr_destroy(&standard);
  return bytes;
}

auto own_stack_size() -> std::size_t {
  ::pthread_attr_t found;
  std::size_t bytes = 0;
  if (::pthread_getattr_np(::pthread_self(), &found) != 0) return 0;
  ::pthread_attr_getstacksize(&found, &bytes);
  ::pthread_attr_destroy(&found);
  return bytes;
}

template <typename... Args>
concept can_be_created = requires(Args... args) { thread::create({}, std::move(args)...); };
static_assert(can_be_created<void (*)()>);
static_assert(can_be_created<void (*)(std::stop_token, int), int>);
static_assert(!can_be_created<void (*)(int)>);
static_assert(!can_be_created<int>);
static_assert(!std::is_copy_constructible_v<thread>);

}  // namespace

TEST_CASE("the settings are there when the callable begins") {
  if (!settings_can_change()) return;
  const cpu_set one{*braid::this_thread::affinity()->first()};
  const scheduling wanted = scheduling::batch{*braid::this_thread::nice()};
  std::string name;
  cpu_set cpus;
  scheduling policy;
  {
    // clang-format off: a page shows these lines
    // [create]
    auto worker = braid::thread::create(
        {.name = "ranker", .affinity = one, .scheduling = wanted}, [&] {
          name = braid::this_thread::name();
          cpus = *braid::this_thread::affinity();
          policy = *braid::this_thread::scheduling();
        });
    if (!worker) return;  // nothing has run: worker.error() says why
    // [/create]
    // clang-format on
    CHECK(worker->report().to_string() == "name applied, affinity applied, scheduling applied");
  }
  CHECK(name == "ranker");
  CHECK(cpus == one);
  CHECK(policy == wanted);
}

TEST_CASE("an option that is refused is the answer, and the callable never runs and is destroyed") {
  if (!settings_can_change()) return;
  braid::testing::deaths ends;
  bool ran = false;
  const auto start = [&](braid::thread::options options) {
    return thread::create(std::move(options), [&ran, end = braid::testing::mortal(ends)] { ran = true; });
  };
  const auto named = start({.name = "much longer than a name"});
  REQUIRE_FALSE(named);
  CHECK(named.error() == std::errc::invalid_argument);
  CHECK(ends.count == 1);
  CHECK(start({.affinity = cpu_set()}).error() == std::errc::invalid_argument);
  CHECK(start({.stack_size = 1}).error() == std::errc::invalid_argument);
  CHECK(start({.name = "fine", .stack_size = std::size_t{1} << 62}).error());
  CHECK(ends.count == 4);
  CHECK_FALSE(ran);
}

TEST_CASE("an option that is refused can be ignored, and the report says so") {
  if (!settings_can_change()) return;
  bool ran = false;
  auto worker = thread::create({.name = "stays",
                                .affinity = cpu_set(),
                                .scheduling = scheduling::batch{*braid::this_thread::nice()},
                                .stack_size = 1,
                                .on_refused = refusal::ignore},
                               [&ran] { ran = true; });
  REQUIRE(worker);
  CHECK(worker->join());
  CHECK(ran);
  const auto outcomes = worker->report().outcomes();
  REQUIRE(outcomes.size() == 4);
  CHECK(outcomes[0].setting == settings_report::setting::stack_size);
  CHECK(outcomes[0].outcome.error() == std::errc::invalid_argument);
  CHECK(outcomes[1].outcome);
  CHECK(outcomes[2].setting == settings_report::setting::affinity);
  CHECK(outcomes[2].outcome.error() == std::errc::invalid_argument);
  CHECK(outcomes[3].outcome);
}

TEST_CASE("a policy that needs a privilege is refused without one, and nothing runs") {
  const auto end = braid::testing::run_in_child([] {
    braid::testing::give_up_privileges();
    bool ran = false;
    const auto refused = thread::create({.scheduling = scheduling::fifo{1}}, [&ran] { ran = true; });
    const bool answered = !refused && refused.error() == std::errc::operation_not_permitted && !ran;
    auto ignored =
        thread::create({.scheduling = scheduling::fifo{1}, .on_refused = refusal::ignore}, [&ran] { ran = true; });
    const bool went_on = ignored && ignored->join() && ran &&
                         ignored->report().first_refusal().error() == std::errc::operation_not_permitted;
    ::_exit(answered && went_on ? 0 : 1);
  });
  CHECK(end.signal == 0);
  CHECK(end.status == 0);
}

TEST_CASE("a stack has at least the size that was asked for") {
  const std::size_t wanted = 2 * default_stack_size();  // no stack of an earlier thread is that large
  std::size_t found = 0;
  auto worker = thread::create({.name = "stack", .stack_size = wanted}, [&found] { found = own_stack_size(); });
  REQUIRE(worker);
  CHECK(worker->report().to_string() == "stack size applied, name applied");
  CHECK(worker->join());
  CHECK(found >= wanted);
}

TEST_CASE("the destructor requests a stop and joins") {
  bool ended = false;
  {
    auto worker = thread::create({}, [&ended](const std::stop_token& stop) {
      wait_for_stop(stop);
      ended = true;
    });
    REQUIRE(worker);
  }
  CHECK(ended);
}

TEST_CASE("every form of a call works") {
  counter target;
  CHECK(thread::create({}, &counter::add, &target, 3)->join());
  CHECK(target.value == 3);
  CHECK(thread::create({}, &counter::add, std::ref(target), 4)->join());
  CHECK(target.value == 7);
  CHECK(thread::create({}, &counter::add, target, 4)->join());  // a copy
  CHECK(target.value == 7);
  CHECK(thread::create({}, &counter::add_one, counter())->join());
  CHECK(thread::create({}, &counter::value, &target)->join());

  const auto add = [](int& total, std::unique_ptr<int> amount) { total += *amount; };
  int total = 1;
  CHECK(thread::create({}, add, std::ref(total), std::make_unique<int>(4))->join());
  CHECK(total == 5);
  CHECK(thread::create({}, [&total, amount = std::make_unique<int>(5)] { total += *amount; })->join());
  CHECK(total == 10);
  const auto with_token = [&total](const std::stop_token& stop, int amount) {
    if (stop.stop_possible()) total += amount;
  };
  CHECK(thread::create({}, with_token, 6)->join());
  CHECK(total == 16);
}

TEST_CASE("captures and arguments are destroyed on the thread, before it can be joined") {
  braid::testing::deaths ends;
  std::thread::id on;
  auto worker = thread::create({}, [&on, end = braid::testing::mortal(ends)] { on = std::this_thread::get_id(); });
  REQUIRE(worker);
  CHECK(worker->join());
  CHECK(ends.count == 1);
  CHECK(ends.last_on == on);
}

TEST_CASE("a thread is moved, and what it replaces is stopped and joined") {
  bool first_ended = false;
  auto first = thread::create({}, [&first_ended](const std::stop_token& stop) {
    wait_for_stop(stop);
    first_ended = true;
  });
  auto second = thread::create({.name = "second"}, wait_for_stop);
  REQUIRE(first);
  REQUIRE(second);
  thread holder = std::move(*first);
  CHECK_FALSE(first->joinable());
  CHECK_FALSE(first_ended);
  holder = std::move(*second);
  CHECK(first_ended);
  CHECK(holder.name() == "second");
  CHECK(holder.report().to_string() == "name applied");
  auto& same = holder;
  holder = std::move(same);
  CHECK(holder.name() == "second");
  CHECK(holder.request_stop());
  CHECK(holder.join());
}

TEST_CASE("a thread that was released is a std::thread, and can still be stopped") {
  auto worker = thread::create({.name = "released"}, wait_for_stop);
  REQUIRE(worker);
  auto source = worker->stop_source();
  auto plain = worker->release();
  REQUIRE(plain);
  CHECK_FALSE(worker->joinable());
  CHECK_FALSE(worker->request_stop());
  CHECK(worker->info().error() == std::errc::no_such_process);
  CHECK(worker->release().error() == std::errc::invalid_argument);
  CHECK(plain->joinable());
  CHECK(source.request_stop());
  plain->join();
}

TEST_CASE("a thread is given away only as what it is") {
  auto worker = thread::create({.stack_size = std::size_t{1} << 20}, wait_for_stop);
  REQUIRE(worker);
  auto source = worker->stop_source();
  CHECK(worker->release().error() == std::errc::operation_not_supported);
  CHECK(worker->release<std::jthread>().error() == std::errc::operation_not_supported);
  CHECK(worker->joinable());
  const auto native = worker->release<::pthread_t>();
  REQUIRE(native);
  CHECK(source.request_stop());
  CHECK(::pthread_join(*native, nullptr) == 0);
}

TEST_CASE("threads of others are taken over and given back") {
  bool ran = false;
  {
    const thread adopted(std::thread([&ran] { ran = true; }));
  }
  CHECK(ran);

  thread stopped(std::jthread{wait_for_stop});
  CHECK(stopped.set_name("adopted"));
  CHECK(stopped.name() == "adopted");
  CHECK(stopped.request_stop());
  auto back = stopped.release<std::jthread>();
  REQUIRE(back);
  back->join();

  ::pthread_t native{};
  REQUIRE(::pthread_create(&native, nullptr, [](void*) -> void* { return nullptr; }, nullptr) == 0);
  thread adopted = thread::adopt(native);
  CHECK(adopted.joinable());
  CHECK_FALSE(adopted.request_stop());
  CHECK(adopted.join());

  CHECK_FALSE(thread(std::thread()).joinable());
  CHECK_FALSE(thread(std::jthread()).joinable());
}

TEST_CASE("without a thread there is nothing to ask and nothing to join") {
  thread nothing;
  CHECK_FALSE(nothing.joinable());
  CHECK_FALSE(nothing.is_alive());
  CHECK_FALSE(nothing.request_stop());
  CHECK(nothing.join().error() == std::errc::invalid_argument);
  CHECK(nothing.name().error() == std::errc::no_such_process);
  CHECK(nothing.set_nice(19).error() == std::errc::no_such_process);
}

TEST_CASE("a thread that would join itself is told so") {
  thread self;
  std::latch assigned{1};
  braid::result<void> answer;
  self = *thread::create({}, [&] {
    assigned.wait();
    answer = self.join();
  });
  assigned.count_down();
  CHECK(self.join());
  CHECK(answer.error() == std::errc::resource_deadlock_would_occur);
}

TEST_CASE("a thread that has ended and was not joined is no such process") {
  auto worker = thread::create({}, [] {});
  REQUIRE(worker);
  CHECK(eventually([&worker] { return !worker->is_alive(); }));
  CHECK(worker->set_name("late").error() == std::errc::no_such_process);
  CHECK(worker->joinable());
}

TEST_CASE("an exception that leaves the callable ends the program") {
  for (const auto& options : {braid::thread::options{}, braid::thread::options{.stack_size = std::size_t{1} << 20}}) {
    const auto end = braid::testing::run_in_child([&options] {
      std::set_terminate([] { ::_exit(42); });
      const auto worker = thread::create(options, [] { throw std::runtime_error("left"); });
    });
    CHECK(end.status == 42);
  }
}

TEST_CASE("a thread that is cancelled goes on, and is joined") {
  for (const auto& options : {braid::thread::options{}, braid::thread::options{.stack_size = std::size_t{1} << 20}}) {
    const auto end = braid::testing::run_in_child([&options] {
      std::latch known(1);
      std::latch cancelled(1);
      ::pthread_t self{};
      bool went_on = false;
      auto worker = thread::create(options, [&] {
        self = ::pthread_self();
        known.count_down();
        cancelled.wait();
        ::pthread_testcancel();
        went_on = true;
      });
      known.wait();
      if (::pthread_cancel(self) != 0) ::_exit(1);
      cancelled.count_down();
      static_cast<void>(worker->join());
      ::_exit(went_on ? 42 : 2);
    });
    CHECK(end.signal == 0);
    CHECK(end.status == 42);
  }
}
