// tests/task/job_memory_test.cpp: blocks are aligned, reused within their class, and travel between threads.
#include <braid/task/detail/job_memory.hpp>

#include <braid/sync/atomic.hpp>

#include <doctest/doctest.h>

#include <tests/support/sanitizer.hpp>

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <set>
#include <thread>
#include <vector>

#include <pthread.h>

using braid::detail::allocate_job;
using braid::detail::free_job;

namespace {

/// Blocks of this program, the library included, that came from operator new and have not gone back; 0 throughout where
/// a sanitizer has replaced the operators.
braid::atomic<long> live_blocks{0};

}  // namespace

#if !defined(BRAID_TEST_ADDRESS) && !defined(BRAID_TEST_THREAD)  // they have replaced these operators themselves
thread_local bool calloc_is_empty = false;
extern "C" auto __libc_calloc(std::size_t count, std::size_t size) -> void*;

/// By which the C library asks for memory of its own.
extern "C" [[gnu::visibility("default")]] auto calloc(std::size_t count, std::size_t size) noexcept -> void* {
  return calloc_is_empty ? nullptr : __libc_calloc(count, size);
}

namespace {

/// On the thread of its maker.
struct calloc_fails {
  calloc_fails() noexcept { calloc_is_empty = true; }
  calloc_fails(const calloc_fails&) = delete;
  auto operator=(const calloc_fails&) -> calloc_fails& = delete;
  ~calloc_fails() { calloc_is_empty = false; }
};

}  // namespace

auto operator new(std::size_t size) -> void* {
  void* block = std::malloc(size);
  if (block == nullptr) throw std::bad_alloc();
  live_blocks.fetch_add(1, braid::relaxed);
  return block;
}

void operator delete(void* block) noexcept {
  if (block != nullptr) live_blocks.fetch_sub(1, braid::relaxed);
  std::free(block);
}

void operator delete(void* block, std::size_t /*size*/) noexcept { ::operator delete(block); }
#endif

namespace {

auto take(std::size_t count, std::size_t size) -> std::vector<void*> {
  std::vector<void*> blocks(count);
  for (void*& block : blocks) block = allocate_job(size);
  return blocks;
}

void give(const std::vector<void*>& blocks, std::size_t size) {
  for (void* block : blocks) free_job(block, size);
}

auto distinct(const std::vector<void*>& blocks) -> std::set<void*> { return {blocks.begin(), blocks.end()}; }

/// The address sanitizer gets every block from operator new, so nothing can be seen to be reused.
constexpr bool blocks_are_reused = !braid::testing::under_address_sanitizer;

}  // namespace

TEST_CASE("every size gets a block of at least so many bytes, aligned to sixteen") {
  std::vector<std::size_t> sizes{0,   1,   8,   9,    40,   41,   72,   73,   104,  519,  520,
                                 521, 584, 585, 1023, 1024, 1025, 2567, 2568, 2569, 5000, 1U << 20U};
  std::vector<unsigned char*> blocks;
  for (const std::size_t size : sizes) {
    blocks.push_back(static_cast<unsigned char*>(allocate_job(size)));
    CHECK(reinterpret_cast<std::uintptr_t>(blocks.back()) % 16 == 0);
    std::memset(blocks.back(), static_cast<int>(blocks.size()), size);
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto mark = static_cast<unsigned char>(i + 1);
    CHECK(std::all_of(blocks[i], blocks[i] + sizes[i], [mark](unsigned char c) { return c == mark; }));
    free_job(blocks[i], sizes[i]);
  }
}

TEST_CASE("blocks in use are distinct") {
  const auto blocks = take(1000, 100);
  CHECK(distinct(blocks).size() == 1000);
  give(blocks, 100);
  const auto again = take(1000, 100);
  CHECK(distinct(again).size() == 1000);
  give(again, 100);
}

TEST_CASE("a freed block is the next one of its class, and of no other") {
  if constexpr (blocks_are_reused) {
    void* first = allocate_job(73);
    free_job(first, 73);
    void* other_class = allocate_job(72);
    void* same_class = allocate_job(104);
    CHECK(other_class != first);
    CHECK(same_class == first);
    free_job(other_class, 72);
    free_job(same_class, 104);
  }
}

TEST_CASE("blocks taken by one thread and freed by another, which lives on, come back to the first in batches") {
  constexpr std::size_t size = 700;
  constexpr int rounds = 20;
  std::vector<void*> blocks;
  std::barrier both(2);
  std::thread other([&] {
    for (int round = 0; round < rounds; ++round) {
      both.arrive_and_wait();
      give(blocks, size);
      both.arrive_and_wait();
    }
  });
  std::set<void*> seen;
  for (int round = 0; round < rounds; ++round) {
    blocks = take(100, size);
    seen.insert(blocks.begin(), blocks.end());
    both.arrive_and_wait();
    both.arrive_and_wait();
  }
  other.join();
  if constexpr (blocks_are_reused) CHECK(seen.size() <= 300);
  CHECK(seen.size() >= 100);
}

