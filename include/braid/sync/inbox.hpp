// braid/sync/inbox.hpp: how other threads post work to one worker, without a lock and without an allocation.
#pragma once

#include <braid/sync/asymmetric_barrier.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/biased_section.hpp>
#include <braid/sync/detail/inbox_port.hpp>
#include <braid/sync/detail/let_others_run.hpp>
#include <braid/sync/detail/port_table.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>

namespace braid {

/// What became of a post.
enum class post_outcome : std::uint8_t {
  posted,  ///< it will be run, or dropped, once
  full,    ///< refused, by `try_post` only; the callable was not touched
  closed,  ///< refused; the callable was not touched
};

/// What can be posted to an inbox: callable once without arguments, as an rvalue.
template <typename Fn>
concept inbox_callable = std::move_constructible<std::decay_t<Fn>> && std::invocable<std::decay_t<Fn>&&>;

/// Callables posted by any thread, and run by the owner or by a thief that moves half of them into its own inbox. Each
/// thread that posts has a ring of its own here, its port, with slots of a cache line that hold up to 56 bytes of
/// captures; larger ones are boxed. Who finds its ring full, and threads beyond the number of ports, use lists. What
/// one thread posts is taken in its order.
///
/// Who posts looks for sleepers afterwards; who goes to sleep announces that, crosses the heavy side of the barrier,
/// and looks whether the inbox is empty. One of them sees the other.
/// Threads: any for posting, `close` and `empty`; the owner for the rest.
/// Lifetime: nobody may be inside a call when the inbox is destroyed; what is left then is dropped.
/// Protocol: docs/design/inbox.md
template <std::size_t Capacity = 256, typename Lock = std::mutex, std::size_t Ports = 16>
class inbox {
 public:
  using port = detail::inbox_port<Capacity, Lock>;

  /// `barrier` is what a worker crosses before it sleeps; the inboxes of a pool share one, which must outlive them.
  explicit inbox(asymmetric_barrier& barrier) noexcept : barrier_(barrier), consumers_(barrier) {}
  inbox(const inbox&) = delete;
  auto operator=(const inbox&) -> inbox& = delete;
  ~inbox() {
    while (drop_one()) {}
  }

  // --- producers ---

  /// When this returns `posted`, every consumer that looks sees the callable. Blocks: never for long.
  /// Errors: std::bad_alloc, and what the copy or move of `fn` throws; then nothing was posted.
  /// Cost: no locked operation and no allocation; when the ring is full a lock, and an allocation for every 16.
  template <inbox_callable Fn>
  auto post(Fn&& fn) -> post_outcome {
    return post_from(my_port(), std::forward<Fn>(fn));
  }

  /// As `post`, but refuses when the ring is full.
  template <inbox_callable Fn>
  auto try_post(Fn&& fn) -> post_outcome {
    return try_post_from(my_port(), std::forward<Fn>(fn));
  }

  /// A port for a producer that keeps its ports itself. Null when all are in use. Whoever has it gives it back.
  [[nodiscard]] auto open_port() -> std::shared_ptr<port>;

  /// As `post`, by the producer that has the port; null stands for the list of those that have none.
  template <inbox_callable Fn>
  auto post_from(port* mine, Fn&& fn) -> post_outcome {
    const auto fill = [&](detail::inbox_slot& slot) { return slot.fill(std::forward<Fn>(fn)); };
    return mine == nullptr ? post_shared(fill) : post_through(*mine, when_full::spill, fill);
  }

  template <inbox_callable Fn>
  auto try_post_from(port* mine, Fn&& fn) -> post_outcome {
    const auto fill = [&](detail::inbox_slot& slot) { return slot.fill(std::forward<Fn>(fn)); };
    return mine == nullptr ? post_shared(fill) : post_through(*mine, when_full::refuse, fill);
  }

  // --- the owner ---

  /// A callable that was claimed: run once, or dropped at the end of this.
  class work {
   public:
    work() = default;
    explicit work(typename port::claim_result taken) noexcept : taken_(taken) {}
    work(work&& other) noexcept : taken_(std::exchange(other.taken_, {})), ran_(other.ran_) {}
    auto operator=(work&&) -> work& = delete;
    ~work() {
      if (taken_.slot == nullptr) return;
      if (!ran_) taken_.act(*taken_.slot, detail::inbox_action::drop, nullptr);
      port::done(taken_);
    }
    explicit operator bool() const noexcept { return taken_.slot != nullptr; }
    void run() {
      ran_ = true;
      taken_.act(*taken_.slot, detail::inbox_action::run, nullptr);
    }

