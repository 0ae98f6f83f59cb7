// examples/cookbook/sharing.cpp: limits, pipelines, caches, and state that many
// tasks share.
#include <braid/coro.hpp>
#include <braid/runtime/default_runtime.hpp>
#include <braid/task.hpp>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using braid::scope, braid::task;

// [at_most]
auto crawl(int pages) -> task<int> {
  braid::async_semaphore slots(50);
  int running = 0;
  int most = 0;
  auto fetch = [&] -> task<void> {
    // Given back at the end of the function.
    const auto slot = co_await slots.acquire();
    most = std::max(most, ++running);
    co_await braid::sleep_for(1us);
    --running;
  };
  auto all = [&](scope& tasks) -> task<void> {
    for (int i = 0; i < pages; ++i) tasks.spawn(fetch());
    co_return;
  };
  co_await braid::with_scope(all);
  co_return most;
}
// [/at_most]

// [consumers]
auto consumers() -> task<int> {
  braid::channel<int> orders(8);  // a producer waits while eight are there
  int sum = 0;
  auto consume = [&] -> task<void> {
    while (const auto order = co_await orders.receive()) sum += *order;
  };
  auto produce = [&] -> task<void> {
    for (int i = 1; i <= 100; ++i) braid::or_throw(co_await orders.send(i));
    orders.close();  // the consumers end when nothing is left
  };
  co_await braid::when_all(produce(), consume(), consume(), consume());
  co_return sum;
}
// [/consumers]

// [pipeline]
auto pipeline(braid::pool& workers, std::vector<std::string> lines)
    -> task<std::string> {
  // So many lines are in work at most.
  braid::channel<braid::future<std::size_t>> pending(4);
  auto read = [&] -> task<void> {
    auto measure = [](const std::string& line) { return line.size(); };
    for (auto& line : lines)
      braid::or_throw(co_await pending.send(
          braid::spawn(workers, measure, std::move(line))));
    pending.close();
  };
  auto write = [&] -> task<std::string> {
    std::string text;
    while (auto next = co_await pending.receive())
      text += std::to_string(co_await std::move(*next)) + " ";
    co_return text;  // in the order of the lines, whichever worker was faster
  };
  auto [nothing, text] = co_await braid::when_all(read(), write());
  co_return text;
}
// [/pipeline]

// [single_flight]
class page_cache {  // used by the tasks of one loop
 public:
  auto get(int key) -> task<std::string> {
    auto found = pages_.find(key);
    if (found == pages_.end())
      found = pages_.emplace(key, braid::spawn(load(key)).share()).first;
    // Shares the result, also when the entry goes.
    const auto page = found->second;
    co_return co_await page;
  }
  int loads = 0;

 private:
  auto load(int key) -> task<std::string> {
    ++loads;
    co_await braid::sleep_for(1ms);
    co_return "page " + std::to_string(key);
  }
  std::map<int, braid::shared_future<std::string>> pages_;
};
// [/single_flight]

// [one_home]
/// State that only tasks of one serial_executor touch: never two of them at
/// once, on whatever worker.
struct account {
  explicit account(braid::pool& workers) : home(workers) {}
  auto deposit(int amount) -> braid::future<void> {
    return braid::spawn(home, [this, amount] -> task<void> {
      balance += amount;
      co_await braid::sleep_for(1us);  // others may run meanwhile
      ++deposits;
    });
  }
  int balance = 0;
  int deposits = 0;
  braid::serial_executor home;  // last: it ends before what its tasks use
};
// [/one_home]

auto deposits(braid::pool& workers) -> task<int> {
  account shared(workers);
  std::vector<braid::future<void>> done;
  for (int i = 1; i <= 100; ++i) done.push_back(shared.deposit(1));
  co_await braid::when_all(std::move(done));
  co_return shared.deposits;
}

