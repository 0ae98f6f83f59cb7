// rankd/store/counted_store.hpp: a store whose hashes are overlaid with counters of events.
#pragma once

#include <rankd/store/counted_hashes.hpp>
#include <rankd/store/store_layer.hpp>

#include <memory>
#include <utility>

namespace rankd {

/// A store layer that overlays hashes with counters: a counter hides the loaded field of the same name. Values of other
/// kinds come from the store behind it, which also decides whether a key holds a value of another kind.
/// Threads: as the store behind it. Cost: without counters, a relaxed load for each batch; with counters, a lock for
/// each key or field.
class counted_store final : public store_layer {
 public:
  counted_store(std::shared_ptr<store> behind, std::shared_ptr<const counted_hashes> counted) noexcept
      : store_layer(*behind), owned_(std::move(behind)), counted_(std::move(counted)) {}

  auto ask(store_question question, braid::arena& arena) -> braid::task<store_result<store_answer>> override;
  [[nodiscard]] auto pinned() -> std::shared_ptr<store> override;

 private:
  template <typename Question>
  auto ask_over(Question question, braid::arena& arena) -> braid::task<store_result<store_answer>>;
  [[nodiscard]] auto over(const field_read& question, field_batch under, braid::arena& arena) const -> field_batch;
  [[nodiscard]] auto over(const hash_read& question, hash_batch under, braid::arena& arena) const -> hash_batch;
  [[nodiscard]] auto over(const named_read& question, item_batch under, braid::arena& arena) const -> item_batch;

  std::shared_ptr<store> owned_;
  std::shared_ptr<const counted_hashes> counted_;
};

}  // namespace rankd
