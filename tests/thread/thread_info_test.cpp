// tests/thread/thread_info_test.cpp: control by id reaches the thread that was meant, or nobody, and says why.
#include <braid/thread/this_thread.hpp>

#include <doctest/doctest.h>

#include <tests/support/child.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/held_thread.hpp>
#include <tests/support/privileges.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <memory>
#include <ostream>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

using braid::cpu_set;
using braid::nice_value;
using braid::realtime_priority;
using braid::scheduling;
using braid::thread_info;
using braid::testing::eventually;
using braid::testing::held_thread;
using braid::testing::settings_can_change;
using namespace std::chrono_literals;

namespace {

/// What each operation answers, in one list.
auto errors_of_all(const thread_info& thread) -> std::vector<std::error_code> {
  std::vector<std::error_code> errors;
  const auto note = [&errors](const auto& answer) { errors.push_back(answer ? std::error_code() : answer.error()); };
  note(thread.name());
  note(thread.set_name("stranger"));
  note(thread.affinity());
  note(thread.set_affinity(cpu_set{0}));
  note(thread.scheduling());
  note(thread.set_scheduling(scheduling::batch{3}));
  note(thread.nice());
  note(thread.set_nice(4));
  note(thread.priority());
  note(thread.set_priority(1));
  return errors;
}

auto all_are(const std::vector<std::error_code>& errors, std::errc expected) -> bool {
  return std::all_of(errors.begin(), errors.end(), [expected](const auto& error) { return error == expected; });
}

/// A policy that this process may be denied: true when it was granted, and a failure when it was denied without reason.
auto granted(const braid::result<void>& answer) -> bool {
  if (answer) return true;
  CHECK(answer.error() == std::errc::operation_not_permitted);
  MESSAGE("not granted here: ", answer.error().message());
  return false;
}

/// Makes the next thread of this process get the given id, where the system allows it.
auto choose_next_id(::pid_t id) -> bool {
  std::ofstream file("/proc/sys/kernel/ns_last_pid");
  return static_cast<bool>(file << id - 1 << std::flush);
}

/// A thread that got the id of `gone`, or null where ids cannot be chosen.
auto successor_of(const thread_info& gone) -> std::unique_ptr<held_thread> {
  for (int attempt = 0; attempt < 200; ++attempt) {  // others may take the id first
    if (!choose_next_id(gone.id())) return nullptr;
    auto next = std::make_unique<held_thread>("successor");
    if (next->info().id() == gone.id()) return next;
  }
  return nullptr;
}

/// Waits until threads that start now have another start time.
void let_a_tick_pass(const thread_info& since) {
  CHECK(eventually([&since] { return held_thread().info().start_ticks() > since.start_ticks(); }));
}

}  // namespace

TEST_CASE("a thread is named, found by its name, and renamed") {
  const held_thread held("io_0");
  const auto found = thread_info::find("io_0");
  REQUIRE(found);
  CHECK(*found == held.info());
  CHECK(found->name() == "io_0");
  CHECK(found->set_name("fifteen-bytes-x"));
  CHECK(held.info().name() == "fifteen-bytes-x");
  CHECK(thread_info::find("fifteen-bytes-x") == held.info());
  CHECK_FALSE(thread_info::find("io_0"));
  CHECK(found->set_name(""));
  CHECK(found->name() == "");
  CHECK(found->set_name("a) S (b\n"));  // what the system's own files cannot quote
  CHECK(found->name() == "a) S (b\n");
  CHECK(found->is_alive());
}

TEST_CASE("a name that does not fit is refused and changes nothing") {
  using namespace std::string_view_literals;
  const held_thread held("before");
  for (const auto name : {"sixteen-bytes-xy"sv, "zero\0byte"sv}) {
    const auto refused = held.info().set_name(name);
    REQUIRE_FALSE(refused);
    CHECK(refused.error() == std::errc::invalid_argument);
    CHECK(held.info().name() == "before");
  }
}

TEST_CASE("no thread of a name is no such process") {
  const auto none = thread_info::find("nobody has it");
  REQUIRE_FALSE(none);
  CHECK(none.error() == std::errc::no_such_process);
  CHECK(braid::thread_info::find_all("nobody has it")->empty());
}

TEST_CASE("several threads of one name are all found, the oldest first") {
  const held_thread first("twin");
  let_a_tick_pass(first.info());
  const held_thread second("twin");
  CHECK(braid::thread_info::find_all("twin") == std::vector{first.info(), second.info()});
  CHECK(thread_info::find("twin") == first.info());
}

TEST_CASE("the calling thread is among all threads") {
  const auto here = braid::this_thread::info();
  REQUIRE(here);
  CHECK(here->id() == ::getpid());
  const auto all = braid::thread_info::all();
  REQUIRE(all);
  CHECK(std::count(all->begin(), all->end(), *here) == 1);
}