// [one_at_a_time]
auto count(braid::pool& workers) -> int {
  int counted = 0;
  braid::serial_executor one_at_a_time(workers);
  for (int i = 0; i < 1000; ++i)
    braid::or_throw(post(one_at_a_time, [&counted] { ++counted; }));
  // After all that was posted before.
  return spawn(one_at_a_time, [&counted] { return counted; }).get();
}
// [/one_at_a_time]

// [mutex]
auto write_alone(braid::async_mutex& file, std::string& text, std::string line)
    -> task<void> {
  const auto held = co_await file.lock();  // a task waits, no thread
  for (const char c : line) {
    text += c;
    co_await braid::sleep_for(1us);
  }
}
// [/mutex]

// [newest]
auto newest() -> task<std::string> {
  braid::watch<std::string> settings("first");
  auto seen = settings.observe();
  settings.set("second");
  settings.set("third");
  // The newest; those between are passed over.
  co_return braid::or_throw(co_await seen.changed());
}
// [/newest]

// [everybody]
auto everybody() -> task<int> {
  braid::broadcast<int> prices(16);
  auto sum_of = [](braid::broadcast<int>::receiver from) -> task<int> {
    int sum = 0;
    while (const auto price = co_await from.receive()) sum += price->value;
    co_return sum;
  };
  auto one = sum_of(prices.subscribe());
  auto other = sum_of(prices.subscribe());
  for (const int price : {1, 2, 3}) braid::or_throw(prices.send(price));
  prices.close();
  const auto [first, second] =
      co_await braid::when_all(std::move(one), std::move(other));
  co_return first + second;
}
// [/everybody]

// [batches]
/// Up to `max` values, or those that come within `wait` of the first.
auto next_batch(braid::channel<int>& from, std::size_t max,
                braid::duration wait) -> task<std::vector<int>> {
  std::vector<int> batch;
  if (const auto first = co_await from.receive()) batch.push_back(*first);
  const auto deadline = std::chrono::steady_clock::now() + wait;
  while (!batch.empty() && batch.size() < max) {
    const auto next = co_await braid::with_deadline(deadline, from.receive());
    if (!next || !*next) break;  // too late, or closed
    batch.push_back(**next);
  }
  co_return batch;  // empty: closed
}
// [/batches]

// [stream]
auto rows_of(int pages) -> braid::async_generator<int> {
  for (int page = 0; page < pages; ++page) {
    // The next page is fetched when it is needed.
    co_await braid::sleep_for(1us);
    for (int row = 0; row < 3; ++row) co_yield 10 * page + row;
  }
}

auto read_rows() -> task<int> {
  int sum = 0;
  auto rows = rows_of(2);
  while (const int* row = co_await rows.next()) sum += *row;
  co_return sum;
}
// [/stream]

auto program() -> task<void> {
  braid::pool& workers = braid::default_runtime().workers();
  std::printf("at most %d\n", co_await crawl(200));
  std::printf("consumed %d\n", co_await consumers());
  std::printf(
      "lengths %s\n",
      (co_await pipeline(workers, {"one", "three", "five", "eleven", "to"}))
          .c_str());
  page_cache cache;
  co_await braid::when_all(cache.get(1), cache.get(1), cache.get(2),
                           cache.get(1));
  std::printf("loads %d\n", cache.loads);
  std::printf("deposits %d\n", co_await deposits(workers));
  std::string text;
  braid::async_mutex file;
  co_await braid::when_all(write_alone(file, text, "hello "),
                           write_alone(file, text, "world"));
  std::printf("%s, %s, %d\n", text.c_str(), (co_await newest()).c_str(),
              co_await everybody());
  braid::channel<int> numbers(10);
  for (const int n : {1, 2, 3, 4}) braid::or_throw(numbers.try_send(int{n}));
  const auto full = co_await next_batch(numbers, 3, 10s);
  const auto rest = co_await next_batch(numbers, 3, 5ms);
  std::printf("batches of %zu and %zu, rows %d\n", full.size(), rest.size(),
              co_await read_rows());
}

int main() {
  braid::spawn(program()).get();
  std::printf("counted %d\n", count(braid::default_runtime().workers()));
}
