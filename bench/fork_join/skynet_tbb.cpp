// bench/fork_join/skynet_tbb.cpp: a tree whose every node forks ten children, with oneTBB's task_group.
#include <bench/fork_join/contenders.hpp>

#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace {

constexpr std::size_t children = 10;

auto skynet(std::uint64_t number, std::uint64_t size) -> std::uint64_t {
  if (size == 1) return number;
  std::array<std::uint64_t, children> results{};
  tbb::task_group group;
  for (std::size_t i = 0; i < children; ++i)
    group.run([&, i] { results[i] = skynet(number + i * (size / children), size / children); });
  group.wait();
  return std::accumulate(results.begin(), results.end(), std::uint64_t{0});
}

}  // namespace

auto bench::skynet_tbb(unsigned depth, unsigned workers) -> sample {
  std::uint64_t leaves = 1;
  for (unsigned i = 0; i < depth; ++i) leaves *= children;
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, workers);
  tbb::task_arena arena(static_cast<int>(workers));
  return arena.execute([=] { return timed([=] { return skynet(0, leaves); }); });
}
