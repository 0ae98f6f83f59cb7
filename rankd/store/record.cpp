// rankd/store/record.cpp: defines the layout of a record: a header, then a table with entries of fixed width, then the
// texts.
#include <rankd/store/record.hpp>

#include <algorithm>
#include <bit>
#include <numeric>
#include <type_traits>
#include <vector>

namespace rankd {
namespace {

static_assert(std::endian::native == std::endian::little, "records are little-endian and read in place");

struct header {
  std::uint32_t kind;
  std::uint32_t count;
  std::uint32_t file;
  std::uint32_t line;
};
static_assert(std::is_trivially_copyable_v<header> && sizeof(header) == 16);

/// Copies a value from an address that may be unaligned, because LMDB aligns values to two bytes only.
template <typename T>
auto load(const std::byte* place) noexcept -> T {
  T value;
  std::memcpy(&value, place, sizeof(T));
  return value;
}

template <typename T>
void append(std::string& buffer, const T& value) {
  char raw[sizeof(T)];
  std::memcpy(raw, &value, sizeof(T));
  buffer.append(raw, sizeof(T));
}

/// The number of bytes for each member of a sorted set in its three tables. The tables contain the end of each text,
/// each member's position in bytewise order, and each score.
constexpr std::uint64_t sorted_set_entry = 2 * sizeof(std::uint32_t) + sizeof(double);

/// Returns the width of the entries in the table after the header, or 0 for a kind that does not exist.
constexpr auto entry_width(std::uint32_t kind) noexcept -> std::uint64_t {
  switch (static_cast<record_kind>(kind)) {
    case record_kind::hash: return 2 * sizeof(std::uint32_t);
    case record_kind::id_list: return sizeof(std::int64_t);
    case record_kind::text_list:
    case record_kind::set:
    case record_kind::string: return sizeof(std::uint32_t);
    case record_kind::sorted_set: return sorted_set_entry;
  }
  return 0;
}

}  // namespace

auto record_view::parse(std::span<const std::byte> bytes) noexcept -> std::optional<record_view> {
  if (bytes.size() < sizeof(header)) return std::nullopt;
  const auto head = load<header>(bytes.data());
  const std::uint64_t width = head.kind > 0xff ? 0 : entry_width(head.kind);
  const std::uint64_t table = head.count * width;  // below 2^36: no overflow
  const std::uint64_t rest = bytes.size() - sizeof(header);
  if (width == 0 || table > rest) return std::nullopt;
  if (static_cast<record_kind>(head.kind) == record_kind::string && head.count != 1) return std::nullopt;

  record_view view;
  view.kind_ = static_cast<record_kind>(head.kind);
  view.count_ = head.count;
  view.origin_ = {head.file, head.line};
  view.bytes_ = bytes;
  view.table_ = bytes.data() + sizeof(header);
  view.text_ = {reinterpret_cast<const char*>(view.table_ + table), rest - table};
  return view;
}

auto record_view::piece(std::size_t index) const noexcept -> std::string_view {
  const auto find_end = [this](std::size_t i) { return load<std::uint32_t>(table_ + i * sizeof(std::uint32_t)); };
  const std::size_t begin = index == 0 ? 0 : find_end(index - 1);
  const std::size_t end = find_end(index);
  if (begin > end || end > text_.size()) return {};
  return text_.substr(begin, end - begin);
}

auto record_view::field(std::string_view name) const noexcept -> std::optional<std::string_view> {
  std::size_t low = 0;
  std::size_t high = kind_ == record_kind::hash ? count_ : 0;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    const hash_field candidate = field_at(middle);
    if (candidate.name == name) return candidate.value;
    if (candidate.name < name)
      low = middle + 1;
    else
      high = middle;
  }
  return std::nullopt;
}

auto record_view::id_at(std::size_t index) const noexcept -> std::int64_t {
  return load<std::int64_t>(table_ + index * sizeof(std::int64_t));
}

