// rankd/rows/bitmap.hpp: a view of bits, one for each row, stored in words of 64 bits.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace rankd {

inline constexpr std::size_t word_bits = 64;

/// Returns the number of words that are needed for `bits` bits.
[[nodiscard]] constexpr auto words_for(std::size_t bits) noexcept -> std::size_t {
  return (bits + word_bits - 1) / word_bits;
}

/// Returns a word whose lowest `bits` bits are set. All bits are set if `bits` is 64 or more.
[[nodiscard]] constexpr auto low_bits(std::size_t bits) noexcept -> std::uint64_t {
  return bits >= word_bits ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

[[nodiscard]] constexpr auto test_bit(const std::uint64_t* words, std::size_t index) noexcept -> bool {
  return ((words[index / word_bits] >> (index % word_bits)) & 1U) != 0;
}

constexpr void set_bit(std::uint64_t* words, std::size_t index) noexcept {
  words[index / word_bits] |= std::uint64_t{1} << (index % word_bits);
}

constexpr void clear_bit(std::uint64_t* words, std::size_t index) noexcept {
  words[index / word_bits] &= ~(std::uint64_t{1} << (index % word_bits));
}

/// A view of bits that another object owns. The first bit is the lowest bit of the first word. A view without words has
/// every bit set, so a column without nulls needs no memory for its bits. Bits after the last row are unspecified.
/// Threads: any, once constructed. Lifetime: the words outlive it.
class bitmap {
 public:
  constexpr bitmap() = default;
  explicit constexpr bitmap(const std::uint64_t* words) noexcept : words_(words) {}

  [[nodiscard]] constexpr auto all_set() const noexcept -> bool { return words_ == nullptr; }
  /// Returns the words, or null if every bit is set.
  [[nodiscard]] constexpr auto words() const noexcept -> const std::uint64_t* { return words_; }

  [[nodiscard]] constexpr auto operator[](std::size_t index) const noexcept -> bool {
    return words_ == nullptr || test_bit(words_, index);
  }

  /// Returns the number of set bits among the first `bits` bits.
  [[nodiscard]] constexpr auto count(std::size_t bits) const noexcept -> std::size_t {
    if (words_ == nullptr) return bits;
    std::size_t sum = 0;
    for_each_word(bits,
                  [&sum](std::size_t, std::uint64_t word) { sum += static_cast<std::size_t>(std::popcount(word)); });
    return sum;
  }

  /// Calls `fn(index)` for each set bit among the first `bits` bits, in ascending order.
  template <typename Fn>
  constexpr void for_each_set(std::size_t bits, Fn&& fn) const {
    for_each_word(bits, [&fn](std::size_t first, std::uint64_t word) {
      for (; word != 0; word &= word - 1) fn(first + static_cast<std::size_t>(std::countr_zero(word)));
    });
  }

 private:
  /// Calls `fn(first, word)` for each word, where `first` is the index of its first bit. Bits from index `bits` on are
  /// cleared in `word`.
  template <typename Fn>
  constexpr void for_each_word(std::size_t bits, Fn&& fn) const {
    for (std::size_t first = 0; first < bits; first += word_bits) {
      const std::uint64_t word = words_ == nullptr ? ~std::uint64_t{0} : words_[first / word_bits];
      fn(first, word & low_bits(bits - first));
    }
  }

  const std::uint64_t* words_ = nullptr;
};

}  // namespace rankd
