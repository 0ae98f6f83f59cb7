// tests/rankd/engine/chunk_cache_test.cpp: chunks that are kept, those that are not, and requests that take none from
// the heap.
#include <rankd/engine/caching/chunk_cache.hpp>
#include <rankd/store/store_layer.hpp>

#include <tests/rankd/engine/engine_world.hpp>
#include <tests/support/sanitizer.hpp>

#include <braid/base/random.hpp>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;

namespace {

/// What a chunk of an arena may be, at the least.
[[maybe_unused]] constexpr std::size_t smallest_chunk = 1024;

/// Calls of operator new of this program, of all threads, and those for as much as a chunk.
std::atomic<long> blocks{0};
std::atomic<long> large_blocks{0};

}  // namespace

#if !defined(BRAID_TEST_ADDRESS) && !defined(BRAID_TEST_THREAD)  // they have replaced these operators themselves
// Not inlined: g++ takes a deletion that it sees inside for one that does not match.
[[gnu::noinline]] auto operator new(std::size_t size) -> void* {
  void* block = std::malloc(size);
  if (block == nullptr) throw std::bad_alloc();
  blocks.fetch_add(1, std::memory_order_relaxed);
  if (size >= smallest_chunk) large_blocks.fetch_add(1, std::memory_order_relaxed);
  return block;
}

[[gnu::noinline]] void operator delete(void* block) noexcept { std::free(block); }

[[gnu::noinline]] void operator delete(void* block, std::size_t /*size*/) noexcept { std::free(block); }
#endif

namespace {

struct taken {
  void* place;
  std::size_t size;
};

auto take(chunk_cache& from, std::size_t size) -> taken {
  void* const place = from.allocate(size);
  std::memset(place, 0x5a, size);
  return {place, size};
}

void give(chunk_cache& to, taken what) { to.deallocate(what.place, what.size); }

}  // namespace

