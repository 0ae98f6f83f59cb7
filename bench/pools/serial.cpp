// bench/pools/serial.cpp: what the tasks cost in a plain loop on one thread.
#include <bench/harness/posting.hpp>

namespace {

struct no_system {
  explicit no_system(unsigned /*workers*/) {}

  template <typename Fn>
  void post(Fn fn) {
    fn();
  }

  static auto finish(std::uint64_t /*expected*/) -> std::uint64_t { return bench::tally::sum(); }
};

}  // namespace

auto main(int count, char** arguments) -> int {
  const bench::contender serial = bench::reference("serial");
  return bench::run_program(
      count, arguments, "pools",
      {{"post", serial, bench::posted_tasks<no_system>}, {"spread", serial, bench::posted_tasks<no_system>}});
}