TEST_CASE("affinity is what was set, and an impossible one is refused") {
  if (!settings_can_change()) return;
  const held_thread held;
  const auto before = held.info().affinity();
  REQUIRE(before);
  const cpu_set one{*before->first()};
  CHECK(held.info().set_affinity(one));
  CHECK(held.info().affinity() == one);
  for (const cpu_set& impossible : {cpu_set(), cpu_set{cpu_set::limit - 1}}) {
    const auto refused = held.info().set_affinity(impossible);
    REQUIRE_FALSE(refused);
    CHECK(refused.error() == std::errc::invalid_argument);
  }
  CHECK(held.info().affinity() == one);
  CHECK(held.info().set_affinity(*before));
  CHECK(held.info().affinity() == *before);
  CHECK(braid::this_thread::info()->affinity() == *before);
}

TEST_CASE("policies that need no privilege are set and read, with their nice values") {
  if (!settings_can_change()) return;
  const held_thread held;
  const auto thread = held.info();
  const nice_value start = *thread.nice();
  for (const int step : {1, 2, 3}) {
    const auto nice = nice_value::from(std::min(start.value() + step, nice_value::largest));
    REQUIRE(thread.set_nice(*nice));
    CHECK(thread.nice() == *nice);
    CHECK(thread.scheduling() == scheduling(scheduling::other{*nice}));
  }
  const nice_value now = *thread.nice();
  CHECK(thread.set_scheduling(scheduling::batch{now}));
  CHECK(thread.scheduling() == scheduling(scheduling::batch{now}));
  CHECK(thread.set_nice(19));
  CHECK(thread.scheduling() == scheduling(scheduling::batch{19}));
  CHECK(thread.set_scheduling(scheduling::idle{}));
  CHECK(thread.scheduling() == scheduling(scheduling::idle{}));
  CHECK(thread.nice() == nice_value(19));
  CHECK(braid::this_thread::info()->nice() == start);
}

TEST_CASE("a priority is refused for a policy without one, and changes nothing") {
  if (!settings_can_change()) return;
  const held_thread held;
  const auto thread = held.info();
  for (const scheduling& fair :
       {*thread.scheduling(), scheduling(scheduling::batch{*thread.nice()}), scheduling(scheduling::idle{})}) {
    REQUIRE(thread.set_scheduling(fair));
    const auto refused = thread.set_priority(10);
    REQUIRE_FALSE(refused);
    CHECK(refused.error() == std::errc::invalid_argument);
    REQUIRE_FALSE(thread.priority());
    CHECK(thread.priority().error() == std::errc::invalid_argument);
    CHECK(thread.scheduling() == fair);
  }
}

TEST_CASE("a priority keeps the real-time policy, and a nice value does") {
  const held_thread held;
  const auto thread = held.info();
  const auto keeps = [&thread](const scheduling& before, const scheduling& after) {
    if (!granted(thread.set_scheduling(before))) return;
    CHECK(thread.scheduling() == before);
    CHECK(thread.set_priority(7));
    CHECK(thread.scheduling() == after);
    CHECK(thread.priority() == realtime_priority(7));
    const auto nice = nice_value::from(std::min(thread.nice()->value() + 1, nice_value::largest));
    CHECK(thread.set_nice(*nice));
    CHECK(thread.nice() == *nice);
    CHECK(thread.scheduling() == after);
  };
  keeps(scheduling::fifo{5}, scheduling::fifo{7});
  keeps(scheduling::round_robin{5}, scheduling::round_robin{7});
}

TEST_CASE("that children do not inherit a policy survives priorities and policies") {
  if (!settings_can_change()) return;
  const held_thread held;
  const auto thread = held.info();
  const auto flag_is_set = [&thread] { return (::sched_getscheduler(thread.id()) & SCHED_RESET_ON_FORK) != 0; };
  const ::sched_param no_number{.sched_priority = 0};
  REQUIRE(::sched_setscheduler(thread.id(), SCHED_BATCH | SCHED_RESET_ON_FORK, &no_number) == 0);
  CHECK(thread.set_scheduling(scheduling::other{*thread.nice()}));
  CHECK(flag_is_set());
  if (!granted(thread.set_scheduling(scheduling::fifo{5}))) return;
  CHECK(flag_is_set());
  CHECK(thread.set_priority(6));
  CHECK(flag_is_set());
  CHECK(::sched_getscheduler(thread.id()) == (SCHED_FIFO | SCHED_RESET_ON_FORK));
}

TEST_CASE("a deadline is set and read where the system grants it, and nonsense is refused") {
  const held_thread held;
  const auto thread = held.info();
  for (const auto& nonsense : {scheduling::deadline{3ms, 2ms, 4ms}, scheduling::deadline{1ms, 5ms, 4ms},
                               scheduling::deadline{0ms, 2ms, 4ms}, scheduling::deadline{-1ms, 2ms, 4ms}}) {
    const auto refused = thread.set_scheduling(nonsense);
    REQUIRE_FALSE(refused);
    CHECK((refused.error() == std::errc::invalid_argument || refused.error() == std::errc::operation_not_permitted));
  }
  const scheduling wanted = scheduling::deadline{.runtime = 1ms, .deadline = 50ms, .period = 100ms};
  const auto answer = thread.set_scheduling(wanted);
  if (!answer) {
    CHECK(answer.error());
    return;
  }
  CHECK(thread.scheduling() == wanted);
  CHECK_FALSE(thread.set_priority(5));
  CHECK(thread.scheduling() == wanted);
}

