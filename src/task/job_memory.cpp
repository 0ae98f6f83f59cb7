// src/task/job_memory.cpp: implements free lists of each thread by size class, and central free lists through which
// threads exchange blocks.
#include <braid/task/detail/job_memory.hpp>

#include <braid/base/detail/never_destroyed.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/fork_safe_mutex.hpp>
#include <braid/sync/detail/thread_end.hpp>

#include <array>
#include <mutex>
#include <new>
#include <utility>

namespace braid::detail {
namespace {

// docs/design/constants.md says what these values rest on.
constexpr std::size_t blocks_at_once = 32;  // blocks that are moved to or from the central free list at once
// The number of times that a central free list is not polled after it was found empty, because a poll costs a lock.
constexpr unsigned char max_passes = 15;
constexpr std::size_t lead = 4;  // the distance at which blocks that other threads have freed are prefetched
// The approximate limit of the memory in all central free lists. Blocks beyond this limit are freed by operator delete,
// but a minimum number of chains of each size class is always kept.
constexpr std::size_t central_bytes = std::size_t{16} << 20U;

/// Returns the minimum number of chains that a central list keeps. `bytes` is the size of a chain. The minimum is lower
/// for blocks of more than 1 KiB, because programs have few such blocks: coroutine frames that hold requests and
/// answers.
constexpr auto min_central_chains(std::size_t bytes) noexcept -> std::size_t {
  return bytes <= blocks_at_once * block_bytes(find_free_list(1024)) ? 64 : 16;
}

/// A list of blocks that moves from one thread to another.
struct chain {
  listed_block* first = nullptr;
  std::size_t count = 0;

  void push(listed_block* item) noexcept {
    item->next = first;
    item->ahead = item;
    first = item;
    ++count;
  }
};

/// The capacity of a thread's free list. If one more block is added, half of the blocks move to the central free list.
constexpr std::size_t list_room = 2 * blocks_at_once - 1;

auto count_blocks(const free_list& list) noexcept -> std::size_t { return list_room - list.room; }

/// Removes the newest blocks from the list, up to `wanted` blocks, and returns them as a chain for another thread. The
/// other thread's caches do not contain these blocks, so each block also points to a later block to prefetch.
auto split(free_list& list, std::size_t wanted) noexcept -> chain {
  chain taken;
  std::array<listed_block*, lead> later{};
  while (taken.count < wanted && list.first != nullptr) {
    auto* const item = static_cast<listed_block*>(list.pop());
    listed_block*& taken_later = later[taken.count % lead];
    taken.push(item);
    if (taken_later != nullptr) item->ahead = taken_later;
    taken_later = item;
  }
  return taken;
}

void release_all(chain blocks) noexcept {
  while (blocks.first != nullptr) ::operator delete(std::exchange(blocks.first, blocks.first->next));
}

/// Returns the number of bytes of a full chain. Chains of threads that have ended may be shorter, but are counted as
/// full.
constexpr auto chain_bytes(std::size_t index) noexcept -> std::size_t { return blocks_at_once * block_bytes(index); }

/// The number of bytes in all central free lists.
constinit atomic<std::size_t> central_total{0};

/// Chains of blocks of one size class, which wait for a thread that needs them.
class central_list {
 public:
  /// Adds a chain to the list, or frees the chain's blocks if the lists are full. `bytes` is the size of a full chain
  /// of this class.
  void give(chain blocks, std::size_t bytes) noexcept {
    {
      const std::lock_guard lock(mutex_);
      if (chains_ < min_central_chains(bytes) || central_total.load(relaxed) + bytes <= central_bytes) {
        central_total.fetch_add(bytes, relaxed);
        blocks.first->count = blocks.count;
        blocks.first->next_chain = std::exchange(first_, blocks.first);
        ++chains_;
        return;
      }
    }
    release_all(blocks);
  }

  auto take(std::size_t bytes) noexcept -> chain {
    const std::lock_guard lock(mutex_);
    if (first_ == nullptr) return {};
    --chains_;
    central_total.fetch_sub(bytes, relaxed);
    listed_block* const taken = std::exchange(first_, first_->next_chain);
    return {taken, taken->count};
  }

 private:
  fork_safe_mutex mutex_;
  listed_block* first_ = nullptr;  // the first block of the newest chain
  std::size_t chains_ = 0;
};

/// The central lists. These lists are not allocated by operator new, because their first use may be in a deallocation,
/// which must not fail.
constinit never_destroyed<std::array<central_list, free_list_count>> shared_central_lists;

auto central_lists() noexcept -> std::array<central_list, free_list_count>& { return shared_central_lists.value; }

enum class list_state : unsigned char { unused, live, gone };

/// The state of a thread's free lists.
struct list_notes {
  std::array<unsigned char, free_list_count>
      passes;  // how many times the central free list, which was empty at the last poll, is not polled
  list_state state;
};

constinit thread_local list_notes lists_of_thread __attribute__((tls_model("initial-exec"))){};

/// Moves the thread's blocks to the central lists when the thread ends. Later calls use operator new and delete.
void empty_lists(void* of_thread) noexcept {
  auto& own = *static_cast<std::array<free_list, free_list_count>*>(of_thread);
  lists_of_thread.state = list_state::gone;
  for (std::size_t i = 0; i < free_list_count; ++i) {
    const std::size_t count = count_blocks(own[i]);
    listed_block* const first = std::exchange(own[i], free_list{}).first;
    if (first != nullptr) central_lists()[i].give({first, count}, chain_bytes(i));
  }
}

const detail::thread_end lists_at_thread_end(&empty_lists);

/// Returns whether the thread has free lists. A thread has no free lists if no callback can be registered for its end,
/// or if that callback has been called already.
auto has_lists() noexcept -> bool {
  if (lists_of_thread.state == list_state::live) [[likely]]
    return true;
  if (lists_of_thread.state == list_state::gone || !lists_at_thread_end.ask(&free_lists)) return false;
  lists_of_thread.state = list_state::live;
  for (free_list& each : free_lists) each.room = list_room;
  return true;
}

auto is_listed(std::size_t index) noexcept -> bool { return uses_free_lists && index < free_list_count; }

}  // namespace

// The thread's free lists. The lists have no destructor, so that they can be used while the thread ends.
constinit thread_local std::array<free_list, free_list_count> free_lists{};

auto allocate_job_elsewhere(std::size_t size, std::size_t index) -> void* {
  if (!is_listed(index)) return ::operator new(size);
  if (has_lists()) {
    free_list& list = free_lists[index];
    if (list.first != nullptr) return list.pop();
    if (unsigned char& passes = lists_of_thread.passes[index]; passes > 0) {
      --passes;
    } else {
      const chain taken = central_lists()[index].take(chain_bytes(index));
      if (taken.first != nullptr) {
        list.first = taken.first;
        list.room -= taken.count;
        return list.pop();
      }
      passes = max_passes;
    }
  }
  return ::operator new(block_bytes(index));
}

void free_job_elsewhere(void* memory, std::size_t index) noexcept {
  if (!is_listed(index) || !has_lists()) return ::operator delete(memory);
  free_list& list = free_lists[index];
  if (list.room == 0) central_lists()[index].give(split(list, blocks_at_once), chain_bytes(index));
  list.push(memory);
}

auto idle_job_memory() noexcept -> std::size_t { return central_total.load(relaxed); }

}  // namespace braid::detail
