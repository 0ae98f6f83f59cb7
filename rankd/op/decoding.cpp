// rankd/op/decoding.cpp: decodes JSON, base64 and packed numbers.
#include <rankd/op/detail/decoding.hpp>

#include <rankd/registry/row_id.hpp>
#include <rankd/registry/vector_bytes.hpp>
#include <rankd/store/id_batch.hpp>

#include <braid/base/detail/base64.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <new>
#include <string>

#include <simdjson.h>

namespace rankd::detail {
namespace {

namespace dom = simdjson::dom;

constexpr auto is_base64(text_format format) noexcept -> bool { return format >= text_format::base64_float32; }

/// Returns the format of the decoded bytes if the given format is a base64 format. Returns any other format unchanged.
constexpr auto bytes_format(text_format format) noexcept -> text_format {
  constexpr auto distance = static_cast<int>(text_format::base64_float32) - static_cast<int>(text_format::float32);
  return is_base64(format) ? static_cast<text_format>(static_cast<int>(format) - distance) : format;
}

/// Returns the number with this index. The bytes need not be aligned.
template <typename T>
auto load_item(std::string_view bytes, std::size_t index) noexcept -> T {
  T value{};
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

/// Converts packed numbers to the bytes of a vector. Returns nothing unless there are exactly `dimensions` numbers and
/// all of them are finite.
template <typename T>
auto to_vector(std::string_view bytes, std::size_t dimensions, braid::arena& memory)
    -> std::optional<std::string_view> {
  if (bytes.size() != dimensions * sizeof(T)) return std::nullopt;
  std::string made;
  for (std::size_t at = 0; at < dimensions; ++at)
    if (!append_vector_item(made, static_cast<double>(load_item<T>(bytes, at)))) return std::nullopt;
  return memory.copied(std::string_view(made));
}

/// Converts packed numbers of a format to the bytes of a vector.
auto to_vector(text_format format, std::string_view bytes, std::size_t dimensions, braid::arena& memory)
    -> std::optional<std::string_view> {
  switch (format) {
    case text_format::float64: return to_vector<double>(bytes, dimensions, memory);
    case text_format::int64: return to_vector<std::int64_t>(bytes, dimensions, memory);
    default: return to_vector<float>(bytes, dimensions, memory);
  }
}

auto to_vector(dom::element value, std::size_t dimensions, braid::arena& memory) -> std::optional<std::string_view> {
  dom::array numbers;
  if (value.get_array().get(numbers) != simdjson::SUCCESS) return std::nullopt;
  std::string made;
  for (const dom::element item : numbers) {
    double number = 0;
    if (item.get_double().get(number) != simdjson::SUCCESS || !append_vector_item(made, number)) return std::nullopt;
  }
  if (vector_size(made) != dimensions) return std::nullopt;
  return memory.copied(std::string_view(made));
}

template <typename Number>
auto spell(Number number, braid::arena& memory) -> std::string_view {
  std::array<char, 32> room;  // NOLINT(*-member-init): as much of it as the number takes is written
  const char* const end = std::to_chars(room.data(), room.data() + room.size(), number).ptr;
  return memory.copied(std::string_view(room.data(), end));
}

/// Returns the text of a value that is neither null, an array nor an object.
auto to_text(dom::element value, braid::arena& memory) -> std::optional<std::string_view> {
  switch (value.type()) {
    case dom::element_type::STRING: return memory.copied(value.get_string().value_unsafe());
    case dom::element_type::BOOL: return value.get_bool().value_unsafe() ? "true" : "false";
    case dom::element_type::INT64: return spell(value.get_int64().value_unsafe(), memory);
    case dom::element_type::UINT64: return spell(value.get_uint64().value_unsafe(), memory);
    case dom::element_type::DOUBLE: return spell(value.get_double().value_unsafe(), memory);
    default: return std::nullopt;
  }
}

/// Finds a member by its name or JSON pointer. Returns false if there is no such member.
auto find_member(dom::element document, std::string_view name, dom::element& out) -> bool {
  const bool is_pointer = name.empty() || name.starts_with('/');
  const auto found = is_pointer ? document.at_pointer(name) : document.at_key(name);
  return found.get(out) == simdjson::SUCCESS;
}

}  // namespace

struct text_decoder::json_parser {
  dom::parser parser;

