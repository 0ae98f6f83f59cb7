// rankd/server/events/counter_snapshot.cpp: writes and reads snapshots of counters.
#include <rankd/server/events/counter_snapshot.hpp>

#include <rankd/store/crc32c.hpp>
#include <rankd/store/packed.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace rankd {
namespace {

constexpr std::string_view magic = "rankd counters 1\n";
constexpr std::size_t sum_bytes = 4;

auto make_checksum(std::string_view bytes) -> std::uint32_t {
  return crc32c(std::as_bytes(std::span(bytes.data(), bytes.size())));
}

auto read_hash(packed_reader& reader) -> counted_hash {
  counted_hash out{.ends = std::chrono::milliseconds(reader.integer()), .fields = {}};
  for (std::size_t left = reader.count(); left > 0; --left) {
    const std::string_view name = reader.text();
    out.set(name, std::string(reader.text()));
  }
  return out;
}

void append(packed_writer& out, const std::string& key, const counted_hash& hash) {
  out.text(key);
  out.integer(hash.ends.count());
  out.number(hash.fields.size());
  for (const auto& [name, value] : hash.fields) {
    out.text(name);
    out.text(value);
  }
}

}  // namespace

auto counter_snapshot::bytes_of(event_position until, const std::map<std::string, const counted_hashes*>& of)
    -> std::string {
  std::string out(magic);
  for (const auto& [endpoint, hashes] : of) out.reserve(out.capacity() + hashes->bytes());  // more than they need
  packed_writer writer(out);
  writer.number(until.file);
  writer.number(until.bytes);
  writer.number(of.size());
  for (const auto& [endpoint, hashes] : of) {
    writer.text(endpoint);
    writer.number(hashes->size());
    hashes->for_each([&writer](const std::string& key, const counted_hash& hash) { append(writer, key, hash); });
  }
  std::uint32_t sum = make_checksum(out);
  for (std::size_t left = sum_bytes; left > 0; --left, sum >>= 8U) out.push_back(static_cast<char>(sum));
  return out;
}

auto counter_snapshot::parse(std::string_view bytes) -> std::optional<counter_snapshot> {
  if (!bytes.starts_with(magic) || bytes.size() < magic.size() + sum_bytes) return std::nullopt;
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
    auto& of = out.hashes[std::string(in.text())];
    for (std::size_t left = in.count(); left > 0; --left) {
      std::string key(in.text());
      of.emplace_back(std::move(key), read_hash(in));
    }
  }
  if (!in.is_done()) return std::nullopt;
  return out;
}

}  // namespace rankd
