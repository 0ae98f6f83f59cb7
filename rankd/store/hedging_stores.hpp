// rankd/store/hedging_stores.hpp: the stores of a node whose reads are asked a second time.
#pragma once

#include <rankd/store/store.hpp>

#include <braid/base/clock.hpp>

#include <memory>
#include <span>
#include <vector>

namespace rankd {

/// Passes on what a node asks, marked as a `read_hedge` of so long. `shared_reads` does what the mark says; a store
/// that answers at once does not look at it. Threads and lifetime: those of the stores behind it.
class hedging_stores {
 public:
  hedging_stores(std::span<store* const> behind, braid::duration after);
  ~hedging_stores();
  hedging_stores(const hedging_stores&) = delete;
  auto operator=(const hedging_stores&) -> hedging_stores& = delete;

  /// In the order of those behind; null where there is none.
  [[nodiscard]] auto list() const noexcept -> std::span<store* const> { return pointers_; }

 private:
  class client;

  std::vector<std::unique_ptr<client>> clients_;
  std::vector<store*> pointers_;
};

}  // namespace rankd
