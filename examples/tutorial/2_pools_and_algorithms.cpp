// examples/tutorial/2_pools_and_algorithms.cpp: loops, sums and sorts that use
// all workers, and pools of one's own.
#include <braid/braid.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <ranges>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

struct city {
  int id;
  double x, y;
  double distance = 0;  // from the centre
};

int main() {
  // [for]
  std::vector<city> cities(10'000);
  braid::parallel_for(0, 10'000, [&](int i) {
    const double angle = 0.1 * i;
    cities[i] = {.id = i, .x = i * std::cos(angle), .y = i * std::sin(angle)};
  });
  braid::parallel_for_each(
      cities, [](city& each) { each.distance = std::hypot(each.x, each.y); });
  // [/for]

  // [reduce]
  const double total =
      braid::parallel_reduce(cities, 0.0, std::plus(), &city::distance);
  std::printf("in all: %.0f\n", total);

  braid::parallel_sort(cities, std::greater(), &city::distance);
  std::printf("the farthest: %d, %d, %d\n", cities[0].id, cities[1].id,
              cities[2].id);
  // [/reduce]

  // [fork]
  const auto [near, far] = braid::fork_join(
      [&] {
        return std::ranges::count_if(
            cities, [](const city& c) { return c.distance < 5000; });
      },
      [&] {
        return std::ranges::max(cities |
                                std::views::transform(&city::distance));
      });
  std::printf("%td are near, the farthest is at %.0f\n", near, far);
  // [/fork]

  // [pool]
  braid::pool workers({.workers = 2, .name = "cities"});
  const long steps = braid::run_in(workers, [] {
    return braid::parallel_reduce(std::views::iota(1, 1001), 0L, std::plus(),
                                  [](int i) { return long{i} * i; });
  });
  std::printf("squares: %ld\n", steps);
  // [/pool]

  // [blocking]
  braid::blocking_pool files({.max_threads = 4});
  auto read = braid::spawn(files, [] {
    std::this_thread::sleep_for(1ms);  // a disk, a database driver, a lock
    return 42;
  });
  std::printf("read %d\n", read.get());
  // [/blocking]
}
