// rankd/store/generation_pins.hpp: pins the stores of requests, so that a request reads one generation of each store.
#pragma once

#include <rankd/store/store.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace rankd {

/// A list of stores that are pinned to their current generations, and a number that changes whenever a generation
/// changes.
struct pinned_stores {
  store_list list;
  std::uint64_t version = 0;
};

/// Pins the generations of stores. All requests that begin before a store switches share a list, so a request costs one
/// atomic load for each store with generations.
/// Threads: a single thread. Lifetime: the stores must outlive the lists.
class generation_pins {
 public:
  explicit generation_pins(std::vector<store*> stores);

  /// Returns the stores for a request that begins now.
  [[nodiscard]] auto now() -> const pinned_stores&;

 private:
  [[nodiscard]] auto version() const noexcept -> std::uint64_t;
  void pin();

  store_list stores_;
  std::vector<const followed_store*> followed_;
  pinned_stores now_;
};

}  // namespace rankd
