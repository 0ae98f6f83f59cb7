// braid/base/detail/never_destroyed.hpp: a static object without a destructor.
#pragma once

namespace braid::detail {

/// A wrapper for a static object that is never destroyed, because threads may use it after static objects are
/// destroyed. The wrapper can be `constinit` if a T can.
template <typename T>
union never_destroyed {
  constexpr never_destroyed() noexcept : value() {}
  never_destroyed(const never_destroyed&) = delete;
  auto operator=(const never_destroyed&) -> never_destroyed& = delete;
  ~never_destroyed() {}

  T value;
};

}  // namespace braid::detail
