// rankd/server/files/arrow_stream.cpp: builds the buffers of columns, and the messages that contain their offsets.
#include <rankd/server/files/arrow_stream.hpp>

#include <arrow_generated.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>
#include <optional>

namespace rankd {
namespace {

namespace format = arrow;  // of arrow.fbs
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

static_assert(std::endian::native == std::endian::little, "values are written as they lie in memory");

constexpr std::size_t alignment = 8;

void pad(std::string& out) { out.resize((out.size() + alignment - 1) / alignment * alignment); }

/// Returns an encapsulated message, which consists of the length of the metadata and the metadata.
auto make_message(FlatBufferBuilder& out, format::MessageHeader kind, Offset<void> header, std::string_view body)
    -> std::string {
  out.Finish(
      format::CreateMessage(out, format::MetadataVersion::V5, kind, header, static_cast<std::int64_t>(body.size())));
  std::string text(arrow_end);  // the mark of a message, and its length, which is zero here
  text.append(reinterpret_cast<const char*>(out.GetBufferPointer()), out.GetSize());
  pad(text);
  const auto size = static_cast<std::uint32_t>(text.size() - arrow_end.size());
  text.replace(sizeof(size), sizeof(size), reinterpret_cast<const char*>(&size), sizeof(size));
  return text.append(body);
}

// --- functions that build the schema ---

using field = Offset<format::Field>;

enum class nulls : std::uint8_t { none, some };

auto make_field(FlatBufferBuilder& out, const std::string& name, format::Type type, Offset<void> type_table,
                const std::vector<field>& children = {}, nulls has = nulls::some) -> field {
  const auto text = out.CreateString(name);
  const auto all = out.CreateVector(children);  // readers need the list, even if it is empty
  return format::CreateField(out, text, has == nulls::some, type, type_table, 0, all);
}

auto text_field(FlatBufferBuilder& out, const std::string& name) -> field {
  return make_field(out, name, format::Type::Utf8, format::CreateUtf8(out).Union());
}

auto integer_field(FlatBufferBuilder& out, const std::string& name) -> field {
  return make_field(out, name, format::Type::Int, format::CreateInt(out, 64, true).Union());
}

auto float_field(FlatBufferBuilder& out, const std::string& name, format::Precision precision, nulls has) -> field {
  return make_field(out, name, format::Type::FloatingPoint, format::CreateFloatingPoint(out, precision).Union(), {},
                    has);
}

/// Returns the schema field for one value of a list.
auto item_field(FlatBufferBuilder& out, const captured_key& key) -> field {
  const std::string item = "item";
  switch (key.holds) {
    case captured_key::type::integer: return integer_field(out, item);
    case captured_key::type::floating: return float_field(out, item, format::Precision::DOUBLE, nulls::some);
    case captured_key::type::boolean: return make_field(out, item, format::Type::Bool, format::CreateBool(out).Union());
    case captured_key::type::text: return text_field(out, item);
    case captured_key::type::bytes:
      return make_field(out, item, format::Type::Binary, format::CreateBinary(out).Union());
    case captured_key::type::vector: break;
  }
  const field number = float_field(out, item, format::Precision::SINGLE, nulls::none);
  const auto of = format::CreateFixedSizeList(out, static_cast<std::int32_t>(key.dimensions)).Union();
  return make_field(out, item, format::Type::FixedSizeList, of, {number});
}

// --- functions that build a batch ---

/// A buffer of bits, which is used for bitmaps and for columns of booleans. The first bit is the lowest bit of the
/// first byte.
class bit_buffer {
 public:
  void add(bool bit) {
    if (size_ % 8 == 0) bytes_ += '\0';
    if (bit) bytes_.back() = static_cast<char>(static_cast<unsigned char>(bytes_.back()) | 1U << size_ % 8);
    set_ += bit ? 1 : 0;
    ++size_;
  }
  [[nodiscard]] auto bytes() const -> std::string_view { return bytes_; }
  [[nodiscard]] auto size() const -> std::size_t { return size_; }
  [[nodiscard]] auto clear() const -> std::size_t { return size_ - set_; }

