// rankd/store/hedging_stores.hpp: stores for a node whose slow reads are sent a second time.
#pragma once

#include <rankd/store/store.hpp>

#include <braid/base/clock.hpp>

#include <memory>
#include <span>
#include <vector>

namespace rankd {

/// Store layers that mark the questions of a node with a `read_hedge` of the given delay. `shared_reads` sends a marked
/// read a second time after the delay. A store that answers at once ignores the mark. Threads and lifetime: the same as
/// for the stores behind them.
class hedging_stores {
 public:
  hedging_stores(std::span<store* const> behind, braid::duration after);
  ~hedging_stores();
  hedging_stores(const hedging_stores&) = delete;
  auto operator=(const hedging_stores&) -> hedging_stores& = delete;

  /// Returns a layer for each store, in the order of the stores. The layer of a null store is null.
  [[nodiscard]] auto list() const noexcept -> std::span<store* const> { return pointers_; }

 private:
  class client;

  std::vector<std::unique_ptr<client>> clients_;
  std::vector<store*> pointers_;
};

}  // namespace rankd
