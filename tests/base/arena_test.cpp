// tests/base/arena_test.cpp: what an arena hands out is aligned, disjoint, and there until it is reset.
#include <braid/base/arena.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory_resource>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace {

using braid::arena;

auto is_aligned(const void* place, std::size_t alignment) -> bool {
  return reinterpret_cast<std::uintptr_t>(place) % alignment == 0;
}

struct filled_bytes {
  unsigned char* place;
  std::size_t size;
  unsigned char value;

  [[nodiscard]] auto intact() const -> bool {
    return std::all_of(place, place + size, [this](unsigned char c) { return c == value; });
  }
};

}  // namespace

TEST_CASE("every allocation is aligned as asked, and none overlaps another") {
  arena memory(64);
  std::vector<filled_bytes> taken;
  for (std::size_t step = 0; step < 400; ++step) {
    const std::size_t alignment = std::size_t{1} << (step % 13);
    const std::size_t size = 1 + step * 7 % 90;
    auto* place = static_cast<unsigned char*>(memory.bytes(size, alignment));
    REQUIRE(is_aligned(place, alignment));
    taken.push_back({place, size, static_cast<unsigned char>(step)});
    std::memset(place, taken.back().value, size);
  }
  for (const filled_bytes& one : taken) CHECK(one.intact());
}

TEST_CASE("an allocation of no bytes has an address") {
  arena memory;
  CHECK(memory.bytes(0, 1) != nullptr);
  CHECK(memory.uninitialized<int>(0).empty());
}

TEST_CASE("nothing is reserved before the first allocation, and chunks double up to one MiB") {
  arena memory(1000);
  CHECK(memory.reserved() == 0);
  std::vector<std::size_t> chunks;
  for (std::size_t before = 0; chunks.size() < 14; before = memory.reserved()) {
    static_cast<void>(memory.bytes(100, 1));
    if (memory.reserved() != before) chunks.push_back(memory.reserved() - before);
  }
  CHECK(chunks[0] == 1000);
  CHECK(chunks[1] == 2000);
  CHECK(chunks[5] == 32000);
  CHECK(chunks[12] == std::size_t{1} << 20U);
  CHECK(chunks[13] == std::size_t{1} << 20U);
}

TEST_CASE("an allocation larger than a chunk gets a chunk that holds it") {
  arena memory(64);
  auto* place = static_cast<unsigned char*>(memory.bytes(100'000, 4096));
  REQUIRE(is_aligned(place, 4096));
  std::memset(place, 1, 100'000);
  CHECK(memory.reserved() >= 100'000);
}

TEST_CASE("a size that no memory can hold is refused and leaves the arena as it was") {
  arena memory;
  const auto before = memory.copied("before");
  const std::size_t reserved = memory.reserved();
  constexpr std::size_t max_count = std::numeric_limits<std::size_t>::max();
  CHECK_THROWS_AS(static_cast<void>(memory.bytes(max_count, 8)), std::bad_alloc);
  CHECK_THROWS_AS(static_cast<void>(memory.uninitialized<std::uint64_t>(max_count / 8 + 2)), std::bad_array_new_length);
  CHECK_THROWS_AS(static_cast<void>(memory.filled<std::uint32_t>(max_count / 2, 1)), std::bad_array_new_length);
  CHECK(memory.reserved() == reserved);
  CHECK(before == "before");
}

TEST_CASE("a reset gives everything back, and the arena can be used again") {
  arena memory;
  for (int i = 0; i < 1000; ++i) static_cast<void>(memory.bytes(100, 8));
  REQUIRE(memory.reserved() >= 100'000);
  memory.reset();
  CHECK(memory.reserved() == 0);
  CHECK(memory.copied("again") == "again");
  memory.reset();
  memory.reset();
  CHECK(memory.reserved() == 0);
}

namespace {

/// Counts what it has given and got back.
struct counting_resource : std::pmr::memory_resource {
  std::size_t given = 0;
  std::size_t back = 0;

 private:
  auto do_allocate(std::size_t size, std::size_t alignment) -> void* override {
    given += size;
    return ::operator new(size, std::align_val_t(alignment));
  }
  void do_deallocate(void* place, std::size_t size, std::size_t alignment) override {
    back += size;
    ::operator delete(place, size, std::align_val_t(alignment));
  }
  [[nodiscard]] auto do_is_equal(const memory_resource& other) const noexcept -> bool override {
    return this == &other;
  }
};

}  // namespace

TEST_CASE("chunks come from where the arena was told, and go back there, of a moved arena as well") {
  counting_resource chunks;
  {
    arena memory(256, &chunks);
    CHECK(chunks.given == 0);
    for (int i = 0; i < 100; ++i) static_cast<void>(memory.bytes(50, 8));
    CHECK(chunks.given == memory.reserved());
    memory.reset();
    CHECK(chunks.back == chunks.given);
    static_cast<void>(memory.bytes(1000, 8));
    arena moved(std::move(memory));
    CHECK(memory.copied("from there, too") == "from there, too");
    CHECK(chunks.given == chunks.back + moved.reserved() + memory.reserved());
  }
  CHECK(chunks.back == chunks.given);
}

TEST_CASE("a first chunk of what was used holds the same again") {
  arena memory(100);
  const auto fill = [](arena& in) {
    for (std::size_t i = 1; i < 200; ++i) static_cast<void>(in.bytes(i, std::size_t{1} << (i % 5)));
  };
  CHECK(memory.used() == 0);
  fill(memory);
  CHECK(memory.used() <= memory.reserved());
  arena again(memory.used());
  fill(again);
  CHECK(again.reserved() == memory.used());
  CHECK(again.used() <= again.reserved());
}

TEST_CASE("a moved arena takes its memory along, and leaves an empty one that works") {
  arena source(128);
  const auto text = source.copied("carried over");
  const std::size_t reserved = source.reserved();
  arena target(std::move(source));
  CHECK(text == "carried over");
  CHECK(target.reserved() == reserved);
  CHECK(source.reserved() == 0);
  CHECK(source.copied("fresh") == "fresh");
  CHECK(target.reserved() == reserved);
}

TEST_CASE("copies do not depend on what they were copied from") {
  arena memory;
  std::string text = "first";
  std::vector<int> numbers{1, 2, 3};
  const auto text_copy = memory.copied(text);
  const auto number_copy = memory.copied(std::span<const int>(numbers));
  text = "other";
  numbers.assign(3, 9);
  CHECK(text_copy == "first");
  CHECK(std::vector<int>(number_copy.begin(), number_copy.end()) == std::vector<int>{1, 2, 3});
  CHECK(memory.copied("").empty());
}

TEST_CASE("filled and make give initialised objects") {
  struct point {
    int x;
    int y;
  };
  arena memory;
  const auto sevens = memory.filled(5, 7);
  CHECK(sevens.size() == 5);
  CHECK(std::count(sevens.begin(), sevens.end(), 7) == 5);
  const point* made = memory.make<point>(3, 4);
  CHECK(made->x == 3);
  CHECK(made->y == 4);
}

TEST_CASE("standard containers live in an arena") {
  arena memory(64);
  arena other;
  std::pmr::vector<std::pmr::string> words(&memory);
  for (int i = 0; i < 200; ++i)
    words.emplace_back("a word that is too long for the string itself " + std::to_string(i));
  CHECK(words.front().ends_with(" 0"));
  CHECK(words.back().ends_with(" 199"));
  CHECK(words.back().get_allocator().resource() == &memory);
  CHECK(memory.reserved() > 200 * 46);
  CHECK(memory == memory);
  CHECK(memory != other);
}
