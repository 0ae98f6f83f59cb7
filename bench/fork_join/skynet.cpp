// bench/fork_join/skynet.cpp: a tree whose every node forks ten children; the leaves give their numbers, nodes the sum.
#include <bench/fork_join/contenders.hpp>
#include <bench/fork_join/in_pool.hpp>

#include <braid/task/parallel_reduce.hpp>

#include <cstdint>
#include <functional>
#include <ranges>
#include <vector>

namespace {

constexpr std::uint64_t children = 10;

[[gnu::noinline]] auto skynet_serial(std::uint64_t number, std::uint64_t size) -> std::uint64_t {
  if (size == 1) return number;
  std::uint64_t total = 0;
  for (std::uint64_t i = 0; i < children; ++i) total += skynet_serial(number + i * (size / children), size / children);
  return total;
}

[[gnu::noinline]] auto skynet_braid(std::uint64_t number, std::uint64_t size) -> std::uint64_t {
  if (size == 1) return number;
  const std::uint64_t step = size / children;
  return braid::parallel_reduce(std::views::iota(std::uint64_t{0}, children), std::uint64_t{0}, std::plus{},
                                [=](std::uint64_t i) { return skynet_braid(number + i * step, step); });
}

auto leaves_of(unsigned depth) -> std::uint64_t { return depth == 0 ? 1 : children * leaves_of(depth - 1); }

}  // namespace

auto main(int count, char** arguments) -> int {
  const auto how = bench::parse(count, arguments, {.size = 7}, "depth: 10 to the power of it are the leaves");
  const std::uint64_t leaves = leaves_of(how.size);
  std::vector<bench::contender> contenders{
      {"serial", [=](unsigned) { return bench::timed([=] { return skynet_serial(0, leaves); }); }},
      {"braid",
       [=](unsigned workers) { return bench::timed_in_pool(workers, [=] { return skynet_braid(0, leaves); }); }}};
#if defined(BENCH_TBB)
  contenders.push_back({"oneTBB", [=](unsigned workers) { return bench::skynet_tbb(how.size, workers); }});
#endif
  const bench::problem what{
      .name = "fork_join/skynet", .items = static_cast<double>(leaves), .expected = leaves * (leaves - 1) / 2};
  bench::compare_all(what, how, contenders);
}
