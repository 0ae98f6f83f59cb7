// bench/trace/untraced.cpp: the same events where the process is not traced: the bound below.
#include <bench/trace/cases.hpp>

auto main(int count, char** arguments) -> int {
  bench::begin_with(nullptr, arguments);
  return bench::run_program(count, arguments, "trace", bench::trace_cases<false>(bench::reference("not traced")));
}
