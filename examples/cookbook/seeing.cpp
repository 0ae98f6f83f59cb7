// examples/cookbook/seeing.cpp: what a program does: traces, names, numbers,
// threads.
#include <braid/coro.hpp>
#include <braid/runtime/default_runtime.hpp>
#include <braid/task.hpp>
#include <braid/thread.hpp>
#include <braid/trace/trace.hpp>

#include <cstdio>
#include <ranges>
#include <stdexcept>
#include <string>

using namespace std::chrono_literals;
using braid::task;

// [trace]
auto render(int rows) -> int {
  const braid::trace::span shown("render");  // a slice of the worker's track
  int cells = 0;
  for (int row = 0; row < rows; ++row) cells += row % 7;
  braid::trace::counter("cells", cells);
  return cells;
}

auto slow_request() -> task<int> {
  co_await braid::sleep_for(1ms);  // shown as `sleep`
  co_return co_await braid::offload(braid::default_runtime().workers(),
                                    [] { return render(1000); });
}
// [/trace]

// [activity]
auto monthly_report() -> task<int> {
  // A track of its own, wherever its parts run.
  const braid::trace::activity shown("monthly report");
  shown.is_now("asks for rows");
  co_await braid::sleep_for(1ms);
  shown.is_now("renders them");
  co_return co_await braid::offload(braid::default_runtime().workers(),
                                    [] { return render(1000); });
}
// [/activity]

// [task_local]
inline constinit braid::task_local<std::string> request_id;

auto log(std::string line) -> task<void> {
  // Null outside of a request.
  const std::string* const id = co_await request_id.get();
  std::printf("[%s] %s\n", id ? id->c_str() : "-", line.c_str());
}

auto handle() -> task<void> {
  co_await log("begins");
  // Its children see it, too.
  co_await braid::when_all(log("asks users"), log("asks posts"));
}
// [/task_local]

// [named]
auto who_am_i() -> task<std::string> {
  const braid::task_info* const me = co_await braid::this_task();
  co_return me->name;
}
// [/named]

// [threads]
auto worker_names() -> std::string {
  braid::pool workers({.workers = 2, .name = "shop"});
  std::string names;
  const auto threads = braid::or_throw(braid::thread_info::all());
  for (const braid::thread_info& each : threads)
    if (const auto name = each.name(); name && name->starts_with("shop"))
      names += *name + " ";
  return names;
}
// [/threads]

// [statistics]
auto jobs_of(braid::pool& workers) -> std::uint64_t {
  const braid::pool::totals now = workers.statistics();
  return now.jobs;  // beside it: steals, sleeps, wakes, forks, late
}
// [/statistics]

// [on_error]
auto report_of(int jobs) -> int {
  std::atomic<int> failed = 0;
  {
    braid::pool workers(
        {.workers = 2,
         .on_error = [&](std::exception_ptr,
                         const braid::error_callback::origin&) { ++failed; }});
    for (int i = 0; i < jobs; ++i)
      braid::or_throw(
          post(workers, [] { throw std::runtime_error("unheard"); }));
  }  // runs all jobs, and joins the workers
  return failed;
}
// [/on_error]

// [error_callbacks]
auto failures_of(int jobs) -> int {
  int failed = 0;
  braid::error_callbacks callbacks;
  braid::pool workers({.workers = 1, .on_error = callbacks});
  const auto counter =
      callbacks.add([&failed](std::exception_ptr) { ++failed; });
  for (int i = 0; i < jobs; ++i)
    braid::or_throw(post(workers, [] { throw std::runtime_error("counted"); }));
  braid::or_throw(workers.wait_idle());
  return callbacks.contains(counter) && callbacks.remove(counter) ? failed : 0;
}
// [/error_callbacks]

auto program() -> task<void> {
  std::printf("cells %d\n",
              co_await braid::spawn(braid::default_runtime(),
                                    {.name = "slow request"}, slow_request()));
  std::printf("report %d\n", co_await monthly_report());
  co_await request_id.bind("r-17", handle());
  co_await log("after it");
}

int main() {
  braid::spawn(program()).get();
  std::printf("%s\n", braid::spawn(braid::default_runtime(),
                                   {.name = "the clerk"}, who_am_i())
                          .get()
                          .c_str());
  std::printf("%s\n", worker_names().c_str());
  std::printf("jobs %d, failed %d\n",
              jobs_of(braid::default_runtime().workers()) > 0, report_of(3));
  std::printf("counted %d\n", failures_of(2));
}