   private:
    typename port::claim_result taken_;
    bool ran_ = false;
  };

  [[nodiscard]] auto claim() noexcept -> work {
    return work(consumers_.own([this] { return claim_next(); }));
  }
  void drop_all() noexcept {
    while (finish(consumers_.lend([this] { return claim_next(); }), detail::inbox_action::drop)) {}
  }
  [[nodiscard]] auto size() const noexcept -> std::size_t {
    std::size_t total = 0;
    const std::size_t count = count_.load(acquire);  // edge inbox.port: observe
    for (std::size_t i = 0; i < count; ++i) total += ports_[i]->size();
    return total;
  }

  /// Runs the next callable. False when there is none. Errors: what the callable throws; its captures are destroyed.
  auto run_one() -> bool {
    return finish(consumers_.own([this] { return claim_next(); }), detail::inbox_action::run);
  }

  /// Destroys the next callable without running it. False when there is none.
  auto drop_one() noexcept -> bool {
    return finish(consumers_.own([this] { return claim_next(); }), detail::inbox_action::drop);
  }

  /// Moves half of what one producer has posted to `other` to this inbox, as far as the ring has room: how many. Wakes
  /// nobody; who gets more than one, or leaves some, wakes another thief. Cost: a heavy barrier.
  auto steal_half_of(inbox& other) -> std::size_t {
    port* const mine = my_port();
    return mine == nullptr ? 0 : steal_half_of(other, *mine);
  }

  /// The same by an owner that keeps its port into this inbox itself.
  auto steal_half_of(inbox& other, port& mine) -> std::size_t;

  // --- any thread ---

  /// Refuses every later post. When this returns, all that was accepted can be taken.
  void close() noexcept;

  /// False when something is here whose post happens before this call.
  [[nodiscard]] auto empty() const noexcept -> bool {
    const std::size_t count = count_.load(acquire);  // edge inbox.port: observe
    for (std::size_t i = 0; i < count; ++i)
      if (!ports_[i]->empty()) return false;
    return true;
  }

 private:
  enum class when_full : std::uint8_t { spill, refuse };
  using claimed = typename port::claim_result;

  /// Says, while it lives, that the producer is inside a post.
  struct posting {
    explicit posting(port& mine) noexcept : port_(mine) { port_.posting.store(1, relaxed); }
    posting(const posting&) = delete;
    auto operator=(const posting&) -> posting& = delete;
    ~posting() { port_.posting.store(0, release); }  // edge inbox.posting: publish
    port& port_;
  };

  auto my_port() -> port*;
  auto add_port() -> std::shared_ptr<port>;
  template <typename Fill>
  auto post_through(port& mine, when_full then, Fill fill) -> post_outcome;
  template <typename Fill>
  auto post_shared(Fill fill) -> post_outcome;
  auto claim_next() noexcept -> claimed;
  auto finish(claimed taken, detail::inbox_action what) -> bool;
  auto move_half_to(port& to) noexcept -> std::size_t;