void record_view::copy_ids(std::span<std::int64_t> place) const noexcept {
  if (!place.empty()) std::memcpy(place.data(), table_, place.size_bytes());
}

auto record_view::score_at(std::size_t index) const noexcept -> double {
  return load<double>(table_ + count_ * 2 * sizeof(std::uint32_t) + index * sizeof(double));
}

auto record_view::find_member(std::string_view member) const noexcept -> std::optional<std::size_t> {
  if (kind_ != record_kind::set && kind_ != record_kind::sorted_set) return std::nullopt;
  const auto find_position = [this](std::size_t place) -> std::size_t {
    if (kind_ == record_kind::set) return place;
    return load<std::uint32_t>(table_ + (count_ + place) * sizeof(std::uint32_t));
  };
  std::size_t low = 0;
  std::size_t high = count_;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    const std::size_t position = find_position(middle);
    if (position >= count_) return std::nullopt;  // damaged
    const std::string_view candidate = piece(position);
    if (candidate == member) return position;
    if (candidate < member)
      low = middle + 1;
    else
      high = middle;
  }
  return std::nullopt;
}

void record_builder::start(record_kind kind, std::size_t count, record_origin origin) {
  buffer_.clear();
  append(buffer_,
         header{static_cast<std::uint32_t>(kind), static_cast<std::uint32_t>(count), origin.file, origin.line});
}

auto record_builder::finished() const noexcept -> std::span<const std::byte> {
  return std::as_bytes(std::span(buffer_.data(), buffer_.size()));
}

auto record_builder::hash(std::span<const hash_field> fields, record_origin origin) -> std::span<const std::byte> {
  start(record_kind::hash, fields.size(), origin);
  std::uint32_t end = 0;
  for (const hash_field& field : fields) {
    append(buffer_, end += static_cast<std::uint32_t>(field.name.size()));
    append(buffer_, end += static_cast<std::uint32_t>(field.value.size()));
  }
  for (const hash_field& field : fields) buffer_.append(field.name).append(field.value);
  return finished();
}

auto record_builder::id_list(std::span<const std::int64_t> ids, record_origin origin) -> std::span<const std::byte> {
  start(record_kind::id_list, ids.size(), origin);
  const auto raw = std::as_bytes(ids);
  buffer_.append(reinterpret_cast<const char*>(raw.data()), raw.size());
  return finished();
}

auto record_builder::texts(record_kind kind, std::span<const std::string_view> all, record_origin origin)
    -> std::span<const std::byte> {
  start(kind, all.size(), origin);
  std::uint32_t end = 0;
  for (const std::string_view text : all) append(buffer_, end += static_cast<std::uint32_t>(text.size()));
  for (const std::string_view text : all) buffer_.append(text);
  return finished();
}

auto record_builder::text_list(std::span<const std::string_view> elements, record_origin origin)
    -> std::span<const std::byte> {
  return texts(record_kind::text_list, elements, origin);
}

auto record_builder::string(std::string_view text, record_origin origin) -> std::span<const std::byte> {
  return texts(record_kind::string, std::span(&text, 1), origin);
}

auto record_builder::set(std::span<const std::string_view> members, record_origin origin)
    -> std::span<const std::byte> {
  return texts(record_kind::set, members, origin);
}

auto record_builder::sorted_set(std::span<const scored_member> members, record_origin origin)
    -> std::span<const std::byte> {
  start(record_kind::sorted_set, members.size(), origin);
  std::uint32_t end = 0;
  for (const scored_member& each : members) append(buffer_, end += static_cast<std::uint32_t>(each.text.size()));
  std::vector<std::uint32_t> by_text(members.size());
  std::iota(by_text.begin(), by_text.end(), std::uint32_t{0});
  std::ranges::sort(by_text, {}, [&](std::uint32_t index) { return members[index].text; });
  for (const std::uint32_t at : by_text) append(buffer_, at);
  for (const scored_member& each : members) append(buffer_, each.score);
  for (const scored_member& each : members) buffer_.append(each.text);
  return finished();
}

}  // namespace rankd
