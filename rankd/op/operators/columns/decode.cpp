// rankd/op/operators/columns/decode.cpp: adds columns with values from texts: members of JSON, or packed vectors.
#include <rankd/op/detail/bound.hpp>
#include <rankd/op/detail/decoding.hpp>
#include <rankd/op/detail/key_types.hpp>
#include <rankd/op/detail/lookup.hpp>
#include <rankd/op/detail/stored_columns.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rankd::detail::decode_op {
namespace {

struct decode_params {
  std::uint32_t key_id = 0;
  text_format format = text_format::json;
  std::vector<wanted_feature> wanted;

  [[nodiscard]] auto cost_ns(std::size_t rows) const noexcept -> double {
    return static_cast<double>(rows) * (200.0 + 100.0 * static_cast<double>(wanted.size()));
  }

  [[nodiscard]] auto run(node_context& context) const -> op_result<row_set> {
    const row_set& rows = context.inputs[0];
    const std::uint64_t row_bytes = sizeof(std::uint32_t) + wanted.size() * (sizeof(double) + 1);
    if (!context.may_make(0, rows.table().size() * row_bytes)) return over_budget();
    const std::optional<column> from = rows.table().find(key_id);
    const std::span<std::uint32_t> places = context.memory.filled(rows.size(), asked_rows::none);
    const std::size_t texts = from ? from->strings()->words->size() : 0;
    // The values of all texts, one text after the other. If several rows share a text, the text is read only once.
    const auto found = context.memory.filled(texts * wanted.size(), std::optional<std::string_view>());
    if (from) read(rows, *from, places, found, context);
    const asked_rows of{.rows = rows, .asked = texts, .places = places};
    row_set out = rows;
    for (std::size_t field = 0; field < wanted.size(); ++field) {
      const auto find = [&](std::size_t text, const wanted_feature& /*what*/) {
        return found[text * wanted.size() + field];
      };
      out = out.with_column(wanted[field].key_id, find_column(wanted[field], of, find, context), context.memory);
    }
    return out;
  }

 private:
  /// Reads each text of the active rows once, and stores for each row the index of its text.
  void read(const row_set& rows, const column& from, std::span<std::uint32_t> places,
            std::span<std::optional<std::string_view>> found, node_context& context) const {
    const string_values& texts = *from.strings();
    text_decoder decoder(format, context.memory);
    const std::span<bool> is_read = context.memory.filled(texts.words->size(), false);
    for (std::size_t at = 0; at < rows.size(); ++at) {
      const std::uint32_t row = rows.row(at);
      if (from.is_null(row)) continue;
      const std::uint32_t text = texts.codes[row];
      places[at] = text;
      if (std::exchange(is_read[text], true)) continue;
      context.malformed_values +=
          decoder.values((*texts.words)[text], wanted, found.subspan(text * wanted.size(), wanted.size()));
    }
  }
};

constexpr std::array<std::string_view, 1> json_format{"json"};
constexpr param_shape key_of_texts{.name = "key", .kind = param_kind::key_id, .choices = string_types};
constexpr param_shape format_shape{.name = "format", .kind = param_kind::enumeration, .choices = text_format_names};
constexpr param_shape out_keys_shape{
    .name = "out_keys", .kind = param_kind::key_ids, .use = key_use::write, .min_items = 1, .choices = feature_types};
constexpr std::array decode_shape{
    key_of_texts,
    format_shape,
    param_shape{.name = "members",
                .kind = param_kind::texts,
                .need = presence::nullable,
                .when = {.param = "format", .values = json_format}},
    out_keys_shape,
};

/// Packed numbers form one vector, so they can be written to only one key.
void check_packed(const plan_param& out_keys, std::span<const key_entry* const> keys, braid::diagnostics& problems) {
  if (keys.size() > 1)
    problems.add({.code = "too_many_items",
                  .pointer = out_keys.pointer,
                  .message = "a packed vector is written to one key, but `out_keys` has " + std::to_string(keys.size()),
                  .hint = {},
                  .node = {},
                  .source = {}});
  if (keys.front() != nullptr && keys.front()->type != value_type::vector)
    problems.add({.code = "wrong_key_type",
                  .pointer = braid::json_pointer(out_keys.pointer, 0),
                  .message = "key " + std::to_string(keys.front()->key_id) + " (" + keys.front()->name +
                             ") is of type " + std::string(to_string(keys.front()->type)) +
                             "; packed numbers need a key of type vector",
                  .hint = "use the format `json` for other types",
                  .node = {},
                  .source = {}});
}

auto bind_decode(const plan_node& node, const bind_context& context) -> braid::checked<bound_ptr> {
  braid::diagnostics problems;
  decode_params params;
  params.format = static_cast<text_format>(find_choice(node, format_shape));
  if (const key_entry* key = find_typed_key(*node.find_param("key"), key_of_texts, context, problems))
    params.key_id = key->key_id;
  const plan_param& out_keys = *node.find_param("out_keys");
  const plan_param* members = node.find_param("members");
  const std::vector<const key_entry*> keys = find_typed_keys(out_keys, out_keys_shape, context, problems);
  if (members != nullptr) check_same_length(*members, members->names.size(), out_keys, keys.size(), problems);
  if (params.format != text_format::json) check_packed(out_keys, keys, problems);
  if (!problems.empty()) return std::unexpected(std::move(problems));
  for (std::size_t at = 0; at < keys.size(); ++at)
    params.wanted.push_back(make_wanted(*keys[at], members == nullptr ? keys[at]->name : members->names[at]));
  return make_bound(std::move(params));
}

}  // namespace

auto entry() -> op_entry {
  return {.shape = {.name = "core::decode", .inputs = 1, .params = decode_shape},
          .change = row_change::preserves_view,
          .doc = "Adds columns: members of the JSON text under `key`, or the packed vector in it.",
          .bind = &bind_decode,
          .adds = {.option = "out_keys", .hint = "decode a value once, before any other node writes its key"}};
}

}  // namespace rankd::detail::decode_op
