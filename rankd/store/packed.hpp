// rankd/store/packed.hpp: numbers and texts one after the other as bytes, and a reader that no bytes can lead astray.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace rankd {

/// Appends values to a string. A number takes seven bits a byte, the lowest first (LEB128); a signed one is folded, so
/// that small ones are short whatever their sign; a text follows its length.
class packed_writer {
 public:
  explicit packed_writer(std::string& into) noexcept : into_(&into) {}

  void number(std::uint64_t value) {
    for (; value >= 0x80U; value >>= 7U) into_->push_back(static_cast<char>(value | 0x80U));
    into_->push_back(static_cast<char>(value));
  }
  void integer(std::int64_t value) {
    const auto bits = static_cast<std::uint64_t>(value);
    number(bits << 1U ^ (value < 0 ? ~std::uint64_t{0} : 0));
  }
  void text(std::string_view value) {
    number(value.size());
    *into_ += value;
  }
  void real(double value) {
    for (unsigned shift = 0; shift < 64; shift += 8)
      into_->push_back(static_cast<char>(std::bit_cast<std::uint64_t>(value) >> shift));
  }

 private:
  std::string* into_;
};

/// Reads them again. What is not there reads as zero or empty, and from then on the reader is not sound.
/// Lifetime: texts are those of the bytes.
class packed_reader {
 public:
  explicit packed_reader(std::string_view bytes) noexcept : rest_(bytes) {}

  auto number() noexcept -> std::uint64_t {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) return fail();
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if (byte < 0x80U) return value;
    }
    return fail();
  }
  auto integer() noexcept -> std::int64_t {
    const std::uint64_t folded = number();
    return static_cast<std::int64_t>(folded >> 1U ^ ((folded & 1U) != 0 ? ~std::uint64_t{0} : 0));
  }
  auto text() noexcept -> std::string_view {
    const std::uint64_t size = number();
    if (size > rest_.size()) return fail(), std::string_view();
    const std::string_view out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return out;
  }
  auto real() noexcept -> double {
    if (rest_.size() < 8) return fail(), 0;
    std::uint64_t bits = 0;
    for (unsigned at = 0; at < 8; ++at) bits |= std::uint64_t{static_cast<unsigned char>(rest_[at])} << (8 * at);
    rest_.remove_prefix(8);
    return std::bit_cast<double>(bits);
  }
  /// How many things follow, each of a byte at least: never more than there are bytes.
  auto count() noexcept -> std::size_t {
    const std::uint64_t value = number();
    if (value > rest_.size()) return fail();
    return value;
  }

  [[nodiscard]] auto is_sound() const noexcept -> bool { return sound_; }
  [[nodiscard]] auto rest() const noexcept -> std::string_view { return rest_; }
  /// Whether everything has been read, and was there.
  [[nodiscard]] auto is_done() const noexcept -> bool { return sound_ && rest_.empty(); }

 private:
  auto fail() noexcept -> std::uint64_t {
    sound_ = false;
    rest_ = {};
    return 0;
  }

  std::string_view rest_;
  bool sound_ = true;
};

}  // namespace rankd
