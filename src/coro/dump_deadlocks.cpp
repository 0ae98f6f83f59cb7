// src/coro/dump_deadlocks.cpp: finds waits that can never end. It first assumes that all waits are stuck, and then
// removes each wait that may be ended.
#include "dump_deadlocks.hpp"

#include "shown_name.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>

namespace braid::detail {
namespace {

/// A scope of one of the home executors.
struct scope_node {
  std::size_t around = seen_scope::none;
  std::size_t owner = seen_scope::none;  // the nearest scope, itself included, that was created for a spawned task
  const task_info* info = nullptr;       // the information of an owner
  std::size_t known = 0;                 // the number of tasks that were seen
  std::size_t all = 0;                   // the number of all tasks
  std::vector<std::size_t> tasks;        // the tasks nearest to an owner
  std::size_t first = seen_scope::none;  // the first wait in the scope, at any depth
  bool may_go_on = false;                // something in the scope may continue, at any depth
  bool may_release = false;              // a task directly in an owner may continue, and release a lock
  std::vector<std::size_t> joined_by;    // the waits for the end of the scope
  std::vector<std::size_t> wanted_by;    // the waits for a lock of an owner
};

struct wait_node {
  const seen_task* seen = nullptr;
  std::size_t home = 0;
  std::size_t in = seen_scope::none;
  std::size_t needs = seen_scope::none;  // the scope that it needs; `seen_scope::none` if something else ends it
  bool is_lock = false;
  bool may_end = false;
};

class wait_graph {
 public:
  explicit wait_graph(std::span<const seen_home* const> homes) {
    for (std::size_t i = 0; i < homes.size(); ++i) add(*homes[i], i);
    for (std::size_t i = 0; i < waits_.size(); ++i) tie(i);
    for (std::size_t i = 0; i < scopes_.size(); ++i) {
      const scope_node& each = scopes_[i];
      const bool is_owner = each.owner == i;
      if (each.all == 0) free_all(each.joined_by);  // the wait is over, or has not begun
      if (each.known < each.all || (is_owner && each.all == 0)) free_scope(i);
      if (is_owner && each.tasks.empty()) free_owner(i);
      if (each.known < each.all && each.owner != seen_scope::none) free_owner(each.owner);
    }
    for (std::size_t i = 0; i < waits_.size(); ++i)
      if (waits_[i].needs == seen_scope::none) free_wait(i);
    while (!freed_.empty()) {
      const std::size_t next = freed_.back();
      freed_.pop_back();
      if (const std::size_t in = waits_[next].in; in != seen_scope::none) {
        free_scope(in);
        if (scopes_[in].owner != seen_scope::none) free_owner(scopes_[in].owner);
      }
    }
  }

  [[nodiscard]] auto cycles() const -> std::vector<seen_deadlock> {
    std::vector<seen_deadlock> found;
    std::vector<std::size_t> walk(waits_.size(), 0);  // the number of the walk that arrived there
    for (std::size_t from = 0; from < waits_.size(); ++from) {
      if (waits_[from].may_end || walk[from] != 0) continue;
      std::size_t at = from;
      for (; walk[at] == 0; at = next(at)) walk[at] = from + 1;
      if (walk[at] == from + 1) found.push_back(cycle(at));
    }
    return found;
  }

 private:
  void add(const seen_home& home, std::size_t number) {
    std::unordered_map<const scope*, std::size_t> places;
    const std::size_t first = scopes_.size();
    for (const seen_scope& each : home.scopes) {
      const std::size_t place = scopes_.size();
      places.emplace(each.self, place);
      scope_node& made = scopes_.emplace_back();
      made.all = each.tasks;
      if (each.around != seen_scope::none) made.around = first + each.around;
      if (each.counts_around()) ++scopes_[made.around].known;
      if (each.is_of_a_task()) {
        made.owner = place;
        made.info = &each.owner;
        owners_.emplace(each.owner.id.number, place);
      } else if (made.around != seen_scope::none) {
        made.owner = scopes_[made.around].owner;
      }
      // If the walk through a home executor was cut short, one unknown task is added to each scope of this executor.
      if (!home.is_whole) ++made.all;
    }
    for (const seen_task& each : home.tasks) {
      wait_node& made = waits_.emplace_back(wait_node{.seen = &each, .home = number});
      if (const auto found = places.find(each.in); found != places.end()) made.in = found->second;
      if (const auto found = places.find(each.joins); each.joins != nullptr && found != places.end())
        made.needs = found->second;
      if (made.in == seen_scope::none) continue;
      scope_node& in = scopes_[made.in];
      ++in.known;
      if (in.owner != seen_scope::none) scopes_[in.owner].tasks.push_back(waits_.size() - 1);
      for (std::size_t at = made.in; at != seen_scope::none && scopes_[at].first == seen_scope::none;
           at = scopes_[at].around)
        scopes_[at].first = waits_.size() - 1;
    }
  }

