// rankd/store/shared_reads.hpp: shares equal reads of one request, and equal reads that run at the same time, so that
// each is sent once (single flight).
#pragma once

#include <rankd/store/generation_pins.hpp>
#include <rankd/store/read_hedge.hpp>
#include <rankd/store/record_cache.hpp>
#include <rankd/store/store.hpp>

#include <braid/base/arena.hpp>
#include <braid/base/clock.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/detail/job_allocator.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rankd {

/// Counts of questions to stores, and of questions that needed no read of their own.
struct read_counts {
  std::uint64_t asked = 0;
  std::uint64_t shared = 0;
  std::uint64_t hedged = 0;    ///< reads that were sent a second time
  std::uint64_t won = 0;       ///< of these, the reads for which the second answer came first
  std::uint64_t unhedged = 0;  ///< reads that were due to be sent a second time, but the `hedge_budget` was used up
  std::uint64_t kept = 0;      ///< keys whose values were in a `record_cache`
  std::uint64_t missed = 0;    ///< keys whose values were not in it
  braid::duration oldest{};    ///< the age of the oldest value from the cache; only for one request

  void add(const read_counts& other) noexcept {
    asked += other.asked;
    shared += other.shared;
    hedged += other.hedged;
    won += other.won;
    unhedged += other.unhedged;
    kept += other.kept;
    missed += other.missed;
    oldest = std::max(oldest, other.oldest);
  }
};

class request_reads;

/// The stores of one loop, for requests that share their reads. If an equal question of another request is already in
/// flight, the question is not sent again. All waiting tasks get the same answer, or the same failure. Stopping one
/// task does not affect the other tasks. The read is cancelled when no task waits for it any more. A read with a
/// `read_hedge` is sent a second time if it has no answer after the delay. This happens at most once, even if several
/// requests ask for it. The first answer wins, and the other attempt is stopped. If both fail, the read fails as the
/// first attempt did. Questions to stores that answer at once are not shared. With `record_cache_options`, values from
/// the other stores are cached. Then a read requests only those keys that are neither cached nor in flight for another
/// request. Threads: the loop's thread; `counts` and `records` from any thread. Lifetime: the object must outlive the
/// tasks of the loop, and the stores must outlive the object. Cost: for each read, a copy of the question, a copy of
/// the answer, and a task, whose memory is from the free lists of the thread.
class shared_reads {
 public:
  explicit shared_reads(std::vector<store*> behind, const record_cache_options& kept = {});
  ~shared_reads();
  shared_reads(const shared_reads&) = delete;
  auto operator=(const shared_reads&) -> shared_reads& = delete;

  /// Returns whether reads of any of these stores are worth sharing.
  [[nodiscard]] static auto suits(const std::vector<store*>& behind) noexcept -> bool;

  /// Returns the stores for one request. `now` contains the same stores, pinned to their current generations.
  [[nodiscard]] auto for_request(store_list now) -> std::shared_ptr<request_reads>;

  /// Returns the counts of the endpoint with this index. Threads: any.
  [[nodiscard]] auto counts(std::size_t endpoint) const noexcept -> read_counts;
  /// Returns the counts of the cache of an endpoint. They are zero if there is no cache. Threads: any.
  [[nodiscard]] auto records(std::size_t endpoint) const noexcept -> record_cache_counts;

 private:
  friend class request_reads;
  struct flight;
  struct waiting;
  struct endpoint_counts {
    braid::atomic<std::uint64_t> asked{0};     // written by the loop
    braid::atomic<std::uint64_t> shared{0};    // written by the loop
    braid::atomic<std::uint64_t> hedged{0};    // written by the loop
    braid::atomic<std::uint64_t> won{0};       // written by the loop
    braid::atomic<std::uint64_t> unhedged{0};  // written by the loop
    hedge_budget budget;                       // the budget of the loop
  };

  /// A question as bytes, with its hash, which is computed once.
  struct question {
    std::string_view text;
    std::size_t hash = 0;
    auto operator==(const question& other) const noexcept -> bool { return text == other.text; }
  };
  struct hash_of {
    auto operator()(const question& question) const noexcept -> std::size_t { return question.hash; }
  };

