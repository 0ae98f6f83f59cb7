// bench/enqueue/tbb.cpp: tasks that are enqueued to an arena of oneTBB.
#include <bench/harness/posting.hpp>
#include <bench/harness/tbb.hpp>

auto main(int count, char** arguments) -> int {
  const bench::contender tbb = bench::tbb_contender();
  return bench::run_program(count, arguments, "enqueue",
                            {{"empty", tbb, bench::empty_tasks<bench::tbb_system>},
                             {"round_trip", tbb, bench::round_trips<bench::tbb_system>}});
}
