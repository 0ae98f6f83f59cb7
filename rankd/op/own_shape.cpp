// rankd/op/own_shape.cpp: checks and copies the description of an operator that a library provides.
#include <rankd/op/detail/own_operator.hpp>

#include <rankd/op/operator_list.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/names.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

namespace rankd::detail {
namespace {

constexpr std::uint32_t max_options = 64;
constexpr std::uint32_t max_choices = 256;
constexpr std::size_t max_doc = 1000;

/// Namespaces that library operators must not use, either because plans in TypeScript cannot use them, or because rankd
/// uses them itself.
constexpr std::array<std::string_view, 9> reserved_namespaces{"core",   "test",  "constructor", "draft",    "then",
                                                              "choose", "graph", "switch",      "prototype"};
/// The names of options that every operator has, in artifacts or in TypeScript. A library must not define options with
/// these names.
constexpr std::array<std::string_view, 6> reserved_options{"trace",   "as",      "timeout_ms",
                                                           "retries", "capture", "hedge_ms"};

constexpr std::array<std::pair<std::uint32_t, std::string_view>, 4> key_types{std::pair{RANKD_TYPE_INT, "int"},
                                                                              {RANKD_TYPE_FLOAT, "float"},
                                                                              {RANKD_TYPE_TEXT, "string"},
                                                                              {RANKD_TYPE_BOOL, "bool"}};
constexpr std::uint32_t all_types = RANKD_TYPE_INT | RANKD_TYPE_FLOAT | RANKD_TYPE_TEXT | RANKD_TYPE_BOOL;

/// The kinds of params, in the order of their constants in the C header.
constexpr std::array<param_kind, 10> kinds{
    param_kind::int64,  param_kind::float64, param_kind::boolean, param_kind::string,  param_kind::enumeration,
    param_kind::key_id, param_kind::key_ids, param_kind::key_id,  param_kind::key_ids, param_kind::node_ref};

/// The effects that an operator can have on rows, in the order of their constants in the C header.
constexpr std::array<row_change, 6> changes{row_change::preserves_view, row_change::stable_filter,
                                            row_change::permutation,    row_change::selection,
                                            row_change::dense_source,   row_change::merged};

auto is_lower_name(std::string_view text) -> bool {
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  return !text.empty() && text.size() <= max_name && is_lower(text.front()) &&
         std::ranges::all_of(text, [&](char c) { return is_lower(c) || (c >= '0' && c <= '9') || c == '_'; });
}

/// Returns whether a built-in operator has this name without its namespace. In TypeScript, such a name is a method of
/// row sets, so it cannot be a namespace.
auto is_method(std::string_view scope) -> bool {
  return std::ranges::any_of(all_ops(), [&](const op_entry& each) {
    const std::string_view name = each.shape.name;
    return name.substr(name.find("::") + 2) == scope;
  });
}

auto is_key(param_kind kind) -> bool { return kind == param_kind::key_id || kind == param_kind::key_ids; }

auto is_text(const char* text) -> bool { return text != nullptr && is_utf8(text); }

class shape_reader {
 public:
  shape_reader(const rankd_operator& offered, own_operator& out) : offered_(&offered), out_(&out) {}

  auto read() -> braid::diagnostics {
    if (!is_text(offered_->name)) {
      report("the name of an operator is not valid UTF-8");
      return std::move(problems_);
    }
    const std::string_view name = kept(offered_->name);
    check_name(name);
    if (!is_text(offered_->doc) || std::string_view(offered_->doc).size() > max_doc)
      report("its doc must be a sentence of at most " + std::to_string(max_doc) + " bytes of UTF-8");
    if (offered_->effect >= changes.size()) report("no effect has the number " + std::to_string(offered_->effect));
    if (offered_->bind == nullptr || offered_->run == nullptr) report("it lacks `bind` or `run`");
    if (!std::isfinite(offered_->row_cost_ns) || offered_->row_cost_ns < 0)
      report("its cost per row must be a number of at least 0");
    if (!std::isfinite(offered_->run_cost_ns) || offered_->run_cost_ns < 0)
      report("its cost per run must be a number of at least 0");
    read_options();
    check_inputs();
    if (!problems_.empty()) return std::move(problems_);
    out_->entry = {.shape = {.name = name, .inputs = offered_->inputs, .params = out_->params},
                   .change = changes[offered_->effect],
                   .doc = kept(offered_->doc),
                   .bind = &bind_own};
    return {};
  }

 private:
  void report(std::string message) {
    const bool named = offered_->name != nullptr;
    problems_.add({.code = "bad_operator",
                   .pointer = {},
                   .message = (named ? "operator " + quote_name(offered_->name) + ": " : "") + std::move(message),
                   .hint = "rankd/abi/c_operators.h describes operators",
                   .node = {},
                   .source = {}});
  }

  auto kept(std::string_view text) -> std::string_view { return out_->texts.emplace_back(text); }

