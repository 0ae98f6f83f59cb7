// bench/pools/braid.cpp: many small tasks on each kind of pool, and whether a second worker helps.
#include <bench/harness/braid_system.hpp>
#include <bench/harness/posting.hpp>

auto main(int count, char** arguments) -> int {
  using namespace bench;
  return run_program(count, arguments, "pools",
                     on_each_pool({{"post", posted_tasks<stealing_system>, posted_tasks<least_loaded_system>,
                                    posted_tasks<shared_queue_system>},
                                   {"spread", spread_tasks<stealing_system>, spread_tasks<least_loaded_system>,
                                    spread_tasks<shared_queue_system>},
                                   {"submit", submitted_tasks<stealing_system>, submitted_tasks<least_loaded_system>,
                                    submitted_tasks<shared_queue_system>}}));
}
