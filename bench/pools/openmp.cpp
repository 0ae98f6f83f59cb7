// bench/pools/openmp.cpp: many small tasks that one thread of a team makes and all run.
#include <bench/harness/openmp.hpp>
#include <bench/harness/posting.hpp>

namespace {

/// The team is there while tasks are made, and has run them when that is over.
class team_system {
 public:
  explicit team_system(unsigned workers) : workers_(workers) {}

  template <typename Fn>
  void spread(std::uint64_t count, Fn fn) const {
#pragma omp parallel num_threads(workers_)
#pragma omp single
    for (std::uint64_t i = 0; i < count; ++i) {
#pragma omp task firstprivate(fn)
      fn();
    }
  }

  static auto finish(std::uint64_t /*expected*/) -> std::uint64_t { return bench::tally::sum(); }

 private:
  unsigned workers_;
};

}  // namespace

auto main(int count, char** arguments) -> int {
  return bench::run_program(count, arguments, "pools",
                            {{"spread", bench::openmp_contender(), bench::spread_tasks<team_system>}});
}
