// bench/enqueue/contenders.hpp: who else takes tasks from outside. Each is compiled where its library is.
#pragma once

#include <bench/harness/rounds.hpp>

#include <thread>
#include <vector>

namespace bench {

/// Calls `post` so many times in all, from so many threads at once; the calling thread is one of them.
template <typename Post>
void from_threads(unsigned producers, unsigned tasks, Post post) {
  const auto produce = [&] {
    for (unsigned i = 0; i < tasks / producers; ++i) post();
  };
  std::vector<std::thread> others;
  for (unsigned i = 1; i < producers; ++i) others.emplace_back(produce);
  produce();
  for (std::thread& each : others) each.join();
}

auto enqueue_tbb(unsigned producers, unsigned tasks, unsigned workers) -> sample;

}  // namespace bench
