// tests/rankd/store/vector_tables.hpp: random vectors, files of them in memory, and a search that sorts all of them.
#pragma once

#include <rankd/registry/vector_bytes.hpp>
#include <rankd/store/crc32c.hpp>
#include <rankd/store/detail/vector_layout.hpp>
#include <rankd/store/vector_build.hpp>
#include <rankd/store/vector_file.hpp>
#include <tests/rankd/store/aligned_bytes.hpp>

#include <braid/base/random.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rankd::testing {

/// Returns vectors with ids that are spread. Some of them are the same as others.
inline auto random_table(std::size_t count, std::uint32_t dimensions, std::uint64_t seed) -> vector_table {
  braid::random_source random(seed);
  vector_table out{.dimensions = dimensions, .ids = {}, .numbers = {}};
  for (std::size_t row = 0; row < count; ++row) {
    out.ids.push_back(static_cast<std::int64_t>((row * 7919) % 100'003) - 50'000);
    const bool repeats = row > 0 && random.below(5) == 0;
    for (std::uint32_t at = 0; at < dimensions; ++at) {
      const float fresh = static_cast<float>(random.below(2'001)) / 1000.0F - 1.0F;
      out.numbers.push_back(repeats ? out.numbers[out.numbers.size() - dimensions] : fresh);
    }
  }
  return out;
}

/// Returns the same vectors in the opposite order.
inline auto reversed(const vector_table& table) -> vector_table {
  vector_table out{.dimensions = table.dimensions, .ids = {}, .numbers = {}};
  for (std::size_t row = table.size(); row-- > 0;) {
    out.ids.push_back(table.ids[row]);
    out.numbers.insert(out.numbers.end(), table.at(row).begin(), table.at(row).end());
  }
  return out;
}

inline auto bytes_of(std::span<const float> numbers) -> std::string {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()};
}

inline auto distance_of(std::string_view a, std::string_view b) -> double {
  double sum = 0;
  for (std::size_t at = 0; at < vector_size(a); ++at) {
    const double apart = static_cast<double>(vector_item(a, at)) - static_cast<double>(vector_item(b, at));
    sum += apart * apart;
  }
  return sum;
}

/// Returns the nearest vectors by sorting all scores.
inline auto nearest_model(const vector_table& table, std::string_view query, vector_metric metric, std::size_t count)
    -> std::vector<neighbour> {
  std::vector<neighbour> all;
  for (std::size_t row = 0; row < table.size(); ++row) {
    const std::string vector = bytes_of(table.at(row));
    const double score = metric == vector_metric::dot      ? dot_product(query, vector)
                         : metric == vector_metric::cosine ? cosine_similarity(query, vector)
                                                           : -distance_of(query, vector);
    all.push_back({score, table.ids[row]});
  }
  std::ranges::sort(all, [](const neighbour& a, const neighbour& b) {
    return a.score > b.score || (a.score == b.score && a.id < b.id);
  });
  all.resize(std::min(count, all.size()));
  return all;
}

/// A file in memory.
struct opened {
  aligned_bytes bytes;
  std::shared_ptr<const vector_file> file;

  explicit opened(std::string_view file_bytes)
      : bytes(file_bytes), file(vector_file::parse(bytes.view(), "test").value()) {}
  explicit opened(const vector_table& table, const vector_lists& lists = {})
      : opened(vector_file_bytes(table, lists)) {}
  opened(const vector_table& table, const vector_graph& graph) : opened(vector_file_bytes(table, graph)) {}
};

/// Returns the code and the message of the refusal of a file; an empty text if it is accepted.
inline auto refusal_of(std::string_view bytes) -> std::string {
  const aligned_bytes own(bytes);
  const auto parsed = vector_file::parse(own.view(), "test");
  return parsed ? "" : parsed.error().front().code + ": " + parsed.error().front().message;
}

inline auto code_of(std::string_view bytes) -> std::string {
  const std::string refusal = refusal_of(bytes);
  return refusal.substr(0, refusal.find(':'));
}

inline auto header_of(std::string_view bytes) -> detail::vector_header {
  detail::vector_header header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  return header;
}

/// Returns a file with another header, and checksums that fit. Requires a header with the layout of the file.
inline auto with_header(std::string bytes, detail::vector_header header) -> std::string {
  const detail::vector_layout layout(header);
  const std::span<const std::byte> all = std::as_bytes(std::span(bytes));
  for (std::size_t at = 0; at < detail::vector_parts; ++at)
    header.checksum_of(at) = crc32c(all.subspan(layout.parts[at].begin, layout.parts[at].bytes));
  header.checksum = 0;
  header.checksum = crc32c(std::as_bytes(std::span(&header, 1)));
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

/// Returns a file with another value at an index of a part, and checksums that fit.
template <typename T>
auto with_value(std::string bytes, detail::vector_part part, std::size_t index, T value) -> std::string {
  const detail::vector_header header = header_of(bytes);
  std::memcpy(bytes.data() + detail::vector_layout(header).of(part).begin + index * sizeof(T), &value, sizeof(value));
  return with_header(std::move(bytes), header);
}

}  // namespace rankd::testing
