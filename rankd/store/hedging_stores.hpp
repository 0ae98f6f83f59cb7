// rankd/store/hedging_stores.hpp: the stores of a node whose reads are sent a second time.
#pragma once

#include <rankd/store/store.hpp>

#include <braid/base/clock.hpp>

#include <memory>
#include <span>
#include <vector>

namespace rankd {

/// Passes on the questions of a node, marked with a `read_hedge` of the given delay. `shared_reads` acts on the mark; a
/// store that answers at once ignores it. Threads and lifetime: as the stores behind it.
class hedging_stores {
 public:
  hedging_stores(std::span<store* const> behind, braid::duration after);
  ~hedging_stores();
  hedging_stores(const hedging_stores&) = delete;
  auto operator=(const hedging_stores&) -> hedging_stores& = delete;

  /// Returns the stores in the order of the stores behind them; null if there is no store behind.
  [[nodiscard]] auto list() const noexcept -> std::span<store* const> { return pointers_; }

 private:
  class client;

  std::vector<std::unique_ptr<client>> clients_;
  std::vector<store*> pointers_;
};

}  // namespace rankd
