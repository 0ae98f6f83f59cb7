// bench/continuations/serial.cpp: the loop of calls that a chain stands for.
#include <bench/harness/program.hpp>

#include <cstdint>

namespace {

auto calls(const bench::parameters& given) -> bench::sample {
  const std::uint64_t links = given.number("links", 1'000'000);
  static_cast<void>(given.workers());
  return bench::timed(static_cast<double>(links), links, [=] {
    std::uint64_t reached = 0;
    for (std::uint64_t i = 0; i < links; ++i) {
      ++reached;
      asm("" : "+r"(reached));  // not to be looked through
    }
    return reached;
  });
}

}  // namespace

auto main(int count, char** arguments) -> int {
  const bench::contender serial = bench::reference("serial");
  return bench::run_program(
      count, arguments, "continuations",
      {{"then_before", serial, calls}, {"then_meanwhile", serial, calls}, {"await", serial, calls}});
}
