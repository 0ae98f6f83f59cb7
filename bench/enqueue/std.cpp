// bench/enqueue/std.cpp: std::async, which starts a thread for each task.
#include <bench/harness/posting.hpp>

#include <future>
#include <utility>

namespace {

struct async_system {
  explicit async_system(unsigned /*workers*/) {}

  template <typename Fn>
  auto submit(Fn fn) {
    return std::async(std::launch::async, std::move(fn));
  }
};

}  // namespace

auto main(int count, char** arguments) -> int {
  const bench::contender async{.name = "std::async", .kind = bench::kind::rival, .version = "libstdc++"};
  return bench::run_program(count, arguments, "enqueue", {{"round_trip", async, bench::round_trips<async_system>}});
}
