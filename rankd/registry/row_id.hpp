// rankd/registry/row_id.hpp: what names a row: an integer, or a text in projects whose key `id` is a string.
#pragma once

#include <rankd/registry/value.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace rankd {

/// One id outside of columns: of a user, of a question about a row, of a test. The ids of one project have one type.
using row_id = std::variant<std::int64_t, std::string>;

/// The maximum length of an id that is a text. A key with one hole for it fits into any store, even if every byte is
/// escaped.
inline constexpr std::size_t max_id_bytes = 128;

/// Returns whether a text is an id: UTF-8 of 1 to `max_id_bytes` bytes, without NUL.
auto is_text_id(std::string_view text) noexcept -> bool;

/// Describes an id of a type, for messages: "an integer of 64 bits, or a string of its digits".
auto id_sentence(value_type type) noexcept -> std::string_view;

/// Returns the digits, or the text.
auto to_text(const row_id& id) -> std::string;

/// Appends the id as a JSON value.
void append_json_id(std::string& out, const row_id& id);

}  // namespace rankd
