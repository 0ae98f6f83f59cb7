// bench/fork_join/contenders.hpp: who else solves the problems of fork-join. Each is compiled where its library is.
#pragma once

#include <bench/harness/rounds.hpp>

namespace bench {

auto fib_tbb(unsigned n, unsigned workers) -> sample;
auto skynet_tbb(unsigned depth, unsigned workers) -> sample;

}  // namespace bench
