// examples/08_pools.cpp: the classic kinds of pools, each as options of one;
// jobs in series, and threads for what blocks.
#include <braid/base/error.hpp>
#include <braid/coro/serial_executor.hpp>
#include <braid/runtime/default_runtime.hpp>
#include <braid/task/executors.hpp>
#include <braid/task/inline_executor.hpp>
#include <braid/task/manual_executor.hpp>
#include <braid/task/parallel.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/spawn.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <latch>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <system_error>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using braid::pool;
using braid::scheduler;

// [kinds]
auto work_stealing() -> pool { return pool({.workers = 2}); }
auto least_loaded() -> pool {
  return pool({.workers = 2, .scheduler = scheduler::least_loaded});
}
auto shared_queue() -> pool {
  return pool({.workers = 2, .scheduler = scheduler::shared_queue});
}
auto polling() -> pool {
  return pool({.workers = 1, .make_driver = [](std::size_t) {
                 return std::make_unique<braid::polling_driver>();
               }});
}
// [/kinds]

void without_threads() {
  // [no_threads]
  braid::manual_executor mine;  // its jobs run here, when this thread polls
  auto answer = spawn(mine, [] { return 6 * 7; });
  while (mine.poll()) {}
  std::printf("%d ", answer.get());

  braid::inline_executor in_place;  // its jobs run inside of their post
  std::printf("%d\n", spawn(in_place, [] { return 6 * 7; }).get());
  // [/no_threads]
}

void serial_and_blocking(pool& workers) {
  // [serial]
  braid::serial_executor account(workers);
  int balance = 0;  // touched by its jobs only, and so without a lock
  for (int i = 0; i < 100; ++i)
    braid::or_throw(post(account, [&balance] { balance += 1; }));
  std::printf("balance %d\n",
              spawn(account, [&balance] { return balance; }).get());
  // [/serial]
  // [blocking]
  braid::blocking_pool slow({.max_threads = 8});
  // A file, a name, a lock.
  auto line = spawn(slow, [] { return std::this_thread::sleep_for(1ms), 7; });
  std::printf("read %d\n",
              line.then(workers, [](int n) { return n * 6; }).get());
  // [/blocking]
  // [bounded]
  int counted = 0;
  {
    braid::serial_executor lines(workers);
    // .full = when_full::wait.
    braid::bounded_executor entrance(lines, {.capacity = 100});
    for (int i = 0; i < 10'000; ++i)
      braid::or_throw(post(entrance, [&counted] { ++counted; }));
  }
  std::printf("counted %d, never more than 100 in the queue\n", counted);
  // [/bounded]
  std::atomic<int> sum = 0;
  // [batch]
  const std::vector<std::function<void()>> batch(100, [&sum] { ++sum; });
  if (!post(workers, [batch] {
        braid::parallel_for_each(batch, [](const auto& part) { part(); });
      }))
    std::puts("no part of it will run");
  // [/batch]
  braid::or_throw(workers.wait_idle());
  std::printf("sum %d\n", sum.load());
  // [observed]
  {
    braid::observed_executor seen(
        workers,
        {.on_end = [](const braid::observed_executor::job_report& job) {
          if (job.how == braid::observed_executor::ending::failed)
            std::printf("job %d failed\n", static_cast<int>(job.id.number));
        }});
    for (const int part : {1, 0, 2})
      spawn(seen, [part] {
        return part != 0 ? 6 / part : throw std::domain_error("/ 0");
      }).wait();
  }
  // [/observed]
}

void ending() {
  // [shutdown]
  pool workers({.workers = 1});
  std::latch begun(1);  // what has not begun is dropped by then
  auto endless = spawn(workers, [&begun](std::stop_token stop) {
    begun.count_down();
    while (!stop.stop_requested()) std::this_thread::sleep_for(1ms);
    return 1;
  });
  begun.wait();
  if (!workers.shutdown_for(20ms))
    std::puts("not in time: a stop was requested");
  std::printf("ended with %d\n", endless.get());
  // [/shutdown]
}

void outliving() {
  // [outlived]
  auto answer = [] {
    pool short_lived({.workers = 1});
    auto ready = spawn(short_lived, [] { return 42; });
    ready.wait();
    return ready;
  }();
  auto refused = answer.then([](const int&) {});  // on the pool, which has gone
  try {
    refused.get();
  } catch (const std::system_error& why) {
    std::printf("%d, and then: %s\n", answer.get(),
                why.code().message().c_str());
  }
  // [/outlived]
}

int main() {
  for (const auto make : {work_stealing, least_loaded, shared_queue, polling}) {
    pool where = make();
    std::printf("%d ", spawn(where, [] { return 6 * 7; }).get());
  }
  without_threads();
  pool workers = work_stealing();
  serial_and_blocking(workers);
  ending();
  outliving();
  // [process]
  // Only needed if the defaults do not fit.
  braid::or_throw(braid::initialize({.workers = 2}));
  std::printf("process-wide %d\n", braid::spawn([] { return 1; }).get());
  braid::or_throw(braid::finalize());
  braid::or_throw(braid::initialize());  // anew, as tests may want it
  std::printf("process-wide %d\n", braid::spawn([] { return 2; }).get());
  // [/process]
}
