// tests/support/model.hpp: what a model test is written with: explores the interleavings of a few threads.
#pragma once

#include <braid/sync/detail/model_explorer.hpp>
#include <braid/sync/detail/futex.hpp>

#include <tests/support/child.hpp>
#include <tests/support/seed.hpp>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

namespace braid::model {

using run = detail::model_run;
using report = detail::model_report;
using site = detail::model_site;

template <typename T>
using shared = detail::model_shared<T>;

/// The bounds of an exploration: see detail::model_bounds and detail::model_options.
struct options {
  std::size_t seeds = 10'000;  ///< times BRAID_STRESS
  unsigned preemptions = 2;
  unsigned surprises = 2;
  std::size_t steps = 2'000;
  std::size_t max_runs = 2'000'000;
};

namespace machinery {

using explorer = auto (*)(const detail::model_options&, const detail::model_body&) -> detail::model_report;

inline auto explore_with(explorer explore, const options& wanted, const site* weakened, const detail::model_body& body)
    -> report {
  detail::model_options all{.seeds = testing::scaled(wanted.seeds), .max_runs = wanted.max_runs};
  all.bounds.preemptions = wanted.preemptions;
  all.bounds.surprises = wanted.surprises;
  all.bounds.steps = wanted.steps;
  if (weakened != nullptr) all.bounds.weakened = *weakened;
  if (const char* seed = std::getenv("BRAID_SEED"); seed != nullptr) all.first_seed = std::strtoull(seed, nullptr, 10);
  if (const char* schedule = std::getenv("BRAID_SCHEDULE"); schedule != nullptr)
    return detail::model_replay(schedule, all, body);
  return explore(all, body);
}

}  // namespace machinery

/// Runs `body` under random schedules. BRAID_SEED names the first seed; BRAID_SCHEDULE the only schedule to run.
[[nodiscard]] inline auto explore(const options& wanted, const detail::model_body& body) -> report {
  return machinery::explore_with(detail::model_explore, wanted, nullptr, body);
}

/// Runs `body` under every schedule within the bounds. BRAID_SCHEDULE names the only one to run.
[[nodiscard]] inline auto explore_all(const options& wanted, const detail::model_body& body) -> report {
  return machinery::explore_with(detail::model_explore_all, wanted, nullptr, body);
}

using body = void (*)(run&);

namespace machinery {

/// Whether no schedule of `body` fails when the order at `place` is relaxed. In a process of its own, because what that
/// order was to prevent may be a null pointer or freed memory that is met before the explorer notices.
inline auto passes_without(const site& place, const options& bounds, body each, explorer how) -> bool {
  constexpr int failed = 1;
  constexpr unsigned seconds = 200;  // of a walk along a list that was torn
  const testing::child_end end = testing::run_in_child([&] {
    std::signal(SIGSEGV, SIG_DFL);
    std::signal(SIGBUS, SIG_DFL);
    ::alarm(seconds);
    if (!explore_with(how, bounds, &place, each).failure.empty()) ::_exit(failed);
  });
  return end.signal == 0 && end.status == 0;
}

}  // namespace machinery

inline constexpr machinery::explorer by_turns = detail::model_explore_all;
inline constexpr machinery::explorer by_seeds = detail::model_explore;

namespace machinery {

/// Fewer schedules of the same kind: they show most of what the others do, and so come first.
inline auto fewer(options bounds, explorer how) -> options {
  if (how == by_seeds) {
    bounds.seeds = std::max<std::size_t>(bounds.seeds / 10, 1);
  } else {
    bounds.preemptions = std::min(bounds.preemptions, 1U);
    bounds.surprises = std::min(bounds.surprises, 1U);
  }
  return bounds;
}

inline auto orders_in(std::string_view header, const options& bounds, const std::vector<body>& bodies, explorer how)
    -> std::set<site> {
  std::set<site> places;
  for (const body each : bodies)
    for (const site& place : explore_with(how, bounds, nullptr, each).ordered)
      if (place.file.ends_with(header)) places.insert(place);
  return places;
}

}  // namespace machinery

/// Makes every order above relaxed that `header` names relaxed, and leaves out its barriers, one at a time, and
/// explores schedules of the bodies, all or by seeds: the places where nothing failed. The bodies must pass without
/// that. Where the bodies come to no order of `header`, which may have moved, it gives a sentence instead.
[[nodiscard]] inline auto orders_not_needed(std::string_view header, const options& bounds,
                                            const std::vector<body>& bodies, machinery::explorer how = by_turns)
    -> std::string {
  const options few = machinery::fewer(bounds, how);
  const auto places = machinery::orders_in(header, few, bodies, how);
  if (places.empty()) return "the bodies come to no order of " + std::string(header);
  std::string survivors;
  for (const site& place : places) {
    const auto survives = [&](const options& within) {
      return std::ranges::all_of(bodies,
                                 [&](body each) { return machinery::passes_without(place, within, each, how); });
    };
    if (survives(few) && survives(bounds)) survivors += to_string(place) + " ";
  }
  return survivors;
}

/// Of these places of `file`, those whose line or the one above does not name `edge`.
[[nodiscard]] inline auto but_for_edge(std::string_view edge, const std::string& places, const std::string& file)
    -> std::string {
  std::ifstream source(file);
  std::vector<std::string> lines(1);  // line 0
  for (std::string line; std::getline(source, line);) lines.push_back(line);
  const std::string named = "edge " + std::string(edge) + ":";
  std::istringstream all(places);
  std::string others;
  for (std::string place; all >> place;) {
    const std::size_t line = std::stoul(place.substr(place.find(':') + 1));
    if (lines.at(line).find(named) == std::string::npos && lines.at(line - 1).find(named) == std::string::npos)
      others += place + " ";
  }
  return others;
}

/// A lock whose waiting the explorer sees; a std::mutex would stop all threads of a run at once.
class mutex {
 public:
  void lock() noexcept {
    while (held_.exchange(1, acquire) != 0) braid::detail::futex_wait(held_, 1);
  }

  void unlock() noexcept {
    held_.exchange(0, release);
    braid::detail::futex_wake(held_, 1);
  }

 private:
  atomic<std::uint32_t> held_{0};
};

}  // namespace braid::model