  void tie(std::size_t number) {
    wait_node& wait = waits_[number];
    if (const auto found = owners_.find(wait.seen->needs.task); wait.seen->needs.task != 0 && found != owners_.end()) {
      wait.needs = found->second;
      wait.is_lock = wait.seen->needs.lock != nullptr;
    }
    if (wait.needs == seen_scope::none) return;
    scope_node& needed = scopes_[wait.needs];
    (wait.is_lock ? needed.wanted_by : needed.joined_by).push_back(number);
  }

  void free_wait(std::size_t number) {
    if (!std::exchange(waits_[number].may_end, true)) freed_.push_back(number);
  }
  void free_all(const std::vector<std::size_t>& waits) {
    for (const std::size_t each : waits) free_wait(each);
  }
  void free_scope(std::size_t index) {
    for (; index != seen_scope::none && !scopes_[index].may_go_on; index = scopes_[index].around) {
      scopes_[index].may_go_on = true;
      free_all(scopes_[index].joined_by);
    }
  }
  void free_owner(std::size_t index) {
    if (std::exchange(scopes_[index].may_release, true)) return;
    free_all(scopes_[index].wanted_by);
  }

  /// Returns one of the waits that this wait depends on, all of which are stuck as well. If this is a wait for a lock,
  /// the task that holds the lock may have several waits. A wait for the task's own children is returned only if there
  /// is no other wait, because such a wait is less informative.
  [[nodiscard]] auto next(std::size_t number) const -> std::size_t {
    const scope_node& needed = scopes_[waits_[number].needs];
    if (!waits_[number].is_lock) return needed.first;
    const auto says_more = [this](std::size_t each) { return waits_[each].seen->joins == nullptr; };
    const auto found = std::ranges::find_if(needed.tasks, says_more);
    return found != needed.tasks.end() ? *found : needed.tasks.front();
  }

  /// Describes the cycle, beginning with the task with the lowest number, so that the same cycle always has the same
  /// text.
  [[nodiscard]] auto cycle(std::size_t begin) const -> seen_deadlock {
    std::size_t from = begin;
    for (std::size_t at = next(begin); at != begin; at = next(at))
      if (number_of(at) < number_of(from)) from = at;
    seen_deadlock made{.text = subject(from)};
    std::size_t at = from;
    do {
      const std::size_t to = next(at);
      made.text += at == from ? " waits for " : ", which waits for ";
      made.text += object(at, to);
      made.waits.push_back(waits_[at].seen->needs);
      made.is_across_homes = made.is_across_homes || waits_[at].home != waits_[to].home;
      at = to;
    } while (at != from);
    return made;
  }

  [[nodiscard]] auto number_of(std::size_t wait) const -> std::uint64_t {
    const std::size_t in = waits_[wait].in;
    return in == seen_scope::none || scopes_[in].owner == seen_scope::none ? 0
                                                                           : scopes_[scopes_[in].owner].info->id.number;
  }
  [[nodiscard]] auto subject(std::size_t number) const -> std::string {
    if (number_of(number) == 0) return "a task without a number";
    const task_info& info = *scopes_[scopes_[waits_[number].in].owner].info;
    const std::string name = info.name.empty() ? "" : " \"" + shown_name(info.name) + "\"";
    return "task " + std::to_string(info.id.number) + name;
  }
  [[nodiscard]] auto object(std::size_t index, std::size_t to) const -> std::string {
    const wait_node& wait = waits_[index];
    if (wait.is_lock) return "the lock of " + subject(to);
    if (wait.seen->joins != nullptr)
      return number_of(index) == number_of(to) ? "a task of its own" : "the end of " + subject(to);
    return "the future of " + subject(to);
  }

  std::vector<scope_node> scopes_;
  std::vector<wait_node> waits_;
  std::unordered_map<std::uint64_t, std::size_t> owners_;  // owners by the number of the task
  std::vector<std::size_t> freed_;
};

}  // namespace

auto find_deadlocks(std::span<const seen_home* const> homes) -> std::vector<seen_deadlock> {
  return wait_graph(homes).cycles();
}

}  // namespace braid::detail
