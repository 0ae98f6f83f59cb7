// src/coro/dump_tree.cpp: finds the parent of each task: the task that holds or owns the scope in which the child runs.
#include "dump_tree.hpp"

#include <algorithm>
#include <ranges>
#include <string_view>
#include <utility>

namespace braid::detail {
namespace {

/// Returns whether this is the name of a coroutine that the library inserts between coroutines of the program.
auto is_of_the_library(std::string_view name) -> bool {
  const std::size_t arguments = name.find('(');
  return name.substr(0, arguments).find("braid::detail::") != std::string_view::npos ||
         name.find("::kept_until_end<") != std::string_view::npos;
}

/// The tasks and scopes within a scope, as indexes into `seen_home`.
struct contents {
  std::vector<std::size_t> tasks;
  std::vector<std::size_t> scopes;       // the inner scopes that no known task holds
  std::size_t owner = seen_scope::none;  // the task for which the scope was created
  std::size_t known = 0;                 // the number of tasks that were seen, of those that the scope counts
};

/// Tables that say which tasks and scopes each scope contains, and which scopes each task holds.
class relations {
 public:
  explicit relations(const seen_home& seen) : in(seen.scopes.size()), held_by(seen.tasks.size()), seen_(&seen) {
    for (std::size_t i = 0; i < seen.scopes.size(); ++i) places_.emplace(seen.scopes[i].self, i);
    std::vector<bool> is_held(seen.scopes.size());
    for (std::size_t i = 0; i < seen.tasks.size(); ++i) place(i, is_held);
    for (std::size_t i = 0; i < seen.scopes.size(); ++i) {
      const seen_scope& each = seen.scopes[i];
      if (each.around == seen_scope::none) continue;
      if (each.counts_around()) ++in[each.around].known;
      if (!is_held[i]) in[each.around].scopes.push_back(i);
    }
  }

  /// Returns how many tasks of a scope the dump did not see, because they run or wait on another executor.
  [[nodiscard]] auto others(std::size_t scope) const noexcept -> std::size_t {
    const std::size_t all = seen_->scopes[scope].tasks;
    return all - std::min(all, in[scope].known);
  }

  std::vector<contents> in;                       // the contents of each scope
  std::vector<std::vector<std::size_t>> held_by;  // the scopes that each task holds

 private:
  void place(std::size_t number, std::vector<bool>& is_held) {
    const seen_task& task = seen_->tasks[number];
    const auto found = places_.find(task.in);
    if (found == places_.end()) return;
    contents& around = in[found->second];
    ++around.known;
    if (task.is_owner && seen_->scopes[found->second].is_of_a_task() && around.owner == seen_scope::none)
      around.owner = number;
    else
      around.tasks.push_back(number);
    for (std::size_t i = 0; i < task.inner; ++i) {
      const auto held = places_.find(seen_->inner[task.first_inner + i]);
      if (held == places_.end() || held == found || is_held[held->second]) continue;
      is_held[held->second] = true;
      held_by[number].push_back(held->second);
    }
  }

  const seen_home* seen_;
  std::unordered_map<const scope*, std::size_t> places_;
};

}  // namespace

auto dump_tree::function_at(const void* code) -> const known_function& {
  const auto [found, is_new] = functions_.try_emplace(code);
  if (is_new) {
    found->second.name = symbols_.name(reinterpret_cast<std::uintptr_t>(code));
    found->second.is_of_the_library = is_of_the_library(found->second.name);
  }
  return found->second;
}

/// Returns the file name, without folders, and the line of a source location.
auto dump_tree::find_place(const await_place& place) -> const std::string& {
  const auto [found, is_new] = places_[place.file_name()].try_emplace(place.line());
  if (is_new && place.line() != 0) {
    const std::string_view path = place.file_name();
    found->second = std::string(path.substr(path.find_last_of('/') + 1)) + ":" + std::to_string(place.line());
  }
  return found->second;
}

auto dump_tree::shown(const seen_home& seen, const seen_task& task, unsigned depth) -> task_dump::entry {
  task_dump::entry made{.depth = depth, .time_left = task.time_left, .stopped_for = task.stopped_for};
  made.waits_for = task.waits_for;
  if (!task.details.empty()) made.waits_for += ", " + task.details;
  const auto add = [&](const seen_level& level) {
    made.functions.push_back(function_at(level.function).name);
    made.places.push_back(find_place(level.at));
  };
  for (std::size_t i = task.levels; i > 0; --i) {
    const seen_level& level = seen.levels[task.first_level + i - 1];
    if (!function_at(level.function).is_of_the_library) add(level);
  }
  if (made.functions.empty()) add(seen.levels[task.first_level]);
  return made;
}

/// Lists the tasks as a tree. Uses an explicit stack instead of recursion, because tasks may be nested to any depth.
auto dump_tree::of(const seen_home& seen) -> std::vector<task_dump::entry> {
  struct branch {
    std::size_t task = seen_scope::none;
    std::size_t scope = seen_scope::none;
    std::size_t others = 0;
    unsigned depth = 0;
  };
  const relations all(seen);
  std::vector<task_dump::entry> listed;
  std::vector<branch> left;
  const auto leave_contents = [&](std::size_t scope, unsigned depth) {
    const contents& inside = all.in[scope];
    if (const std::size_t others = all.others(scope); others != 0) left.push_back({.others = others, .depth = depth});
    for (const std::size_t each : std::views::reverse(inside.scopes)) left.push_back({.scope = each, .depth = depth});
    for (const std::size_t each : std::views::reverse(inside.tasks)) left.push_back({.task = each, .depth = depth});
  };
  const auto leave_held = [&](std::size_t task, unsigned depth) {
    for (const std::size_t each : std::views::reverse(all.held_by[task]))
      left.push_back({.scope = each, .depth = depth});
  };

  for (std::size_t i = seen.scopes.size(); i > 0; --i)
    if (seen.scopes[i - 1].around == seen_scope::none) left.push_back({.scope = i - 1});
  while (!left.empty()) {
    const branch at = left.back();
    left.pop_back();
    if (at.others != 0) {
      listed.push_back({.depth = at.depth, .others = at.others});
    } else if (at.task != seen_scope::none) {
      listed.push_back(shown(seen, seen.tasks[at.task], at.depth));
      leave_held(at.task, at.depth + 1);
    } else if (!seen.scopes[at.scope].is_of_a_task()) {
      leave_contents(at.scope, at.depth);
    } else {
      const task_info& owner = seen.scopes[at.scope].owner;
      const std::size_t main = all.in[at.scope].owner;
      listed.push_back(main == seen_scope::none ? task_dump::entry{.depth = at.depth}
                                                : shown(seen, seen.tasks[main], at.depth));
      listed.back().id = owner.id;
      listed.back().name = owner.name;
      leave_contents(at.scope, at.depth + 1);
      if (main != seen_scope::none) leave_held(main, at.depth + 1);
    }
  }
  return listed;
}

}  // namespace braid::detail
