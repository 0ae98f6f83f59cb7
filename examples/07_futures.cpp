// examples/07_futures.cpp: work that continues when its parts are ready:
// chains, failures, several results as one.
#include <braid/task/pool.hpp>
#include <braid/task/spawn.hpp>
#include <braid/task/when_all.hpp>

#include <cstdio>
#include <exception>
#include <ranges>
#include <stdexcept>
#include <utility>
#include <vector>

auto square(int n) -> int { return n * n; }

auto parse(const char* text) -> int {
  if (*text == '\0') throw std::invalid_argument("no digits");
  int number = 0;
  for (; *text != '\0'; ++text) number = 10 * number + (*text - '0');
  return number;
}

int main() {
  // [program]
  braid::pool workers({.workers = 2});

  auto area = braid::spawn(workers, parse, "12").then(square).then([](int n) {
    return n / 2;
  });
  std::printf("half of 12 * 12: %d\n", area.get());

  auto sum =
      braid::when_all(braid::spawn_all(workers, std::views::iota(1, 5), square))
          .then([](std::vector<int> all) {
            int total = 0;
            for (const int n : all) total += n;
            return total;
          });
  std::printf("1 + 4 + 9 + 16: %d\n", sum.get());

  auto missing = braid::spawn(workers, parse, "").then([](int) {
    std::puts("never printed");
  });
  try {
    missing.get();
  } catch (const std::invalid_argument& error) {
    std::printf("it failed: %s\n", error.what());
  }

  auto mended =
      braid::spawn(workers, parse, "").recover([](std::exception_ptr) {
        return 7;
      });
  std::printf("instead: %d\n", mended.get());

  auto either = braid::when_any(braid::spawn(workers, parse, ""),
                                braid::spawn(workers, parse, "5"));
  std::printf("the only one with a value is number %zu\n", either.get().index);

  auto number = braid::spawn(workers, parse, "3");
  // Looks at the value, and leaves it.
  auto doubled = number.then([](const int& n) { return 2 * n; });
  auto tripled = number.then([](const int& n) { return 3 * n; });
  std::printf("%d, %d and %d\n", number.get(), doubled.get(), tripled.get());
  // [/program]
}
