// rankd/store/packed.hpp: numbers and texts packed into bytes, and a reader that is safe for any bytes.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rankd {

/// Appends values to a string. A number uses seven bits of each byte, the lowest first (LEB128). A signed number is
/// folded (zigzag), so that small negative numbers are short, too. The length of a text is stored before the text.
class packed_writer {
 public:
  explicit packed_writer(std::string& into) noexcept : text_(&into) {}

  void number(std::uint64_t value) {
    if (value < 0x80) return text_->push_back(static_cast<char>(value));  // most numbers are small, and need one byte
    std::array<char, max_number> room;  // NOLINT(*-member-init): as much of it as the value takes is written
    text_->append(room.data(), put(room.data(), value));
  }
  void integer(std::int64_t value) { number(folded(value)); }
  /// Appends each number like `integer`, but reserves the memory for all numbers first.
  void integers(std::span<const std::int64_t> values) {
    const std::size_t before = text_->size();
    text_->resize_and_overwrite(before + values.size() * max_number, [&](char* bytes, std::size_t) {
      char* at = bytes + before;
      for (const std::int64_t each : values) at = put(at, folded(each));
      return static_cast<std::size_t>(at - bytes);
    });
  }
  /// Appends the number 0 for each absent text. For each other text, appends the number 1 and the text. Reserves the
  /// memory for all texts first.
  void optional_texts(std::span<const std::optional<std::string_view>> values) {
    std::size_t most = 0;
    for (const auto& each : values) most += 1 + (each ? max_number + each->size() : 0);
    const std::size_t before = text_->size();
    text_->resize_and_overwrite(before + most, [&](char* bytes, std::size_t) {
      char* at = bytes + before;
      for (const auto& each : values) {
        *at++ = each ? '\1' : '\0';
        if (!each) continue;
        at = put(at, each->size());
        at = std::copy(each->begin(), each->end(), at);
      }
      return static_cast<std::size_t>(at - bytes);
    });
  }
  void text(std::string_view value) {
    number(value.size());
    *text_ += value;
  }
  void real(double value) {
    for (unsigned shift = 0; shift < 64; shift += 8)
      text_->push_back(static_cast<char>(std::bit_cast<std::uint64_t>(value) >> shift));
  }

 private:
  static constexpr std::size_t max_number = 10;  // bytes

  static auto folded(std::int64_t value) noexcept -> std::uint64_t {
    const auto bits = static_cast<std::uint64_t>(value);
    return bits << 1U ^ (value < 0 ? ~std::uint64_t{0} : 0);
  }
  /// Writes a number at `place`, and returns the position after the written bytes.
  static auto put(char* place, std::uint64_t value) noexcept -> char* {
    for (; value >= 0x80U; value >>= 7U) *place++ = static_cast<char>(value | 0x80U);
    *place++ = static_cast<char>(value);
    return place;
  }

  std::string* text_;
};

/// Reads packed values from any bytes. If a value is missing, returns zero or an empty text; from then on, `is_sound`
/// returns false.
/// Lifetime: returned texts refer to the bytes.
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
  /// Reads a count of items that take at least one byte each. Never returns more than the number of remaining bytes.
  auto count() noexcept -> std::size_t {
    const std::uint64_t value = number();
    if (value > rest_.size()) return fail();
    return value;
  }

  [[nodiscard]] auto is_sound() const noexcept -> bool { return sound_; }
  [[nodiscard]] auto rest() const noexcept -> std::string_view { return rest_; }
  /// Returns whether all bytes have been read and no value was missing.
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
