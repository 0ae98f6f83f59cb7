// rankd/op/detail/wire.hpp: the fields of a message of Protocol Buffers, one after the other, whatever its bytes are.
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

/// A field as it is on the wire: its number, and either bytes or a number.
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

/// Returns the fields of a message. Lifetime: the bytes outlive it and all fields.
class wire_reader {
 public:
  explicit wire_reader(std::string_view message) noexcept : rest_(message), size_(message.size()) {}

  /// Returns the next field; nothing at the end, and from the first bytes on that are not a field.
  auto next() noexcept -> std::optional<wire_field>;

  /// Returns a description of the damage, as the end of a sentence: empty if all was read.
  [[nodiscard]] auto damage() const -> std::string;

 private:
  auto varint() noexcept -> std::optional<std::uint64_t>;
  auto fixed(std::size_t bytes) noexcept -> std::optional<std::uint64_t>;
  auto fill(wire_field& out) noexcept -> bool;

  std::string_view rest_;
  std::size_t size_;
  bool damaged_ = false;
};

/// Appends the numbers of a repeated field, which may be packed. Returns false if its bytes are not numbers.
auto append_floats(const wire_field& field, std::vector<double>& out) -> bool;
auto append_doubles(const wire_field& field, std::vector<double>& out) -> bool;
auto append_integers(const wire_field& field, std::vector<std::int64_t>& out) -> bool;

/// Returns a number of the size of T at the front of the bytes, the lowest byte first.
template <typename T>
auto little_endian(std::string_view bytes) noexcept -> T {
  std::uint64_t out = 0;
  for (std::size_t at = sizeof(T); at-- > 0;) out = out << 8U | static_cast<unsigned char>(bytes[at]);
  if constexpr (sizeof(T) == 8) return std::bit_cast<T>(out);
  if constexpr (sizeof(T) == 4) return std::bit_cast<T>(static_cast<std::uint32_t>(out));
  if constexpr (sizeof(T) == 1) return std::bit_cast<T>(static_cast<std::uint8_t>(out));
}

}  // namespace rankd::detail
