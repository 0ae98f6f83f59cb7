// examples/01_one_runtime.cpp: computing, waiting and a deadline in one
// program.
#include <braid/coro/offload.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/runtime/runtime.hpp>

#include <cstdio>
#include <numeric>
#include <vector>

using namespace std::chrono_literals;

// [program]
braid::task<long> score(braid::pool& workers, std::vector<int> rows) {
  auto sum = [&rows] { return std::accumulate(rows.begin(), rows.end(), 0L); };
  // On a worker; the loop stays free.
  auto computing = braid::offload(workers, sum);
  co_return co_await computing;  // and back home on the loop
}

braid::task<long> fetch_slowly() {
  co_await braid::sleep_for(10s);
  co_return 0;
}

braid::task<void> answer(braid::pool& workers) {
  auto scoring = score(workers, {1, 2, 3, 4});
  std::printf("score: %ld\n", co_await std::move(scoring));

  auto limited = braid::with_timeout(5ms, fetch_slowly());
  const auto late = co_await std::move(limited);
  std::printf("fetch: %s\n", late ? "in time" : late.error().message().c_str());
}

int main() {
  auto runtime = braid::runtime::create();
  if (!runtime) return 1;
  (*runtime)->run(answer((*runtime)->workers()));
}
// [/program]
