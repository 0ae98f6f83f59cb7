// tests/coro/dump_text_test.cpp: the text of a dump.
#include <braid/coro/dump.hpp>

#include <doctest/doctest.h>

#include <string>
#include <utility>

using namespace braid;
using namespace std::chrono_literals;

TEST_CASE("the text of a dump has a line for each fact of a task") {
  const auto text_of = [](task_dump::entry task) {
    task_dump all;
    all.homes.push_back({.is_loop = true, .thread = "io", .tasks = {std::move(task)}});
    return all.to_text();
  };
  const std::string home = "loop on thread io\n";
  const std::string no_wait = "    is ready, runs on another executor, or waits for its own tasks\n";
  CHECK(text_of({}) == home + "  task\n" + no_wait);
  CHECK(text_of({.id = {7}, .name = "reader"}) == home + "  task 7 \"reader\"\n" + no_wait);
  CHECK(text_of({.depth = 1}) == home + "    task\n  " + no_wait);
  CHECK(text_of({.functions = {"f()"}, .places = {"a.cpp:1"}, .waits_for = "lock"}) ==
        home + "  task\n    f() at a.cpp:1\n    waits for lock\n");
  CHECK(text_of({.functions = {"f()", "g()"}, .places = {"", "a.cpp:2"}, .waits_for = "event"}) ==
        home + "  task\n    f()\n    g() at a.cpp:2\n    waits for event\n");
  CHECK(text_of({.time_left = 1500ms}) == home + "  task, deadline in 1.5 s\n" + no_wait);
  CHECK(text_of({.time_left = 0ns}) == home + "  task, deadline in 0.0 ms\n" + no_wait);
  CHECK(text_of({.time_left = -2ms}) == home + "  task, deadline 2.0 ms ago\n" + no_wait);
  CHECK(text_of({.stopped_for = errc::deadline_exceeded}) ==
        home + "  task, stopped: " + make_error_code(errc::deadline_exceeded).message() + "\n" + no_wait);
  CHECK(text_of({.others = 1}) == home + "  1 task is ready, or running on another executor\n");
  CHECK(text_of({.others = 2}) == home + "  2 tasks are ready, or running on another executor\n");
}

TEST_CASE("the text of a dump says what kind of home answered, and how") {
  using answer = task_dump::home::answer;
  const auto text_of = [](answer how, bool is_loop, const char* thread) {
    task_dump all;
    all.homes.push_back({.how = how, .is_loop = is_loop, .thread = thread, .tasks = {}});
    return all.to_text();
  };
  CHECK(text_of(answer::whole, false, "") == "serial executor\n");
  CHECK(text_of(answer::whole, true, "") == "loop\n");
  CHECK(text_of(answer::whole, false, "w") == "serial executor on thread w\n");
  CHECK(text_of(answer::part, true, "io") == "loop on thread io, incomplete, because memory is scarce\n");
  CHECK(text_of(answer::late, true, "io") == "loop on thread io: no answer, because its thread is busy or blocked\n");
  CHECK(text_of(answer::not_running, true, "") == "loop: does not run\n");
  CHECK(task_dump{.homes = {}, .deadlocks = {"a", "b"}}.to_text() == "deadlock: a\ndeadlock: b\n");
}

TEST_CASE("the time until a timer is told as what is left, due, or for ever") {
  const auto told = [](time_point when) {
    std::string text;
    detail::describe_time_left(text, when, time_point(10s));
    return text;
  };
  CHECK(told(time_point(12s)) == "2.0 s left");
  CHECK(told(time_point(10s + 20ms)) == "20.0 ms left");
  CHECK(told(time_point(10s)) == "due");
  CHECK(told(time_point(9s)) == "due");
  CHECK(told(time_point::max()) == "for ever");
}
