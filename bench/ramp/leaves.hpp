// bench/ramp/leaves.hpp: leaves of a known length that sleep or compute, and how far a run of them is from the ideal.
#pragma once

#include <bench/harness/program.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <sys/prctl.h>

namespace bench {

/// The leaves of one run. Those that sleep let a machine of two processors show any number of workers.
class leaves {
 public:
  explicit leaves(const parameters& given)
      : workers_(given.workers()),
        count_(static_cast<std::size_t>(given.number("per_worker", 1) * given.workers())),
        computes_(given.word("work", "sleep") == "compute") {
    const double length_ns = static_cast<double>(given.number("length_us", 20'000)) * 1e3;
    const bool mixed = given.word("lengths", "equal") == "mixed";
    for (std::size_t i = 0; i < count_; ++i) lengths_.push_back(length_ns * (mixed ? pareto(i) : 1));
  }

  [[nodiscard]] auto count() const -> std::size_t { return count_; }
  [[nodiscard]] auto workers() const -> std::size_t { return workers_; }

  /// One leaf. Threads: any.
  void operator()(std::size_t index) {
    note_begin();
    if (computes_)
      compute(lengths_[index]);
    else
      sleep(lengths_[index]);
    done_.fetch_add(1, std::memory_order_relaxed);
  }

  /// How long `fn`, which calls each leaf once, takes, beside what it would take with all workers at work throughout:
  /// as long as the longest leaf, or as the share of each worker, whichever is more.
  template <typename Fn>
  auto timed(Fn&& fn) -> sample {
    sample measured = measure(std::forward<Fn>(fn));
    measured.is_right = done_ == count_;
    measured.extra["over_ideal_factor"] = measured.wall_ns / ideal_ns();
    return measured;
  }

  /// The same of an algorithm that decides how often it calls one of the leaves, which are of equal length: beside the
  /// share of each worker of the calls, which are counted in this run. `fn` says whether its result is right.
  template <typename Fn>
  auto timed_by_calls(Fn&& fn) -> sample {
    bool is_right = false;
    sample measured = measure([&] { is_right = std::forward<Fn>(fn)(); });
    const auto calls = static_cast<double>(done_.load());
    measured.is_right = is_right && calls > 0;
    measured.extra["over_ideal_factor"] = measured.wall_ns / (calls * lengths_.front() / workers_);
    measured.extra["calls_by_leaf_count"] = calls / measured.items;
    return measured;
  }

 private:
  template <typename Fn>
  auto measure(Fn&& fn) -> sample {
    done_ = 0;
    begun_ = 0;
    last_first_ns_ = 0;
    begin_ = std::chrono::steady_clock::now();
    round_.fetch_add(1, std::memory_order_relaxed);
    sample measured = bench::timed(static_cast<double>(count_), true, [&] {
      std::forward<Fn>(fn)();
      return true;
    });
    measured.extra = {{"threads_that_began_count", static_cast<double>(begun_.load())},
                      {"until_last_thread_us", static_cast<double>(last_first_ns_.load()) / 1e3}};
    return measured;
  }

  /// Most are short, a few are long: from 0.4 to 12 times, about 1 on average; by the number of the leaf.
  static auto pareto(std::size_t index) -> double {
    std::uint64_t z = (index + 1) * 0x9e37'79b9'7f4a'7c15U;
    z = (z ^ (z >> 30)) * 0xbf58'476d'1ce4'e5b9U;
    const double even = static_cast<double>((z ^ (z >> 31)) >> 11U) / 9'007'199'254'740'992.0;
    return std::min(0.4 / (1 - even * 0.97), 12.0);
  }

  [[nodiscard]] auto ideal_ns() const -> double {
    double total = 0;
    double longest = 0;
    for (const double length : lengths_) {
      total += length;
      longest = std::max(longest, length);
    }
    const double rounds = static_cast<double>((count_ + workers_ - 1) / workers_);
    return std::max({longest, total / workers_, lengths_.front() == longest ? rounds * longest : 0});
  }

  /// When the thread that was last began its first leaf of the run.
  void note_begin() {
    thread_local std::uint64_t seen_round = 0;
    const std::uint64_t round = round_.load(std::memory_order_relaxed);
    if (seen_round == round) return;
    seen_round = round;
    ::prctl(PR_SET_TIMERSLACK, 1);
    begun_.fetch_add(1, std::memory_order_relaxed);
    const auto now = std::chrono::steady_clock::now() - begin_;
    const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
    std::int64_t last = last_first_ns_.load(std::memory_order_relaxed);
    while (last < ns && !last_first_ns_.compare_exchange_weak(last, ns, std::memory_order_relaxed)) {}
  }

  static void sleep(double length_ns) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(static_cast<std::int64_t>(length_ns)));
  }

  /// So much processor time of this thread, however long other threads have the processor.
  static void compute(double length_ns) {
    const double end = thread_cpu_ns() + length_ns;
    while (thread_cpu_ns() < end) {}
  }

  const unsigned workers_;
  const std::size_t count_;
  const bool computes_;
  std::vector<double> lengths_;
  std::chrono::steady_clock::time_point begin_;
  std::atomic<std::size_t> done_{0};
  std::atomic<int> begun_{0};
  std::atomic<std::int64_t> last_first_ns_{0};
  static inline std::atomic<std::uint64_t> round_{0};
};

/// `scan(leaves, numbers, totals)` of as many numbers as there are leaves.
template <typename Scan>
auto timed_scan(leaves& each, const Scan& scan) -> sample {
  const std::vector<int> numbers(each.count(), 1);
  std::vector<int> totals(each.count());
  return each.timed_by_calls([&] {
    scan(each, std::span(numbers), std::span(totals));
    for (std::size_t i = 0; i < totals.size(); ++i)
      if (totals[i] != static_cast<int>(i) + 1) return false;
    return true;
  });
}

/// `sort(leaves, numbers)` of as many numbers as there are leaves, in no order.
template <typename Sort>
auto timed_sort(leaves& each, const Sort& sort) -> sample {
  std::vector<int> numbers(each.count());
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<int>((i + 1) * 0x9e37'79b9'7f4a'7c15U >> 40U);
  return each.timed_by_calls([&] {
    sort(each, std::span(numbers));
    return std::is_sorted(numbers.begin(), numbers.end());
  });
}

}  // namespace bench
