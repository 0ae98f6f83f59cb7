// src/coro/home_list.cpp: implements the list of the process's home executors, which is split into parts, each with its
// own lock.
#include <braid/coro/detail/home_list.hpp>

#include <braid/base/detail/never_destroyed.hpp>

#include "../platform/system.hpp"
#include "dump_signal.hpp"
#include "home_part.hpp"

#include <braid/coro/detail/debug_layout.hpp>
#include <braid/coro/home.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

namespace braid::detail {
namespace {

struct all_parts {
  all_parts() noexcept {
    first_home_part = each.data();
    begin_dumps_by_signal();
  }

  std::array<home_part, home_part_count> each{};
};

/// Returns the parts of the list. The parts are never destroyed, because a home executor may exist until the process
/// exits.
auto parts() noexcept -> std::array<home_part, home_part_count>& {
  static never_destroyed<all_parts> made;
  return made.value.each;
}

constinit atomic<std::uint64_t> forks_seen_by_homes{
    0};  // the number of forks since the first process; written in the child of a fork

void count_fork_of_homes() noexcept { forks_seen_by_homes.store(forks_seen_by_homes.load(relaxed) + 1, relaxed); }

[[maybe_unused]] const int home_fork_handler = call_at_fork(nullptr, nullptr, &count_fork_of_homes);

auto find_part(const home& home) -> home_part& {
  constexpr unsigned bits_of_a_line = 6;
  const auto address = reinterpret_cast<std::uintptr_t>(&home) >> bits_of_a_line;
  return parts()[(address ^ address >> 5U) % home_part_count];
}

}  // namespace

/// Empties the list in the child of a fork. No thread of the child runs the parent's home executors. A post to such an
/// executor would write to a descriptor that may now be another file.
void home_list::forget_parent(home_part& part) noexcept {
  const std::uint64_t now = forks_seen_by_homes.load(relaxed);
  if (std::exchange(part.forks, now) == now) return;
  while (home* const gone = part.homes.pop_front()) gone->is_listed_.store(false, relaxed);
}

void home_list::add(home& home, scope& root) noexcept {
  home_part& in = find_part(home);
  const std::lock_guard guard(in.lock);
  forget_parent(in);
  in.homes.push_back(home);
  home.listed_root_ = &root;
  home.is_listed_.store(true, relaxed);
}

void home_list::remove(home& home) noexcept {
  if (!home.is_listed()) return;
  home_part& in = find_part(home);
  const std::lock_guard guard(in.lock);
  forget_parent(in);
  if (!home.is_listed()) return;
  static_cast<home_hook&>(home).unlink();
  home.is_listed_.store(false, relaxed);
}

void home_list::each(void (*ask)(home&, void*), void* context) {
  for (home_part& in : parts()) {
    const std::lock_guard guard(in.lock);
    forget_parent(in);
    in.homes.for_each([&](home& one) { ask(one, context); });
  }
}

}  // namespace braid::detail
