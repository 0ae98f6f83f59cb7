// rankd/store/counted_store.hpp: a store whose hashes have the counters of events laid over them.
#pragma once

#include <rankd/store/counted_hashes.hpp>
#include <rankd/store/store.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace rankd {

/// Answers as the store behind it, but for hashes: a field that was counted hides the one of that name. Other kinds of
/// values are those of the store behind it, which also says whether a key holds one.
/// Threads: as the store behind it. Cost: without counters a relaxed load for each batch; with some a lock for each
/// key, or field of it.
class counted_store final : public store {
 public:
  counted_store(std::unique_ptr<store> behind, std::shared_ptr<const counted_hashes> counted) noexcept
      : behind_(std::move(behind)), counted_(std::move(counted)) {}

  auto hget(key_batch keys, std::string_view field, braid::arena& arena)
      -> braid::task<store_result<field_batch>> override;
  auto hgetall(key_batch keys, braid::arena& arena) -> braid::task<store_result<hash_batch>> override;
  auto lrange_ids(key_batch keys, std::uint32_t first, braid::arena& arena)
      -> braid::task<store_result<id_batch>> override;
  auto read(const named_read& what, braid::arena& arena) -> braid::task<store_result<item_batch>> override;
  auto score(const model_call& what, braid::arena& arena) -> braid::task<store_result<score_batch>> override;
  [[nodiscard]] auto explain(const store_error& why) const -> store_failure override { return behind_->explain(why); }
  [[nodiscard]] auto answers_at_once() const noexcept -> bool override { return behind_->answers_at_once(); }
  auto scrub(std::uint64_t max_bytes) -> scrub_step override { return behind_->scrub(max_bytes); }
  [[nodiscard]] auto damage() const -> std::string override { return behind_->damage(); }

 private:
  auto field_over(key_batch keys, std::string_view field, braid::arena& arena)
      -> braid::task<store_result<field_batch>>;
  auto hashes_over(key_batch keys, braid::arena& arena) -> braid::task<store_result<hash_batch>>;
  auto items_over(const named_read& what, braid::arena& arena) -> braid::task<store_result<item_batch>>;

  std::unique_ptr<store> behind_;
  std::shared_ptr<const counted_hashes> counted_;
};

}  // namespace rankd
