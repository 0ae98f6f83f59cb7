// examples/cookbook/bridges.cpp: code that blocks, code with callbacks, futures
// and coroutines, and other threads.
#include <braid/coro.hpp>
#include <braid/io.hpp>
#include <braid/runtime/default_runtime.hpp>
#include <braid/task.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

using namespace std::chrono_literals;
using braid::task;

/// A database driver that knows nothing of tasks.
auto query(const std::string& text) -> std::string {
  std::this_thread::sleep_for(1ms);
  return "rows of " + text;
}

// [blocking]
auto users() -> task<std::string> {
  co_return co_await braid::offload(braid::default_runtime().blocking(),
                                    [] { return query("users"); });
}
// [/blocking]

// [blocking_timeout]
auto users_in_time(std::shared_ptr<std::mutex> lock) -> task<std::string> {
  // The call cannot be cut short: it goes on alone, so it owns what it uses.
  auto slow = [lock] {
    const std::lock_guard held(*lock);
    return query("slow");
  };
  const auto rows = co_await braid::offload(braid::default_runtime().blocking(),
                                            {.timeout = 1ms}, std::move(slow));
  co_return rows.value_or("no rows in time");
}
// [/blocking_timeout]

// [long]
auto count_until_stopped(braid::pool& workers) -> task<long> {
  // The stop flag of this request.
  const braid::stop_flag& stop = (co_await braid::this_scope()).stop();
  co_return co_await braid::offload(workers, [&stop] {
    long n = 0;
    while (!stop.requested()) ++n;  // a part of the work, then a look
    return n;
  });
}
// [/long]

// A library in C: `sum_async` calls back once, `sensor_start` until
// `sensor_stop`.
extern "C" {
using sum_done = void (*)(void* context, int sum);
static void sum_async(int a, int b, sum_done done, void* context) {
  std::thread([=] { done(context, a + b); }).detach();
}
}

// [callback]
auto sum(int a, int b) -> task<int> {
  auto owned = std::make_unique<braid::promise<int>>();
  auto ahead = owned->get_future();
  auto done = [](void* context, int sum) {
    const std::unique_ptr<braid::promise<int>> to(
        static_cast<braid::promise<int>*>(context));
    std::ignore = to->set_value(sum);  // of one that nothing else sets
  };
  sum_async(a, b, done, owned.release());
  co_return co_await std::move(ahead);
}
// [/callback]

// [many_callbacks]
/// Called from a thread of the sensor, which must not wait: a value without
/// room is lost, and counted.
struct readings {
  braid::channel<int> values{16};
  std::atomic<int> lost = 0;
  static void on_value(void* context, int value) {
    auto& self = *static_cast<readings*>(context);
    if (!self.values.try_send(int{value})) ++self.lost;
  }
};

auto sum_of(readings& from) -> task<int> {
  int sum = 0;
  while (const auto value = co_await from.values.receive()) sum += *value;
  co_return sum;
}
// [/many_callbacks]

// [future_of_task]
auto length_later() -> braid::future<std::size_t> {
  return braid::spawn(users()).then(
      [](const std::string& rows) { return rows.size(); });
}
// [/future_of_task]

// [task_of_future]
auto doubled() -> task<int> {
  braid::future<int> ahead = braid::spawn([] { return 21; });  // on a worker
  // The loop runs other tasks meanwhile.
  co_return 2 * co_await std::move(ahead);
}
// [/task_of_future]

// [foreign_thread]
/// Another library's thread posts work to the loop, which may use its data
/// without a lock.
void from_elsewhere(braid::loop& io, int& total) {
  std::jthread foreign([&] {
    for (int i = 0; i < 10; ++i)
      braid::or_throw(post(io, [&total] { ++total; }));
  });
}
// [/foreign_thread]

// [merged]
auto homes_of_tasks(braid::runtime& cores, int tasks) -> int {
  auto is_at_home = [&cores]() -> task<bool> {
    // The task stays on the loop of this worker.
    const braid::loop* const mine = &cores.io();
    co_await braid::sleep_for(1us);
    co_return &cores.io() == mine;
  };
  std::vector<braid::future<bool>> all;
  for (int i = 0; i < tasks; ++i) all.push_back(spawn(cores, is_at_home));
  const auto at_home = braid::when_all(std::move(all)).get();
  return static_cast<int>(std::ranges::count(at_home, true));
}
// [/merged]

auto program() -> task<void> {
  const auto lock = std::make_shared<std::mutex>();
  lock->lock();  // somebody else has it
  std::printf("%s, %s\n", (co_await users()).c_str(),
              (co_await users_in_time(lock)).c_str());
  lock->unlock();
  std::ignore = co_await braid::with_timeout(
      5ms, count_until_stopped(braid::default_runtime().workers()));
  // How far depends on the machine: perhaps not at all.
  std::puts("counted until the timeout");
  std::printf("sum %d\n", co_await sum(40, 2));
  readings sensor;
  std::thread([&sensor] {
    for (const int value : {1, 2, 3}) readings::on_value(&sensor, value);
    sensor.values.close();
  }).join();
  std::printf("sensor %d\n", co_await sum_of(sensor));
  std::printf("length %zu, doubled %d\n", co_await length_later(),
              co_await doubled());
}

int main() {
  braid::spawn(program()).get();

  // [sync]
  // A plain thread waits; not on a loop.
  const int value = braid::default_runtime().run(doubled());
  // [/sync]
  // [make_merged]
  const auto cores = braid::or_throw(braid::runtime::create(
      {.workers = 2, .shape = braid::runtime_shape::merged}));
  // [/make_merged]
  std::printf("%zu loops, %d tasks at home\n", cores->loops().size(),
              homes_of_tasks(*cores, 100));
  int total = 0;
  from_elsewhere(braid::default_runtime().io(), total);
  braid::default_runtime().run([&] -> task<void> {
    std::printf("%d and %d\n", value, total);
    co_return;
  });
}
