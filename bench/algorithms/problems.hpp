// bench/algorithms/problems.hpp: what is scanned, sorted and looped over, and what a right answer is.
#pragma once

#include <bench/harness/program.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// Numbers that look random and are the same in every run.
inline auto mixed(std::uint64_t number) -> std::uint64_t {
  number += 0x9e3779b97f4a7c15;
  number = (number ^ (number >> 30U)) * 0xbf58476d1ce4e5b9;
  number = (number ^ (number >> 27U)) * 0x94d049bb133111eb;
  return number ^ (number >> 31U);
}

/// So many numbers below 2^30, in an order of that name.
inline auto numbers_in(const std::string& order, std::uint64_t count) -> std::vector<std::uint32_t> {
  std::vector<std::uint32_t> all(count);
  const auto fill = [&](auto number_at) {
    for (std::uint64_t i = 0; i < count; ++i) all[i] = static_cast<std::uint32_t>(number_at(i));
  };
  if (order == "random")
    fill([](std::uint64_t i) { return mixed(i) >> 34U; });
  else if (order == "few")
    fill([](std::uint64_t i) { return mixed(i) % 16; });
  else if (order == "sorted")
    fill([](std::uint64_t i) { return i; });
  else if (order == "reverse")
    fill([&](std::uint64_t i) { return count - i; });
  else if (order == "saw")
    fill([](std::uint64_t i) { return i % 1000; });
  else if (order == "nearly")
    fill([](std::uint64_t i) { return mixed(i) % 10'000 == 0 ? mixed(i) >> 34U : i; });
  else if (order == "organ")
    fill([&](std::uint64_t i) { return std::min(i, count - i); });
  else if (order == "equal")
    fill([](std::uint64_t) { return 7; });
  else {
    std::fprintf(stderr, "there is no order `%s`\n", order.c_str());
    std::exit(2);
  }
  return all;
}

template <typename T>
auto elements_in(const std::string& order, std::uint64_t count) -> std::vector<T> {
  const std::vector<std::uint32_t> numbers = numbers_in(order, count);
  if constexpr (std::is_same_v<T, std::string>) {
    std::vector<std::string> all;
    all.reserve(count);
    for (const std::uint32_t number : numbers) all.push_back(std::to_string(2'000'000'000U + number));
    return all;
  } else {
    return {numbers.begin(), numbers.end()};
  }
}

template <typename T, typename Sort>
auto timed_sort_of(const parameters& given, const Sort& sort) -> sample {
  const std::uint64_t count = given.number("count", 1'000'000);
  std::vector<T> all = elements_in<T>(given.word("order", "random"), count);
  std::vector<T> expected = all;
  std::sort(expected.begin(), expected.end());
  sample taken = timed(static_cast<double>(count), true, [&] {
    sort(all);
    return true;
  });
  taken.is_right = all == expected;
  return taken;
}

/// `sort(vector)`, of the type that was asked for.
template <typename Sort>
auto timed_sort(const parameters& given, const Sort& sort) -> sample {
  const std::string type = given.word("type", "double");
  if (type == "double") return timed_sort_of<double>(given, sort);
  if (type == "int32") return timed_sort_of<std::int32_t>(given, sort);
  if (type == "int64") return timed_sort_of<std::int64_t>(given, sort);
  if (type == "text") return timed_sort_of<std::string>(given, sort);
  std::fprintf(stderr, "there is no type `%s`\n", type.c_str());
  std::exit(2);
}

/// `scan(in, out)`. Whole numbers, so that the totals are exact in whatever order they are made.
template <typename Scan>
auto timed_scan(const parameters& given, const Scan& scan) -> sample {
  const std::uint64_t count = given.number("count", 1'000'000);
  std::vector<double> in(count);
  for (std::uint64_t i = 0; i < count; ++i) in[i] = static_cast<double>(i % 1000);
  std::vector<double> out(count, -1.0);
  sample taken = timed(static_cast<double>(count), true, [&] {
    scan(in, out);
    return true;
  });
  double total = 0;
  for (std::uint64_t i = 0; i < count; ++i) taken.is_right = taken.is_right && out[i] == (total += in[i]);
  return taken;
}

/// What the algorithms of the standard work on: numbers of eight bytes, of which half are below `half`.
struct standard_data {
  static constexpr double half = 1U << 29U;

  explicit standard_data(const std::string& algorithm, std::uint64_t count)
      : in(elements_in<double>(algorithm == "unique" ? "few" : "random", count)), out(count) {
    if (algorithm != "merge") return;
    std::sort(in.begin(), in.begin() + middle());
    std::sort(in.begin() + middle(), in.end());
  }
  [[nodiscard]] auto middle() const -> std::ptrdiff_t { return static_cast<std::ptrdiff_t>(in.size() / 2); }

  static constexpr auto is_low = [](double each) { return each < half; };
  static constexpr auto is_missing = [](double each) { return each < 0; };
  static constexpr auto changed = [](double each) { return each * 0.5 + 1.0; };

  std::vector<double> in;
  std::vector<double> out;
};

/// The algorithm by that name, and a number that tells its result from most wrong ones.
template <typename Algorithms>
auto solve_standard(const std::string& algorithm, const Algorithms& by, standard_data& data) -> double {
  const auto last_of = [&](auto end) { return static_cast<double>(end - data.out.begin()) + *(end - 1); };
  const auto place_of = [&](auto found) { return static_cast<double>(found - data.in.begin()); };
  if (algorithm == "transform") return last_of(by.transform(data.in, data.out.begin(), standard_data::changed));
  if (algorithm == "find_if") return place_of(by.find_if(data.in, standard_data::is_missing));
  if (algorithm == "count_if") return static_cast<double>(by.count_if(data.in, standard_data::is_low));
  if (algorithm == "min_element") return place_of(by.min_element(data.in));
  if (algorithm == "copy_if") return last_of(by.copy_if(data.in, data.out.begin(), standard_data::is_low));
  if (algorithm == "merge") return last_of(by.merge(data.in, data.in.begin() + data.middle(), data.out.begin()));
  if (algorithm == "partition") return place_of(by.partition(data.in, standard_data::is_low));
  if (algorithm == "unique") return place_of(by.unique(data.in));
  if (algorithm == "nth_element") {
    by.nth_element(data.in, data.in.begin() + data.middle());
    return data.in[static_cast<std::size_t>(data.middle())];
  }
  std::fprintf(stderr, "there is no algorithm `%s`\n", algorithm.c_str());
  std::exit(2);
}

/// Those of std, one after the other, or as `policy` says.
template <const auto&... Policy>
struct standard_algorithms {
  static auto transform(auto& in, auto out, auto fn) {
    return std::transform(Policy..., in.begin(), in.end(), out, fn);
  }
  static auto find_if(auto& in, auto pred) { return std::find_if(Policy..., in.begin(), in.end(), pred); }
  static auto count_if(auto& in, auto pred) { return std::count_if(Policy..., in.begin(), in.end(), pred); }
  static auto min_element(auto& in) { return std::min_element(Policy..., in.begin(), in.end()); }
  static auto copy_if(auto& in, auto out, auto pred) {
    return std::copy_if(Policy..., in.begin(), in.end(), out, pred);
  }
  static auto merge(auto& in, auto middle, auto out) {
    return std::merge(Policy..., in.begin(), middle, middle, in.end(), out);
  }
  static auto partition(auto& in, auto pred) { return std::partition(Policy..., in.begin(), in.end(), pred); }
  static auto unique(auto& in) { return std::unique(Policy..., in.begin(), in.end()); }
  static void nth_element(auto& in, auto nth) { std::nth_element(Policy..., in.begin(), nth, in.end()); }
};

template <typename Algorithms>
auto timed_standard(const parameters& given, const Algorithms& by) -> sample {
  const std::uint64_t count = given.number("count", 1'000'000);
  const std::string algorithm = given.word("algorithm", "count_if");
  standard_data data(algorithm, count);
  standard_data alone = data;
  double figure = 0;
  sample taken = timed(static_cast<double>(count), true, [&] {
    figure = solve_standard(algorithm, by, data);
    return true;
  });
  taken.is_right = figure == solve_standard(algorithm, standard_algorithms<>(), alone);
  return taken;
}

/// A number that is worked on, by so many steps that each wait for the one before.
struct worked_number {
  double value = 0;
  std::uint64_t calls = 0;

  void work(std::uint64_t steps) {
    double now = value;
    for (std::uint64_t i = 0; i < steps; ++i) now = now * 0.5 + 1.0;
    value = now;
    ++calls;
  }
};

/// How many steps take so long on one thread, measured once: the least of some runs.
inline auto steps_in(double ns) -> std::uint64_t {
  static const double step_ns = [] {
    constexpr std::uint64_t steps = 100'000;
    double least = 1e9;
    worked_number number;
    for (int i = 0; i < 20; ++i) {
      const sample taken = timed(1, true, [&] { return number.work(steps), number.value > 1; });
      least = std::min(least, taken.wall_ns / steps);
    }
    return least;
  }();
  return static_cast<std::uint64_t>(ns / step_ns);
}

/// `region(all, steps)`, a loop over numbers that is called by a thread of the program's own, again and again: the time
/// of a region. Between two of them that thread is busy for `pause_us`, in which workers may fall asleep.
template <typename Region>
auto timed_regions(const parameters& given, const Region& region) -> sample {
  const auto region_us = static_cast<double>(given.number("region_us", 60));
  const auto pause = std::chrono::microseconds(given.number("pause_us", 0));
  std::vector<worked_number> all(given.number("numbers", 256));
  const std::uint64_t steps = steps_in(region_us * 1e3 / static_cast<double>(all.size()));
  const double length_us = std::max(1.0, region_us + static_cast<double>(pause.count()));
  const auto rounds = static_cast<std::uint64_t>(std::clamp(200'000 / length_us, 20.0, 20'000.0));
  double paused_ns = 0;
  sample taken = timed(static_cast<double>(rounds), true, [&] {
    for (std::uint64_t i = 0; i < rounds; ++i) {
      region(all, steps);
      if (pause.count() == 0) continue;
      const auto begin = std::chrono::steady_clock::now();
      std::chrono::duration<double, std::nano> passed{};
      while ((passed = std::chrono::steady_clock::now() - begin) < pause) {}
      paused_ns += passed.count();
    }
    return true;
  });
  taken.wall_ns -= paused_ns;
  taken.is_right = std::ranges::all_of(all, [&](const worked_number& each) { return each.calls == rounds; });
  return taken;
}

inline void step(double& each) { each = each * 0.5 + 1.0; }

/// `loop(all)` takes one step with each.
template <typename Loop>
auto timed_loop(const parameters& given, const Loop& loop) -> sample {
  const std::uint64_t count = given.number("count", 1'000'000);
  std::vector<double> all(count);
  for (std::uint64_t i = 0; i < count; ++i) all[i] = static_cast<double>(i);
  sample taken = timed(static_cast<double>(count), true, [&] {
    loop(all);
    return true;
  });
  for (std::uint64_t i = 0; i < count; ++i)
    taken.is_right = taken.is_right && all[i] == static_cast<double>(i) * 0.5 + 1.0;
  return taken;
}

}  // namespace bench
