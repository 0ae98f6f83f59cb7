// rankd/expr/parse.cpp: parses trees with an explicit stack, so that a deep document cannot overflow the thread's
// stack.
#include <rankd/expr/detail/ops.hpp>
#include <rankd/expr/parse.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/registry/object_reader.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

using namespace detail;
using nlohmann::json;

/// The names of comparisons, in the order of the enumeration `comparison`.
constexpr std::array<std::string_view, 6> comparison_names{"==", "!=", "<", "<=", ">", ">="};
/// The values of the field `flags`, in the order of the enumeration `letter_case`.
constexpr std::array<std::string_view, 2> flag_names{"", "i"};
constexpr std::array<std::string_view, 2> pattern_kinds{"literal", "param"};
constexpr std::array<std::string_view, 3> text_kinds{"literal", "param", "key"};

/// The maximum number of diagnostics for one tree. Without this limit, a tree with a million errors would produce a
/// million diagnostics.
constexpr std::size_t max_problems = 1000;

/// A subtree that has not been parsed yet.
struct pending {
  const json* value;
  field_kind wanted;
  std::uint32_t parent;
  std::uint32_t slot;
  std::uint32_t depth;
};

/// Returns the type of a JSON number: integer if the number is written as an integer and fits into int64, and float
/// otherwise. JavaScript writes large floats like integers.
auto json_number_type(const json& value) -> value_type {
  if (value.is_number_unsigned() && !std::in_range<std::int64_t>(value.get<std::uint64_t>()))
    return value_type::floating;
  return value.is_number_integer() ? value_type::integer : value_type::floating;
}

/// Converts a scalar of type int or float to a number.
auto number_of(const scalar& value) -> number {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
  return std::get<double>(value);
}

/// Parses one tree. During parsing, the nodes are in the order of the document, parents before children.
class tree_parser {
 public:
  tree_parser(syntax_tree& tree, std::string_view origin) : tree_(tree) { tree_.origin = origin; }

  auto run(const json& value, field_kind wanted) -> braid::diagnostics {
    todo_.push_back({&value, wanted, tree_node::none, 0, 1});
    while (!todo_.empty() && !is_hopeless()) {
      const pending next = todo_.back();
      todo_.pop_back();
      visit(next);
    }
    if (problems_.empty()) put_children_first();
    return std::move(problems_);
  }

 private:
  void visit(const pending& subtree);
  auto find_op_row(object_reader& fields, field_kind wanted) -> const op_row*;
  void push_child(object_reader& fields, const op_field& field, std::uint32_t slot, std::uint32_t depth);
  void read_field(object_reader& fields, const op_field& field);
  void read_literal(object_reader& fields);
  void read_key(object_reader& fields);
  void read_list(object_reader& fields);
  auto read_number_list(const json& list, const std::string& pointer) -> std::vector<number>;
  auto read_string_list(const json& list, const std::string& pointer) -> std::vector<std::string>;
  void read_pattern(object_reader& fields);
  void read_text(object_reader& fields, std::string_view name);
  void report(std::string_view code, std::string pointer, std::string message);
  void put_children_first();

  [[nodiscard]] auto is_hopeless() const -> bool { return problems_.size() >= max_problems; }
  auto payload() -> node_payload& { return tree_.nodes[current_].payload; }

  /// Returns the payload of the current node, for payloads whose fields are parsed separately.
  template <typename Payload>
  auto whole() -> Payload& {
    if (!std::holds_alternative<Payload>(payload())) payload() = Payload{};
    return std::get<Payload>(payload());
  }

  syntax_tree& tree_;
  std::uint32_t current_ = 0;
  std::vector<pending> todo_;
  braid::diagnostics problems_;
  bool depth_reported_ = false;
};

void tree_parser::report(std::string_view code, std::string pointer, std::string message) {
  problems_.add({.code = std::string(code),
                 .pointer = std::move(pointer),
                 .message = std::move(message),
                 .hint = {},
                 .node = {},
                 .source = {}});
}

