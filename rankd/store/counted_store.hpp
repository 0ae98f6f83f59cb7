// rankd/store/counted_store.hpp: a store whose values are overlaid with values that events have written.
#pragma once

#include <rankd/store/counted_values.hpp>
#include <rankd/store/store_layer.hpp>

#include <memory>
#include <utility>

namespace rankd {

/// A layer that overlays the values of a store with values that events have written. If events have written a field of
/// a hash, this field hides the loaded field with the same name. If events have written a list, set or sorted set, it
/// hides the loaded value of its key. A question about another kind of value then fails with store_errc::wrong_type, as
/// in Redis. A hash does not hide a loaded value of another kind. Threads: the same as for the inner store. Cost: if
/// events have written no values, a relaxed load for each batch. Otherwise, a lock for each key, or for each field of a
/// hash.
class counted_store final : public store_layer {
 public:
  counted_store(std::shared_ptr<store> behind, std::shared_ptr<const counted_values> counted) noexcept
      : store_layer(*behind), owned_(std::move(behind)), counted_(std::move(counted)) {}

  auto ask(store_question question, braid::arena& arena) -> braid::task<store_result<store_answer>> override;
  [[nodiscard]] auto pinned() -> std::shared_ptr<store> override;

 private:
  auto ask_lists(list_read question, braid::arena& arena) -> braid::task<store_result<store_answer>>;
  auto ask_named(named_read question, braid::arena& arena) -> braid::task<store_result<store_answer>>;
  template <typename Question>
  auto ask_hashes(Question question, braid::arena& arena) -> braid::task<store_result<store_answer>>;
  [[nodiscard]] auto over(const field_read& question, field_batch under, braid::arena& arena) const
      -> store_result<store_answer>;
  [[nodiscard]] auto over(const hash_read& question, hash_batch under, braid::arena& arena) const
      -> store_result<store_answer>;
  [[nodiscard]] auto over(const named_read& question, item_batch under, braid::arena& arena) const
      -> store_result<store_answer>;

  std::shared_ptr<store> owned_;
  std::shared_ptr<const counted_values> counted_;
};

}  // namespace rankd
