// bench/latency/braid.cpp: how long tasks wait in pools of braid, what their workers take of a core, and how long I/O
// waits in its runtimes.
#include <bench/harness/braid_system.hpp>
#include <bench/latency/braid_io_system.hpp>
#include <bench/latency/measures.hpp>

#include <vector>

auto main(int count, char** arguments) -> int {
  using namespace bench;
  using braid::runtime_shape;
  std::vector<solution> all =
      on_each_pool({{"wake", wake<stealing_system>, wake<least_loaded_system>, wake<shared_queue_system>},
                    {"behind", behind<stealing_system>, behind<least_loaded_system>, behind<shared_queue_system>},
                    {"idle", idle<stealing_system>, idle<least_loaded_system>, idle<shared_queue_system>},
                    {"each_ms", each_ms<stealing_system>, each_ms<least_loaded_system>, each_ms<shared_queue_system>},
                    {"beside_held_up", beside_held_up<stealing_system>, beside_held_up<least_loaded_system>,
                     beside_held_up<shared_queue_system>}});
  all.push_back(
      {"io_under_load", braid_contender("braid merged"), io_under_load<braid_io_system<runtime_shape::merged>>});
  all.push_back(
      {"io_under_load", braid_contender("braid separate"), io_under_load<braid_io_system<runtime_shape::separate>>});
  return run_program(count, arguments, "latency", all);
}
