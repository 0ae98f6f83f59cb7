// braid/sync/detail/inbox.hpp: a lock-free queue through which other threads post work to one worker.
#pragma once

#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/asymmetric_barrier.hpp>
#include <braid/sync/detail/biased_section.hpp>
#include <braid/sync/detail/inbox_producer.hpp>
#include <braid/sync/detail/let_others_run.hpp>
#include <braid/sync/detail/producer_table.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <type_traits>
#include <utility>

namespace braid::detail {

/// The outcome of a post.
enum class post_outcome : std::uint8_t {
  posted,  ///< it will be run, or dropped, once
  full,    ///< refused, by `try_post` only; the callable was not touched
  closed,  ///< refused; the callable was not touched
};

/// A callable that can be posted to an inbox: it can be called as an rvalue, without arguments.
template <typename Fn>
concept inbox_callable = std::move_constructible<std::decay_t<Fn>> && std::invocable<std::decay_t<Fn>&&>;

/// The remote (injection) queue of a worker: lock-free, many producers, one consumer, stealable. Any thread may post
/// callables. The callables are run by the owner, or by a thief that has moved half of the callables into its own
/// inbox. Each posting thread has its own producer, which is a chain of segments. Callables with up to 56 bytes of
/// captures are stored in the segments one after another; larger ones are allocated separately. If there are more
/// threads than producers, the remaining threads share one producer under a lock. Callables of one thread are consumed
/// in the order in which they were posted.
///
/// A posting thread checks for sleepers after it has posted. A worker that goes to sleep announces this, calls the
/// barrier's `heavy`, and then checks that the inbox is empty. At least one of the two threads notices the other, as in
/// the Dekker pattern.
/// Threads: any thread may post and may call `close`, `empty` and `size`; only the owner may call the other functions.
/// Cost: memory is allocated in blocks of `SegmentSize` bytes, of which up to 64 are kept for each producer. Lifetime:
/// when the inbox is destroyed, no thread may be inside a call or hold a claimed callable. Callables that are still in
/// the inbox are dropped.
/// Protocol: docs/design/inbox.md
template <typename Lock = std::mutex, std::size_t Producers = 16, std::size_t SegmentSize = 4096>
class inbox {
 public:
  using producer = detail::inbox_producer<SegmentSize>;

  static constexpr auto unbounded = static_cast<std::size_t>(-1);

  /// Constructs an inbox. A worker calls `barrier.heavy()` before it sleeps. The inboxes of a pool share the barrier,
  /// which must outlive them. `try_post` refuses a producer that has `capacity` waiting callables; other posts are not
  /// limited.
  explicit inbox(asymmetric_barrier& barrier, std::size_t capacity = unbounded) noexcept
      : barrier_(barrier), capacity_(capacity), consumers_(barrier) {}
  inbox(const inbox&) = delete;
  auto operator=(const inbox&) -> inbox& = delete;
  ~inbox();

  // --- Functions for producers. ---

  /// Posts a callable. When this returns `posted`, the callable is visible to every consumer that polls. Blocks: never,
  /// except that threads without their own producer wait for each other. Errors: std::bad_alloc, and exceptions from
  /// copying or moving `fn`. After an error, nothing was posted. The copy or move of `fn` must not post to this inbox
  /// or close it. Cost: no locked operation, and no allocation while consumers keep up.
  template <inbox_callable Fn>
  auto post(Fn&& fn) -> post_outcome {
    return post_from(my_producer(), std::forward<Fn>(fn));
  }

  /// Posts as `post` does, but refuses the callable if the number of waiting callables of this thread has reached the
  /// capacity.
  template <inbox_callable Fn>
  auto try_post(Fn&& fn) -> post_outcome {
    return try_post_from(my_producer(), std::forward<Fn>(fn));
  }

  /// Returns a producer for a thread that manages its producers itself, or null if all producers are in use. The thread
  /// must return the producer.
  [[nodiscard]] auto open_producer() -> std::shared_ptr<producer>;

  /// Posts as `post` does, through the given producer, which must belong to the calling thread. Null means the shared
  /// producer.
  template <inbox_callable Fn>
  auto post_from(producer* mine, Fn&& fn) -> post_outcome {
    return post_by(mine, when_full::post, std::forward<Fn>(fn));
  }

  template <inbox_callable Fn>
  auto try_post_from(producer* mine, Fn&& fn) -> post_outcome {
    return post_by(mine, when_full::refuse, std::forward<Fn>(fn));
  }

  // --- Functions for the owner. ---

