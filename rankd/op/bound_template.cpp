// rankd/op/bound_template.cpp: resolves the holes of a key template against the registries, and spells the key of each
// row.
#include <rankd/op/detail/bound_template.hpp>

#include <rankd/registry/names.hpp>
#include <rankd/rows/dictionary.hpp>
#include <rankd/store/named_read.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <type_traits>
#include <utility>
#include <variant>

namespace rankd::detail {
namespace {

/// The types of the values that store keys can contain. Floats are excluded because one float can be spelled in several
/// ways.
constexpr std::array hole_types{value_type::integer, value_type::string, value_type::boolean};

/// Checks the column or param that one hole of a template names.
class hole_check {
 public:
  hole_check(const plan_param& param, braid::diagnostics& problems) : param_(&param), problems_(&problems) {}

  /// Returns the entry if plans may read it and it has the right type. Otherwise, reports the problem and returns null.
  template <typename Entry>
  auto fine(const Entry* entry, const std::string& sort, const template_hole& hole,
            const std::vector<std::string_view>& known, const registries& declared) -> const Entry* {
    const std::string named = sort + " " + quote_name(hole.name);
    if (entry == nullptr)
      return report("unknown_" + sort, "no " + sort + " is called " + quote_name(hole.name),
                    braid::did_you_mean(hole.name, known)),
             nullptr;
    if (entry->status == lifecycle::blocked)
      return report("blocked_" + sort, named + " is blocked", declared.successor_hint(*entry)), nullptr;
    if (!entry->allow_read) return report("unreadable_" + sort, named + " must not be read by plans", {}), nullptr;
    if (std::ranges::find(hole_types, entry->type) != hole_types.end()) return entry;
    return report("wrong_" + sort + "_type",
                  named + " is of type " + std::string(to_string(entry->type)) +
                      "; a key can contain only values of type int, string or bool",
                  {}),
           nullptr;
  }

 private:
  void report(std::string code, std::string message, std::string hint) {
    problems_->add({.code = std::move(code),
                    .pointer = param_->pointer,
                    .message = std::move(message),
                    .hint = std::move(hint),
                    .node = {},
                    .source = {}});
  }

  const plan_param* param_;
  braid::diagnostics* problems_;
};

void append_digits(std::string& out, std::int64_t value) {
  std::array<char, std::numeric_limits<std::int64_t>::digits10 + 2> text{};
  out.append(text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr);
}

void append_value(std::string& out, bool value) { out += value ? "true" : "false"; }
void append_value(std::string& out, std::int64_t value) { append_digits(out, value); }
void append_value(std::string& out, std::string_view value) { append_escaped(out, value); }

/// Appends the value of a param to a key. Returns false if the value is null.
auto append_param(std::string& out, const scalar& value) -> bool {
  return std::visit(
      [&out](const auto& each) {
        using type = std::remove_cvref_t<decltype(each)>;
        constexpr bool has_spelling = std::is_same_v<type, bool> || std::is_same_v<type, std::int64_t>;
        if constexpr (std::is_same_v<type, std::string>)
          append_value(out, std::string_view(each));
        else if constexpr (has_spelling)
          append_value(out, each);
        return has_spelling || std::is_same_v<type, std::string>;
      },
      value);
}

/// Appends the value of a row's column to a key. Returns false if the value is null or the column is absent.
auto append_cell(std::string& out, const std::optional<column>& column, std::uint32_t row) -> bool {
  if (!column || column->is_null(row)) return false;
  if (const auto* numbers = column->integers())
    append_value(out, (*numbers)[row]);
  else if (const auto* texts = column->strings())
    append_value(out, (*texts)[row]);
  else if (const auto* flags = column->booleans())
    append_value(out, (*flags)[row]);
  else
    return false;
  return true;
}

}  // namespace

/// Spells the keys of the rows of one request.
class bound_template::speller {
 public:
  speller(const bound_template& bound, const node_context& context) : template_(&bound), context_(&context) {
    for (const hole& each : bound.holes_) {
      const bool is_column = each.from == template_hole::source_kind::column;
      columns_.push_back(is_column && !context.inputs.empty() ? context.inputs[0].table().find(each.key_id)
                                                              : std::nullopt);
    }
  }

  /// Returns the key of a row, or nothing if the value of a hole is null or no store can contain the key. Lifetime: the
  /// key is valid until the next call.
  auto spell(std::uint32_t row) -> std::optional<std::string_view> {
    text_ = template_->literals_.front();
    for (std::size_t at = 0; at < columns_.size(); ++at) {
      const hole& each = template_->holes_[at];
      const bool is_there = each.from == template_hole::source_kind::param
                                ? append_param(text_, context_->params[each.param])
                                : append_cell(text_, columns_[at], row);
      if (!is_there) return std::nullopt;
      text_ += template_->literals_[at + 1];
    }
    if (text_.empty() || text_.size() > named_read::max_key) return std::nullopt;
    return text_;
  }

 private:
  const bound_template* template_;
  const node_context* context_;
  std::vector<std::optional<column>> columns_;  // of each hole
  std::string text_;
};

auto bound_template::bind(const plan_param& param, const bind_context& context, braid::diagnostics& problems)
    -> bound_template {
  bound_template out;
  auto parsed = key_template::parse(std::get<std::string>(param.value));
  if (!parsed) return out;  // the loader of plans has complained
  out.literals_ = std::move(parsed->literals);
  hole_check check(param, problems);
  for (const template_hole& each : parsed->holes) {
    hole made{.from = each.from};
    if (each.from == template_hole::source_kind::param) {
      const param_entry* entry = check.fine(context.declared.find_param(each.name), "param", each,
                                            context.declared.param_names(), context.declared);
      if (entry != nullptr) made.param = context.declared.index_of(*entry);
    } else {
      const key_entry* entry =
          check.fine(context.declared.find_key(each.name), "key", each, context.declared.key_names(), context.declared);
      if (entry != nullptr) made.key_id = entry->key_id;
    }
    out.holes_.push_back(made);
  }
  return out;
}

auto bound_template::list_keys(const node_context& context) const -> row_keys {
  const std::size_t rows = context.inputs.empty() ? 1 : context.inputs[0].size();
  const std::span<std::uint32_t> places = context.memory.filled(rows, row_keys::none);
  dictionary_builder asked(context.memory);
  speller speller(*this, context);
  for (std::size_t at = 0; at < rows; ++at) {
    const std::uint32_t row = context.inputs.empty() ? 0 : context.inputs[0].row(at);
    if (const auto key = speller.spell(row)) places[at] = asked.intern(*key);
  }
  return {.asked = asked.finish()->entries(), .places = places};
}

}  // namespace rankd::detail
