// examples/23_build.cpp: a build of 300 targets that are data, as with `make -k
// -j2`.
#include <braid/graph/run.hpp>
#include <braid/runtime/runtime.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

using namespace std::chrono_literals;

// [data]
struct target {
  std::string name;
  std::vector<std::string> inputs;
  braid::duration takes;  // as measured by an earlier build, or a guess
};

/// Returns twenty libraries, each with twelve objects, a test program and the
/// run of it: a real build reads a file.
auto read_targets() -> std::vector<target> {
  std::vector<target> all;
  for (int number = 0; number < 20; ++number) {
    const std::string own = std::to_string(number);
    const std::string archive = "lib" + own + ".a";
    std::vector<std::string> objects;
    for (int object = 1; object <= 12; ++object) {
      objects.push_back("lib" + own + "/" + std::to_string(object) + ".o");
      all.push_back({objects.back(), {}, object * 1ms});
    }
    const std::string base = "lib" + std::to_string(number / 2) + ".a";
    all.push_back({archive, objects, 2ms});
    all.push_back({"test" + own, {archive, base}, 5ms});
    all.push_back({"run" + own, {"test" + own}, (10 + number) * 1ms});
  }
  return all;
}
// [/data]

// [shape]
auto shape_of(const std::vector<target>& targets)
    -> braid::checked<braid::graph_shape> {
  std::vector<std::string_view> names;
  std::map<std::string_view, braid::node_index> numbers;
  for (const target& each : targets) {
    numbers.emplace(each.name, static_cast<braid::node_index>(names.size()));
    names.push_back(each.name);
  }
  std::vector<braid::graph_shape::edge> edges;
  for (const target& each : targets)
    for (const std::string& input : each.inputs)
      edges.push_back({numbers.at(input), numbers.at(each.name)});
  return braid::graph_shape::make(names, edges);
}
// [/shape]

// [nodes]
class build_steps {
 public:
  explicit build_steps(const std::vector<target>& targets)
      : targets_(&targets) {}

  auto mode(braid::node_index) const noexcept -> braid::node_mode {
    return braid::node_mode::worker;
  }
  auto timeout(braid::node_index) const noexcept -> braid::duration {
    return 1min;
  }
  auto run(braid::node_index node, const braid::stop_flag&)
      -> braid::node_status {
    if ((*targets_)[node].name == "lib7/3.o")
      throw std::runtime_error("3.cpp:12: expected a semicolon");
    return braid::node_status::done;  // a real build starts a compiler here
  }
  auto start(braid::node_index) -> braid::task<braid::node_status> {
    co_return braid::node_status::done;
  }

 private:
  const std::vector<target>* targets_;
};
// [/nodes]

auto sentence_of(const braid::graph_failure& failure) -> std::string {
  if (!failure.error) return "it did not end in its time";
  try {
    std::rethrow_exception(failure.error);
  } catch (const std::exception& thrown) {
    return thrown.what();
  }
}

// [run]
braid::task<void> build(const std::vector<target>& targets,
                        braid::pool& workers) {
  const braid::graph_shape shape = braid::or_throw(shape_of(targets));
  std::vector<braid::duration> weights;
  for (const target& each : targets) weights.push_back(each.takes);
  const std::vector<braid::duration> priorities =
      braid::remaining_paths(shape, weights);

  build_steps steps(targets);
  const braid::graph_run_options options{
      .on_failure = braid::after_failure::keep_going,
      .max_running = 2,
      .priorities = priorities,
      .clock = &braid::steady_time()};
  braid::scope inside(co_await braid::this_scope());
  braid::graph_run run(shape, steps, workers, inside, options);
  run.start();
  co_await run.join();

  std::size_t done = 0;
  std::string skipped;
  for (braid::node_index node = 0; node < shape.size(); ++node) {
    if (run.progress(node) == braid::node_progress::done) ++done;
    if (run.progress(node) == braid::node_progress::skipped)
      skipped += " " + targets[node].name;
  }
  std::printf("%zu of %zu targets are done; skipped:%s\n", done, targets.size(),
              skipped.c_str());
  for (const braid::graph_failure& each : run.failures())
    std::printf("%s failed: %s\n", targets[each.node].name.c_str(),
                sentence_of(each).c_str());
  const auto have_run =
      std::ranges::count_if(run.times(), &braid::node_times::has_run);
  std::printf("%ld targets have times for the priorities of the next build\n",
              static_cast<long>(have_run));
  const auto first = static_cast<std::size_t>(
      std::ranges::max_element(priorities) - priorities.begin());
  std::printf("the longest chain begins with %s\n",
              targets[first].name.c_str());
}
// [/run]

int main() {
  std::vector<target> targets = read_targets();
  auto runtime = braid::runtime::create({.workers = 2});
  if (!runtime) return 1;
  (*runtime)->run(build(targets, (*runtime)->workers()));

  // [cycle]
  const auto archive = std::ranges::find(targets, "lib0.a", &target::name);
  archive->inputs.push_back("run1");
  std::printf("%s", shape_of(targets).error().to_text().c_str());
  // [/cycle]
}
