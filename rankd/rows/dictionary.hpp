// rankd/rows/dictionary.hpp: the distinct strings of a column, each identified by a code.
#pragma once

#include <braid/base/arena.hpp>

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <string_view>
#include <vector>

namespace rankd {

/// A list of distinct strings, which may contain any bytes. The code of a string is its position. Columns share
/// dictionaries by pointer.
/// Threads: any, once constructed. Lifetime: the arena in which it was built outlives it.
class dictionary {
 public:
  dictionary() = default;
  /// Creates a dictionary. Requires that the entries are distinct.
  explicit dictionary(std::span<const std::string_view> entries) noexcept : entries_(entries) {}

  [[nodiscard]] auto size() const noexcept -> std::size_t { return entries_.size(); }
  [[nodiscard]] auto operator[](std::uint32_t code) const noexcept -> std::string_view { return entries_[code]; }
  [[nodiscard]] auto entries() const noexcept -> std::span<const std::string_view> { return entries_; }

 private:
  std::span<const std::string_view> entries_;
};

/// Assigns codes to strings in the order of their first occurrence.
/// Cost: one hash and about one comparison per string.
class dictionary_builder {
 public:
  explicit dictionary_builder(braid::arena& memory) : memory_(memory), entries_(&memory), slots_(&memory) {}

  /// Returns the code of a string. A new string is copied to the arena.
  auto intern(std::string_view text) -> std::uint32_t;

  /// Returns the code of a string that outlives the dictionary. A new string is not copied.
  auto intern_shared(std::string_view text) -> std::uint32_t;

  /// Returns all strings that have a code, as a dictionary in the arena.
  auto finish() -> const dictionary*;

 private:
  struct slot {
    std::uint32_t code = free;
    std::uint32_t hash = 0;

    static constexpr std::uint32_t free = ~std::uint32_t{0};
  };

  auto find(std::string_view text, std::size_t hash) -> slot&;
  auto insert(slot& place, std::string_view text, std::size_t hash) -> std::uint32_t;
  void grow();

  braid::arena& memory_;
  std::pmr::vector<std::string_view> entries_;
  /// A hash table with open addressing. Its size is a power of two, and at most three quarters of the slots are used.
  std::pmr::vector<slot> slots_;
};

}  // namespace rankd
