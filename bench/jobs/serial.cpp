// bench/jobs/serial.cpp: as many calls as there are jobs.
#include <bench/jobs/batches.hpp>

namespace {

[[gnu::noinline]] void call() { bench::tally::count(); }

auto calls(const bench::parameters& given) -> bench::sample {
  static_cast<void>(given.workers());
  return bench::timed_batches(bench::batches(given), [](std::uint64_t jobs) {
    for (std::uint64_t job = 0; job < jobs; ++job) call();
  });
}

}  // namespace

auto main(int count, char** arguments) -> int {
  const bench::contender serial = bench::reference("serial");
  return bench::run_program(count, arguments, "jobs", {{"basic", serial, calls}, {"basic_ordered", serial, calls}});
}
