// rankd/store/counted_store.hpp: a store whose values are overlaid with those that events have made.
#pragma once

#include <rankd/store/counted_values.hpp>
#include <rankd/store/store_layer.hpp>

#include <memory>
#include <utility>

namespace rankd {

/// Answers as the store behind it, except for what events have made: their field of a hash hides the loaded field of
/// that name, and their list, set or sorted set hides what was loaded under its key: a question about another kind of
/// value fails with store_errc::wrong_type, as in Redis. A hash does not hide another kind of value that was loaded.
/// Threads: as the store behind it. Cost: without such values a relaxed load for each batch; with some a lock for each
/// key, or field of it.
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
