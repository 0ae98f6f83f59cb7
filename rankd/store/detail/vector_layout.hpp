// rankd/store/detail/vector_layout.hpp: the layout of a file of vectors.
#pragma once

#include <rankd/registry/row_id.hpp>
#include <rankd/store/detail/graph_layers.hpp>
#include <rankd/store/vector_kernels.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace rankd::detail {

inline constexpr std::string_view vector_magic = "RANKDVEC";
inline constexpr std::uint64_t vector_align = 64;

/// The parts of a file after its header, in this order. Each part begins at a multiple of `vector_align`.
enum class vector_part : std::uint8_t { lists, centroids, ids, squares, values, texts, links };
inline constexpr std::size_t vector_parts = 7;

/// The versions of the format. Files with integer ids and without a graph have the first version, so that their bytes
/// are the same as those of files from earlier releases.
inline constexpr std::uint32_t version_of_numbers = 1;
inline constexpr std::uint32_t version_of_texts = 2;
inline constexpr std::uint32_t version_of_graphs = 3;  // the ids are strings if there are texts

struct vector_header {
  std::array<char, 8> magic{};
  std::uint32_t version = 0;
  std::uint32_t dimensions = 0;
  std::uint64_t count = 0;  ///< the number of vectors
  std::uint64_t slots = 0;  ///< the number of vectors and of padding slots in the last block of each list
  std::uint32_t lists = 0;  ///< 0: the vectors are not in lists, and the table of lists has one row for all vectors
  std::uint32_t block = 0;  ///< vector_block, or 1 in a file with a graph
  std::uint64_t seed = 0;   ///< the seed with which the lists or the graph were built
  std::array<std::uint32_t, 5> checksums{};  ///< CRC-32C of each part before the texts
  std::uint32_t checksum = 0;                ///< checksum of this header, computed with 0 in this field
  std::uint32_t texts_checksum = 0;          ///< CRC-32C of the texts; 0 if ids are integers
  std::uint32_t zero = 0;
  std::uint64_t text_bytes = 0;       ///< the size of the part with the texts; 0 if ids are integers
  std::uint32_t m = 0;                ///< the parameter m of the graph; 0 without a graph, like the next three fields
  std::uint32_t ef_construction = 0;  ///< the width of the searches that built the graph
  std::uint32_t metric = 0;           ///< the vector_metric for which the graph was built
  std::uint32_t links_checksum = 0;   ///< CRC-32C of the links of the graph
  std::array<std::uint32_t, 6> reserved{};  ///< zeros

  [[nodiscard]] constexpr auto has_graph() const noexcept -> bool { return version == version_of_graphs; }
  [[nodiscard]] constexpr auto has_texts() const noexcept -> bool {
    return version == version_of_texts || (has_graph() && text_bytes != 0);
  }
  [[nodiscard]] constexpr auto checksum_of(std::size_t part) noexcept -> std::uint32_t& {
    if (part < checksums.size()) return checksums[part];
    return part == checksums.size() ? texts_checksum : links_checksum;
  }
};
static_assert(std::is_trivially_copyable_v<vector_header> && sizeof(vector_header) == 128);

struct vector_span {
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
};

/// The positions of the parts and the length of the file, computed from a header. Requires a header whose numbers were
/// checked, so that no sum overflows.
struct vector_layout {
  std::array<vector_span, vector_parts> parts{};
  std::uint64_t bytes = 0;

  explicit constexpr vector_layout(const vector_header& header) noexcept {
    constexpr std::uint64_t list_bytes = 16;
    const std::uint64_t vector_bytes = header.dimensions * sizeof(float);
    const std::uint64_t centroids = (header.lists + vector_block - 1) / vector_block * vector_block;
    const std::array<std::uint64_t, vector_parts> sizes{(header.lists == 0 ? 1 : header.lists) * list_bytes,
                                                        centroids * vector_bytes,
                                                        header.slots * sizeof(std::int64_t),
                                                        header.slots * sizeof(double),
                                                        header.slots * vector_bytes,
                                                        header.text_bytes,
                                                        link_bytes(header)};
    bytes = sizeof(vector_header);
    for (std::size_t at = 0; at < vector_parts; ++at) {
      parts[at] = {.begin = bytes, .bytes = sizes[at]};
      bytes += (sizes[at] + vector_align - 1) / vector_align * vector_align;
    }
  }
  [[nodiscard]] constexpr auto of(vector_part part) const noexcept -> vector_span {
    return parts[static_cast<std::size_t>(part)];
  }

 private:
  [[nodiscard]] static constexpr auto link_bytes(const vector_header& header) noexcept -> std::uint64_t {
    return header.has_graph() ? graph_layers(header.count, header.m).all_links() * sizeof(std::uint32_t) : 0;
  }
};

/// The maximum number of vectors, so that row numbers fit 32 bits.
inline constexpr std::uint64_t max_vectors = 0xffff'fff0;
inline constexpr std::uint32_t max_lists = 65'536;

/// The maximum number of bytes that a text occupies in the part `texts`, including the position of its end.
inline constexpr std::uint64_t max_text_bytes = sizeof(std::uint64_t) + max_id_bytes;

/// Returns the position of element `element` of the vector in slot `slot`, if vectors are stored in blocks of `block`
/// vectors.
[[nodiscard]] constexpr auto place_in_blocks(std::uint64_t slot, std::uint64_t element, std::uint64_t dimensions,
                                             std::uint64_t block = vector_block) noexcept -> std::uint64_t {
  return slot / block * block * dimensions + element * block + slot % block;
}

}  // namespace rankd::detail
