// src/task/job_memory.cpp: free lists by thread and size class, and the depot through which threads exchange batches.
#include <braid/task/job_memory.hpp>

#include <array>
#include <mutex>
#include <new>
#include <utility>

namespace braid {
namespace {

constexpr std::size_t class_bytes = 64;
constexpr std::size_t classes = 16;
constexpr std::size_t batch = 32;           // blocks that go to or come from the depot at once
constexpr std::size_t depot_batches = 128;  // per class; what is beyond goes back to operator delete

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
};

struct chain {
  block* first = nullptr;
  std::size_t count = 0;

  void push(block* item) noexcept {
    item->next = first;
    first = item;
    ++count;
  }

  auto pop() noexcept -> block* {
    --count;
    return std::exchange(first, first->next);
  }

  /// Splits the newest `wanted` blocks off.
  auto split(std::size_t wanted) noexcept -> chain {
    chain taken;
    while (taken.count < wanted && first != nullptr) taken.push(pop());
    return taken;
  }
};

void release_all(chain blocks) noexcept {
  while (blocks.first != nullptr) ::operator delete(blocks.pop());
}

/// Full batches of one class, waiting for a thread that needs them.
class depot {
 public:
  void give(chain blocks) noexcept {
    {
      const std::lock_guard lock(mutex_);
      if (count_ < depot_batches) {
        batches_[count_++] = blocks;
        return;
      }
    }
    release_all(blocks);
  }

  auto take() noexcept -> chain {
    const std::lock_guard lock(mutex_);
    return count_ == 0 ? chain{} : batches_[--count_];
  }

 private:
  std::mutex mutex_;
  std::array<chain, depot_batches> batches_{};
  std::size_t count_ = 0;
};

/// Never destroyed: threads may end, and free, after the static objects of the process. Not from operator new: who
/// frees may be the first to come here.
union without_destructor {
  constexpr without_destructor() noexcept : all() {}
  ~without_destructor() {}
  std::array<depot, classes> all;
};

constinit without_destructor shared_depots;

auto depots() noexcept -> std::array<depot, classes>& { return shared_depots.all; }

enum class cache_state : unsigned char { unused, live, gone };

/// The free lists of one thread. Trivial, so that it can be used while the thread is being torn down.
struct thread_cache {
  std::array<chain, classes> lists;
  cache_state state;
};

constinit thread_local thread_cache cache __attribute__((tls_model("initial-exec"))){};

/// Empties the lists of the thread at its end; later calls go to operator new and delete.
struct cache_guard {
  cache_guard() noexcept { cache.state = cache_state::live; }
  ~cache_guard() {
    cache.state = cache_state::gone;
    for (std::size_t i = 0; i < classes; ++i)
      if (cache.lists[i].first != nullptr) depots()[i].give(std::exchange(cache.lists[i], chain{}));
  }
};

auto usable_cache() noexcept -> thread_cache* {
  if (cache.state == cache_state::live) [[likely]]
    return &cache;
  if (cache.state == cache_state::gone) return nullptr;
  thread_local const cache_guard guard;
  return &cache;
}

auto class_of(std::size_t size) noexcept -> std::size_t { return size == 0 ? 0 : (size - 1) / class_bytes; }

auto is_listed(std::size_t index) noexcept -> bool { return uses_lists && index < classes; }

// What is rare stands apart, so that the usual ways save no registers for it.

[[gnu::noinline]] auto allocate_elsewhere(std::size_t size, std::size_t index) -> void* {
  if (!is_listed(index)) return ::operator new(size);
  if (thread_cache* own = usable_cache(); own != nullptr) {
    chain& list = own->lists[index];
    if (list.first == nullptr) list = depots()[index].take();
    if (list.first != nullptr) return list.pop();
  }
  return ::operator new((index + 1) * class_bytes);
}

[[gnu::noinline]] void give_half(chain& list, std::size_t index) noexcept { depots()[index].give(list.split(batch)); }

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

void free_job(void* memory, std::size_t size) noexcept {
  const std::size_t index = class_of(size);
  if (!is_listed(index) || cache.state != cache_state::live) [[unlikely]]
    return free_elsewhere(memory, index);
  chain& list = cache.lists[index];
  list.push(static_cast<block*>(memory));
  if (list.count >= 2 * batch) [[unlikely]]
    give_half(list, index);
}

}  // namespace braid
