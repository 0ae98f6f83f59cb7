// braid/task/detail/executor_id.hpp: ids of executors with generations, for objects that may outlive the executor that
// they refer to.
#pragma once

#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>

#include <cstdint>
#include <utility>

namespace braid {

class executor;
class job;

namespace detail {

/// An id that refers to an executor while the executor exists, and to nothing afterwards. The id consists of the number
/// of a slot in a table of the process, and the generation of the slot. Copies are cheap because no reference is
/// counted, so futures and timers can each hold an id. Protocol: docs/design/executor_id.md
class executor_id {
 public:
  /// Constructs an id that refers to no executor.
  constexpr executor_id() noexcept = default;
  constexpr executor_id(std::uint32_t slot, std::uint32_t generation) noexcept
      : value_(std::uint64_t{generation} << 32U | slot) {}

  /// Returns whether the id refers to an executor. The executor may no longer exist.
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return value_ != 0; }
  [[nodiscard]] constexpr auto operator==(const executor_id&) const noexcept -> bool = default;

  /// Returns the number of the slot. Slots are counted from 1.
  [[nodiscard]] constexpr auto slot() const noexcept -> std::uint32_t { return static_cast<std::uint32_t>(value_); }
  [[nodiscard]] constexpr auto generation() const noexcept -> std::uint32_t {
    return static_cast<std::uint32_t>(value_ >> 32U);
  }

  /// Converts an id to a word that an atomic can hold. `from_word` converts the word back to the id.
  [[nodiscard]] constexpr auto to_word() const noexcept -> std::uint64_t { return value_; }
  [[nodiscard]] static constexpr auto from_word(std::uint64_t word) noexcept -> executor_id {
    executor_id made;
    made.value_ = word;
    return made;
  }

 private:
  std::uint64_t value_ = 0;
};

/// A slot of the table: the executor that owns it, and the number of threads that currently use that executor by its
/// id. Slots are never freed, so an id of any age may read its slot. Each slot has its own cache line, because the
/// counts of two executors are independent.
class alignas(64) executor_slot {
 public:
  // --- Functions for the owner. One thread at a time owns the slot. ---

  /// Assigns the slot to an executor. Returns the generation of its ids.
  auto open(executor& owner) noexcept -> std::uint32_t {
    owner_.store(&owner, relaxed);
    const std::uint64_t before =
        state_.fetch_add(0, release);  // edge executor_slot.owner: publish what users will read
    return generation_of(before);
  }

  /// Ends the generation: its ids no longer find the executor.
  void close() noexcept { state_.fetch_add(one_generation, relaxed); }

  /// Returns the number of threads that use the executor. Once the caller is the only such thread, everything that the
  /// other threads have written is visible to the caller.
  [[nodiscard]] auto users() const noexcept -> std::uint32_t {
    return static_cast<std::uint32_t>(state_.load(acquire));  // edge executor_slot.left: observe the last use
  }

  executor_slot* next_free = nullptr;  ///< under the lock of the table
  std::uint32_t number = 0;            ///< the number of this slot; under the lock of the table

  // --- Functions for any holder of an id. ---

  /// Returns the executor, which then exists until `leave` is called. Returns null if the executor no longer exists; in
  /// that case `leave` must not be called.
  [[nodiscard]] auto try_enter(std::uint32_t generation) noexcept -> executor* {
    const std::uint64_t before = state_.fetch_add(1, acquire);  // edge executor_slot.owner: observe the owner's address
    if (generation_of(before) == generation) return owner_.load(relaxed);
    leave();
    return nullptr;
  }
  void leave() noexcept { state_.fetch_sub(1, release); }  // edge executor_slot.left: publish what was done inside

 private:
  static constexpr std::uint64_t one_generation = std::uint64_t{1} << 32U;

  static auto generation_of(std::uint64_t state) noexcept -> std::uint32_t {
    return static_cast<std::uint32_t>(state >> 32U);
  }

  atomic<executor*> owner_{nullptr};  // written by `open`
  // The upper half is the generation, which the owner increments. The lower half is the number of threads that use the
  // executor. A thread with an old id is counted briefly, too.
  atomic<std::uint64_t> state_{one_generation};
};

/// Keeps an executor alive while it is used by its id: the executor's destructor waits until this object is destroyed.
/// The object is empty if the executor no longer exists, or if the id is empty. It must be a local variable. Cost: two
/// locked additions. On a worker of the same pool, the cost is only a comparison, because the worker keeps the pool
/// alive anyway.
class BRAID_API executor_use {
 public:
  explicit executor_use(executor_id id) noexcept;
  executor_use(const executor_use&) = delete;
  auto operator=(const executor_use&) -> executor_use& = delete;
  ~executor_use();

  [[nodiscard]] explicit operator bool() const noexcept { return found_ != nullptr; }
  [[nodiscard]] auto operator->() const noexcept -> executor* { return found_; }
  [[nodiscard]] auto get() const noexcept -> executor* { return found_; }

 private:
  friend class braid::executor;

  executor_slot* slot_ = nullptr;  // the slot with its count; null on a worker of that pool
  executor* found_ = nullptr;
  executor_use* outer_ = nullptr;  // the outer use on the same thread
};

/// Posts to the executor that `executor` refers to. Returns false if the executor is closed or no longer exists; the
/// job then still belongs to the caller. Threads: any. Cost: one post and one executor_use.
BRAID_API auto try_post_to(executor_id executor, job& work) noexcept -> bool;

}  // namespace detail
}  // namespace braid
