// tests/sim/programs/sleeping_tasks.cpp: ten minutes of jobs that sleep, on a pool of four workers.
#include <braid/task.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

using namespace std::chrono_literals;

int main() {
  std::atomic<int> count = 0;
  const auto start = std::chrono::steady_clock::now();
  {
    braid::pool pool({.workers = 4});
    for (int at = 0; at < 240; ++at) {
      const auto posted = braid::post(pool, [&count] {
        std::this_thread::sleep_for(10s);
        count.fetch_add(1);
      });
      if (!posted) return 2;
    }
  }
  const auto minutes = std::chrono::floor<std::chrono::minutes>(std::chrono::steady_clock::now() - start);
  std::printf("%d jobs in %lld minutes\n", count.load(), static_cast<long long>(minutes.count()));
  return count == 240 && minutes == 10min ? 0 : 1;
}
