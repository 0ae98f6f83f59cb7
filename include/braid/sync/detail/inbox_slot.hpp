// braid/sync/detail/inbox_slot.hpp: one posted callable, in one cache line.
#pragma once

#include <braid/sync/atomic.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace braid::detail {

enum class inbox_action : std::uint8_t {
  run,   ///< call it, and end its life
  drop,  ///< end its life
  move,  ///< to another slot, and end its life here
};

/// Memory for a callable: 64 bytes, which an aligned array of them makes a cache line each. The producer that owns the
/// slot fills it while `act` is null; whoever has claimed it empties it and makes `act` null again.
struct inbox_slot {
  using act_fn = void (*)(inbox_slot& self, inbox_action what, inbox_slot* to);

  static constexpr std::size_t inline_size = 56;

  template <typename Fn>
  static constexpr bool fits =
      sizeof(Fn) <= inline_size && alignof(Fn) <= alignof(void*) && std::is_nothrow_move_constructible_v<Fn>;

  /// What `act` is while a consumer works on a callable that it has claimed.
  static void claimed(inbox_slot& /*self*/, inbox_action /*what*/, inbox_slot* /*to*/) {}

  /// What `act` will be.
  template <typename Fn>
  [[nodiscard]] auto fill(Fn&& fn) -> act_fn {
    using stored = std::decay_t<Fn>;
    if constexpr (fits<stored>) {
      std::construct_at(reinterpret_cast<stored*>(captures.data()), std::forward<Fn>(fn));
      return &act_on<stored>;
    } else {
      return fill([boxed = std::make_unique<stored>(std::forward<Fn>(fn))] { std::invoke(std::move(*boxed)); });
    }
  }

  atomic<act_fn> act{nullptr};  // null: free · claimed · else the callable is ready
  alignas(alignof(void*)) std::array<std::byte, inline_size> captures;

 private:
  template <typename Fn>
  static void act_on(inbox_slot& self, inbox_action what, inbox_slot* to) {
    struct guard {
      Fn& fn;
      ~guard() { std::destroy_at(&fn); }
    } const owner{*std::launder(reinterpret_cast<Fn*>(self.captures.data()))};
    if constexpr (requires { owner.fn.drop(); })
      if (what == inbox_action::drop) owner.fn.drop();
    if (what == inbox_action::run) std::invoke(std::move(owner.fn));
    if (what == inbox_action::move) std::construct_at(reinterpret_cast<Fn*>(to->captures.data()), std::move(owner.fn));
  }
};

}  // namespace braid::detail
