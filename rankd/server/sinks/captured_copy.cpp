// rankd/server/sinks/captured_copy.cpp: copies the values of active rows into columns of bytes.
#include <rankd/server/sinks/captured_copy.hpp>

#include <rankd/registry/names.hpp>

#include <string_view>
#include <utility>

namespace rankd {
namespace {

/// Appends `value_of(row)` for each row as its bytes in memory.
template <typename Fn>
void append_values(std::string& out, const row_set& rows, Fn value_of) {
  rows.for_each_row([&](std::uint32_t row) {
    const auto value = value_of(row);
    out.append(reinterpret_cast<const char*>(&value), sizeof(value));
  });
}

auto text_at(const column& column, const string_values& texts, std::uint32_t row) -> std::string_view {
  return column.is_null(row) ? std::string_view() : texts[row];  // the text of a null is empty
}

void append_texts(captured_column& out, const column& column, const row_set& rows) {
  const string_values& texts = *column.strings();
  out.key.holds = captured_key::type::text;
  out.ends.reserve(rows.size());
  rows.for_each_row([&](std::uint32_t row) {
    const std::string_view text = text_at(column, texts, row);
    if (!is_utf8(text)) out.key.holds = captured_key::type::bytes;
    out.values += text;
    out.ends.push_back(static_cast<std::uint32_t>(out.values.size()));
  });
}

void append_vectors(captured_column& out, const column& column, const row_set& rows) {
  const string_values& vectors = *column.strings();
  out.key.holds = captured_key::type::vector;
  out.key.dimensions = vectors.dimensions;
  const std::size_t size = std::size_t{vectors.dimensions} * sizeof(float);
  rows.for_each_row([&](std::uint32_t row) {
    const std::size_t end = out.values.size() + size;
    out.values += text_at(column, vectors, row).substr(0, size);
    out.values.resize(end);  // zeros for a null
  });
}

auto find_column(std::uint32_t key_id, std::string_view name, const column& column, const row_set& rows)
    -> captured_column {
  captured_column out{.key = {.key_id = key_id, .name = std::string(name)}, .values = {}, .ends = {}, .present = {}};
  if (!column.validity.all_set()) {
    out.present.reserve(rows.size());
    rows.for_each_row([&](std::uint32_t row) { out.present.push_back(!column.is_null(row)); });
  }
  if (const string_values* texts = column.strings()) {
    if (texts->dimensions == 0)
      append_texts(out, column, rows);
    else
      append_vectors(out, column, rows);
  } else if (const auto* whole = column.integers()) {
    append_values(out.values, rows, [whole](std::uint32_t row) { return (*whole)[row]; });
  } else if (const auto* flags = column.booleans()) {
    out.key.holds = captured_key::type::boolean;
    append_values(out.values, rows, [flags](std::uint32_t row) { return (*flags)[row]; });
  } else {
    out.key.holds = captured_key::type::floating;
    append_values(out.values, rows, [floats = column.floats()](std::uint32_t row) { return (*floats)[row]; });
  }
  return out;
}

}  // namespace

auto captured_copy::bytes() const -> std::size_t {
  constexpr std::size_t about_each_column = 64;  // its place in lists of rows, and padding
  std::size_t sum = sizeof(captured_copy) + plan.size() + plan_digest.size() + node.size() + source.size();
  if (request_id) sum += request_id->size();
  for (const captured_column& each : columns)
    sum += about_each_column + each.values.size() + each.ends.size() * sizeof(std::uint32_t) + each.present.size() / 8;
  return sum;
}

auto make_copy(const line_origin& origin, const captured_rows& captured) -> captured_copy {
  captured_copy out;
  out.time = origin.time;
  if (!origin.hidden.hides("request_id")) out.request_id = origin.record.request_id;
  out.plan = origin.plan;
  out.plan_digest = origin.digest;
  out.node = captured.node;
  out.side = capture_side_names[static_cast<std::size_t>(captured.side)];
  out.source = captured.source;
  out.state = to_string(captured.state);
  out.code = captured.failure;
  out.used = captured.used;
  out.fused_with = captured.fused_with;
  if (!captured.rows) return out;
  const row_set& rows = *captured.rows;
  out.has_rows = true;
  out.rows = rows.size();
  out.cut = captured.cut;
  out.columns.push_back(find_column(registries::id_key, "id", *rows.table().find(registries::id_key), rows));
  for (const key_entry* key : captured.keys)
    if (const auto values = rows.table().find(key->key_id))
      out.columns.push_back(find_column(key->key_id, key->name, *values, rows));
  return out;
}

}  // namespace rankd
