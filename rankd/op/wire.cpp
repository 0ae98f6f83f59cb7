// rankd/op/wire.cpp: parses the fields of Protocol Buffers messages. A field that extends beyond its message is
// malformed.
#include <rankd/op/detail/wire.hpp>

namespace rankd::detail {

auto wire_reader::varint() noexcept -> std::optional<std::uint64_t> {
  std::uint64_t out = 0;
  for (std::uint32_t shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    out |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) return out;
  }
  return std::nullopt;
}

auto wire_reader::fixed(std::size_t bytes) noexcept -> std::optional<std::uint64_t> {
  if (rest_.size() < bytes) return std::nullopt;
  const std::uint64_t out =
      bytes == 8 ? little_endian<std::uint64_t>(rest_) : std::uint64_t{little_endian<std::uint32_t>(rest_)};
  rest_.remove_prefix(bytes);
  return out;
}

auto wire_reader::fill(wire_field& out) noexcept -> bool {
  std::optional<std::uint64_t> found;
  switch (out.kind) {
    case wire_kind::varint: found = varint(); break;
    case wire_kind::fixed64: found = fixed(8); break;
    case wire_kind::fixed32: found = fixed(4); break;
    case wire_kind::bytes:
      found = varint();
      if (!found || *found > rest_.size()) return false;
      out.bytes = rest_.substr(0, static_cast<std::size_t>(*found));
      rest_.remove_prefix(out.bytes.size());
  }
  out.value = found.value_or(0);
  return found.has_value();
}

auto wire_reader::next() noexcept -> std::optional<wire_field> {
  if (rest_.empty() || damaged_) return std::nullopt;
  const std::string_view before = rest_;
  wire_field out;
  const auto tag = varint();
  const auto kind = static_cast<std::uint8_t>(tag.value_or(0) & 7U);
  const bool is_known = kind == 0 || kind == 1 || kind == 2 || kind == 5;
  if (tag && is_known && *tag >> 3U != 0 && *tag >> 32U == 0) {
    out.number = static_cast<std::uint32_t>(*tag >> 3U);
    out.kind = static_cast<wire_kind>(kind);
    if (fill(out)) return out;
  }
  damaged_ = true;
  rest_ = before;
  return std::nullopt;
}

auto wire_reader::damage() const -> std::string {
  if (!damaged_) return {};
  return "has " + std::to_string(size_) + " bytes, and no complete field begins at byte " +
         std::to_string(size_ - rest_.size());
}

namespace {

/// Appends one number of fixed size, or a packed list of such numbers.
template <typename T>
auto append_fixed(const wire_field& field, wire_kind alone, std::vector<double>& out) -> bool {
  if (field.kind == alone) {
    if constexpr (sizeof(T) == 4) out.push_back(std::bit_cast<T>(static_cast<std::uint32_t>(field.value)));
    if constexpr (sizeof(T) == 8) out.push_back(std::bit_cast<T>(field.value));
    return true;
  }
  if (field.kind != wire_kind::bytes || field.bytes.size() % sizeof(T) != 0) return false;
  out.reserve(out.size() + field.bytes.size() / sizeof(T));
  for (std::size_t at = 0; at < field.bytes.size(); at += sizeof(T))
    out.push_back(little_endian<T>(field.bytes.substr(at)));
  return true;
}

}  // namespace

auto append_floats(const wire_field& field, std::vector<double>& out) -> bool {
  return append_fixed<float>(field, wire_kind::fixed32, out);
}

auto append_doubles(const wire_field& field, std::vector<double>& out) -> bool {
  return append_fixed<double>(field, wire_kind::fixed64, out);
}

auto append_integers(const wire_field& field, std::vector<std::int64_t>& out) -> bool {
  if (field.kind == wire_kind::varint) {
    out.push_back(field.integer());
    return true;
  }
  if (field.kind != wire_kind::bytes) return false;
  std::uint64_t value = 0;
  std::uint32_t shift = 0;
  for (const char each : field.bytes) {
    const auto byte = static_cast<unsigned char>(each);
    if (shift > 63) return false;
    value |= std::uint64_t{byte & 0x7FU} << shift;
    shift += 7;
    if (byte >= 0x80) continue;
    out.push_back(static_cast<std::int64_t>(value));
    value = 0;
    shift = 0;
  }
  return shift == 0;
}

}  // namespace rankd::detail