TEST_CASE("a chunk that came back is given out again, for sizes that are nearly the same, and for no others") {
  chunk_cache cache;
  const taken first = take(cache, 40'000);
  give(cache, first);
  CHECK(cache.kept() >= 40'000);
  CHECK(cache.kept() <= 50'000);
  const taken larger = take(cache, 60'000);
  CHECK(larger.place != first.place);
  const taken same = take(cache, 39'000);
  CHECK(same.place == first.place);
  CHECK(cache.kept() == 0);
  give(cache, same);
  give(cache, larger);
}

TEST_CASE("sizes are rounded up by a quarter at most") {
  for (std::size_t size = 1024; size <= (std::size_t{4} << 20U); size += size / 7) {
    chunk_cache cache;
    give(cache, take(cache, size));
    CHECK(cache.kept() >= size);
    CHECK(cache.kept() <= size + size / 4);
  }
}

TEST_CASE("what is larger than any chunk, or aligned to more, goes back to the heap") {
  chunk_cache cache;
  void* const huge = cache.allocate(chunk_cache::largest_chunk + 1);
  cache.deallocate(huge, chunk_cache::largest_chunk + 1);
  void* const aligned = cache.allocate(4096, 4096);
  CHECK(reinterpret_cast<std::uintptr_t>(aligned) % 4096 == 0);
  cache.deallocate(aligned, 4096, 4096);
  CHECK(cache.kept() == 0);
}

TEST_CASE("as much is kept as was in use at one time, and never more than the bound") {
  chunk_cache cache;
  std::vector<taken> all;
  for (int i = 0; i < 100; ++i) all.push_back(take(cache, 10'000));
  for (const taken each : all) give(cache, each);
  CHECK(cache.kept() >= 1'000'000);
  chunk_cache narrow(100'000);
  all.clear();
  for (int i = 0; i < 100; ++i) all.push_back(take(narrow, 10'000));
  for (const taken each : all) give(narrow, each);
  CHECK(narrow.kept() <= 100'000);
  CHECK(narrow.kept() > 50'000);
}

TEST_CASE("what a burst took is given back once it is over") {
  chunk_cache cache;
  std::vector<taken> burst;
  for (int i = 0; i < 100; ++i) burst.push_back(take(cache, 100'000));
  for (const taken each : burst) give(cache, each);
  CHECK(cache.kept() >= 10'000'000);
  for (std::uint32_t i = 0; i < 2 * chunk_cache::period; ++i) give(cache, take(cache, 2'000));
  CHECK(cache.kept() <= 2 * 2'500);
  CHECK(cache.kept() >= 2'000);
}

TEST_CASE("threads share a cache") {
  chunk_cache cache;
  std::vector<std::thread> threads;
  for (std::uint64_t seed = 0; seed < 4; ++seed)
    threads.emplace_back([&cache, seed] {
      braid::random_source random(seed);
      std::vector<taken> held;
      for (int step = 0; step < 3000; ++step) {
        if (held.size() < 8 && random.below(2) == 0) {
          held.push_back(take(cache, 500 + random.below(20'000)));
        } else if (!held.empty()) {
          give(cache, held.back());
          held.pop_back();
        }
      }
      for (const taken each : held) give(cache, each);
    });
  for (std::thread& each : threads) each.join();
  CHECK(cache.kept() <= std::size_t{2} * 4 * 8 * 25'600);
}

namespace {

constexpr int requests = 300;
/// Frames and states come from the lists of the thread; now and then it asks for a block that they do not have.
constexpr long max_large = requests / 10;
/// The texts of the answer.
constexpr double max_blocks = 6;

/// The store of the reference data as one that tasks wait for: requests share its reads.
class waited_store final : public store_layer {
 public:
  explicit waited_store(store& behind) noexcept : store_layer(behind) {}

  [[nodiscard]] auto answers_at_once() const noexcept -> bool override { return false; }
};

struct block_counts {
  double blocks = 0;
  long large = 0;
};

#if defined(__clang__)
constexpr bool has_small_frames = true;
#else
constexpr bool has_small_frames = false;  // those of g++ 12 may be as large as a chunk
#endif

constexpr bool is_counted =
    has_small_frames && !braid::testing::under_address_sanitizer && !braid::testing::under_thread_sanitizer;

/// What one of many requests takes from the heap on average, once some were answered; and how many blocks as large as a
/// chunk all of them took.
auto taken_by_requests(const std::string& artifact, std::vector<store*> stores) -> block_counts {
  constexpr int warm_up = is_counted ? 200 : 10;
  constexpr int asked = is_counted ? requests : 10;  // sanitizers look at the code alone
  engine_world world(reference_project::get().declared, std::move(stores), 2);
  const bound_plan& plan = world.bind(artifact);
  const rank_request request =
      value_of(parse_request(R"({"user_id":1,"request_id":"r"})", reference_project::get().declared));
  const auto ask = [&] { return world.on().run(world.ranker().rank(plan, request)); };
  for (int i = 0; i < warm_up; ++i) REQUIRE_FALSE(ask().error);
  const long before = blocks.load();
  const long large_before = large_blocks.load();
  for (int i = 0; i < asked; ++i) static_cast<void>(ask());
  return {static_cast<double>(blocks.load() - before) / asked, large_blocks.load() - large_before};
}

auto users(const std::string& id, const std::string& op, const std::string& input) -> std::string {
  return node(id, op, input, R"({"endpoint":"ep_0001","fanout":10})");
}

}  // namespace

TEST_CASE("a small plan on the store takes no chunk from the heap once it is warm") {
  const std::string nodes = node("v", "core::viewer", "", R"({"endpoint":"ep_0001"})") + "," +
                            users("f", "core::follow", "v") + "," + users("r", "core::recommendation", "v") + "," +
                            node("c", "core::concat", "f", R"({"rhs":"r"})") + "," + node("d", "core::dedupe", "c") +
                            "," + node("t", "core::take", "d", R"({"count":5})");
  const block_counts found = taken_by_requests(artifact_of(nodes, R"("t")"), reference_project::get().stores);
  MESSAGE("blocks a request: " << found.blocks << ", large ones of all: " << found.large);
  if (!is_counted) return;
  CHECK(found.large <= max_large);
  CHECK(found.blocks > 0);
  CHECK(found.blocks <= max_blocks);
}

TEST_CASE("reads that requests share take one block of the heap for a request, however many they are") {
  const std::string nodes = node("v", "core::viewer", "", R"({"endpoint":"ep_0001"})") + "," +
                            users("f", "core::follow", "v") + "," + users("r", "core::recommendation", "v") + "," +
                            node("c", "core::concat", "f", R"({"rhs":"r"})");
  const std::string artifact = artifact_of(nodes, R"("c")");
  std::vector<store*> stores = reference_project::get().stores;
  const block_counts alone = taken_by_requests(artifact, stores);
  waited_store waited(*stores.front());
  stores.front() = &waited;
  const block_counts shared = taken_by_requests(artifact, stores);
  MESSAGE("blocks a request: " << alone.blocks << ", with shared reads " << shared.blocks);
  if (!is_counted) return;
  CHECK(shared.blocks <= alone.blocks + 1.5);
  CHECK(shared.large <= max_large);
}

TEST_CASE("a wide plan, whose nodes run on workers, takes no chunk from the heap once it is warm") {
  const std::string nodes =
      source("s", 30'000) + "," + node("m", "core::vm", "s", R"({"out_key":2001,"expr_id":"e"})") + "," +
      node("o", "core::sort", "m", R"({"by":2001,"order":"desc"})") + "," + node("d", "core::dedupe", "o") + "," +
      node("j", "core::join", "d", R"({"rhs":"s","how":"semi"})");
  const block_counts found =
      taken_by_requests(artifact_of(nodes, R"("j")",
                                    R"("expr_table":{"e":{"op":"mul","a":{"op":"key_ref","key_id":1},)"
                                    R"("b":{"op":"const_number","value":0.5}}},)"),
                        reference_project::get().stores);
  MESSAGE("blocks a request: " << found.blocks << ", large ones of all: " << found.large);
  if (!is_counted) return;
  CHECK(found.large <= max_large);
  CHECK(found.blocks <= max_blocks);
}
