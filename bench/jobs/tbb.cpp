// bench/jobs/tbb.cpp: empty jobs in a task group of oneTBB; the thread that waits runs them, too.
#include <bench/harness/tbb.hpp>
#include <bench/jobs/batches.hpp>

namespace {

auto basic(const bench::parameters& given) -> bench::sample {
  const bench::batches what(given);
  return bench::in_arena(given.workers(), [&] {
    return bench::timed_batches(what, [](std::uint64_t jobs) {
      tbb::task_group group;
      for (std::uint64_t job = 0; job < jobs; ++job) group.run([] { bench::tally::count(); });
      group.wait();
    });
  });
}

}  // namespace

auto main(int count, char** arguments) -> int {
  return bench::run_program(count, arguments, "jobs", {{"basic", bench::tbb_contender(), basic}});
}
