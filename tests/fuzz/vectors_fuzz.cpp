// tests/fuzz/vectors_fuzz.cpp: any bytes as a file of vectors, with its checksums made right, so that all of it is
// read.
#include <tests/fuzz/target.hpp>

#include <rankd/registry/vector_bytes.hpp>
#include <rankd/store/crc32c.hpp>
#include <rankd/store/detail/vector_layout.hpp>
#include <rankd/store/vector_file.hpp>
#include <tests/rankd/store/aligned_bytes.hpp>

#include <braid/base/config.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

using namespace rankd;

namespace {

constexpr std::array<std::string_view, 7> words{"RANKDVEC",
                                                std::string_view("\x01\0\0\0", 4),
                                                std::string_view("\x10\0\0\0", 4),
                                                std::string_view("\x03\0\0\0", 4),
                                                "\xff\xff\xff\xff",
                                                std::string_view("\0\0\x80\x7f", 4),
                                                std::string_view("\0\0\0\0", 4)};

/// The checksums that the bytes would have, where their header says what lies in them.
auto with_checksums(std::string bytes) -> std::string {
  detail::vector_header header;
  if (bytes.size() < sizeof(header)) return bytes;
  std::memcpy(&header, bytes.data(), sizeof(header));
  const bool is_small =
      header.slots < 1 << 20 && header.lists < 1 << 16 && header.dimensions < 1 << 13 && header.text_bytes < 1 << 24;
  const bool has_layers = header.count < 1 << 20 && header.m >= min_m && header.m <= max_m;
  if (!is_small || (header.has_graph() && !has_layers)) return bytes;
  const detail::vector_layout layout(header);
  if (layout.bytes > bytes.size()) return bytes;
  const std::span<const std::byte> all = std::as_bytes(std::span(bytes));
  for (std::size_t at = 0; at < detail::vector_parts; ++at)
    header.checksum_of(at) = crc32c(all.subspan(layout.parts[at].begin, layout.parts[at].bytes));
  header.checksum = 0;
  header.checksum = crc32c(std::as_bytes(std::span(&header, 1)));
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

void search(const vector_file& in) {
  std::string query;
  for (std::uint32_t at = 0; at < in.dimensions(); ++at)
    BRAID_EXPECTS(append_vector_item(query, 1.0 - at), "small numbers are float32");
  for (const vector_metric metric : {vector_metric::dot, vector_metric::cosine, vector_metric::l2}) {
    for (const std::size_t ef_search : {0U, 2U}) {
      const nearest_found found = in.nearest(query, {.metric = metric, .count = 5, .lists = 2, .ef_search = ef_search});
      BRAID_EXPECTS(found.all.size() <= 5, "there are at most as many as were asked for");
      for (const neighbour& each : found.all) {
        BRAID_EXPECTS(!std::isnan(each.score), "a score is a number");
        if (in.id_type() == value_type::string) BRAID_EXPECTS(is_text_id(in.text(each.id)), "a text is an id");
      }
    }
  }
  vector_filter some = vector_filter::all(in);
  BRAID_EXPECTS(some.size() == in.size(), "a filter that allows all vectors allows each");
  std::uint64_t count = 0;
  in.for_each([&](std::int64_t id, std::string_view) {
    ++count;
    if (in.id_type() == value_type::string)
      some.refuse(in.text(id));
    else
      some.refuse(id);
    BRAID_EXPECTS(some.size() == in.size() - count, "each vector is found by its id");
  });
  BRAID_EXPECTS(count == in.size(), "every vector is visited");
}

void run(std::string_view text) {
  for (const std::string& each : {std::string(text), with_checksums(std::string(text))}) {
    const testing::aligned_bytes bytes(each);
    const auto parsed = vector_file::parse(bytes.view(), "fuzz");
    if (!parsed) {
      BRAID_EXPECTS(parsed.error().front().code.starts_with("vectors_"), "the diagnostic says what it is about");
      continue;
    }
    search(**parsed);
  }
}

}  // namespace

const braid::testing::fuzz_target braid::testing::target{.run = &run, .words = words};
