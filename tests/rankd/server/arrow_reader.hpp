// tests/rankd/server/arrow_reader.hpp: a small reader of Arrow IPC streams of captures, which gives them as the lines
// of JSON that the other form has.
#pragma once

#include <rankd/registry/json_text.hpp>
#include <rankd/registry/vector_bytes.hpp>
#include <rankd/server/files/serve_log.hpp>

#include <arrow_generated.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace rankd::testing {

/// What a stream has; that it is none is an exception.
struct read_stream {
  std::vector<std::string> columns;  ///< names of keys, each with its type: `final_score:float`
  std::vector<std::string> lines;
  std::size_t batches = 0;
  bool is_ended = false;  ///< by the mark of its end
  bool is_cut = false;    ///< within a message, which is passed over
};

namespace detail {

inline void must(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(what);
}

/// A column of one batch.
struct read_column {
  const arrow::Field* field = nullptr;
  std::size_t length = 0;
  std::string_view validity;
  std::string_view offsets;
  std::string_view values;
  std::vector<read_column> children;

  [[nodiscard]] static auto bit(std::string_view of, std::size_t at) -> bool {
    return (static_cast<unsigned char>(of.at(at / 8)) >> at % 8 & 1U) != 0;
  }
  [[nodiscard]] auto is_null(std::size_t at) const -> bool { return !validity.empty() && !bit(validity, at); }

  template <typename T>
  [[nodiscard]] static auto number(std::string_view of, std::size_t at) -> T {
    T value{};
    must((at + 1) * sizeof(T) <= of.size(), "a value lies beyond its buffer");
    std::memcpy(&value, of.data() + at * sizeof(T), sizeof(T));
    return value;
  }
  [[nodiscard]] auto find_begin(std::size_t at) const -> std::size_t {
    const auto begin = number<std::int32_t>(offsets, at);
    must(begin >= 0 && begin <= number<std::int32_t>(offsets, at + 1), "offsets go back");
    return static_cast<std::size_t>(begin);
  }
  [[nodiscard]] auto text(std::size_t at) const -> std::string_view {
    const std::size_t begin = find_begin(at);
    const auto end = static_cast<std::size_t>(number<std::int32_t>(offsets, at + 1));
    must(end <= values.size(), "a text ends beyond its buffer");
    return values.substr(begin, end - begin);
  }
};

/// The columns of a batch, in the order of its nodes and buffers.
class column_reader {
 public:
  column_reader(const arrow::RecordBatch& batch, std::string_view body) : batch_(&batch), body_(body) {}

  auto read(const arrow::Field& field) -> read_column {
    read_column out;
    out.field = &field;
    const arrow::FieldNode& node = *batch_->nodes()->Get(node_++);
    out.length = static_cast<std::size_t>(node.length());
    out.validity = buffer();
    std::int64_t nulls = 0;
    for (std::size_t at = 0; at < out.length; ++at) nulls += out.is_null(at) ? 1 : 0;
    must(nulls == node.null_count(), "a wrong number of nulls");
    must(field.nullable() || nulls == 0, "a null where there must be none");
    switch (field.type_type()) {
      case arrow::Type::Utf8:
      case arrow::Type::Binary:
        out.offsets = buffer();
        out.values = buffer();
        break;
      case arrow::Type::List: out.offsets = buffer(); break;
      case arrow::Type::Struct_:
      case arrow::Type::FixedSizeList: break;
      default: out.values = buffer();
    }
    for (const arrow::Field* child : *field.children()) out.children.push_back(read(*child));
    return out;
  }

  [[nodiscard]] auto is_at_end() const -> bool {
    return node_ == batch_->nodes()->size() && buffer_ == batch_->buffers()->size();
  }

 private:
  auto buffer() -> std::string_view {
    const arrow::Buffer& at = *batch_->buffers()->Get(buffer_++);
    const auto begin = static_cast<std::size_t>(at.offset());
    const auto length = static_cast<std::size_t>(at.length());
    must(begin % 8 == 0 && begin + length <= body_.size(), "a buffer that is not in the body, or not aligned");
    return body_.substr(begin, length);
  }

