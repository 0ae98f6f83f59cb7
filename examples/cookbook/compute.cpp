// examples/cookbook/compute.cpp: loops, searches and recursions over all
// workers, files, CPUs and priorities.
#include <braid/coro.hpp>
#include <braid/io.hpp>
#include <braid/runtime/default_runtime.hpp>
#include <braid/task.hpp>
#include <braid/thread.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <numeric>
#include <ranges>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

using braid::result, braid::task;

// [map]
auto squares_of(const std::vector<int>& numbers) -> std::vector<long> {
  std::vector<long> squares(numbers.size());
  braid::parallel_for(std::size_t{0}, numbers.size(), [&](std::size_t i) {
    squares[i] = 1L * numbers[i] * numbers[i];
  });
  return squares;
}
// [/map]

// [sum]
// The same bits for any number of workers.
auto mean_of(const std::vector<double>& values) -> double {
  return braid::parallel_reduce(values, 0.0, std::plus()) /
         static_cast<double>(values.size());
}
// [/sum]

// [search]
auto find_factor(long number) -> long {
  braid::stop_flag found;
  std::atomic<long> factor = 0;
  std::ignore = braid::parallel_for(found, 2L, number, [&](long candidate) {
    if (number % candidate != 0) return;
    factor = candidate;
    // Chunks that have not begun are left out.
    found.request(braid::errc::stopped);
  });
  return factor;  // some factor; 0 where there is none
}
// [/search]

// [recursion]
struct node {
  int value = 1;
  std::vector<node> children = {};
};

auto sum_of(const node& root) -> int {
  braid::task_group group;
  std::atomic<int> sum = root.value;
  for (const node& child : root.children)
    group.run([&] { sum += sum_of(child); });
  braid::or_throw(group.wait());  // a worker runs children meanwhile
  return sum;
}
// [/recursion]

// [quick_sort]
void quick_sort(std::span<int> all) {
  if (all.size() < 1000) {
    std::ranges::sort(all);
    return;
  }
  const int pivot = all[all.size() / 2];
  const std::span<int> rest(
      std::ranges::partition(all, [&](int n) { return n < pivot; }));
  const std::span<int> above(
      std::ranges::partition(rest, [&](int n) { return n == pivot; }));
  braid::fork_join([&] { quick_sort(all.first(all.size() - rest.size())); },
                   [&] { quick_sort(above); });
}
// [/quick_sort]

// [big_file]
auto lines_in(const braid::file& text, std::uint64_t from, std::uint64_t to)
    -> task<std::size_t> {
  std::vector<std::byte> piece(256 * 1024);
  std::size_t lines = 0;
  for (std::size_t got = 0; from < to; from += got) {
    const auto wanted = std::min<std::uint64_t>(piece.size(), to - from);
    got = braid::or_throw(
        co_await text.read_at(from, std::span(piece).first(wanted)));
    if (got == 0) break;  // the file has become shorter
    lines += static_cast<std::size_t>(
        std::count(piece.begin(), piece.begin() + static_cast<long>(got),
                   std::byte{'\n'}));
  }
  co_return lines;
}

auto count_lines(braid::executor& blocking, std::string path)
    -> task<std::size_t> {
  constexpr std::uint64_t readers = 4;
  const braid::file text = braid::or_throw(
      co_await braid::file::open(blocking, path, braid::file::mode::read));
  const std::uint64_t size = braid::or_throw(co_await text.size());
  std::vector<task<std::size_t>> parts;
  for (std::uint64_t i = 0; i < readers; ++i)
    parts.push_back(
        lines_in(text, size * i / readers, size * (i + 1) / readers));
  const auto counts = co_await braid::when_all(std::move(parts));
  co_return std::reduce(counts.begin(), counts.end());
}
// [/big_file]

// [pinned]
auto pinned() -> bool {
  // A CPU of its own for each worker.
  braid::pool workers({.placement = braid::worker_placement::spread});
  const auto cpus = braid::spawn(workers, [] {
                      return braid::this_thread::affinity();
                    }).get();
  return cpus && cpus->size() == 1;
}
// [/pinned]

// [urgent]
auto order_of_start() -> std::string {
  using braid::priority;
  std::string order;
  braid::pool worker({.workers = 1});
  std::mutex gate;
  gate.lock();
  braid::or_throw(post(worker, [&] { const std::lock_guard wait(gate); }));
  braid::or_throw(post(worker, priority::low, [&] { order += "cleanup "; }));
  braid::or_throw(post(worker, [&] { order += "page "; }));
  braid::or_throw(post(worker, priority::high, [&] { order += "payment "; }));
  gate.unlock();  // all are posted
  braid::or_throw(worker.wait_idle());
  return order;
}
// [/urgent]

// [no_threads]
auto without_threads() -> std::string {
  std::string steps;
  // Jobs run on the thread that waits for them.
  braid::manual_executor here;
  auto late = spawn(here, [&] { return steps += "job ", 42; });
  steps += "before ";
  return steps += std::to_string(late.get()), steps;
}
// [/no_threads]

// [settled]
auto failures_of(const std::vector<std::string>& texts) -> int {
  auto parsed = [](const std::string& text) { return std::stoi(text); };
  std::vector<braid::future<int>> numbers;
  for (const auto& text : texts) numbers.push_back(braid::spawn(parsed, text));
  // Waits for all, and throws nothing.
  const auto all = braid::when_all_settled(std::move(numbers)).get();
  return static_cast<int>(std::ranges::count_if(
      all, [](const auto& each) { return !each.has_value(); }));
}
// [/settled]

auto write_lines(const std::string& path, int count) -> void {
  std::ofstream out(path);
  for (int i = 0; i < count; ++i) out << "line " << i << '\n';
}

int main() {
  std::vector<int> numbers(10'000);
  std::iota(numbers.rbegin(), numbers.rend(), 0);
  std::printf("%ld, %g\n", squares_of(numbers).front(),
              mean_of(std::vector<double>(100, 0.5)));
  std::printf("a factor of 35: %d\n", 35 % find_factor(35) == 0);
  std::printf("tree %d\n", sum_of({1, {{2}, {3, {{4}, {5}}}}}));
  quick_sort(numbers);
  std::printf("sorted %d\n", std::ranges::is_sorted(numbers));
  const auto path = std::filesystem::temp_directory_path() /
                    ("lines." + std::to_string(::getpid()));
  write_lines(path, 100'000);
  braid::runtime& all = braid::default_runtime();
  std::printf("lines %zu\n", all.run(count_lines(all.blocking(), path)));
  std::filesystem::remove(path);
  std::printf("pinned %d\n", pinned());
  std::printf("first: %s\n%s\n", order_of_start().substr(0, 7).c_str(),
              without_threads().c_str());
  std::printf("failures %d\n", failures_of({"1", "two", "3"}));
}