void tree_parser::visit(const pending& subtree) {
  current_ = static_cast<std::uint32_t>(tree_.nodes.size());
  tree_.nodes.push_back({.op = node_op::const_null, .parent = subtree.parent, .payload = {}});
  if (subtree.parent != tree_node::none) tree_.nodes[subtree.parent].children[subtree.slot] = current_;
  if (subtree.depth > max_expr_depth) {
    if (!std::exchange(depth_reported_, true))
      report("expr_too_deep", tree_.pointer_of(current_),
             "the tree has more than " + std::to_string(max_expr_depth) + " levels");
    return;
  }
  object_reader fields(*subtree.value, tree_.pointer_of(current_), problems_);
  const op_row* row = find_op_row(fields, subtree.wanted);
  if (row == nullptr) return;
  tree_.nodes[current_].op = row->op;
  std::uint32_t slot = 0;
  const auto already = static_cast<std::ptrdiff_t>(todo_.size());
  for (const op_field& field : row->fields) {
    if (is_child(field.kind))
      push_child(fields, field, slot++, subtree.depth + 1);
    else
      read_field(fields, field);
  }
  std::reverse(todo_.begin() + already, todo_.end());  // the first child is visited next
  fields.refuse_unknown_fields();
}

auto tree_parser::find_op_row(object_reader& fields, field_kind wanted) -> const op_row* {
  const std::string* name = fields.text("op", presence::required);
  if (name == nullptr) return nullptr;
  const auto row = std::ranges::find(all_op_rows(), std::string_view(*name), &op_row::name);
  const bool known = row != all_op_rows().end();
  if (known && row->result == wanted) return &*row;
  const bool truth = wanted == field_kind::truth;
  std::vector<std::string_view> names;
  for (const op_row& each : all_op_rows()) {
    if (each.result == wanted) names.push_back(each.name);
  }
  fields.report("op", "unknown_op",
                std::string(truth ? "no predicate" : "no expression") + " has the op " + quote_name(*name),
                known ? quote_name(*name) + " is an op of " + (truth ? "expressions" : "predicates")
                      : braid::did_you_mean(*name, names));
  return nullptr;
}

void tree_parser::push_child(object_reader& fields, const op_field& field, std::uint32_t slot, std::uint32_t depth) {
  if (const json* value = fields.value(field.name, presence::required))
    todo_.push_back({value, field.kind, current_, slot, depth});
}

void tree_parser::read_field(object_reader& fields, const op_field& field) {
  switch (field.kind) {
    case field_kind::literal: return read_literal(fields);
    case field_kind::key: return read_key(fields);
    case field_kind::list: return read_list(fields);
    case field_kind::pattern: return read_pattern(fields);
    case field_kind::boolean:
      if (const auto value = fields.boolean("value", presence::required)) payload() = *value;
      return;
    case field_kind::param:
      if (const auto id = fields.id("param_id", presence::required)) payload() = param_number{*id};
      return;
    case field_kind::cmp:
      if (const auto at = fields.choice("cmp", presence::required, comparison_names)) {
        if (tree_.nodes[current_].op == node_op::cmp_text)
          whole<text_pair>().how = static_cast<comparison>(*at);
        else
          payload() = static_cast<comparison>(*at);
      }
      return;
    case field_kind::text: return read_text(fields, field.name);
    case field_kind::count:
      if (const auto buckets = fields.integer("count", presence::required, {.min = 1, .max = max_buckets}))
        whole<bucket_choice>().count = *buckets;
      return;
    case field_kind::seed:
      if (const std::string* seed = fields.text("seed", presence::optional)) whole<bucket_choice>().seed = *seed;
      return;
    case field_kind::string:
      if (const std::string* text = fields.text("value", presence::required)) payload() = *text;
      return;
    case field_kind::flags:
      if (const auto at = fields.choice("flags", presence::optional, flag_names))
        whole<regex_test>().letters = static_cast<letter_case>(*at);
      return;
    case field_kind::value:
    case field_kind::truth: return;  // children are visited, not read
  }
}

void tree_parser::read_literal(object_reader& fields) {
  const json* value = fields.value("value", presence::required);
  if (value == nullptr) return;
  if (const auto read = fields.typed("value", presence::required, json_number_type(*value)))
    payload() = number_of(*read);
}

void tree_parser::read_key(object_reader& fields) {
  const auto id = fields.id("key_id", presence::required);
  if (!id) return;
  if (tree_.nodes[current_].op == node_op::regex)
    whole<regex_test>().key_id = *id;
  else
    payload() = key_number{*id};
}

void tree_parser::read_list(object_reader& fields) {
  const json* list = fields.array("list", presence::required);
  if (list == nullptr) return;
  const bool strings = !list->empty() && list->front().is_string();
  const std::string pointer = fields.pointer_of("list");
  payload() = strings ? literal_list(read_string_list(*list, pointer)) : literal_list(read_number_list(*list, pointer));
}

