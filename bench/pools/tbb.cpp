// bench/pools/tbb.cpp: many small tasks in an arena of oneTBB: enqueued from outside, or in a task group by a task.
#include <bench/harness/posting.hpp>
#include <bench/harness/tbb.hpp>

auto main(int count, char** arguments) -> int {
  const bench::contender tbb = bench::tbb_contender();
  return bench::run_program(count, arguments, "pools",
                            {{"post", tbb, bench::posted_tasks<bench::tbb_system>},
                             {"spread", tbb, bench::spread_tasks<bench::tbb_system>},
                             {"submit", tbb, bench::submitted_tasks<bench::tbb_system>}});
}
