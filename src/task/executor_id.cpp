// src/task/executor_id.cpp: implements the table of executor ids, and the guard that keeps an executor alive while its
// id is used.
#include <braid/task/detail/executor_id.hpp>

#include "../platform/system.hpp"

#include <braid/base/detail/never_destroyed.hpp>
#include <braid/sync/detail/let_others_run.hpp>
#include <braid/sync/detail/fork_safe_mutex.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/job.hpp>
#include <braid/task/worker.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <mutex>
#include <utility>

namespace braid {
namespace {

using detail::executor_slot;

// docs/design/constants.md says what this value rests on.
constexpr std::size_t first_chunk = 64;  // slots; each chunk has twice as many as the previous one
constexpr std::size_t chunk_count = 27;  // enough for all numbers that an id can have

/// The table of executor slots of the process. Slots are never freed, because an id may be used after its executor was
/// destroyed.
struct slot_table {
  detail::fork_safe_mutex lock;
  executor_slot* free = nullptr;                             // under the lock
  std::uint32_t made = 0;                                    // the number of slots, in whole chunks; under the lock
  std::array<atomic<executor_slot*>, chunk_count> chunks{};  // written under the lock
};

constinit detail::never_destroyed<slot_table> slots_of_process;
constinit thread_local detail::executor_use* innermost_use __attribute__((tls_model("initial-exec"))) = nullptr;

/// The id that every executor has after it was destroyed. Slots are counted from 1, so slot 0 does not exist.
constexpr detail::executor_id of_the_gone(0, 1);

/// Returns the slot with this number. Relaxed loads suffice, because a thread that has read the number also sees that
/// the slot is constructed. Returns null if no slot has this number. In that case, the number comes from `of_the_gone`,
/// or from memory of a destroyed executor that was reused.
auto find_slot(std::uint32_t number) noexcept -> executor_slot* {
  const std::size_t index = number - 1;
  const std::size_t chunk = static_cast<std::size_t>(std::bit_width(index / first_chunk + 1)) - 1;
  const std::size_t before = first_chunk * ((std::size_t{1} << chunk) - 1);
  executor_slot* const slots = slots_of_process.value.chunks[chunk].load(relaxed);
  return slots == nullptr ? nullptr : slots + (index - before);
}

/// Allocates the next chunk of slots. The caller holds the lock.
/// Errors: std::bad_alloc.
void make_chunk(slot_table& table) {
  const auto chunk = static_cast<std::size_t>(std::bit_width(table.made / first_chunk + 1)) - 1;
  const std::size_t count = first_chunk << chunk;
  auto* const slots = new executor_slot[count];
  table.chunks[chunk].store(slots, relaxed);
  for (std::size_t i = count; i > 0; --i) {
    executor_slot& made = slots[i - 1];
    made.number = table.made + static_cast<std::uint32_t>(i);
    made.next_free = std::exchange(table.free, &made);
  }
  table.made += static_cast<std::uint32_t>(count);
}

auto take_slot() -> executor_slot& {
  const std::lock_guard lock(slots_of_process.value.lock);
  if (slots_of_process.value.free == nullptr) make_chunk(slots_of_process.value);
  return *std::exchange(slots_of_process.value.free, slots_of_process.value.free->next_free);
}

void give_back(executor_slot& slot) noexcept {
  const std::lock_guard lock(slots_of_process.value.lock);
  slot.next_free = std::exchange(slots_of_process.value.free, &slot);
}

/// Forgets the free slots in the child of a fork, because some of these slots may still count a thread of the parent as
/// a user.
void forget_free_slots() noexcept { slots_of_process.value.free = nullptr; }

[[maybe_unused]] const int slot_fork_handler = detail::call_at_fork(nullptr, nullptr, &forget_free_slots);

}  // namespace

/// Assigns the executor an id. If several threads call this at the same time, the slot of one thread is used, and the
/// other threads free their slots.
auto executor::make_id() const -> detail::executor_id {
  executor_slot& slot = take_slot();
  const detail::executor_id made(slot.number, slot.open(const_cast<executor&>(*this)));
  std::uint64_t seen = 0;
  // edge executor.id: publish the slot; edge executor.id: observe the slot of the first thread
  if (id_.compare_exchange_strong(seen, made.to_word(), acq_rel, acquire)) return made;
  slot.close();
  give_back(slot);
  return detail::executor_id::from_word(seen);
}

/// Invalidates the id, and waits for threads that are using the executor. Does not wait for uses on this thread's own
/// stack, because those uses can only end after this call.
void executor::retire() noexcept {
  const auto id = detail::executor_id::from_word(id_.exchange(0, relaxed));
  if (!id) return;
  executor_slot& slot = *find_slot(id.slot());
  std::uint32_t own = 0;
  for (const detail::executor_use* use = innermost_use; use != nullptr; use = use->outer_)
    if (use->slot_ == &slot) ++own;
  slot.close();
  while (slot.users() > own) detail::let_others_run();
  give_back(slot);
}

/// Invalidates the id, in case a caller wrongly keeps a reference to the destroyed executor. As long as its memory is
/// not reused, continuations and timers that a caller creates with this reference are refused.
executor::~executor() {
  retire();
  id_.store(of_the_gone.to_word(), relaxed);
}

namespace detail {

executor_use::executor_use(executor_id id) noexcept {
  if (!id) return;
  if (const worker* const self = worker_of_thread; self != nullptr && self->pool->has_id(id)) {
    found_ = self->pool;
    return;
  }
  executor_slot* const slot = find_slot(id.slot());
  if (slot == nullptr) return;
  found_ = slot->try_enter(id.generation());
  if (found_ == nullptr) return;
  slot_ = slot;
  outer_ = std::exchange(innermost_use, this);
}

executor_use::~executor_use() {
  if (slot_ == nullptr) return;
  innermost_use = outer_;
  slot_->leave();
}

auto try_post_to(executor_id executor, job& work) noexcept -> bool {
  const executor_use use(executor);
  return use && use->try_post(work);
}

}  // namespace detail
}  // namespace braid
