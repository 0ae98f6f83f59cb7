// sim/arena.hpp: declares the simulator's own allocator. It is separate from the program's allocator, which the program
// may replace.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace sim {

/// Allocates memory. Only the thread that holds the token may call it, because the lists of free blocks have no lock.
auto take_memory(std::size_t size) -> void*;
void give_memory(void* memory, std::size_t size);

/// A standard allocator for the simulator's containers.
template <typename T>
struct arena {
  using value_type = T;
  arena() = default;
  template <typename Other>
  arena(const arena<Other>& /*other*/) {}  // NOLINT(google-explicit-constructor): containers convert it
  auto allocate(std::size_t count) -> T* { return static_cast<T*>(take_memory(count * sizeof(T))); }
  void deallocate(T* memory, std::size_t count) { give_memory(memory, count * sizeof(T)); }
  friend auto operator==(const arena& /*left*/, const arena& /*right*/) -> bool { return true; }
};

template <typename T>
using list = std::vector<T, arena<T>>;
template <typename T>
using queue = std::deque<T, arena<T>>;
using bytes = list<char>;

template <typename T, typename... Arguments>
auto make(Arguments&&... arguments) -> std::shared_ptr<T> {
  return std::allocate_shared<T>(arena<T>(), std::forward<Arguments>(arguments)...);
}

}  // namespace sim