 private:
  std::string bytes_;
  std::size_t size_ = 0;
  std::size_t set_ = 0;
};

/// The offsets of values of varying length. The first offset is 0, and each following offset is the end of a value.
class offset_buffer {
 public:
  void add(std::size_t length) {
    end_ += static_cast<std::int32_t>(length);
    append();
  }
  [[nodiscard]] auto bytes() const -> std::string_view { return bytes_; }

 private:
  void append() { bytes_.append(reinterpret_cast<const char*>(&end_), sizeof(end_)); }

  std::int32_t end_ = 0;
  std::string bytes_ = std::string(sizeof(end_), '\0');
};

/// The buffers of a batch. Columns are in the order of the schema, and parents precede their children.
class batch_body {
 public:
  /// Begins a column, or one level of a nested column, with its validity bitmap.
  void begin(const bit_buffer& present) {
    nodes_.emplace_back(static_cast<std::int64_t>(present.size()), static_cast<std::int64_t>(present.clear()));
    add(present.clear() == 0 ? std::string_view() : present.bytes());  // not needed if no value is null
  }
  void begin(std::size_t size) {
    nodes_.emplace_back(static_cast<std::int64_t>(size), 0);
    add({});
  }
  void add(std::string_view bytes) {
    buffers_.emplace_back(static_cast<std::int64_t>(text_.size()), static_cast<std::int64_t>(bytes.size()));
    text_ += bytes;
    pad(text_);
  }

  [[nodiscard]] auto to_message(std::size_t rows) const -> std::string {
    FlatBufferBuilder out;
    const auto header = format::CreateRecordBatch(
        out, static_cast<std::int64_t>(rows), out.CreateVectorOfStructs(nodes_), out.CreateVectorOfStructs(buffers_));
    return make_message(out, format::MessageHeader::RecordBatch, header.Union(), text_);
  }