  void check_name(std::string_view name) {
    const std::size_t colons = name.find("::");
    const std::string_view scope = name.substr(0, colons);
    if (colons == std::string_view::npos || !is_lower_name(scope) || !is_lower_name(name.substr(colons + 2)))
      return report("its name must be `namespace::name`, each of lower-case letters, digits and `_`");
    if (std::ranges::find(reserved_namespaces, scope) != reserved_namespaces.end() || is_method(scope))
      report("the namespace " + quote_name(scope) + " is reserved for rankd; use the name of your project");
  }

  void read_options() {
    if (offered_->option_count > max_options || (offered_->option_count != 0 && offered_->options == nullptr))
      return report("an operator may have at most " + std::to_string(max_options) + " options, in a table");
    for (std::uint32_t at = 0; at < offered_->option_count; ++at) read_option(offered_->options[at]);
  }

  /// Checks the number of inputs, after the options have been read.
  void check_inputs() {
    if (offered_->inputs > 1) return report("its `inputs` must be 0 or 1; further inputs are options");
    if (offered_->inputs == 1) return;
    if (offered_->effect != RANKD_MAKES_ROWS)
      report("it has no input rows, but only an operator that makes rows may be without input rows");
    const auto is = [this](const auto& predicate) { return std::ranges::any_of(out_->params, predicate); };
    if (is([](const param_shape& each) { return is_key(each.kind) && each.use == key_use::read; }) &&
        !is([](const param_shape& each) { return each.kind == param_kind::node_ref; }))
      report("it reads keys, but has no input rows");
  }

  void read_option(const rankd_option& option) {
    if (option.name == nullptr || !is_lower_name(option.name))
      return report(
          "the name of an option must consist of lower-case letters, digits and `_`, and begin with a letter");
    const std::string_view name = kept(option.name);
    const auto wrong = [&](std::string_view problem) {
      report("option " + quote_name(name) + " " + std::string(problem));
    };
    if (std::ranges::find(reserved_options, name) != reserved_options.end())
      wrong("has the name of an option that every operator has");
    if (std::ranges::find(out_->params, name, &param_shape::name) != out_->params.end()) wrong("is listed twice");
    if (option.kind >= kinds.size()) return wrong("has an unknown kind");
    if (option.required > 1 || option.bindable > 1) wrong("must have the value 0 or 1 in `required` and `bindable`");

    param_shape shape{.name = name,
                      .kind = kinds[option.kind],
                      .need = option.required != 0 ? presence::required : presence::nullable};
    if (option.bindable != 0 && option.kind > RANKD_OPTION_FLOAT)
      wrong("cannot be bound to params: only an int or a float can");
    shape.bindable = option.bindable != 0;
    if (option.kind == RANKD_OPTION_INT) {
      if (option.int_min > option.int_max) wrong("has an empty range");
      shape.range = {.min = option.int_min, .max = option.int_max};
    }
    if (option.kind == RANKD_OPTION_FLOAT) {
      if (!std::isfinite(option.float_min) || !std::isfinite(option.float_max) || option.float_min > option.float_max)
        wrong("has an empty or infinite range");
      shape.floats = {.min = option.float_min, .max = option.float_max};
    }
    if (option.kind == RANKD_OPTION_CHOICE) shape.choices = read_choices(option, wrong);
    if (is_key(shape.kind)) {
      shape.use = option.kind >= RANKD_OPTION_WRITE_KEY ? key_use::write : key_use::read;
      if (shape.kind == param_kind::key_ids) shape.min_items = option.min_items;
      if (option.types == 0 || (option.types & ~all_types) != 0) wrong("must accept columns of at least one type");
      auto& types = out_->lists.emplace_back();
      for (const auto& [bit, type] : key_types)
        if ((option.types & bit) != 0) types.push_back(type);
      shape.choices = types;
    }
    out_->params.push_back(shape);
  }

  template <typename Wrong>
  auto read_choices(const rankd_option& option, Wrong& wrong) -> std::span<const std::string_view> {
    auto& choices = out_->lists.emplace_back();
    if (option.choice_count == 0 || option.choice_count > max_choices || option.choices == nullptr) {
      wrong("must have choices, at most " + std::to_string(max_choices));
      return {};
    }
    for (std::uint32_t at = 0; at < option.choice_count; ++at) {
      const char* const choice = option.choices[at];
      if (!is_text(choice) || *choice == '\0')
        wrong("has a choice that is empty or not UTF-8");
      else if (std::ranges::find(choices, std::string_view(choice)) != choices.end())
        wrong("has the choice " + quote_name(choice) + " twice");
      else
        choices.push_back(kept(choice));
    }
    return choices;
  }

  const rankd_operator* offered_;
  own_operator* out_;
  braid::diagnostics problems_;
};

}  // namespace

auto checked_operator(const rankd_operator& offered, const operator_digest& digest)
    -> braid::checked<std::unique_ptr<own_operator>> {
  auto made = std::make_unique<own_operator>();
  made->of = offered;
  made->from = &digest;
  braid::diagnostics problems = shape_reader(offered, *made).read();
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return made;
}

}  // namespace rankd::detail
