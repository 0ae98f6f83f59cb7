// examples/tutorial/1_spawn_and_get.cpp: functions that run elsewhere, and
// futures of what they return.
#include <braid/braid.hpp>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

// [work]
auto primes_below(int limit) -> int {
  int found = 0;
  for (int n = 2; n < limit; ++n) {
    bool is_prime = true;
    for (int d = 2; d * d <= n && is_prime; ++d) is_prime = n % d != 0;
    if (is_prime) ++found;
  }
  return found;
}

auto parsed(const std::string& text) -> int {
  if (text.empty()) throw std::invalid_argument("no digits");
  return std::stoi(text);
}
// [/work]

int main() {
  // [get]
  // A worker begins it.
  braid::future<int> found = braid::spawn(primes_below, 10'000);
  std::printf("main goes on\n");
  std::printf("%d primes\n", found.get());  // waits, and takes the value
  // [/get]

  // [then]
  auto text = braid::spawn(primes_below, 100).then([](int n) {
    return std::to_string(n) + " primes below 100";
  });
  std::printf("%s\n", text.get().c_str());
  // [/then]

  // [errors]
  auto wrong = braid::spawn(parsed, "");
  try {
    wrong.get();
  } catch (const std::invalid_argument& error) {
    std::printf("it threw: %s\n", error.what());
  }
  auto mended =
      braid::spawn(parsed, "").recover([](std::exception_ptr) { return -1; });
  std::printf("instead: %d\n", mended.get());
  // [/errors]

  // [several]
  std::vector<braid::future<int>> counts;
  for (const int limit : {10, 100, 1000})
    counts.push_back(braid::spawn(primes_below, limit));
  for (const int n : braid::when_all(std::move(counts)).get())
    std::printf("%d ", n);
  std::printf("\n");

  const auto [number, sum] =
      braid::when_all(braid::spawn(parsed, "12"),
                      braid::spawn([] { return 1.5 + 2; }))
          .get();
  std::printf("%d and %g\n", number, sum);
  // [/several]
}
