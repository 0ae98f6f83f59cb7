// bench/latency/braid.cpp: how long tasks wait in pools of braid, and what their workers take of a core.
#include <bench/harness/braid_system.hpp>
#include <bench/latency/measures.hpp>

auto main(int count, char** arguments) -> int {
  using namespace bench;
  return run_program(
      count, arguments, "latency",
      on_each_pool({{"wake", wake<stealing_system>, wake<least_loaded_system>, wake<shared_queue_system>},
                    {"behind", behind<stealing_system>, behind<least_loaded_system>, behind<shared_queue_system>},
                    {"idle", idle<stealing_system>, idle<least_loaded_system>, idle<shared_queue_system>},
                    {"each_ms", each_ms<stealing_system>, each_ms<least_loaded_system>, each_ms<shared_queue_system>},
                    {"beside_held_up", beside_held_up<stealing_system>, beside_held_up<least_loaded_system>,
                     beside_held_up<shared_queue_system>}}));
}