  const arrow::RecordBatch* batch_;
  std::string_view body_;
  flatbuffers::uoffset_t node_ = 0;
  flatbuffers::uoffset_t buffer_ = 0;
};

inline void append_item(std::string& out, const read_column& items, std::size_t at) {
  if (items.is_null(at)) {
    out += "null";
    return;
  }
  switch (items.field->type_type()) {
    case arrow::Type::Int: append_json_number(out, read_column::number<std::int64_t>(items.values, at)); return;
    case arrow::Type::FloatingPoint: append_json_number(out, read_column::number<double>(items.values, at)); return;
    case arrow::Type::Bool: out += read_column::bit(items.values, at) ? "true" : "false"; return;
    case arrow::Type::Utf8: append_json_string(out, items.text(at)); return;
    case arrow::Type::Binary: append_json_bytes(out, items.text(at)); return;
    case arrow::Type::FixedSizeList: break;
    default: must(false, "a type that captures do not have");
  }
  const auto size = static_cast<std::size_t>(items.field->type_as_FixedSizeList()->list_size());
  must(items.children.at(0).length == size * items.length, "a wrong number of numbers");
  append_vector_json(out, items.children[0].values.substr(at * size * sizeof(float), size * sizeof(float)));
}

inline void append_rows(std::string& out, const read_column& rows, std::size_t at) {
  out += "{";
  for (const read_column& list : rows.children) {
    if (list.is_null(at)) continue;
    if (!out.ends_with('{')) out += ',';
    append_json_string(out, list.field->name()->string_view());
    out += ":[";
    const std::size_t begin = list.find_begin(at);
    const auto end = static_cast<std::size_t>(read_column::number<std::int32_t>(list.offsets, at + 1));
    must(end <= list.children.at(0).length, "a list ends beyond its values");
    for (std::size_t item = begin; item < end; ++item) {
      if (item != begin) out += ',';
      append_item(out, list.children[0], item);
    }
    out += ']';
  }
  out += '}';
}

inline auto format_line(const std::vector<read_column>& columns, std::size_t at) -> std::string {
  std::string out = "{";
  for (const read_column& each : columns) {
    if (each.is_null(at)) continue;
    if (!out.ends_with('{')) out += ',';
    append_json_string(out, each.field->name()->string_view());
    out += ':';
    switch (each.field->type_type()) {
      case arrow::Type::Timestamp: {
        const std::chrono::milliseconds time(read_column::number<std::int64_t>(each.values, at));
        append_json_string(out, utc_text(std::chrono::system_clock::time_point(time)));
        break;
      }
      case arrow::Type::Struct_: append_rows(out, each, at); break;
      default: append_item(out, each, at);
    }
  }
  return out + "}";
}

inline auto type_name(const arrow::Field& of) -> std::string {
  switch (of.type_type()) {
    case arrow::Type::Int: return "int";
    case arrow::Type::FloatingPoint: return "float";
    case arrow::Type::Bool: return "bool";
    case arrow::Type::Utf8: return "string";
    case arrow::Type::Binary: return "bytes";
    default: return "vector" + std::to_string(of.type_as_FixedSizeList()->list_size());
  }
}

}  // namespace detail

inline auto read_arrow(std::string_view bytes) -> read_stream {
  using detail::must;
  read_stream out;
  std::string schema;  // keeps the bytes that fields lie in
  const arrow::Schema* fields = nullptr;
  out.is_cut = bytes.empty();
  while (!bytes.empty() && !out.is_ended && !out.is_cut) {
    std::uint32_t words[2];
    if (bytes.size() < sizeof(words)) {
      out.is_cut = true;
      break;
    }
    std::memcpy(words, bytes.data(), sizeof(words));
    must(words[0] == 0xFFFFFFFF, "no mark of a message");
    bytes.remove_prefix(sizeof(words));
    if (words[1] == 0) {
      out.is_ended = true;
      break;
    }
    must(words[1] % 8 == 0, "a message that is not aligned");
    const std::string head(bytes.substr(0, words[1]));
    out.is_cut = head.size() < words[1];
    if (out.is_cut) break;
    flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(head.data()), head.size());
    must(arrow::VerifyMessageBuffer(verifier), "a message that is none");
    const arrow::Message& message = *arrow::GetMessage(head.data());
    must(message.version() == arrow::MetadataVersion::V5, "another version of the format");
    bytes.remove_prefix(head.size());
    const std::string_view body = bytes.substr(0, static_cast<std::size_t>(message.body_length()));
    out.is_cut = body.size() < static_cast<std::size_t>(message.body_length());
    if (out.is_cut) break;
    must(body.size() % 8 == 0, "a body that is not aligned");
    bytes.remove_prefix(body.size());
    if (fields == nullptr) {
      must(message.header_type() == arrow::MessageHeader::Schema, "a stream begins with a schema");
      schema = head;
      fields = arrow::GetMessage(schema.data())->header_as_Schema();
      for (const arrow::Field* field : *fields->fields())
        if (field->type_type() == arrow::Type::Struct_)
          for (const arrow::Field* list : *field->children())
            out.columns.push_back(list->name()->str() + ":" + detail::type_name(*list->children()->Get(0)));
      continue;
    }
    must(message.header_type() == arrow::MessageHeader::RecordBatch, "batches follow the schema");
    const arrow::RecordBatch& batch = *message.header_as_RecordBatch();
    detail::column_reader reader(batch, body);
    std::vector<detail::read_column> columns;
    for (const arrow::Field* field : *fields->fields()) columns.push_back(reader.read(*field));
    must(reader.is_at_end(), "a batch with more columns than its schema");
    for (const detail::read_column& each : columns)
      must(each.length == static_cast<std::size_t>(batch.length()), "columns of other lengths");
    ++out.batches;
    for (std::size_t at = 0; at < static_cast<std::size_t>(batch.length()); ++at)
      out.lines.push_back(detail::format_line(columns, at));
  }
  must(!out.is_ended || bytes.empty(), "bytes after the end");
  return out;
}

}  // namespace rankd::testing
