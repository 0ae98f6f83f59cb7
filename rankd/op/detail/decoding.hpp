// rankd/op/detail/decoding.hpp: reads values from texts that contain several values, as JSON or as packed numbers.
#pragma once

#include <rankd/op/detail/stored_columns.hpp>

#include <braid/base/arena.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace rankd::detail {

/// The formats of texts, in the order of `text_format_names`. Packed numbers are little-endian.
enum class text_format : std::uint8_t { json, float32, float64, int64, base64_float32, base64_float64, base64_int64 };
inline constexpr std::array<std::string_view, 7> text_format_names{
    "json", "float32", "float64", "int64", "base64_float32", "base64_float64", "base64_int64"};

/// Reads texts of one format, one after the other, for one run of a node.
/// Threads: a single thread. Lifetime: values are stored in the arena, which must outlive the values.
class text_decoder {
 public:
  text_decoder(text_format format, braid::arena& memory);
  text_decoder(const text_decoder&) = delete;
  auto operator=(const text_decoder&) -> text_decoder& = delete;
  ~text_decoder();

  /// Finds a value for each of `wanted`, and stores it in `out` in the same form as the value of a hash field. The name
  /// of a wanted feature is the name of a member. A name that is empty or begins with `/` is a JSON pointer. A null
  /// counts as absent. Returns the number of values that cannot be read. If the text does not have the format, no value
  /// can be read.
  auto values(std::string_view text, std::span<const wanted_feature> wanted,
              std::span<std::optional<std::string_view>> out) -> std::uint64_t;

  /// Appends the first `count` items that are ids of the given type. Returns the number of items that are not ids of
  /// this type, or 1 if the text is not an array in the given format. Only JSON can contain ids that are texts.
  auto ids(std::string_view text, std::size_t count, std::vector<std::int64_t>& out) -> std::uint64_t;
  auto ids(std::string_view text, std::size_t count, std::vector<std::string_view>& out) -> std::uint64_t;

 private:
  struct json_parser;

  /// Returns the bytes of a text with packed numbers. Returns nothing if the text is malformed base64.
  auto bytes_in(std::string_view text) -> std::optional<std::string_view>;

  text_format format_;
  braid::arena& memory_;
  std::unique_ptr<json_parser> json_;  ///< null for other formats
};

}  // namespace rankd::detail
