// bench/enqueue/braid.cpp: what an empty task costs that threads outside of a pool post to it.
#include <bench/harness/braid_system.hpp>
#include <bench/harness/posting.hpp>

auto main(int count, char** arguments) -> int {
  using namespace bench;
  return run_program(count, arguments, "enqueue",
                     on_each_pool({{"empty", empty_tasks<stealing_system>, empty_tasks<least_loaded_system>,
                                    empty_tasks<shared_queue_system>},
                                   {"round_trip", round_trips<stealing_system>, round_trips<least_loaded_system>,
                                    round_trips<shared_queue_system>}}));
}