TEST_CASE("what a thread keeps in its lists is there for others after its end") {
  for (const std::size_t size : {900, 1'500, 2'300}) {
    void* left_behind = nullptr;
    std::thread([&] {
      left_behind = allocate_job(size);
      free_job(left_behind, size);
    }).join();
    void* found = allocate_job(size);
    if constexpr (blocks_are_reused) CHECK(found == left_behind);
    free_job(found, size);
  }
}

TEST_CASE("what threads only free is kept for others, up to a bound, and the rest is given back") {
  constexpr std::size_t size = 960;
  const auto blocks = take(40'000, size);
  std::thread([&] { give(blocks, size); }).join();
  if constexpr (blocks_are_reused) {
    CHECK(braid::detail::idle_job_memory() > (std::size_t{15} << 20U));  // about 16 MiB in all
    CHECK(braid::detail::idle_job_memory() < (std::size_t{34} << 20U));  // and of each class some in any case
  }
  const auto after = take(40'000, size);
  const auto before = distinct(blocks);
  const auto reused = std::count_if(after.begin(), after.end(), [&](void* block) { return before.contains(block); });
  if constexpr (blocks_are_reused) CHECK(reused >= 12'000);
  give(after, size);
  CHECK(distinct(after).size() == 40'000);
}

TEST_CASE("of a class some is kept also where others have used up what all may keep") {
  constexpr std::size_t large = 1'024;
  constexpr std::size_t small = 60;
  const auto filling = take(40'000, large);
  std::thread([&] { give(filling, large); }).join();
  const auto blocks = take(4'000, small);
  const std::size_t full = braid::detail::idle_job_memory();
  std::thread([&] { give(blocks, small); }).join();
  if constexpr (blocks_are_reused) CHECK(braid::detail::idle_job_memory() - full >= std::size_t{60 * 32 * 64});
}

TEST_CASE("blocks that travel between threads keep nothing of what was in them, and all are there again") {
  constexpr std::size_t size = 120;
  constexpr std::size_t count = 1'000;
  for (int round = 0; round < 10; ++round) {
    const auto blocks = take(count, size);
    REQUIRE(distinct(blocks).size() == count);
    for (void* block : blocks) std::memset(block, 0xff, size);  // links would lead nowhere
    std::thread([&] { give(blocks, size); }).join();
  }
}

namespace {

int late_frees = 0;

constexpr std::size_t late_size = 800;  // a class that no other test uses

/// Of a key of POSIX threads: it asks to be called once more, and so runs when the thread's lists are gone.
void use_late(void* block);

auto late_key() -> ::pthread_key_t {
  static const ::pthread_key_t key = [] {
    ::pthread_key_t made = 0;
    REQUIRE(::pthread_key_create(&made, &use_late) == 0);
    return made;
  }();
  return key;
}

thread_local int late_calls = 0;

void use_late(void* block) {
  if (++late_calls == 1) return static_cast<void>(::pthread_setspecific(late_key(), block));
  free_job(block, late_size);
  void* const last = allocate_job(late_size);
  std::memset(last, 0, late_size);
  free_job(last, late_size);
  ++late_frees;
}

/// Of a thread_local object, while the thread still has its lists.
struct late_object {
  void* block = nullptr;
  ~late_object() {
    if (block == nullptr) return;
    free_job(block, late_size);
    ++late_frees;
  }
};

thread_local late_object of_thread;

}  // namespace

TEST_CASE("a thread that is being torn down may still take and free blocks, and leaks none") {
  const long before = live_blocks.load(braid::relaxed);
  std::thread([] { REQUIRE(::pthread_setspecific(late_key(), allocate_job(late_size)) == 0); }).join();
  CHECK(late_frees == 1);
  CHECK(live_blocks.load(braid::relaxed) == before);
  for (int i = 0; i < 3; ++i) std::thread([] { of_thread.block = allocate_job(late_size); }).join();
  CHECK(late_frees == 4);
  CHECK(live_blocks.load(braid::relaxed) - before <= 1);  // what the first one left is used again
}

#if !defined(BRAID_TEST_ADDRESS) && !defined(BRAID_TEST_THREAD)
TEST_CASE("where there is no memory for more than the block, a thread gets the block, and no end of the process") {
  void* block = nullptr;
  std::thread([&] {
    const calloc_fails here;
    block = allocate_job(late_size);
    free_job(block, late_size);
  }).join();
  CHECK(block != nullptr);
}
#endif

TEST_CASE("a size that no memory can hold is refused") {
  if constexpr (!braid::testing::under_address_sanitizer && !braid::testing::under_thread_sanitizer) {
    const volatile std::size_t max_count = std::numeric_limits<std::size_t>::max();
    CHECK_THROWS_AS(static_cast<void>(allocate_job(max_count)), std::bad_alloc);
    CHECK_THROWS_AS(static_cast<void>(allocate_job(max_count / 2 + 1)), std::bad_alloc);
  }
}
