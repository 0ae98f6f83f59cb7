// rankd/store/detail/per_loop.hpp: objects that belong to one event loop each, such as connections, while they live.
#pragma once

#include <braid/coro/home.hpp>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace rankd::detail {

/// A few objects, one for each loop. Threads: any; each object is used by its loop. Lifetime: outlives its entries.
template <typename T>
class per_loop {
 public:
  /// Returns the object of the loop; a default `T` if it has no object.
  [[nodiscard]] auto find(const braid::home& where) -> T {
    const std::scoped_lock lock(mutex_);
    const auto found = std::ranges::find(entries_, &where, [](const auto& each) { return each.first; });
    return found == entries_.end() ? T() : found->second;
  }

  /// Registers `there` for the loop while this entry lives.
  class entry {
   public:
    entry(per_loop& of, const braid::home& where, T there) : of_(&of), where_(&where) {
      const std::scoped_lock lock(of.mutex_);
      of.entries_.emplace_back(&where, std::move(there));
    }
    entry(const entry&) = delete;
    auto operator=(const entry&) -> entry& = delete;
    ~entry() {
      const std::scoped_lock lock(of_->mutex_);
      std::erase_if(of_->entries_, [this](const auto& each) { return each.first == where_; });
    }

   private:
    per_loop* of_;
    const braid::home* where_;
  };

 private:
  std::mutex mutex_;
  std::vector<std::pair<const braid::home*, T>> entries_;  // under the mutex
};

}  // namespace rankd::detail
