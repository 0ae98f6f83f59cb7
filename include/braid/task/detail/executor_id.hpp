// braid/task/detail/executor_id.hpp: generational handles of executors, for what may outlive the executor that it
// names.
#pragma once

#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>

#include <cstdint>
#include <utility>

namespace braid {

class executor;
class job;

namespace detail {

/// Names an executor while that lives, and nothing afterwards: the number of a slot in a table of the process, and the
/// generation of the slot. A copy costs nothing, and no count is kept, so that futures and timers may hold one each.
/// Protocol: docs/design/executor_id.md
class executor_id {
 public:
  /// Names no executor.
  constexpr executor_id() noexcept = default;
  constexpr executor_id(std::uint32_t slot, std::uint32_t generation) noexcept
      : value_(std::uint64_t{generation} << 32U | slot) {}

  /// Returns whether it names an executor, which may be gone.
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return value_ != 0; }
  [[nodiscard]] constexpr auto operator==(const executor_id&) const noexcept -> bool = default;

  /// Slots are counted from 1.
  [[nodiscard]] constexpr auto slot() const noexcept -> std::uint32_t { return static_cast<std::uint32_t>(value_); }
  [[nodiscard]] constexpr auto generation() const noexcept -> std::uint32_t {
    return static_cast<std::uint32_t>(value_ >> 32U);
  }

  /// Converts an id to a word that an atomic can hold, and back.
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
/// id. Slots are never freed, so a handle of any age may read its own. On a cache line of its own, because the counts
/// of two executors are independent.
class alignas(64) executor_slot {
 public:
  // --- the owner; one thread at a time has the slot ---

  /// The executor has the slot from now on: the generation of its handles.
  auto open(executor& owner) noexcept -> std::uint32_t {
    owner_.store(&owner, relaxed);
    const std::uint64_t before =
        state_.fetch_add(0, release);  // edge executor_slot.owner: publish what users will read
    return generation_of(before);
  }

  /// Ends the generation: no thread enters by its handles any more.
  void close() noexcept { state_.fetch_add(one_generation, relaxed); }

  /// Returns the number of threads inside. Once only the caller is inside, the other threads have no more effects.
  [[nodiscard]] auto users() const noexcept -> std::uint32_t {
    return static_cast<std::uint32_t>(state_.load(acquire));  // edge executor_slot.left: observe the last use
  }

  executor_slot* next_free = nullptr;  ///< under the lock of the table
  std::uint32_t number = 0;            ///< of this slot; the same

  // --- any holder of a handle ---

  /// Returns the executor, which stays until `leave`, or null if it is gone; then do not call `leave`.
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
  // The generation above, which the owner raises, and below the threads inside. A thread with an old handle
  // counts for a moment, too.
  atomic<std::uint64_t> state_{one_generation};
};

/// Keeps an executor alive while it is used by its id: the executor's destructor waits for the end of this object. It
/// is empty if the executor is gone, or if the id is empty. It must be on a stack.
/// Cost: two locked additions; on a worker of that pool, which keeps the pool alive anyway, a comparison.
class BRAID_API executor_use {
 public:
  explicit executor_use(executor_id of) noexcept;
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
  executor_use* outer_ = nullptr;  // of the same thread
};

/// Posts to the executor that `executor` names. Returns false if it is closed or gone: then the job still belongs to
/// the caller. Threads: any. Cost: the post, and that of an executor_use.
BRAID_API auto try_post_to(executor_id executor, job& work) noexcept -> bool;

}  // namespace detail
}  // namespace braid
