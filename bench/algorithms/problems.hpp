// bench/algorithms/problems.hpp: what is scanned, sorted and looped over, and what a right answer is.
#pragma once

#include <bench/harness/program.hpp>

#include <algorithm>
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
