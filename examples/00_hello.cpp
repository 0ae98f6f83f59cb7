// examples/00_hello.cpp: the smallest program of each kind: a function, a loop
// and a task, by one header.
// [program]
#include <braid/braid.hpp>

#include <cstdio>
#include <vector>

using namespace std::chrono_literals;

braid::task<void> greet() {
  co_await braid::sleep_for(10ms);  // no thread waits meanwhile
  std::printf("hello from a task\n");
}

int main() {
  std::printf("6 * 7 is %d\n", braid::spawn([] { return 6 * 7; }).get());

  std::vector<long> squares(1000);
  braid::parallel_for(0, 1000, [&squares](int i) {
    squares[static_cast<std::size_t>(i)] = 1L * i * i;
  });
  std::printf("999 * 999 is %ld\n", squares.back());

  braid::spawn(greet()).get();
}
// [/program]