  /// Parses a text. Returns whether the text is one JSON value. Throws std::bad_alloc if an allocation fails.
  auto read(std::string_view text, dom::element& out) -> bool {
    const auto error = parser.parse(text.data(), text.size()).get(out);
    if (error == simdjson::MEMALLOC) throw std::bad_alloc();
    return error == simdjson::SUCCESS;
  }

  /// Passes the strings and integers of an array to `add` until `add` has accepted `count` items. Returns the number of
  /// items that were not accepted, or 1 if the text is not an array.
  template <typename Add>
  auto read_ids(std::string_view text, std::size_t count, braid::arena& memory, Add add) -> std::uint64_t {
    dom::element document;
    dom::array items;
    if (!read(text, document) || document.get_array().get(items) != simdjson::SUCCESS) return 1;
    std::uint64_t malformed = 0;
    for (const dom::element item : items) {
      if (count == 0) break;
      const bool may_be_id = item.is_string() || item.is_int64();
      if (may_be_id && add(*to_text(item, memory)))
        --count;
      else
        ++malformed;
    }
    return malformed;
  }
};

text_decoder::text_decoder(text_format format, braid::arena& memory)
    : format_(format),
      memory_(memory),
      json_(format == text_format::json ? std::make_unique<json_parser>() : nullptr) {}

text_decoder::~text_decoder() = default;

auto text_decoder::bytes_in(std::string_view text) -> std::optional<std::string_view> {
  if (!is_base64(format_)) return text;
  return braid::detail::from_base64(text, memory_.uninitialized<char>(text.size() * 3 / 4));
}

auto text_decoder::values(std::string_view text, std::span<const wanted_feature> wanted,
                          std::span<std::optional<std::string_view>> out) -> std::uint64_t {
  if (json_ == nullptr) {
    const auto bytes = bytes_in(text);
    if (bytes) out.front() = to_vector(bytes_format(format_), *bytes, wanted.front().dimensions, memory_);
    return out.front() ? 0 : 1;
  }
  dom::element document;
  if (!json_->read(text, document)) return wanted.size();
  std::uint64_t malformed = 0;
  for (std::size_t at = 0; at < wanted.size(); ++at) {
    dom::element value;
    if (!find_member(document, wanted[at].name, value) || value.is_null()) continue;
    out[at] = wanted[at].type == value_type::vector ? to_vector(value, wanted[at].dimensions, memory_)
                                                    : to_text(value, memory_);
    if (!out[at]) ++malformed;
  }
  return malformed;
}

auto text_decoder::ids(std::string_view text, std::size_t count, std::vector<std::int64_t>& out) -> std::uint64_t {
  if (json_ == nullptr) {
    const auto bytes = bytes_in(text);
    if (!bytes || bytes->size() % sizeof(std::int64_t) != 0) return 1;
    const std::size_t size = std::min(count, bytes->size() / sizeof(std::int64_t));
    for (std::size_t at = 0; at < size; ++at) out.push_back(load_item<std::int64_t>(*bytes, at));
    return 0;
  }
  return json_->read_ids(text, count, memory_, [&](std::string_view item) {
    const auto id = parse_element(item);
    if (id) out.push_back(*id);
    return id.has_value();
  });
}

auto text_decoder::ids(std::string_view text, std::size_t count, std::vector<std::string_view>& out) -> std::uint64_t {
  return json_->read_ids(text, count, memory_, [&](std::string_view item) {
    if (is_text_id(item)) out.push_back(item);
    return is_text_id(item);
  });
}

}  // namespace rankd::detail