  /// A callable that the owner has claimed. `run` may be called once. If `run` was not called, the destructor drops the
  /// callable. To drop it, the destructor calls the callable's member `drop() noexcept`, if there is one, and then
  /// destroys the callable. Threads: the owner of the inbox.
  class work;

  /// Claims the next callable. The result converts to false if the inbox has no callable.
  [[nodiscard]] auto claim() noexcept -> work {
    return work(consumers_.own([this] { return next(); }));
  }

  /// Claims the next callable among those that were visible at the owner's last poll. This call does not access the
  /// cache lines that producers write.
  [[nodiscard]] auto claim_seen() noexcept -> work {
    return work(consumers_.own([this] { return next_seen(); }));
  }

  /// Runs the next callable. Returns false if the inbox is empty.
  /// Errors: rethrows exceptions of the callable. The captures of the callable are destroyed in any case.
  auto run_one() -> bool {
    work next = claim();
    if (!next) return false;
    next.run();
    return true;
  }

  /// Destroys the next callable without running it. Returns false if the inbox is empty.
  auto drop_one() noexcept -> bool {
    const work dropped = claim();
    return static_cast<bool>(dropped);
  }

  /// Moves half of the callables that one producer has posted to `other`, rounded up and at most 128, to this inbox.
  /// Returns the number of moved callables. They are visible in this inbox before they disappear from `other`. Works
  /// even if this inbox is closed. This call wakes no worker. If the thief has moved several callables, or has left
  /// some in `other`, it must wake another thief itself. Cost: a heavy barrier.
  auto steal_half_from(inbox& other) -> std::size_t {
    producer* const mine = my_producer();
    return mine == nullptr ? 0 : steal_half_from(other, *mine);
  }

  /// Moves callables as `steal_half_from(other)` does. The owner passes its own producer for this inbox as `mine`.
  auto steal_half_from(inbox& other, producer& mine) -> std::size_t;

  // --- Functions for any thread. ---

  /// Drops all callables in the inbox without running them. The owner and thieves may take some of them at the same
  /// time.
  void drop_all() noexcept;

  /// Refuses every later post. When this returns, all accepted callables are visible to consumers.
  void close() noexcept;

  /// Returns whether the inbox is empty. Returns false if the inbox contains a callable whose post happens before this
  /// call. If it returns true because another thread has taken a callable, everything that the other thread wrote
  /// before is visible to the caller.
  [[nodiscard]] auto empty() const noexcept -> bool;

  /// Returns the number of callables. The number is approximate, because other threads may post and take callables at
  /// the same time.
  [[nodiscard]] auto size() const noexcept -> std::size_t;

 private:
  enum class when_full : std::uint8_t { post, refuse };
  using claimed = typename producer::claimed;

  static constexpr std::size_t max_consecutive = 32;  // callables of one producer, while others wait

  auto my_producer() -> producer* {
    const detail::known_producer found = detail::find_producer(number_);
    return found.known ? static_cast<producer*>(found.producer) : my_first_producer();
  }

  auto my_first_producer() -> producer*;
  auto add_producer() -> std::shared_ptr<producer>;
  template <typename Fn>
  auto post_by(producer* mine, when_full then, Fn&& fn) -> post_outcome;
  template <typename Fn>
  auto post_through(producer& mine, when_full then, Fn&& fn) -> post_outcome;
  template <typename Fn>
  auto post_shared(when_full then, Fn&& fn) -> post_outcome;
  auto next() noexcept -> claimed;
  auto next_seen() noexcept -> claimed;
  auto begin_slice() noexcept -> claimed;
  auto move_half_to(typename producer::posting& there) noexcept -> std::size_t;

  const std::uint64_t number_ = detail::next_inbox_number();
  asymmetric_barrier& barrier_;
  const std::size_t capacity_;
  atomic<std::uint32_t> closed_{0};                                 // 1 from the start of the first `close`
  atomic<std::size_t> count_{0};                                    // the number of producers; grows under registry_
  std::array<std::shared_ptr<producer>, Producers + 1> producers_;  // each is written once, before count_ includes it
  std::shared_ptr<producer> shared_;                                // of threads without their own; under shared_lock_
  Lock registry_;
  Lock shared_lock_;
  detail::biased_section<Lock> consumers_;  // the section in which callables are claimed
  producer* current_ = nullptr;             // the producer whose callables are taken next; inside consumers_
  std::size_t index_ = 0;                   // the index of that producer
};

template <typename Lock, std::size_t Producers, std::size_t SegmentSize>
class inbox<Lock, Producers, SegmentSize>::work {
 public:
  work() noexcept = default;
  work(work&& other) noexcept : claimed_(std::exchange(other.claimed_, {})) {}
  auto operator=(work&& other) noexcept -> work& {
    const work old(std::move(*this));
    claimed_ = std::exchange(other.claimed_, {});
    return *this;
  }
  ~work() {
    if (claimed_.of == nullptr) return;
    if (claimed_.record != nullptr) claimed_.record->act(detail::inbox_action::drop);
    producer::done(*claimed_.of);
  }