  auto find(const question& asked) const -> std::shared_ptr<flight>;
  auto add(const question& asked) -> std::shared_ptr<flight>;
  void land(flight& one);
  void give_up(flight& one);
  static auto fly(shared_reads& owner, std::shared_ptr<flight> one, braid::task<store_result<store_answer>> work)
      -> braid::task<void>;
  static auto ask_again(shared_reads& owner, std::shared_ptr<flight> one, endpoint_counts& counts,
                        braid::task<store_result<store_answer>> work) -> braid::task<void>;
  static auto fly_again(shared_reads& owner, std::shared_ptr<flight> one, endpoint_counts& counts,
                        braid::task<store_result<store_answer>> work) -> braid::task<void>;
  template <typename Again>
  static auto wait_or_repeat(flight& one, braid::duration after, const Again& again) -> braid::task<void>;
  static auto make_answer(const flight& one, braid::arena& memory) -> store_result<store_answer>;

  /// The cache of an endpoint. Before the first question is sent to the store, the store is asked to report changes.
  struct kept_records {
    std::unique_ptr<record_cache> cache;  // null: nothing is cached
    bool has_asked = false;               // whether the store was asked to report changes
  };

  std::vector<store*> inner_;
  std::vector<endpoint_counts> counts_;
  std::vector<kept_records> records_;  // one for each endpoint
  std::unordered_map<question, std::shared_ptr<flight>, hash_of, std::equal_to<>,
                     braid::detail::job_allocator<std::pair<const question, std::shared_ptr<flight>>>>
      under_way_;
  std::string question_;  // its memory is reused for the next question
  std::string scratch_;
};

/// The stores of one request. If the request repeats an earlier question, it gets the earlier answer. If the earlier
/// question failed, it is asked again. Threads: the loop's thread. Lifetime: `list` keeps the object alive. The tasks
/// of the request must end before the `shared_reads` is destroyed.
class request_reads {
 public:
  request_reads(shared_reads& from, store_list now);
  ~request_reads();
  request_reads(const request_reads&) = delete;
  auto operator=(const request_reads&) -> request_reads& = delete;

  [[nodiscard]] static auto list(const std::shared_ptr<request_reads>& reads) -> store_list {
    return {reads, &reads->pointers_};
  }
  [[nodiscard]] auto counts() const noexcept -> read_counts { return counts_; }

 private:
  class client;
  struct joined;

  auto join(std::size_t endpoint, const store_question& question) -> joined;
  auto known(const shared_reads::question& asked) -> std::shared_ptr<shared_reads::flight>;
  void count_asked(std::size_t endpoint) noexcept;
  void note_lookup(std::size_t endpoint, const record_lookup& found) noexcept;
  auto may_ask_again(std::size_t endpoint) -> bool;

  shared_reads* reads_;
  store_list inner_;
  read_counts counts_;
  /// The earlier questions with their hashes, unordered. A request has few reads, so a linear search is fast.
  std::vector<std::pair<std::size_t, std::shared_ptr<shared_reads::flight>>,
              braid::detail::job_allocator<std::pair<std::size_t, std::shared_ptr<shared_reads::flight>>>>
      known_;
  braid::arena memory_;         // the memory of the clients
  std::span<client*> clients_;  // for stores that are not asked directly
  std::vector<store*> pointers_;
};

/// The stores that one request uses.
struct request_stores {
  request_stores() = default;
  request_stores(store_list given) noexcept : list(std::move(given)) {}  // NOLINT(*-explicit-*): it is what it holds
  explicit request_stores(std::shared_ptr<request_reads> given)
      : list(request_reads::list(given)), reads(std::move(given)) {}

  store_list list;                             ///< null: the stores of the engine are used
  std::shared_ptr<const request_reads> reads;  ///< counts the questions to these stores; null if they are not counted
  pinned_stores from = {};                     ///< the engine's stores, for parts that other requests share
};

}  // namespace rankd
