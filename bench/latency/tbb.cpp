// bench/latency/tbb.cpp: how long tasks wait in an arena of oneTBB, and what its workers take of a core.
#include <bench/harness/tbb.hpp>
#include <bench/latency/measures.hpp>

auto main(int count, char** arguments) -> int {
  using namespace bench;
  const contender tbb = tbb_contender();
  return run_program(count, arguments, "latency",
                     {{"wake", tbb, wake<tbb_system>},
                      {"behind", tbb, behind<tbb_system>},
                      {"idle", tbb, idle<tbb_system>},
                      {"each_ms", tbb, each_ms<tbb_system>},
                      {"beside_held_up", tbb, beside_held_up<tbb_system>}});
}
