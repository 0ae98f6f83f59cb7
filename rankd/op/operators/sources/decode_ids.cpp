// rankd/op/operators/sources/decode_ids.cpp: implements the source that makes rows of the ids that texts contain as
// JSON arrays or packed integers.
#include <rankd/op/detail/bound.hpp>
#include <rankd/op/detail/decoding.hpp>
#include <rankd/op/detail/key_types.hpp>
#include <rankd/op/detail/lookup.hpp>
#include <rankd/op/detail/stored_ids.hpp>
#include <rankd/op/option_value.hpp>
#include <rankd/rows/dictionary.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rankd::detail::decode_ids_op {
namespace {

/// The ids of a text, as a range of indexes into all ids that were read. If the end of the range is before its
/// beginning, the text was not read yet.
struct ids_of_text {
  std::size_t begin = 1;
  std::size_t end = 0;
};

auto make_batch(const std::vector<std::int64_t>& ids, std::span<const std::uint32_t> order, braid::arena& memory)
    -> batch {
  const std::span<std::int64_t> out = memory.uninitialized<std::int64_t>(order.size());
  for (std::size_t at = 0; at < order.size(); ++at) out[at] = ids[order[at]];
  return batch(std::span<const std::int64_t>(out));
}

auto make_batch(const std::vector<std::string_view>& ids, std::span<const std::uint32_t> order, braid::arena& memory)
    -> batch {
  const std::span<std::uint32_t> codes = memory.uninitialized<std::uint32_t>(order.size());
  dictionary_builder words(memory);
  for (std::size_t at = 0; at < order.size(); ++at) codes[at] = words.intern_shared(ids[order[at]]);
  return batch(string_values{codes, words.finish()});
}

struct decode_ids_params {
  std::uint32_t key_id = 0;
  text_format format = text_format::json;
  value_type id_type = value_type::integer;
  option_value<std::int64_t> count = {};

  [[nodiscard]] auto cost_ns(std::size_t rows) const noexcept -> double { return 1000.0 * static_cast<double>(rows); }

  [[nodiscard]] auto run(node_context& context) const -> op_result<row_set> {
    return id_type == value_type::string ? read<std::string_view>(context) : read<std::int64_t>(context);
  }

 private:
  template <typename Id>
  [[nodiscard]] auto read(node_context& context) const -> op_result<row_set> {
    const row_set& rows = context.inputs[0];
    std::vector<Id> ids;
    std::vector<std::uint32_t> order;  // positions in `ids`
    const std::optional<column> from = rows.table().find(key_id);
    if (from && !read_rows(rows, *from, ids, order, context))
      return std::unexpected(op_error{"too_many_rows", "the texts together contain more ids than a batch can hold"});
    if (!context.may_make(order.size(), order.size() * sizeof(std::int64_t))) return over_budget();
    return row_set(make_batch(ids, order, context.memory));
  }

  /// Reads the ids of each active row. Reads each text once. Returns false if there are too many ids.
  template <typename Id>
  auto read_rows(const row_set& rows, const column& from, std::vector<Id>& ids, std::vector<std::uint32_t>& order,
                 node_context& context) const -> bool {
    const string_values& texts = *from.strings();
    const auto most = static_cast<std::size_t>(count.in(context.params));
    text_decoder decoder(format, context.memory);
    const std::span<ids_of_text> known = context.memory.filled(texts.words->size(), ids_of_text());
    for (std::size_t at = 0; at < rows.size(); ++at) {
      if (from.is_null(rows.row(at))) continue;
      const std::uint32_t text = texts.codes[rows.row(at)];
      ids_of_text& own = known[text];
      if (own.end < own.begin) {
        own.begin = ids.size();
        context.malformed_ids += decoder.ids((*texts.words)[text], most, ids);
        own.end = ids.size();
      }
      if (order.size() + (own.end - own.begin) > batch::max_rows) return false;
      for (std::size_t id = own.begin; id < own.end; ++id) order.push_back(static_cast<std::uint32_t>(id));
    }
    return true;
  }
};

constexpr std::array<std::string_view, 3> id_formats{"json", "int64", "base64_int64"};
constexpr std::array by_choice{text_format::json, text_format::int64, text_format::base64_int64};
constexpr param_shape key_of_texts{.name = "key", .kind = param_kind::key_id, .choices = string_types};
constexpr param_shape format_shape{.name = "format", .kind = param_kind::enumeration, .choices = id_formats};
constexpr std::array decode_ids_shape{key_of_texts, format_shape, count_shape};

auto bind_decode_ids(const plan_node& node, const bind_context& context) -> braid::checked<bound_ptr> {
  braid::diagnostics problems;
  decode_ids_params params{.format = by_choice[find_choice(node, format_shape)],
                           .id_type = context.declared.id_type(),
                           .count = {*node.find_param("count"), context.declared}};
  if (const key_entry* key = find_typed_key(*node.find_param("key"), key_of_texts, context, problems))
    params.key_id = key->key_id;
  if (params.format != text_format::json)
    need_integer_ids(node, context, "use the format `json`, whose ids can be strings", problems);
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return make_bound(std::move(params));
}

}  // namespace

auto entry() -> op_entry {
  return {.shape = {.name = "core::decode_ids", .inputs = 1, .params = decode_ids_shape},
          .change = row_change::dense_source,
          .doc = "Returns the first ids of the array under `key`, which is a JSON or packed text, for each row.",
          .bind = &bind_decode_ids};
}

}  // namespace rankd::detail::decode_ids_op
