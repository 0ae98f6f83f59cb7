// src/task/job_memory.cpp: free lists by thread and size class, and the central free list through which threads
// exchange batches.
#include <braid/task/detail/job_memory.hpp>

#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/fork_safe_mutex.hpp>
#include <braid/sync/detail/thread_end.hpp>

#include <array>
#include <mutex>
#include <new>
#include <utility>

namespace braid::detail {
namespace {

constexpr std::size_t class_bytes = 64;
constexpr std::size_t classes = 16;
constexpr std::size_t batch = 32;  // blocks that go to or come from the central free list at once
constexpr unsigned char max_passes =
    15;                          // a central free list that is empty costs a lock; so often it is not asked again
constexpr std::size_t lead = 4;  // a block that another thread has freed is fetched when so many are before it
// All central free lists together keep about so much, but so many chains of each class in any case; the rest goes back
// to operator delete.
constexpr std::size_t central_bytes = std::size_t{16} << 20U;
constexpr std::size_t min_central_chains = 64;

// Under the address sanitizer every block comes from operator new in its own size, so that a stale access is seen and
// one beyond the end too.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BRAID_ADDRESS_SANITIZER 1
#endif
#endif
#if defined(BRAID_ADDRESS_SANITIZER) || defined(__SANITIZE_ADDRESS__)
constexpr bool uses_lists = false;
#else
constexpr bool uses_lists = true;
#endif

struct block {
  block* next;
  block* ahead;  // to be fetched when this one is taken; the block itself where there is nothing to fetch
  // Of the first in a chain that lies in a central free list:
  block* next_chain;
  std::size_t count;
};

struct chain {
  block* first = nullptr;
  std::size_t count = 0;

  void push(block* item) noexcept {
    item->next = first;
    item->ahead = item;
    first = item;
    ++count;
  }

  auto pop() noexcept -> block* {
    --count;
    block* const item = std::exchange(first, first->next);
    __builtin_prefetch(item->ahead, 1);
    return item;
  }

  /// Splits the newest `wanted` blocks off, for a thread whose caches do not have them: each names the one to fetch.
  auto split(std::size_t wanted) noexcept -> chain {
    chain taken;
    std::array<block*, lead> later{};
    while (taken.count < wanted && first != nullptr) {
      block* const item = std::exchange(first, first->next);
      --count;
      block*& taken_later = later[taken.count % lead];
      taken.push(item);
      if (taken_later != nullptr) item->ahead = taken_later;
      taken_later = item;
    }
    return taken;
  }
};

void release_all(chain blocks) noexcept {
  while (blocks.first != nullptr) ::operator delete(blocks.pop());
}

/// Of a class; those of threads that end are shorter, and count as whole ones.
constexpr auto chain_bytes(std::size_t index) noexcept -> std::size_t { return batch * class_bytes * (index + 1); }

/// What all central free lists hold.
constinit atomic<std::size_t> central_total{0};

/// Full batches of one class, waiting for a thread that needs them.
class central_list {
 public:
  /// `bytes` is the size of a chain of this class.
  void give(chain blocks, std::size_t bytes) noexcept {
    {
      const std::lock_guard lock(mutex_);
      if (chains_ < min_central_chains || central_total.load(relaxed) + bytes <= central_bytes) {
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
    block* const taken = std::exchange(first_, first_->next_chain);
    return {taken, taken->count};
  }

 private:
  fork_safe_mutex mutex_;
  block* first_ = nullptr;  // of the newest chain
  std::size_t chains_ = 0;
};

/// Never destroyed: threads may end, and free, after the static objects of the process. Not from operator new: the
/// first call here may be one that frees.
union without_destructor {
  constexpr without_destructor() noexcept : all() {}
  ~without_destructor() {}
  std::array<central_list, classes> all;
};

constinit without_destructor shared_central_lists;

auto central_lists() noexcept -> std::array<central_list, classes>& { return shared_central_lists.all; }

enum class cache_state : unsigned char { unused, live, gone };

/// The free lists of one thread. Trivial, so that it can be used while the thread is being torn down.
struct thread_cache {
  std::array<chain, classes> lists;
  std::array<unsigned char, classes>
      passes;  // how often to pass by the central free list, which had nothing the last time
  cache_state state;
};

constinit thread_local thread_cache cache __attribute__((tls_model("initial-exec"))){};

/// Empties the lists of the thread at its end; later calls go to operator new and delete.
void empty_cache(void* of_thread) noexcept {
  auto& own = *static_cast<thread_cache*>(of_thread);
  own.state = cache_state::gone;
  for (std::size_t i = 0; i < classes; ++i)
    if (own.lists[i].first != nullptr) central_lists()[i].give(std::exchange(own.lists[i], chain{}), chain_bytes(i));
}

const detail::thread_end at_thread_end(&empty_cache);

/// A thread whose end cannot be noticed has no lists.
auto usable_cache() noexcept -> thread_cache* {
  if (cache.state == cache_state::live) [[likely]]
    return &cache;
  if (cache.state == cache_state::gone || !at_thread_end.ask(&cache)) return nullptr;
  cache.state = cache_state::live;
  return &cache;
}

/// Of no bytes: a number beyond all classes.
auto class_of(std::size_t size) noexcept -> std::size_t { return (size - 1) / class_bytes; }

auto is_listed(std::size_t index) noexcept -> bool { return uses_lists && index < classes; }

// What is rare stands apart, so that the usual ways save no registers for it.

[[gnu::noinline]] auto allocate_elsewhere(std::size_t size, std::size_t index) -> void* {
  if (!is_listed(index)) return ::operator new(size);
  if (thread_cache* own = usable_cache(); own != nullptr) {
    chain& list = own->lists[index];
    if (list.first != nullptr) return list.pop();
    if (unsigned char& passes = own->passes[index]; passes > 0) {
      --passes;
    } else {
      list = central_lists()[index].take(chain_bytes(index));
      if (list.first != nullptr) return list.pop();
      passes = max_passes;
    }
  }
  return ::operator new((index + 1) * class_bytes);
}

[[gnu::noinline]] void give_half(chain& list, std::size_t index) noexcept {
  central_lists()[index].give(list.split(batch), chain_bytes(index));
}

[[gnu::noinline]] void free_elsewhere(void* memory, std::size_t index) noexcept {
  thread_cache* own = is_listed(index) ? usable_cache() : nullptr;
  if (own == nullptr) return ::operator delete(memory);
  own->lists[index].push(static_cast<block*>(memory));
}

}  // namespace

auto allocate_job(std::size_t size) -> void* {
  const std::size_t index = class_of(size);
  if (is_listed(index)) {
    chain& list = cache.lists[index];  // empty while the cache is not live
    if (list.first != nullptr) [[likely]]
      return list.pop();
  }
  return allocate_elsewhere(size, index);
}

auto idle_job_memory() noexcept -> std::size_t { return central_total.load(relaxed); }

void free_job(void* memory, std::size_t size) noexcept {
  const std::size_t index = class_of(size);
  if (!is_listed(index) || cache.state != cache_state::live) [[unlikely]]
    return free_elsewhere(memory, index);
  chain& list = cache.lists[index];
  list.push(static_cast<block*>(memory));
  if (list.count >= 2 * batch) [[unlikely]]
    give_half(list, index);
}

}  // namespace braid::detail
