// rankd/server/events/counter_snapshot.cpp: writes and reads snapshots of the values that events have changed.
#include <rankd/server/events/counter_snapshot.hpp>

#include <rankd/store/crc32c.hpp>
#include <rankd/store/packed.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>

namespace rankd {
namespace {

constexpr std::string_view magic = "rankd counters 2\n";
constexpr std::string_view magic_of_hashes = "rankd counters 1\n";  // all values are hashes, and no kind is written
static_assert(magic.size() == magic_of_hashes.size());
constexpr std::size_t sum_bytes = 4;

auto make_checksum(std::string_view bytes) -> std::uint32_t {
  return crc32c(std::as_bytes(std::span(bytes.data(), bytes.size())));
}

auto read_hash(packed_reader& reader) -> counted_hash {
  counted_hash out;
  for (std::size_t left = reader.count(); left > 0; --left) {
    const std::string_view name = reader.text();
    out.set(name, std::string(reader.text()));
  }
  return out;
}

auto read_texts(packed_reader& reader) -> std::vector<std::string> {
  std::vector<std::string> out;
  for (std::size_t left = reader.count(); left > 0; --left) out.emplace_back(reader.text());
  return out;
}

auto read_sorted_set(packed_reader& reader) -> counted_sorted_set {
  counted_sorted_set out;
  for (std::size_t left = reader.count(); left > 0; --left) {
    const std::string_view text = reader.text();
    out.set(text, reader.real());
  }
  return out;
}

/// Reads the expiry, the kind and the contents of a value. Without `has_kind`, the value is a hash. Returns nothing if
/// the kind that was read is unknown.
auto read_value(packed_reader& reader, bool has_kind) -> std::optional<counted_value> {
  counted_value out{.ends = std::chrono::milliseconds(reader.integer())};
  const auto kind = has_kind ? static_cast<record_kind>(reader.number()) : record_kind::hash;
  switch (kind) {
    case record_kind::hash: out.data = read_hash(reader); return out;
    case record_kind::text_list: out.data = counted_list{read_texts(reader)}; return out;
    case record_kind::set: out.data = counted_set{read_texts(reader)}; return out;
    case record_kind::sorted_set: out.data = read_sorted_set(reader); return out;
    default: return std::nullopt;
  }
}

void append(packed_writer& out, const std::vector<std::string>& texts) {
  out.number(texts.size());
  for (const std::string& each : texts) out.text(each);
}

void append(packed_writer& out, const counted_hash& hash) {
  out.number(hash.fields.size());
  for (const auto& [name, value] : hash.fields) {
    out.text(name);
    out.text(value);
  }
}

void append(packed_writer& out, const counted_list& list) { append(out, list.elements); }
void append(packed_writer& out, const counted_set& set) { append(out, set.members); }

void append(packed_writer& out, const counted_sorted_set& set) {
  out.number(set.items.size());
  for (const auto& each : set.items) {
    out.text(each.text);
    out.real(each.score);
  }
}

void append(packed_writer& out, const std::string& key, const counted_value& value) {
  out.text(key);
  out.integer(value.ends.count());
  out.number(static_cast<std::uint64_t>(value.kind()));
  std::visit([&out](const auto& data) { append(out, data); }, value.data);
}

}  // namespace

auto counter_snapshot::bytes_of(event_position until, const std::map<std::string, const counted_values*>& values)
    -> std::string {
  std::string out(magic);
  for (const auto& [endpoint, hashes] : values) out.reserve(out.capacity() + hashes->bytes());  // more than they need
  packed_writer writer(out);
  writer.number(until.file);
  writer.number(until.bytes);
  writer.number(values.size());
  for (const auto& [endpoint, hashes] : values) {
    writer.text(endpoint);
    writer.number(hashes->size());
    hashes->for_each([&writer](const std::string& key, const counted_value& value) { append(writer, key, value); });
  }
  std::uint32_t sum = make_checksum(out);
  for (std::size_t left = sum_bytes; left > 0; --left, sum >>= 8U) out.push_back(static_cast<char>(sum));
  return out;
}

auto counter_snapshot::parse(std::string_view bytes) -> std::optional<counter_snapshot> {
  const bool has_kinds = bytes.starts_with(magic);
  if ((!has_kinds && !bytes.starts_with(magic_of_hashes)) || bytes.size() < magic.size() + sum_bytes)
    return std::nullopt;
  const std::string_view summed = bytes.substr(0, bytes.size() - sum_bytes);
  std::uint32_t sum = 0;
  for (std::size_t at = bytes.size(); at > summed.size(); --at)
    sum = sum << 8U | static_cast<unsigned char>(bytes[at - 1]);
  if (sum != make_checksum(summed)) return std::nullopt;
  packed_reader in(summed.substr(magic.size()));
  counter_snapshot out;
  out.until.file = static_cast<unsigned>(in.number());
  out.until.bytes = in.number();
  for (std::size_t endpoints = in.count(); endpoints > 0; --endpoints) {
    auto& of = out.values[std::string(in.text())];
    for (std::size_t left = in.count(); left > 0; --left) {
      std::string key(in.text());
      auto value = read_value(in, has_kinds);
      if (!value) return std::nullopt;
      of.emplace_back(std::move(key), std::move(*value));
    }
  }
  if (!in.is_done()) return std::nullopt;
  return out;
}

}  // namespace rankd
