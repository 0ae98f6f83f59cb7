// bench/memory/braid.cpp: what a program with a runtime of braid has resident, by the runtime's shape.
#include <bench/memory/cases.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/coro/task.hpp>
#include <braid/runtime/runtime.hpp>

#include <chrono>

namespace {

auto wait(std::chrono::milliseconds span) -> braid::task<void> { co_await braid::sleep_for(span); }

template <braid::runtime_shape Shape>
auto small_program(const bench::parameters& given) -> bench::sample {
  return bench::small_program(given, [](std::chrono::milliseconds span, auto look) {
    const auto all = braid::runtime::create({.shape = Shape}).value();
    all->run(wait(span));
    look();
  });
}

}  // namespace

auto main(int count, char** arguments) -> int {
  using braid::runtime_shape;
  return bench::run_program(
      count, arguments, "memory",
      {{"small_program", bench::braid_contender("braid separate"), &small_program<runtime_shape::separate>},
       {"small_program", bench::braid_contender("braid merged"), &small_program<runtime_shape::merged>}});
}
