// bench/graph/serial.cpp: the calls of the nodes alone, in an order that is right.
#include <bench/graph/problems.hpp>

namespace {

[[gnu::noinline]] void call(bench::node_work work) { work(); }

/// Edges lead from lower numbers to higher ones.
auto run(const bench::parameters& given) -> bench::sample {
  const bench::dag what = bench::dag_of(given);
  static_cast<void>(given.workers());
  bench::calls each(what.nodes, 0);
  return bench::timed_run(what, each, [&] {
    for (std::uint32_t& slot : each) call({&slot, what.steps});
  });
}

}  // namespace

auto main(int count, char** arguments) -> int {
  return bench::run_program(count, arguments, "graph", {{"run", bench::reference("serial"), run}});
}