auto tree_parser::read_number_list(const json& list, const std::string& pointer) -> std::vector<number> {
  std::vector<number> numbers;
  for (std::size_t i = 0; i < list.size() && !is_hopeless(); ++i) {
    const auto value = scalar_from_json(list[i], json_number_type(list[i]));
    if (value)
      numbers.push_back(number_of(*value));
    else if (list[i].is_string())
      report("mixed_list", braid::json_pointer(pointer, i),
             "a list that starts with a number must contain only numbers");
    else
      report(value.error().code, braid::json_pointer(pointer, i), "an element " + value.error().message);
  }
  return numbers;
}

auto tree_parser::read_string_list(const json& list, const std::string& pointer) -> std::vector<std::string> {
  std::vector<std::string> strings;
  for (std::size_t i = 0; i < list.size() && !is_hopeless(); ++i) {
    if (list[i].is_string())
      strings.push_back(list[i].get_ref<const std::string&>());
    else if (list[i].is_number())
      report("mixed_list", braid::json_pointer(pointer, i),
             "a list that starts with a string must contain only strings");
    else
      report("wrong_type", braid::json_pointer(pointer, i), "an element must be a string, not " + described(list[i]));
  }
  return strings;
}

void tree_parser::read_pattern(object_reader& fields) {
  const json* object = fields.object("pattern", presence::required);
  if (object == nullptr) return;
  object_reader pattern(*object, fields.pointer_of("pattern"), problems_);
  const auto kind = pattern.choice("kind", presence::required, pattern_kinds);
  if (!kind) return;
  if (pattern_kinds[*kind] == "literal") {
    if (const std::string* text = pattern.text("value", presence::required)) whole<regex_test>().pattern = *text;
  } else if (const auto id = pattern.id("param_id", presence::required)) {
    whole<regex_test>().pattern = param_number{*id};
  }
  pattern.refuse_unknown_fields();
}

void tree_parser::read_text(object_reader& fields, std::string_view name) {
  const json* object = fields.object(name, presence::required);
  if (object == nullptr) return;
  object_reader source(*object, fields.pointer_of(name), problems_);
  const auto kind = source.choice("kind", presence::required, text_kinds);
  if (!kind) return;
  text_source& into = name == "a" ? whole<text_pair>().a : whole<text_pair>().b;
  if (text_kinds[*kind] == "literal") {
    if (const std::string* text = source.text("value", presence::required)) into = *text;
  } else if (text_kinds[*kind] == "param") {
    if (const auto id = source.id("param_id", presence::required)) into = param_number{*id};
  } else if (const auto id = source.id("key_id", presence::required)) {
    into = key_number{*id};
  }
  source.refuse_unknown_fields();
}

/// Renumbers the nodes, so that each parent follows its children, and the children are in the order from left to right.
void tree_parser::put_children_first() {
  std::vector<tree_node>& nodes = tree_.nodes;
  std::vector<std::uint32_t> place(nodes.size());
  std::vector<std::uint32_t> stack{0};
  for (auto next = static_cast<std::uint32_t>(nodes.size()); !stack.empty();) {
    const std::uint32_t index = stack.back();
    stack.pop_back();
    place[index] = --next;
    for (const std::uint32_t child : nodes[index].children) {
      if (child != tree_node::none) stack.push_back(child);
    }
  }
  const auto renumber = [&place](std::uint32_t& index) {
    if (index != tree_node::none) index = place[index];
  };
  std::vector<tree_node> moved(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    renumber(nodes[i].parent);
    std::ranges::for_each(nodes[i].children, renumber);
    moved[place[i]] = std::move(nodes[i]);
  }
  nodes = std::move(moved);
}

template <typename Tree>
auto parse(const json& value, std::string_view pointer, field_kind wanted) -> braid::checked<Tree> {
  Tree tree;
  braid::diagnostics problems = tree_parser(tree, pointer).run(value, wanted);
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return tree;
}

}  // namespace

auto parse_expr(const json& value, std::string_view pointer) -> braid::checked<expr_tree> {
  return parse<expr_tree>(value, pointer, field_kind::value);
}

auto parse_pred(const json& value, std::string_view pointer) -> braid::checked<pred_tree> {
  return parse<pred_tree>(value, pointer, field_kind::truth);
}

}  // namespace rankd