  /// Returns whether this object holds a callable that has not run.
  [[nodiscard]] explicit operator bool() const noexcept { return claimed_.record != nullptr; }

  /// Runs the callable. Requires that this object holds a callable. Errors: rethrows exceptions of the callable. The
  /// captures of the callable are destroyed in any case.
  void run() {
    BRAID_ASSERT(claimed_.record != nullptr, "work is run once");
    std::exchange(claimed_.record, nullptr)->act(detail::inbox_action::run);
  }

 private:
  friend inbox;
  explicit work(claimed from) noexcept : claimed_(from) {}

  claimed claimed_;
};

template <typename Lock, std::size_t Producers, std::size_t SegmentSize>
inbox<Lock, Producers, SegmentSize>::~inbox() {
  while (drop_one()) {}
  const std::size_t count = count_.load(relaxed);
  for (std::size_t i = 0; i < count; ++i) producers_[i]->free_memory();  // a thread may keep its producer for long
}

template <typename Lock, std::size_t Producers, std::size_t SegmentSize>
template <typename Fn>
auto inbox<Lock, Producers, SegmentSize>::post_by(producer* mine, when_full then, Fn&& fn) -> post_outcome {
  if (mine == nullptr) [[unlikely]]
    return post_shared(then, std::forward<Fn>(fn));
  return post_through(*mine, then, std::forward<Fn>(fn));
}

template <typename Lock, std::size_t Producers, std::size_t SegmentSize>
template <typename Fn>
auto inbox<Lock, Producers, SegmentSize>::post_through(producer& mine, when_full then, Fn&& fn) -> post_outcome {
  constexpr std::size_t size = detail::inbox_record::size_of<Fn>;
  {
    typename producer::posting here(mine);
    barrier_.light();  // either the close sees that a thread is posting, or the next line sees the close
    if (closed_.load(relaxed) != 0) return post_outcome::closed;
    if (then == when_full::refuse && here.is_full(capacity_)) return post_outcome::full;
    std::byte* const place = here.place(size);
    if (place == nullptr) throw std::bad_alloc();
    detail::inbox_record::make(place, std::forward<Fn>(fn));
    here.count(size);
  }
  barrier_.light();  // either the worker sees the callable before it sleeps, or the caller sees the sleeping worker
  return post_outcome::posted;
}

template <typename Lock, std::size_t Producers, std::size_t SegmentSize>
template <typename Fn>
[[gnu::noinline]] auto inbox<Lock, Producers, SegmentSize>::post_shared(when_full then, Fn&& fn) -> post_outcome {
  const std::lock_guard lock(shared_lock_);
  if (shared_ == nullptr) {
    const std::lock_guard registering(registry_);
    shared_ = add_producer();
  }
  return post_through(*shared_, then, std::forward<Fn>(fn));
}

template <typename Lock, std::size_t Producers, std::size_t SegmentSize>
void inbox<Lock, Producers, SegmentSize>::close() noexcept {
  closed_.store(1, relaxed);
  barrier_.heavy();
  const std::size_t count = count_.load(acquire);  // edge inbox.producer: observe the producers in the table
  for (std::size_t i = 0; i < count; ++i)
    while (producers_[i]->is_posting()) detail::let_others_run();
}

/// Moves each callable out of the inbox before it drops the callable. The destructor of a callable may take a long
/// time, and other threads must not wait for it.
template <typename Lock, std::size_t Producers, std::size_t SegmentSize>
void inbox<Lock, Producers, SegmentSize>::drop_all() noexcept {
  const std::size_t count = count_.load(acquire);  // edge inbox.producer: observe the producers in the table
  alignas(std::max_align_t) std::array<std::byte, detail::inbox_record::largest> taken;
  for (std::size_t i = 0; i < count; ++i)
    while (consumers_.revoke([&] { return producers_[i]->move_one_to(taken.data()); }))
      detail::inbox_record::of(taken.data()).act(detail::inbox_action::drop);
}

template <typename Lock, std::size_t Producers, std::size_t SegmentSize>
auto inbox<Lock, Producers, SegmentSize>::empty() const noexcept -> bool {
  const std::size_t count = count_.load(acquire);  // edge inbox.producer: observe the producers in the table
  for (std::size_t i = 0; i < count; ++i)
    if (!producers_[i]->empty()) return false;
  return true;
}

template <typename Lock, std::size_t Producers, std::size_t SegmentSize>
auto inbox<Lock, Producers, SegmentSize>::size() const noexcept -> std::size_t {
  const std::size_t count = count_.load(acquire);  // edge inbox.producer: observe the producers in the table
  std::size_t all = 0;
  for (std::size_t i = 0; i < count; ++i) all += producers_[i]->backlog();
  return all;
}

template <typename Lock, std::size_t Producers, std::size_t SegmentSize>
[[gnu::noinline]] auto inbox<Lock, Producers, SegmentSize>::my_first_producer() -> producer* {
  const std::shared_ptr<producer> opened = open_producer();
  try {
    detail::remember_producer(number_, opened);
  } catch (...) {
    if (opened != nullptr) opened->give_back();
    throw;
  }
  return opened.get();
}

template <typename Lock, std::size_t Producers, std::size_t SegmentSize>
auto inbox<Lock, Producers, SegmentSize>::open_producer() -> std::shared_ptr<producer> {
  const std::lock_guard lock(registry_);
  const std::size_t count = count_.load(relaxed);
  for (std::size_t i = 0; i < count; ++i)
    if (producers_[i]->try_use()) return producers_[i];
  return count < Producers ? add_producer() : nullptr;  // the last entry is for the shared producer
}

/// Adds a producer to the table. Called while the lock `registry_` is held. Requires that the table has a free entry.
template <typename Lock, std::size_t Producers, std::size_t SegmentSize>
auto inbox<Lock, Producers, SegmentSize>::add_producer() -> std::shared_ptr<producer> {
  const std::size_t count = count_.load(relaxed);
  producers_[count] = detail::make_producer<SegmentSize>();
  count_.store(count + 1, release);  // edge inbox.producer: publish the entry of the table
  return producers_[count];
}

/// Claims the next callable that is known from an earlier poll. This function, `next` and `begin_slice` are called
/// inside the section `consumers_`.
template <typename Lock, std::size_t Producers, std::size_t SegmentSize>
auto inbox<Lock, Producers, SegmentSize>::next_seen() noexcept -> claimed {
  if (current_ == nullptr) return {};
  const claimed oldest = current_->claim();
  return oldest.record != nullptr ? oldest : begin_slice();
}

template <typename Lock, std::size_t Producers, std::size_t SegmentSize>
auto inbox<Lock, Producers, SegmentSize>::next() noexcept -> claimed {
  if (const claimed seen = next_seen(); seen.record != nullptr) return seen;
  const std::size_t count = count_.load(acquire);  // edge inbox.producer: observe the producers in the table
  for (std::size_t i = 0; i < count; ++i) producers_[i]->look();
  return begin_slice();
}

/// Begins a slice of the next producer's callables. Slices are short, so that a producer with many callables does not
/// delay the others.
template <typename Lock, std::size_t Producers, std::size_t SegmentSize>
[[gnu::noinline]] auto inbox<Lock, Producers, SegmentSize>::begin_slice() noexcept -> claimed {
  const std::size_t count = count_.load(acquire);  // edge inbox.producer: observe the producers in the table
  for (std::size_t looked = 0; looked < count; ++looked) {
    index_ = index_ + 1 < count ? index_ + 1 : 0;
    if (!producers_[index_]->begin_slice(count > 1 ? max_consecutive : unbounded)) continue;
    current_ = producers_[index_].get();
    return current_->claim();
  }
  return {};
}

template <typename Lock, std::size_t Producers, std::size_t SegmentSize>
auto inbox<Lock, Producers, SegmentSize>::steal_half_from(inbox& other, producer& mine) -> std::size_t {
  std::size_t moved = 0;
  {
    typename producer::posting here(mine);
    moved = other.consumers_.revoke([&] { return other.move_half_to(here); });
  }
  barrier_.light();
  return moved;
}

template <typename Lock, std::size_t Producers, std::size_t SegmentSize>
auto inbox<Lock, Producers, SegmentSize>::move_half_to(typename producer::posting& there) noexcept -> std::size_t {
  const std::size_t count = count_.load(acquire);  // edge inbox.producer: observe the producers in the table
  std::size_t moved = 0;
  for (std::size_t i = 0; i < count && moved == 0; ++i) moved = producers_[i]->move_half_to(there);
  return moved;
}

}  // namespace braid::detail
