// sim/world_run.cpp: runs a world with one seed, twice with one seed, or with many seeds.
#include <sim/faults.hpp>
#include <sim/trace_file.hpp>
#include <sim/world_run.hpp>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

namespace sim {
namespace {

auto run_seed(const world_plan& plan, run_options options, std::uint64_t seed, output destination)
    -> std::unique_ptr<coordinator> {
  options.wanted.seed = seed;
  prepare_trace(options);
  if (options.wanted.calm_from_ns == 0)
    options.wanted.calm_from_ns = static_cast<std::uint64_t>(plan.faults.calm_from_ns);
  auto world = std::make_unique<coordinator>(options, destination);
  if (const std::string problem = build_world(without_idle_restarts(plan), *world); !problem.empty())
    throw std::runtime_error(problem);
  world->run_until(plan.duration_ns);
  world->end();
  return world;
}

void print_grant(const char* label, const coordinator& world, const world_plan& plan, std::size_t index) {
  if (index >= world.grants().size()) {
    std::fprintf(stderr, "  %s run: ended\n", label);
    return;
  }
  const grant& shown = world.grants()[index];
  std::fprintf(stderr, "  %s run: %s returned the token at %.6f s, when the hash of the world was %016llx\n", label,
               plan.machines[shown.machine].name.c_str(), static_cast<double>(shown.time - start_time) / 1e9,
               static_cast<unsigned long long>(shown.hash));
}

/// Returns true if two runs with one seed were equal. Otherwise prints their first difference.
auto are_equal(const coordinator& first, const coordinator& second, const world_plan& plan, std::uint64_t seed)
    -> bool {
  if (first.hash() == second.hash() && first.exit_status() == second.exit_status()) return true;
  const auto place = std::ranges::mismatch(first.grants(), second.grants());
  const auto at = static_cast<std::size_t>(place.in1 - first.grants().begin());
  std::fprintf(stderr, "braid-sim: seed %s: two runs differ\n", std::to_string(seed).c_str());
  for (machine_number each = 0; each < plan.machines.size(); ++each)
    if (first.output_of(each) != second.output_of(each))
      std::fprintf(stderr, "the outputs of %s differ\n", plan.machines[each].name.c_str());
  if (at >= first.grants().size() && at >= second.grants().size()) return false;
  std::fprintf(stderr, "the first difference is grant %zu of the token:\n", at);
  print_grant("first", first, plan, at);
  print_grant("second", second, plan, at);
  return false;
}

void print_outputs(const coordinator& world, const world_plan& plan) {
  for (machine_number at = 0; at < plan.machines.size(); ++at) {
    const std::string text = world.output_of(at);
    if (!text.empty())
      std::fprintf(stderr, "--- %s ---\n%s%s", plan.machines[at].name.c_str(), text.c_str(),
                   text.back() == '\n' ? "" : "\n");
  }
}

/// Writes a trace of a run that has ended, if the options name a file.
void trace(const coordinator& world, const world_plan& plan, const run_options& options) {
  if (options.trace.empty()) return;
  std::vector<traced_machine> machines;
  for (const machine_plan& each : plan.machines) machines.push_back({each.name, each.clock_drift_ppm});
  write_trace(options.trace, machines, world.log());
}

/// Removes faults from a world as long as the seed still fails. Prints the resulting world, and writes its trace.
void show_smallest(const world_plan& plan, run_options options, std::uint64_t seed) {
  const std::string file = std::exchange(options.trace, {});
  const auto run_traced = [&](const world_plan& traced) {
    options.trace = file;
    if (!file.empty()) trace(*run_seed(traced, options, seed, output::kept), traced, options);
  };
  const bool has_faults = plan.faults.drawn != 0 || std::ranges::any_of(options.wanted.budgets, std::identity());
  if (!has_faults) return run_traced(plan);
  const world_plan smallest = shrink(plan, options, [seed](const world_plan& fewer, const run_options& tried) {
    return run_seed(fewer, tried, seed, output::kept)->has_failed();
  });
  std::fputs("braid-sim: the smallest world that still fails is on the standard output\n", stderr);
  std::fputs(to_toml(without_idle_restarts(smallest), option_words(options, seed)).c_str(), stdout);
  run_traced(smallest);
}

}  // namespace

auto run_world(const world_plan& plan, const run_options& options, bool is_twice) -> int {
  const world_plan events = with_faults(plan, options, options.wanted.seed);
  const auto first = run_seed(events, options, options.wanted.seed, output::shown);
  std::fputs(first->summary().c_str(), stderr);
  trace(*first, plan, options);
  if (!is_twice) return first->exit_status();
  const auto second = run_seed(events, options, options.wanted.seed, output::kept);
  if (!are_equal(*first, *second, plan, options.wanted.seed)) return 1;
  std::fputs("braid-sim: the second run was the same\n", stderr);
  return first->exit_status();
}

auto search_world(const world_plan& plan, const run_options& options, const search_options& wanted) -> int {
  std::uint64_t switches = 0;
  run_options untraced = options;
  untraced.trace.clear();
  for (std::uint64_t seed = wanted.seeds.first;; ++seed) {
    const world_plan events = with_faults(plan, options, seed);
    const auto world = run_seed(events, untraced, seed, output::kept);
    switches += world->switches();
    bool is_failed = world->has_failed();
    if (is_failed) {
      print_outputs(*world, plan);
      std::fputs(world->summary().c_str(), stderr);
    } else if (wanted.is_twice) {
      is_failed = !are_equal(*world, *run_seed(events, untraced, seed, output::kept), plan, seed);
    }
    if (is_failed) {
      if (world->has_failed()) show_smallest(events, options, seed);
      print_failure(options, seed, wanted.is_twice, quoted({plan.file}));
      return 1;
    }
    if (seed == wanted.seeds.last) break;
  }
  std::fprintf(stderr, "braid-sim: no failure in %s seeds (%s to %s), %s switches\n",
               std::to_string(wanted.seeds.last - wanted.seeds.first + 1).c_str(),
               std::to_string(wanted.seeds.first).c_str(), std::to_string(wanted.seeds.last).c_str(),
               std::to_string(switches).c_str());
  return 0;
}

}  // namespace sim
