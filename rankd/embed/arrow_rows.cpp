// rankd/embed/arrow_rows.cpp: copies the values of active rows to Arrow buffers, and exports these buffers.
#include <rankd/embed/arrow_rows.hpp>

#include <rankd/registry/names.hpp>

#include <string_view>
#include <utility>

namespace rankd {
namespace {

/// Appends a bit to a bitmap. The first bit is the lowest bit of the first byte.
void append_bit(std::string& bits, std::size_t index, bool value) {
  if (index % 8 == 0) bits += '\0';
  if (value) bits.back() = static_cast<char>(static_cast<unsigned char>(bits.back()) | 1U << index % 8);
}

template <typename T>
void append_bytes(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

/// Adds the bitmap of a column's valid values. The bitmap is empty if no active row is null.
void add_bitmap(arrow_column& out, const column& column, const row_set& rows) {
  std::string bits;
  std::size_t at = 0;
  rows.for_each_row([&](std::uint32_t row) {
    const bool is_null = column.is_null(row);
    out.null_count += is_null ? 1 : 0;
    append_bit(bits, at++, !is_null);
  });
  if (out.null_count == 0) bits.clear();
  out.buffers.push_back(std::move(bits));
}

template <typename Values>
void add_numbers(arrow_column& out, const Values& from, const row_set& rows) {
  std::string values;
  values.reserve(rows.size() * sizeof(from[0]));
  rows.for_each_row([&](std::uint32_t row) { append_bytes(values, from[row]); });
  out.buffers.push_back(std::move(values));
}

auto text_at(const column& column, std::uint32_t row) -> std::string_view {
  return column.is_null(row) ? std::string_view() : (*column.strings())[row];  // the text of a null is empty
}

void add_texts(arrow_column& out, const column& column, const row_set& rows) {
  std::string ends;
  std::string values;
  bool is_text = true;
  append_bytes(ends, std::int64_t{0});
  rows.for_each_row([&](std::uint32_t row) {
    const std::string_view text = text_at(column, row);
    is_text = is_text && is_utf8(text);
    values += text;
    append_bytes(ends, static_cast<std::int64_t>(values.size()));
  });
  out.format = is_text ? "U" : "Z";
  out.buffers.push_back(std::move(ends));
  out.buffers.push_back(std::move(values));
}

void add_vectors(arrow_column& out, const column& column, const row_set& rows) {
  const std::size_t size = std::size_t{column.strings()->dimensions} * sizeof(float);
  std::string values;
  rows.for_each_row([&](std::uint32_t row) {
    const std::size_t end = values.size() + size;
    values += text_at(column, row).substr(0, size);
    values.resize(end);  // zeros for a null
  });
  out.format = "+w:" + std::to_string(column.strings()->dimensions);
  out.children.push_back({.name = "item",
                          .format = "f",
                          .has = arrow_column::nulls::none,
                          .length = static_cast<std::int64_t>(values.size() / sizeof(float)),
                          .buffers = {std::string(), std::move(values)}});
}

auto find_column(std::string_view name, const column& column, const row_set& rows) -> arrow_column {
  arrow_column out{.name = std::string(name), .format = {}, .length = static_cast<std::int64_t>(rows.size())};
  add_bitmap(out, column, rows);
  if (const string_values* texts = column.strings()) {
    if (texts->dimensions == 0)
      add_texts(out, column, rows);
    else
      add_vectors(out, column, rows);
  } else if (const auto* whole = column.integers()) {
    out.format = "l";
    add_numbers(out, *whole, rows);
  } else if (const auto* flags = column.booleans()) {
    out.format = "b";
    std::string bits;
    std::size_t at = 0;
    rows.for_each_row([&](std::uint32_t row) { append_bit(bits, at++, (*flags)[row]); });
    out.buffers.push_back(std::move(bits));
  } else {
    out.format = "g";
    add_numbers(out, *column.floats(), rows);
  }
  return out;
}

/// The memory that an exported schema refers to. The children of the schema are separate objects, because a receiver
/// may move them out.
struct kept_schema {
  std::string format;
  std::string name;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> pointers;
};

struct kept_array {
  std::shared_ptr<const arrow_column> from;
  std::vector<const void*> pointers;
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> child_pointers;
};

/// Releases the children that the receiver has not moved out, and the memory that the object refers to.
template <typename Kept, typename Part>
void release(Part* part) {
  const std::unique_ptr<Kept> kept(static_cast<Kept*>(part->private_data));
  for (Part& child : kept->children)
    if (child.release != nullptr) child.release(&child);
  part->release = nullptr;
}

}  // namespace

auto arrow_columns(const row_set& rows, std::span<const key_entry* const> keys) -> arrow_column {
  arrow_column out{.name = {},
                   .format = "+s",
                   .has = arrow_column::nulls::none,
                   .length = static_cast<std::int64_t>(rows.size()),
                   .buffers = {std::string()}};
  if (const auto ids = rows.table().find(registries::id_key)) out.children.push_back(find_column("id", *ids, rows));
  for (const key_entry* key : keys)
    if (const auto values = rows.table().find(key->key_id))
      out.children.push_back(find_column(key->name, *values, rows));
  return out;
}

void export_schema(const arrow_column& from, ArrowSchema& out) {
  auto kept = std::make_unique<kept_schema>(kept_schema{from.format, from.name, {}, {}});
  kept->children.resize(from.children.size());
  for (std::size_t at = 0; at < from.children.size(); ++at) {
    export_schema(from.children[at], kept->children[at]);
    kept->pointers.push_back(&kept->children[at]);
  }
  out = {.format = kept->format.c_str(),
         .name = kept->name.c_str(),
         .metadata = nullptr,
         .flags = from.has == arrow_column::nulls::some ? arrow_nullable : 0,
         .n_children = static_cast<std::int64_t>(kept->children.size()),
         .children = kept->pointers.data(),
         .dictionary = nullptr,
         .release = release<kept_schema, ArrowSchema>,
         .private_data = nullptr};
  out.private_data = kept.release();
}

void export_array(std::shared_ptr<const arrow_column> from, ArrowArray& out) {
  auto kept = std::make_unique<kept_array>();
  for (const std::string& each : from->buffers)  // the first is the bitmap, which may be absent
    kept->pointers.push_back(kept->pointers.empty() && each.empty() ? nullptr : each.data());
  kept->children.resize(from->children.size());
  for (std::size_t at = 0; at < from->children.size(); ++at) {
    export_array(std::shared_ptr<const arrow_column>(from, &from->children[at]), kept->children[at]);
    kept->child_pointers.push_back(&kept->children[at]);
  }
  out = {.length = from->length,
         .null_count = from->null_count,
         .offset = 0,
         .n_buffers = static_cast<std::int64_t>(kept->pointers.size()),
         .n_children = static_cast<std::int64_t>(kept->children.size()),
         .buffers = kept->pointers.data(),
         .children = kept->child_pointers.data(),
         .dictionary = nullptr,
         .release = release<kept_array, ArrowArray>,
         .private_data = nullptr};
  kept->from = std::move(from);
  out.private_data = kept.release();
}

void export_stream(std::shared_ptr<const arrow_column> from, ArrowArrayStream& out) {
  struct kept_stream {
    std::shared_ptr<const arrow_column> from;
    bool is_read = false;
  };
  out = {.get_schema =
             [](ArrowArrayStream* self, ArrowSchema* schema) {
               export_schema(*static_cast<kept_stream*>(self->private_data)->from, *schema);
               return 0;
             },
         .get_next =
             [](ArrowArrayStream* self, ArrowArray* array) {
               auto& kept = *static_cast<kept_stream*>(self->private_data);
               *array = {};  // an array without `release` is the end
               if (!std::exchange(kept.is_read, true)) export_array(kept.from, *array);
               return 0;
             },
         .get_last_error = [](ArrowArrayStream*) -> const char* { return nullptr; },
         .release =
             [](ArrowArrayStream* self) {
               delete static_cast<kept_stream*>(self->private_data);
               self->release = nullptr;
             },
         .private_data = new kept_stream{std::move(from)}};
}

}  // namespace rankd
