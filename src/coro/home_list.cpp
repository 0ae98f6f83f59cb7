// src/coro/home_list.cpp: the parts of the list of homes, each with a lock of its own.
#include <braid/coro/detail/home_list.hpp>

#include "dump_signal.hpp"
#include "home_part.hpp"

#include <braid/coro/detail/debug_layout.hpp>
#include <braid/coro/home.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace braid::detail {
namespace {

/// Never destroyed: homes may live until the end of the process.
union all_parts {
  all_parts() noexcept : each() {
    first_home_part = each.data();
    begin_dumps_by_signal();
  }
  ~all_parts() {}

  std::array<home_part, home_part_count> each;
};

auto parts() noexcept -> std::array<home_part, home_part_count>& {
  static all_parts made;
  return made.each;
}

auto part_of(const home& one) -> home_part& {
  constexpr unsigned bits_of_a_line = 6;
  const auto address = reinterpret_cast<std::uintptr_t>(&one) >> bits_of_a_line;
  return parts()[(address ^ address >> 5U) % home_part_count];
}

}  // namespace

void home_list::add(home& one) noexcept {
  home_part& in = part_of(one);
  const std::lock_guard guard(in.lock);
  in.homes.push_back(one);
  one.listed_root_ = &one.root();
  one.is_listed_.store(true, relaxed);
}

void home_list::remove(home& one) noexcept {
  if (!one.is_listed()) return;
  home_part& in = part_of(one);
  const std::lock_guard guard(in.lock);
  static_cast<home_hook&>(one).unlink();
  one.is_listed_.store(false, relaxed);
}

void home_list::each(void (*ask)(home&, void*), void* context) {
  for (home_part& in : parts()) {
    const std::lock_guard guard(in.lock);
    in.homes.for_each([&](home& one) { ask(one, context); });
  }
}

}  // namespace braid::detail
