// rankd/server/metrics/metered_store.hpp: a store layer that counts its reads.
#pragma once

#include <rankd/server/metrics/histogram.hpp>
#include <rankd/store/store_layer.hpp>

#include <braid/base/clock.hpp>
#include <braid/sync/atomic.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>

namespace rankd {

/// The results of the batches that were sent to an endpoint.
struct endpoint_metrics {
  part_histogram times;      ///< of the batches that were answered, including errors
  std::uint64_t errors = 0;  ///< answers that were errors
  /// The number of batches that ended when no task waited for them any more, because the request had ended or its time
  /// was over.
  std::uint64_t late = 0;
  std::size_t in_flight = 0;

  void add(const endpoint_metrics& other) noexcept;
};

/// A store layer that passes on reads and counts them. Each loop of a server has one such layer for each endpoint, so
/// that loops share no counters. Threads: the same as for the store behind it; any thread may call `metrics`. Lifetime:
/// the store behind it outlives it.
/// Cost: two reads of a clock, an uncontended lock, and a coroutine frame, for each batch.
class metered_store final : public store_layer {
 public:
  explicit metered_store(store& behind) noexcept : store_layer(behind) {}

  auto ask(store_question question, braid::arena& arena) -> braid::task<store_result<store_answer>> override;
  /// Returns a pinned store whose reads this layer counts, too.
  [[nodiscard]] auto pinned() -> std::shared_ptr<store> override;

  [[nodiscard]] auto metrics() const -> endpoint_metrics;

 private:
  class asking;
  class pinned_store;
  static auto metered(metered_store& counter, braid::task<store_result<store_answer>> work)
      -> braid::task<store_result<store_answer>>;

  mutable std::mutex mutex_;
  endpoint_metrics seen_;                    // guarded by the mutex; does not include batches in flight
  braid::atomic<std::size_t> in_flight_{0};  // written by the tasks that ask questions
};

}  // namespace rankd
