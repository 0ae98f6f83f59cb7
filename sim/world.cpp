// sim/world.cpp: implements the C++ interface of worlds, which tests use.
#include <braid/sim.hpp>

#include <sim/coordinator.hpp>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#define BRAID_SIM_EXPORT __attribute__((visibility("default")))

namespace braid::sim {
namespace {

constexpr std::uint32_t max_cpus = 1024;  // as for the option --cpus

/// Refuses a time that is too long for a world.
auto checked(const char* name, std::chrono::nanoseconds time) -> std::int64_t {
  if (time.count() < -::sim::max_time_ns || time.count() > ::sim::max_time_ns)
    throw std::invalid_argument(std::string(name) + " must be below 277777 h, got " + std::to_string(time.count()) +
                                " ns");
  return time.count();
}

auto to_number(std::chrono::nanoseconds time) -> std::uint64_t { return static_cast<std::uint64_t>(time.count()); }

auto to_run_options(const world_options& from) -> ::sim::run_options {
  if (from.min_latency.count() < 0 || from.max_latency < from.min_latency)
    throw std::invalid_argument("max_latency must not be below min_latency, and neither may be below 0");
  if (from.max_latency > std::chrono::minutes(1)) throw std::invalid_argument("max_latency must not be above 1 min");
  if (from.fault_rate == 0 || from.every == 0) throw std::invalid_argument("fault_rate and every must not be 0");
  if (from.cpus == 0 || from.cpus > max_cpus)
    throw std::invalid_argument("cpus must be 1 to 1024, got " + std::to_string(from.cpus));
  if (from.calm_from.count() < 0) throw std::invalid_argument("calm_from must not be below 0");
  ::sim::run_options made;
  made.stuck_after = from.stuck_after;
  made.wanted.seed = from.seed;
  made.wanted.cpus = from.cpus;
  made.wanted.every = from.every;
  made.wanted.min_latency_ns = to_number(from.min_latency);
  made.wanted.max_latency_ns = to_number(from.max_latency);
  made.wanted.budgets = {from.splits, from.delays, from.resets, from.refusals, from.losses, from.partitions};
  made.wanted.fault_rate = from.fault_rate;
  made.wanted.bandwidth = from.bandwidth;
  made.wanted.calm_from_ns = to_number(from.calm_from);
  return made;
}

}  // namespace

struct world::state {
  explicit state(const world_options& options) : coordinator(to_run_options(options), ::sim::output::kept) {}
  ::sim::coordinator coordinator;
};

struct machine::place {
  ::sim::coordinator* world;
  ::sim::machine_number number;

  void fail(const ::sim::disk_failure& failure) const {
    if (const std::string problem = world->fail_disk(number, failure); !problem.empty())
      throw std::invalid_argument(problem);
  }
};

BRAID_SIM_EXPORT void machine::crash() { place_->world->crash(place_->number); }
BRAID_SIM_EXPORT void machine::kill() { place_->world->kill(place_->number); }
BRAID_SIM_EXPORT void machine::restart() { place_->world->restart(place_->number); }
BRAID_SIM_EXPORT void machine::fill_disk(const std::string& paths) {
  place_->fail({.fault = ::sim::disk_fault::full, .paths = paths});
}
BRAID_SIM_EXPORT void machine::fail_disk(const std::string& paths) {
  place_->fail({.fault = ::sim::disk_fault::error, .paths = paths});
}
BRAID_SIM_EXPORT void machine::slow_disk(std::chrono::nanoseconds delay, const std::string& paths) {
  place_->fail({.fault = ::sim::disk_fault::slow, .paths = paths, .delay_ns = checked("the delay of a sync", delay)});
}
BRAID_SIM_EXPORT void machine::heal_disk() { place_->fail({}); }
BRAID_SIM_EXPORT auto machine::disk_folder() const -> std::string { return place_->world->find_disk(place_->number); }
BRAID_SIM_EXPORT auto machine::is_running() const -> bool { return place_->world->runs(place_->number); }
BRAID_SIM_EXPORT auto machine::status() const -> std::optional<int> { return place_->world->status(place_->number); }
BRAID_SIM_EXPORT auto machine::output() const -> std::string { return place_->world->output_of(place_->number); }
BRAID_SIM_EXPORT auto machine::address() const -> const std::string& {
  return place_->world->address_of(place_->number);
}

BRAID_SIM_EXPORT world::world(const world_options& options) : state_(std::make_shared<state>(options)) {}

BRAID_SIM_EXPORT world::~world() = default;

BRAID_SIM_EXPORT auto world::machine(const std::string& name, const std::vector<std::string>& command,
                                     const machine_options& options) -> sim::machine {
  ::sim::coordinator& made = state_->coordinator;
  const std::string problem = made.add({.name = name,
                                        .words = command,
                                        .address = options.address,
                                        .folder = options.folder,
                                        .has_disk = options.disk,
                                        .starts_at_ns = checked("starts_at", options.starts_at),
                                        .clock_offset_ns = checked("clock_offset", options.clock_offset),
                                        .clock_drift_ppm = options.clock_drift_ppm,
                                        .must_end = options.must_end});
  if (!problem.empty()) throw std::invalid_argument(problem);
  return sim::machine(std::make_shared<sim::machine::place>(&made, made.machine_count() - 1));
}

BRAID_SIM_EXPORT void world::at(std::chrono::nanoseconds time, std::function<void()> action) {
  state_->coordinator.at(checked("the time of an action", time), std::move(action));
}

BRAID_SIM_EXPORT void world::cut(const sim::machine& one, const sim::machine& other) {
  cut_one_way(one, other);
  cut_one_way(other, one);
}

BRAID_SIM_EXPORT void world::cut_one_way(const sim::machine& from, const sim::machine& to) {
  state_->coordinator.cut(from.place_->number, to.place_->number);
}

BRAID_SIM_EXPORT void world::heal(const sim::machine& one, const sim::machine& other) {
  state_->coordinator.heal(one.place_->number, other.place_->number);
  state_->coordinator.heal(other.place_->number, one.place_->number);
}

BRAID_SIM_EXPORT auto world::run_for(std::chrono::nanoseconds duration) -> bool {
  state_->coordinator.run_until(
      std::min(state_->coordinator.time_ns() + checked("the duration of a run", duration), ::sim::max_time_ns));
  return !state_->coordinator.has_failed();
}

BRAID_SIM_EXPORT auto world::end() -> bool {
  state_->coordinator.end();
  return !state_->coordinator.has_failed();
}

BRAID_SIM_EXPORT auto world::now() const -> std::chrono::nanoseconds {
  return std::chrono::nanoseconds(state_->coordinator.time_ns());
}

BRAID_SIM_EXPORT auto world::hash() const -> std::uint64_t { return state_->coordinator.hash(); }

BRAID_SIM_EXPORT auto world::report() const -> std::string { return state_->coordinator.summary(); }

}  // namespace braid::sim
