// rankd/server/metered_store.hpp: a store that counts what is asked of it.
#pragma once

#include <rankd/server/time_histogram.hpp>
#include <rankd/store/store.hpp>

#include <braid/base/clock.hpp>
#include <braid/sync/atomic.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>

namespace rankd {

/// What became of the batches that were asked of an endpoint.
struct endpoint_metrics {
  part_histogram times;      ///< of batches that were answered, errors included
  std::uint64_t errors = 0;  ///< answers that were errors
  std::uint64_t late = 0;  ///< batches that no task waited for any more: their request had ended, or its time was over
  std::size_t in_flight = 0;

  void add(const endpoint_metrics& other) noexcept;
};

/// Passes on what it is asked. Each loop of a server has one of its own for each endpoint, so that loops share no
/// figures. Threads: as the store behind it; `metrics` from any. Lifetime: that of the store behind it.
/// Cost: two reads of a clock, a lock that no other request wants, and a frame, for each batch.
class metered_store final : public store {
 public:
  explicit metered_store(store& behind) noexcept : behind_(&behind) {}

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

  [[nodiscard]] auto metrics() const -> endpoint_metrics;

 private:
  class asking;
  template <typename T>
  static auto metered(metered_store& by, braid::task<store_result<T>> work) -> braid::task<store_result<T>>;

  store* behind_;
  mutable std::mutex mutex_;
  endpoint_metrics seen_;                    // under the mutex, without those in flight
  braid::atomic<std::size_t> in_flight_{0};  // written by the asking tasks
};

}  // namespace rankd
