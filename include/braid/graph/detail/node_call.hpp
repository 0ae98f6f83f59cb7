// braid/graph/detail/node_call.hpp: a type-erased callable that takes three machine words and is called without being
// copied.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace braid::detail {

/// The storage for a callable that cannot be stored in a `node_call`, because it is too large or not trivially
/// copyable.
using boxed_call = std::unique_ptr<void, void (*)(void*)>;

/// A type-erased callable that is copied as bytes. A small, trivially copyable callable is stored in this object. Any
/// other callable is stored in a box that must outlive this object.
struct node_call {
  static constexpr std::size_t room = 2 * sizeof(void*);

  using call_fn = void (*)(void* storage);

  call_fn call;
  alignas(void*) std::array<std::byte, room> storage{};
};

template <typename Fn>
inline constexpr bool fits_in_node =
    sizeof(Fn) <= node_call::room && alignof(Fn) <= alignof(void*) && std::is_trivially_copyable_v<Fn>;

template <typename Fn>
[[nodiscard]] auto call_inside(Fn&& fn) -> node_call {
  using callable = std::decay_t<Fn>;
  node_call made{.call = [](void* address) { static_cast<void>(std::invoke(*static_cast<callable*>(address))); }};
  std::construct_at(reinterpret_cast<callable*>(made.storage.data()), std::forward<Fn>(fn));
  return made;
}

template <typename Fn>
[[nodiscard]] auto make_box(Fn&& fn) -> boxed_call {
  using callable = std::decay_t<Fn>;
  return {new callable(std::forward<Fn>(fn)), [](void* address) { delete static_cast<callable*>(address); }};
}

/// Calls the callable in the box, whose type is `Fn`.
template <typename Fn>
[[nodiscard]] auto call_of_box(const boxed_call& box) -> node_call {
  node_call made{.call = [](void* address) { static_cast<void>(std::invoke(**static_cast<Fn**>(address))); }};
  std::construct_at(reinterpret_cast<Fn**>(made.storage.data()), static_cast<Fn*>(box.get()));
  return made;
}

}  // namespace braid::detail
