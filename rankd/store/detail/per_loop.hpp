// rankd/store/detail/per_loop.hpp: a registry of objects, such as connections, that each belong to one event loop.
#pragma once

#include <braid/coro/home.hpp>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace rankd::detail {

/// A few objects, at most one for each loop. Threads: any thread may use the registry, but each object is used only by
/// its loop. Lifetime: the registry must outlive its entries.
template <typename T>
class per_loop {
 public:
  /// Returns the object of a loop, or a default `T` if the loop has no object.
  [[nodiscard]] auto find(const braid::home& home) -> T {
    const std::scoped_lock lock(mutex_);
    const auto found = std::ranges::find(entries_, &home, [](const auto& each) { return each.first; });
    return found == entries_.end() ? T() : found->second;
  }

  /// Registers an object for a loop as long as this entry exists.
  class entry {
   public:
    entry(per_loop& registry, const braid::home& home, T there) : owner_(&registry), home_(&home) {
      const std::scoped_lock lock(registry.mutex_);
      registry.entries_.emplace_back(&home, std::move(there));
    }
    entry(const entry&) = delete;
    auto operator=(const entry&) -> entry& = delete;
    ~entry() {
      const std::scoped_lock lock(owner_->mutex_);
      std::erase_if(owner_->entries_, [this](const auto& each) { return each.first == home_; });
    }

   private:
    per_loop* owner_;
    const braid::home* home_;
  };

 private:
  std::mutex mutex_;
  std::vector<std::pair<const braid::home*, T>> entries_;  // under the mutex
};

}  // namespace rankd::detail