  const std::uint64_t number_ = detail::next_inbox_number();
  asymmetric_barrier& barrier_;
  atomic<std::uint32_t> closed_{0};                     // 1 from the begin of the first close
  atomic<std::size_t> count_{0};                        // how many ports there are; grows under registry_
  std::array<std::shared_ptr<port>, Ports + 1> ports_;  // each written once, before count_ says so
  std::shared_ptr<port> shared_;                        // of those without one, with its list only; under shared_lock_
  Lock registry_;
  Lock shared_lock_;
  detail::biased_section<Lock> consumers_;  // around every claim
  std::size_t at_ = 0;                      // the port that is looked at first; inside consumers_
  std::size_t in_a_row_ = 0;                // how many were claimed there; inside consumers_
};

template <std::size_t Capacity, typename Lock, std::size_t Ports>
template <typename Fill>
auto inbox<Capacity, Lock, Ports>::post_through(port& mine, when_full then, Fill fill) -> post_outcome {
  const posting here(mine);
  barrier_.light();  // either the close sees that somebody is posting, or the next line sees the close
  if (closed_.load(relaxed) != 0) return post_outcome::closed;
  if (mine.has_room())
    mine.put(fill);
  else if (then == when_full::refuse)
    return post_outcome::full;
  else
    mine.spill(fill);
  barrier_.light();  // either who goes to sleep sees the callable, or the caller sees who sleeps
  return post_outcome::posted;
}

template <std::size_t Capacity, typename Lock, std::size_t Ports>
template <typename Fill>
auto inbox<Capacity, Lock, Ports>::post_shared(Fill fill) -> post_outcome {
  const std::lock_guard lock(shared_lock_);
  if (closed_.load(relaxed) != 0) return post_outcome::closed;
  if (shared_ == nullptr) {
    const std::lock_guard registering(registry_);
    shared_ = add_port();
  }
  shared_->spill(fill);
  barrier_.light();
  return post_outcome::posted;
}

template <std::size_t Capacity, typename Lock, std::size_t Ports>
void inbox<Capacity, Lock, Ports>::close() noexcept {
  closed_.store(1, relaxed);
  barrier_.heavy();
  const std::size_t count = count_.load(acquire);  // edge inbox.port: observe
  for (std::size_t i = 0; i < count; ++i)
    while (ports_[i]->posting.load(acquire) != 0) detail::let_others_run();  // edge inbox.posting: observe
  const std::lock_guard after_those_without_a_port(shared_lock_);
}

template <std::size_t Capacity, typename Lock, std::size_t Ports>
auto inbox<Capacity, Lock, Ports>::my_port() -> port* {
  const detail::known_port found = detail::find_port(number_);
  if (found.known) return static_cast<port*>(found.port);
  const std::shared_ptr<port> opened = open_port();
  detail::remember_port(number_, opened);
  return opened.get();
}

template <std::size_t Capacity, typename Lock, std::size_t Ports>
auto inbox<Capacity, Lock, Ports>::open_port() -> std::shared_ptr<port> {
  const std::lock_guard lock(registry_);
  const std::size_t count = count_.load(relaxed);
  for (std::size_t i = 0; i < count; ++i)
    if (ports_[i]->try_use()) return ports_[i];
  return count < Ports ? add_port() : nullptr;  // the place behind them is for the shared one
}

/// Under the lock of the registry. Requires that there is a place.
template <std::size_t Capacity, typename Lock, std::size_t Ports>
auto inbox<Capacity, Lock, Ports>::add_port() -> std::shared_ptr<port> {
  const std::size_t count = count_.load(relaxed);
  ports_[count] = std::make_shared<port>();
  count_.store(count + 1, release);  // edge inbox.port: publish
  return ports_[count];
}

/// The next callable, inside consumers_. A producer that has more than others does not keep them waiting.
template <std::size_t Capacity, typename Lock, std::size_t Ports>
auto inbox<Capacity, Lock, Ports>::claim_next() noexcept -> claimed {
  constexpr std::size_t most_in_a_row = 32;
  const std::size_t count = count_.load(acquire);  // edge inbox.port: observe
  if (in_a_row_ == most_in_a_row) {
    at_ = at_ + 1 < count ? at_ + 1 : 0;
    in_a_row_ = 0;
  }
  for (std::size_t looked = 0; looked < count; ++looked) {
    claimed taken = ports_[at_]->claim();
    ++in_a_row_;
    if (taken.slot != nullptr) return taken;
    at_ = at_ + 1 < count ? at_ + 1 : 0;
    in_a_row_ = 0;
  }
  return {};
}

template <std::size_t Capacity, typename Lock, std::size_t Ports>
auto inbox<Capacity, Lock, Ports>::finish(claimed taken, detail::inbox_action what) -> bool {
  if (taken.slot == nullptr) return false;
  struct guard {
    claimed& taken;
    ~guard() { port::done(taken); }
  } const last{taken};
  taken.act(*taken.slot, what, nullptr);
  return true;
}

template <std::size_t Capacity, typename Lock, std::size_t Ports>
auto inbox<Capacity, Lock, Ports>::steal_half_of(inbox& other, port& mine) -> std::size_t {
  const posting here(mine);
  barrier_.light();
  const std::size_t moved = other.consumers_.lend([&] { return other.move_half_to(mine); });
  barrier_.light();
  return moved;
}

template <std::size_t Capacity, typename Lock, std::size_t Ports>
auto inbox<Capacity, Lock, Ports>::move_half_to(port& to) noexcept -> std::size_t {
  const std::size_t count = count_.load(acquire);  // edge inbox.port: observe
  std::size_t moved = 0;
  for (std::size_t i = 0; i < count && moved == 0; ++i) {
    for (std::size_t left = ports_[i]->half(); left > 0 && to.has_room(); --left) {
      claimed taken = ports_[i]->claim();
      if (taken.slot == nullptr) break;
      to.put([&](detail::inbox_slot& slot) {
        taken.act(*taken.slot, detail::inbox_action::move, &slot);
        return taken.act;
      });
      port::done(taken);
      ++moved;
    }
  }
  return moved;
}

}  // namespace braid
