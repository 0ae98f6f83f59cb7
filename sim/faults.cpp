// sim/faults.cpp: draws the faults of a world from its seed, removes the faults that a failure does not need, and
// writes worlds as TOML.
#include <sim/faults.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <utility>

namespace sim {
namespace {

using kind = world_event::kind;

constexpr std::int64_t millisecond = 1'000'000;
constexpr std::int64_t min_length = 100 * millisecond;
constexpr std::int64_t length_range = 9'900 * millisecond;

auto find_end(kind fault) -> kind {
  if (fault == kind::cut) return kind::heal;
  return is_about_disk(fault) ? kind::heal_disk : kind::restart;
}

void draw_fault(world_plan& plan, kind fault, chances& seed) {
  std::vector<std::string> names = fault_targets(plan, fault);
  const std::size_t count = fault == kind::cut ? 2 : 1;
  if (names.size() < count) return;
  // Times are whole milliseconds, so that the file of a world can contain them.
  const std::int64_t limit = plan.faults.calm_from_ns != 0 ? plan.faults.calm_from_ns : plan.duration_ns;
  const auto below = [&](std::int64_t bound) {
    return static_cast<std::int64_t>(
               seed.below(static_cast<std::uint64_t>(std::max(bound, millisecond) / millisecond))) *
           millisecond;
  };
  world_event begin;
  begin.what = fault;
  begin.at_ns = below(limit);
  begin.is_one_way = fault == kind::cut && seed.below(2) == 0;
  for (std::size_t at = 0; at < count; ++at) {
    const auto chosen = names.begin() + static_cast<std::ptrdiff_t>(seed.below(names.size()));
    begin.machines.push_back(*chosen);
    names.erase(chosen);
  }
  if (is_about_disk(fault)) begin.failure.fault = fault_of(fault);
  if (fault == kind::slow_disk) begin.failure.delay_ns = min_length + below(2'000 * millisecond);
  world_event end;
  end.what = find_end(fault);
  end.machines = begin.machines;
  end.at_ns = std::min(begin.at_ns + min_length + below(length_range), std::max(limit, begin.at_ns));
  begin.number = end.number = ++plan.faults.drawn;
  plan.events.push_back(std::move(begin));
  plan.events.push_back(std::move(end));
}

/// Returns a plan without some of the faults that the seed has chosen.
auto without(const world_plan& plan, unsigned first, unsigned count) -> world_plan {
  world_plan made = plan;
  std::erase_if(made.events, [&](const world_event& each) { return each.number - first < count; });
  return made;
}

auto quoted_text(const std::string& text) -> std::string {
  std::string out = "\"";
  for (const char each : text) {
    std::array<char, 8> code{};
    std::snprintf(code.data(), code.size(), "\\u%04x", static_cast<unsigned char>(each));
    if (each == '"' || each == '\\')
      out.append({'\\', each});
    else
      out += static_cast<unsigned char>(each) < ' ' ? std::string(code.data()) : std::string(1, each);
  }
  return out + "\"";
}

auto quoted_list(const std::vector<std::string>& words) -> std::string {
  std::string out;
  for (const std::string& each : words) out += (out.empty() ? "" : ", ") + quoted_text(each);
  return "[" + out + "]";
}

auto duration_text(std::int64_t time_ns) -> std::string {
  return time_ns % millisecond == 0 ? "\"" + std::to_string(time_ns / millisecond) + "ms\""
                                    : "\"" + std::to_string(time_ns) + "ns\"";
}

auto machine_text(const machine_plan& shown) -> std::string {
  std::string out = "\n[machines." + quoted_text(shown.name) + "]\nprogram = " + quoted_list(shown.words) + "\n";
  if (!shown.address.empty()) out += "address = " + quoted_text(shown.address) + "\n";
  if (!shown.folder.empty()) out += "folder = " + quoted_text(shown.folder) + "\n";
  if (shown.has_disk) out += "disk = true\n";
  if (shown.starts_at_ns != 0) out += "starts_at = " + duration_text(shown.starts_at_ns) + "\n";
  if (shown.clock_offset_ns != 0) out += "clock_offset = " + duration_text(shown.clock_offset_ns) + "\n";
  if (shown.clock_drift_ppm != 0) out += "clock_drift_ppm = " + std::to_string(shown.clock_drift_ppm) + "\n";
  if (shown.must_end) out += "must_end = true\n";
  return out;
}

auto event_text(const world_event& shown) -> std::string {
  const bool is_pair = shown.what == kind::cut || shown.what == kind::heal;
  std::string out = "\n[[events]]\nat = " + duration_text(shown.at_ns) + "\n" + name(shown.what) + " = " +
                    (is_pair ? quoted_list(shown.machines) : quoted_text(shown.machines.front())) + "\n";
  if (shown.is_one_way) out += "one_way = true\n";
  if (shown.failure.paths != "*") out += "paths = " + quoted_text(shown.failure.paths) + "\n";
  if (shown.what == kind::slow_disk) out += "delay = " + duration_text(shown.failure.delay_ns) + "\n";
  return out;
}

}  // namespace

auto with_faults(const world_plan& plan, const run_options& options, std::uint64_t seed) -> world_plan {
  world_plan made = plan;
  if (options.wanted.calm_from_ns != 0)
    made.faults.calm_from_ns = static_cast<std::int64_t>(options.wanted.calm_from_ns);
  chances draws{seed ^ 0xbb67ae8584caa73bU};
  for (std::size_t at = 0; at < fault_kinds.size(); ++at) {
    const std::uint64_t count = std::exchange(made.faults.budgets[at], 0);
    const std::uint64_t wanted = count == 0 ? 0 : draws.below(count + 1);
    for (std::uint64_t each = 0; each < wanted; ++each) draw_fault(made, fault_kinds[at], draws);
  }
  return made;
}

auto without_idle_restarts(world_plan plan) -> world_plan {
  const std::vector<std::size_t> idle = find_idle_restarts(plan);
  std::vector<world_event> kept;
  for (std::size_t at = 0; at < plan.events.size(); ++at)
    if (std::ranges::find(idle, at) == idle.end()) kept.push_back(plan.events[at]);
  plan.events = std::move(kept);
  return plan;
}

namespace {

using check_of_world = std::function<bool(const world_plan&, const run_options&)>;

/// Removes faults that the seed has chosen: at first many at a time, then fewer. Returns whether it has removed any
/// fault.
auto remove_events(world_plan& plan, const run_options& options, const check_of_world& fails) -> bool {
  bool is_smaller = false;
  for (unsigned count = std::bit_ceil(plan.faults.drawn); count > 0; count /= 2) {
    for (unsigned first = 1; first <= plan.faults.drawn; first += count) {
      world_plan fewer = without(plan, first, count);
      if (fewer.events.size() == plan.events.size() || !fails(fewer, options)) continue;
      plan = std::move(fewer);
      is_smaller = true;
    }
  }
  return is_smaller;
}

/// Searches for a smaller `budget` of one kind of packet fault with which the world still fails, although it does not
/// fail if the budget is reduced by one more. A smaller budget keeps the first faults of this kind and drops the later
/// ones.
auto lower_budget(const world_plan& plan, run_options& options, std::uint32_t& budget, const check_of_world& fails)
    -> bool {
  const std::uint32_t before = budget;
  std::uint32_t failing = before;
  for (std::uint32_t least = 0; least < failing;) {
    budget = least == 0 && failing == before ? 0 : least + (failing - least) / 2;
    if (fails(plan, options))
      failing = budget;
    else
      least = budget + 1;
  }
  budget = failing;
  return budget < before;
}

}  // namespace

auto shrink(world_plan plan, run_options& options, const check_of_world& fails) -> world_plan {
  for (bool is_smaller = true; is_smaller;) {
    is_smaller = remove_events(plan, options, fails);
    for (std::uint32_t& budget : options.wanted.budgets)
      is_smaller = lower_budget(plan, options, budget, fails) || is_smaller;
  }
  return plan;
}

auto to_toml(const world_plan& plan, const std::vector<std::string>& options) -> std::string {
  std::string out = "duration = " + duration_text(plan.duration_ns) + "\n";
  if (!options.empty()) out += "options = " + quoted_list(options) + "\n";
  if (plan.faults.calm_from_ns != 0) out += "\n[faults]\ncalm_from = " + duration_text(plan.faults.calm_from_ns) + "\n";
  for (const machine_plan& each : plan.machines) out += machine_text(each);
  for (const world_event& each : plan.events) out += event_text(each);
  return out;
}

}  // namespace sim