 private:
  std::string text_;
  std::vector<format::FieldNode> nodes_;
  std::vector<format::Buffer> buffers_;
};

using row_sets = std::span<const captured_copy>;

/// Adds a column with the text that `text_of(set)` returns for each set. An absent text becomes null.
template <typename Fn>
void add_texts(batch_body& out, row_sets sets, Fn text_of) {
  bit_buffer present;
  offset_buffer ends;
  std::string all;
  for (const captured_copy& each : sets) {
    const std::optional<std::string_view> text = text_of(each);
    present.add(text.has_value());
    all += text.value_or(std::string_view());
    ends.add(text.value_or(std::string_view()).size());
  }
  out.begin(present);
  out.add(ends.bytes());
  out.add(all);
}

/// Adds a column of texts. An empty text is written as null.
void add_texts(batch_body& out, row_sets sets, std::string captured_copy::* text) {
  add_texts(out, sets, [text](const captured_copy& each) {
    const std::string& of = each.*text;
    return of.empty() ? std::nullopt : std::optional<std::string_view>(of);
  });
}

template <typename Fn>
void add_integers(batch_body& out, const bit_buffer& present, row_sets sets, Fn value_of) {
  std::string all;
  for (const captured_copy& each : sets) {
    const std::int64_t value = value_of(each);
    all.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  out.begin(present);
  out.add(all);
}

/// Returns whether the column `into` accepts values of the column `from`. A column of bytes also accepts text.
auto takes(const captured_key& into, const captured_key& from) -> bool {
  if (into.holds == captured_key::type::bytes && from.holds == captured_key::type::text) return true;
  return into.holds == from.holds && into.dimensions == from.dimensions;
}

auto column_for(const captured_copy& set, const captured_key& key) -> const captured_column* {
  const auto found =
      std::ranges::find_if(set.columns, [&](const captured_column& each) { return each.key.name == key.name; });
  return found != set.columns.end() && takes(key, found->key) ? &*found : nullptr;
}

/// The values of all lists under a key, one after the other.
class item_values {
 public:
  item_values(const captured_key& key, row_sets sets) : key_(&key) {
    for (const captured_copy& each : sets)
      if (const captured_column* column = column_for(each, key)) add(*column, each.rows);
  }

  void write(batch_body& out) const {
    out.begin(present_);
    switch (key_->holds) {
      case captured_key::type::text:
      case captured_key::type::bytes:
        out.add(ends_.bytes());
        out.add(values_);
        return;
      case captured_key::type::boolean: out.add(bits_.bytes()); return;
      case captured_key::type::vector: out.begin(present_.size() * key_->dimensions); break;
      case captured_key::type::integer:
      case captured_key::type::floating: break;
    }
    out.add(values_);
  }

 private:
  void add(const captured_column& from, std::size_t rows) {
    for (std::size_t row = 0; row < rows; ++row) present_.add(from.present.empty() || from.present[row]);
    if (key_->holds == captured_key::type::boolean) {
      for (const char each : from.values) bits_.add(each != 0);
      return;
    }
    std::uint32_t begin = 0;
    for (const std::uint32_t end : from.ends) {
      ends_.add(end - begin);
      begin = end;
    }
    values_ += from.values;
  }

  const captured_key* key_;
  bit_buffer present_;
  bit_buffer bits_;
  offset_buffer ends_;
  std::string values_;
};

/// Adds a list for each set, or a null if the set has no such column.
void add_lists(batch_body& out, const captured_key& key, row_sets sets) {
  bit_buffer present;
  offset_buffer ends;
  for (const captured_copy& each : sets) {
    const bool has = column_for(each, key) != nullptr;
    present.add(has);
    ends.add(has ? each.rows : 0);
  }
  out.begin(present);
  out.add(ends.bytes());
  item_values(key, sets).write(out);
}

}  // namespace

auto arrow_schema(std::span<const captured_key> keys) -> std::string {
  FlatBufferBuilder out;
  const auto time = format::CreateTimestamp(out, format::TimeUnit::MILLISECOND, out.CreateString("UTC"));
  std::vector<field> fields{make_field(out, "time", format::Type::Timestamp, time.Union(), {}, nulls::none)};
  for (const char* name :
       {"request_id", "plan", "plan_digest", "node", "side", "of", "state", "code", "used", "fused_with"})
    fields.push_back(text_field(out, name));
  std::vector<field> lists;
  for (const captured_key& each : keys) {
    const field item = item_field(out, each);
    lists.push_back(make_field(out, each.name, format::Type::List, format::CreateList(out).Union(), {item}));
  }
  fields.push_back(make_field(out, "rows", format::Type::Struct_, format::CreateStruct_(out).Union(), lists));
  fields.push_back(integer_field(out, "cut"));
  const auto header = format::CreateSchema(out, format::Endianness::Little, out.CreateVector(fields));
  return make_message(out, format::MessageHeader::Schema, header.Union(), {});
}

auto arrow_batch(std::span<const captured_key> keys, std::span<const captured_copy> sets) -> std::string {
  batch_body out;
  bit_buffer with_time;
  bit_buffer with_rows;
  for (const captured_copy& each : sets) {
    with_time.add(true);
    with_rows.add(each.has_rows);
  }
  add_integers(out, with_time, sets, [](const captured_copy& each) { return std::int64_t{each.time.count()}; });
  add_texts(out, sets, [](const captured_copy& each) { return std::optional<std::string_view>(each.request_id); });
  for (const auto text : {&captured_copy::plan, &captured_copy::plan_digest, &captured_copy::node, &captured_copy::side,
                          &captured_copy::source, &captured_copy::state, &captured_copy::code, &captured_copy::used,
                          &captured_copy::fused_with})
    add_texts(out, sets, text);
  out.begin(with_rows);
  for (const captured_key& each : keys) add_lists(out, each, sets);
  add_integers(out, with_rows, sets, [](const captured_copy& each) { return static_cast<std::int64_t>(each.cut); });
  return out.to_message(sets.size());
}

auto fit_columns(std::vector<captured_key>& keys, const captured_copy& rows) -> column_fit {
  column_fit fit = column_fit::same;
  for (const captured_column& each : rows.columns) {
    const auto found = std::ranges::find(keys, each.key.name, &captured_key::name);
    if (found != keys.end() && found->key_id == each.key.key_id && takes(*found, each.key)) continue;
    if (found != keys.end() && found->key_id == each.key.key_id && takes(each.key, *found)) {
      found->holds = each.key.holds;
      fit = std::max(fit, column_fit::wider);
      continue;
    }
    fit = std::max(fit, found == keys.end() ? column_fit::wider : column_fit::other);
    if (found != keys.end()) keys.erase(found);
    keys.insert(std::ranges::upper_bound(keys, each.key.key_id, {}, &captured_key::key_id), each.key);
  }
  return fit;
}

}  // namespace rankd