TEST_CASE("a thread that has ended is no such process, whatever is asked") {
  held_thread held;
  const auto thread = held.info();
  CHECK(held.end());
  CHECK_FALSE(thread.is_alive());
  CHECK(all_are(errors_of_all(thread), std::errc::no_such_process));
  CHECK(thread_info::of(thread.id()) != braid::result<thread_info>(thread));  // others may have the id by now
}

TEST_CASE("a thread that was joined is gone at once") {
  for (int round = 0; round < 3000; ++round) {
    std::thread([] { CHECK(braid::this_thread::set_name("joined")); }).join();
    REQUIRE(braid::thread_info::find_all("joined")->empty());
  }
}

TEST_CASE("the same id with another start is another thread, and stays untouched") {
  const held_thread held("bystander");
  const auto bystander = held.info();
  const auto policy = bystander.scheduling();
  const auto cpus = bystander.affinity();
  for (const std::uint64_t start : {bystander.start_ticks() - 1, bystander.start_ticks() + 1, std::uint64_t{0}}) {
    const thread_info stale(bystander.id(), start);
    CHECK_FALSE(stale.is_alive());
    CHECK(stale != bystander);
    CHECK(all_are(errors_of_all(stale), std::errc::no_such_process));
  }
  CHECK(bystander.name() == "bystander");
  CHECK(bystander.scheduling() == policy);
  CHECK(bystander.affinity() == cpus);
}

TEST_CASE("a handle does not reach the thread that got its id later") {
  held_thread first("first");
  const auto gone = first.info();
  let_a_tick_pass(gone);
  REQUIRE(first.end());
  const auto next = successor_of(gone);
  if (next == nullptr) {
    MESSAGE("the system does not let this process choose ids");
    return;
  }
  REQUIRE(next->info().id() == gone.id());
  const auto policy = next->info().scheduling();
  CHECK_FALSE(gone.is_alive());
  CHECK(all_are(errors_of_all(gone), std::errc::no_such_process));
  CHECK(next->info().name() == "successor");
  CHECK(next->info().scheduling() == policy);
  CHECK(next->info().is_alive());
}

TEST_CASE("ids that no thread has are no such process") {
  for (const ::pid_t id : {0, -1, 0x7fffffff}) {
    const auto none = thread_info::of(id);
    REQUIRE_FALSE(none);
    CHECK(none.error() == std::errc::no_such_process);
    CHECK(all_are(errors_of_all(thread_info(id, 1)), std::errc::no_such_process));
  }
}

TEST_CASE("a thread of another process can be looked at, and its name belongs to that process") {
  if (!settings_can_change()) return;
  std::array<int, 2> pipe{};
  REQUIRE(::pipe(pipe.data()) == 0);
  const ::pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    char byte = 0;
    ::close(pipe[1]);
    ::_exit(static_cast<int>(::read(pipe[0], &byte, 1)));  // until the other end closes
  }
  ::close(pipe[0]);
  const auto other = thread_info::of(child);
  REQUIRE(other);
  CHECK(other->name() == braid::this_thread::name());
  CHECK(other->affinity() == braid::this_thread::info()->affinity());
  CHECK(other->set_nice(19));
  CHECK(other->nice() == nice_value(19));
  const auto refused = other->set_name("renamed");
  REQUIRE_FALSE(refused);
  CHECK(refused.error() == std::errc::invalid_argument);

  ::close(pipe[1]);
  CHECK(eventually([&other] { return !other->is_alive(); }));
  CHECK(other->name().error() == std::errc::no_such_process);  // it has ended, although nobody has waited for it
  ::waitpid(child, nullptr, 0);
  CHECK_FALSE(other->is_alive());
}

TEST_CASE("without privileges a refusal is the system's error and changes nothing") {
  if (!settings_can_change()) return;
  const auto end = braid::testing::run_in_child([] {
    braid::testing::give_up_privileges();
    const auto thread = *braid::this_thread::info();
    if (thread.nice()->value() < 0) static_cast<void>(thread.set_nice(0));
    const auto before = *thread.scheduling();
    const auto lower = *nice_value::from(thread.nice()->value() - 1);
    const bool changes_nothing =
        thread.set_nice(lower).error() == std::errc::permission_denied &&
        thread.set_scheduling(scheduling::fifo{1}).error() == std::errc::operation_not_permitted &&
        thread.set_scheduling(scheduling::round_robin{1}).error() == std::errc::operation_not_permitted &&
        thread.set_scheduling(scheduling::other{lower}).error() == std::errc::operation_not_permitted &&
        thread.set_scheduling(scheduling::deadline{1ms, 50ms, 100ms}).error() == std::errc::operation_not_permitted &&
        thread.scheduling() == before;
    const bool may_still = thread.set_name("plain").has_value() && thread.name() == "plain" &&
                           thread.set_scheduling(scheduling::idle{}).has_value();
    ::_exit(changes_nothing && may_still ? 0 : 1);
  });
  CHECK(end.signal == 0);
  CHECK(end.status == 0);
}
