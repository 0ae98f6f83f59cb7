// src/coro/home_list.cpp: the parts of the list of homes, each with a lock of its own.
#include <braid/coro/detail/home_list.hpp>

#include "dump_signal.hpp"

#include <braid/coro/home.hpp>
#include <braid/sync/detail/fork_safe_mutex.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace braid::detail {
namespace {

/// Tasks on a pool have homes of their own, which enter and leave on all workers at once.
constexpr std::size_t part_count = 32;

struct alignas(64) part {
  fork_safe_mutex lock;
  intrusive_list<home, home_hook> homes;  // under the lock
};

/// Never destroyed: homes may live until the end of the process.
union all_parts {
  all_parts() noexcept : each() { begin_dumps_by_signal(); }
  ~all_parts() {}

  std::array<part, part_count> each;
};

auto parts() noexcept -> std::array<part, part_count>& {
  static all_parts made;
  return made.each;
}

auto part_of(const home& one) -> part& {
  constexpr unsigned bits_of_a_line = 6;
  const auto address = reinterpret_cast<std::uintptr_t>(&one) >> bits_of_a_line;
  return parts()[(address ^ address >> 5U) % part_count];
}

}  // namespace

void home_list::add(home& one) noexcept {
  part& in = part_of(one);
  const std::lock_guard guard(in.lock);
  in.homes.push_back(one);
  one.is_listed_.store(true, relaxed);
}

void home_list::remove(home& one) noexcept {
  if (!one.is_listed()) return;
  part& in = part_of(one);
  const std::lock_guard guard(in.lock);
  static_cast<home_hook&>(one).unlink();
  one.is_listed_.store(false, relaxed);
}

void home_list::each(void (*ask)(home&, void*), void* context) {
  for (part& in : parts()) {
    const std::lock_guard guard(in.lock);
    in.homes.for_each([&](home& one) { ask(one, context); });
  }
}

}  // namespace braid::detail
