// rankd/op/detail/wire.hpp: parses the fields of a Protocol Buffers message. Malformed bytes are detected and reported.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rankd::detail {

enum class wire_kind : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

/// A field of a message: its number, and either bytes or a number as its value.
struct wire_field {
  std::uint32_t number = 0;
  wire_kind kind = wire_kind::varint;
  std::uint64_t value = 0;
  std::string_view bytes;

  [[nodiscard]] auto integer() const noexcept -> std::int64_t { return static_cast<std::int64_t>(value); }
  [[nodiscard]] auto single() const noexcept -> float {
    return std::bit_cast<float>(static_cast<std::uint32_t>(value));
  }
};

/// Returns the fields of a message one by one. Lifetime: the bytes must outlive the reader and all fields.
class wire_reader {
 public:
  explicit wire_reader(std::string_view message) noexcept : rest_(message), size_(message.size()) {}

  /// Returns the next field. Returns nothing at the end of the message, and at bytes that are not a field.
  auto next() noexcept -> std::optional<wire_field>;

  /// Returns a description of the malformed bytes, as the end of a sentence. Returns an empty string if the whole
  /// message was parsed.
  [[nodiscard]] auto damage() const -> std::string;

 private:
  auto varint() noexcept -> std::optional<std::uint64_t>;
  auto fixed(std::size_t bytes) noexcept -> std::optional<std::uint64_t>;
  auto fill(wire_field& out) noexcept -> bool;

  std::string_view rest_;
  std::size_t size_;
  bool damaged_ = false;
};

/// Appends the numbers of a repeated field, which may use the packed encoding. Returns false if its bytes are not
/// numbers.
auto append_floats(const wire_field& field, std::vector<double>& out) -> bool;
auto append_doubles(const wire_field& field, std::vector<double>& out) -> bool;
auto append_integers(const wire_field& field, std::vector<std::int64_t>& out) -> bool;

/// Decodes a little-endian number of type T from the first bytes.
template <typename T>
auto little_endian(std::string_view bytes) noexcept -> T {
  std::uint64_t out = 0;
  for (std::size_t at = sizeof(T); at-- > 0;) out = out << 8U | static_cast<unsigned char>(bytes[at]);
  if constexpr (sizeof(T) == 8) return std::bit_cast<T>(out);
  if constexpr (sizeof(T) == 4) return std::bit_cast<T>(static_cast<std::uint32_t>(out));
  if constexpr (sizeof(T) == 1) return std::bit_cast<T>(static_cast<std::uint8_t>(out));
}

}  // namespace rankd::detail
