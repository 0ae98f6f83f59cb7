// rankd/expr/check.cpp: checks the keys, params, strings and patterns in a tree against the registries.
#include <rankd/expr/detail/check.hpp>
#include <rankd/expr/detail/ops.hpp>
#include <rankd/expr/detail/text_matcher.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/registry/counted.hpp>

#include <string>
#include <utility>

namespace rankd::detail {
namespace {

class checker {
 public:
  checker(const syntax_tree& tree, const registries& known) : tree_(tree), known_(known) {}

  auto run() -> braid::diagnostics {
    for (node_ = 0; node_ < tree_.nodes.size(); ++node_) check(tree_.nodes[node_]);
    return std::move(problems_);
  }

 private:
  void check(const tree_node& node) {
    if (const auto* key = std::get_if<key_number>(&node.payload))
      check_key(key->key_id);
    else if (const auto* param = std::get_if<param_number>(&node.payload))
      check_param(param->param_id, "/param_id");
    else if (const auto* test = std::get_if<regex_test>(&node.payload))
      check_regex(*test);
    else if (const auto* pair = std::get_if<text_pair>(&node.payload))
      check_pair(*pair);
    else if (node.op == node_op::in)
      check_list(node);
  }

  /// Returns the entry of a key or param, or null if there is no such entry. Reports an error if the entry is missing,
  /// blocked or unreadable.
  template <typename Entry>
  auto readable(const Entry* entry, std::string_view sort, std::uint32_t id, std::string_view below) -> const Entry* {
    const std::string name(sort);
    if (entry == nullptr) {
      report("unknown_" + name, below, "there is no " + name + " " + std::to_string(id));
      return nullptr;
    }
    if (entry->status == lifecycle::blocked)
      report("blocked_" + name, below, "the " + name + " " + quote_name(entry->name) + " is blocked",
             known_.successor_hint(*entry));
    else if (!entry->allow_read)
      report("unreadable_" + name, below, "the " + name + " " + quote_name(entry->name) + " may not be read");
    return entry;
  }

  auto check_key(std::uint32_t key_id, std::string_view below = "/key_id") -> const key_entry* {
    return readable(known_.find_key(key_id), "key", key_id, below);
  }

  auto check_param(std::uint32_t param_id, std::string_view below) -> const param_entry* {
    return readable(known_.find_param(param_id), "param", param_id, below);
  }

  void check_regex(const regex_test& test) {
    const key_entry* key = check_key(test.key_id);
    if (key != nullptr && key->type != value_type::string)
      report("regex_wants_string_key", "/key_id", "the key " + quote_name(key->name) + " holds no strings");
    if (const auto* literal = std::get_if<std::string>(&test.pattern))
      check_pattern(*literal, test.letters);
    else
      check_pattern(std::get<param_number>(test.pattern));
  }

  void check_pattern(std::string_view literal, letter_case letters) {
    const auto compiled = text_matcher::regex(literal, letters);
    if (!compiled) report("bad_regex", "/pattern/value", "RE2 refuses the pattern: " + compiled.error());
  }

  void check_pattern(param_number number) {
    const param_entry* param = check_param(number.param_id, "/pattern/param_id");
    if (param != nullptr && param->type != value_type::string)
      report("regex_wants_string_param", "/pattern/param_id",
             "the param " + quote_name(param->name) + " holds no string");
  }

  void check_pair(const text_pair& pair) {
    check_text(pair.a, "/a");
    check_text(pair.b, "/b");
  }

  void check_text(const text_source& source, const std::string& side) {
    if (const auto* key = std::get_if<key_number>(&source))
      check_string(check_key(key->key_id, side + "/key_id"), "key", side + "/key_id");
    else if (const auto* param = std::get_if<param_number>(&source))
      check_string(check_param(param->param_id, side + "/param_id"), "param", side + "/param_id");
  }

  template <typename Entry>
  void check_string(const Entry* entry, std::string_view sort, const std::string& below) {
    if (entry == nullptr || entry->type == value_type::string) return;
    report("text_wants_string", below, "the " + std::string(sort) + " " + quote_name(entry->name) + " holds no string");
  }

  void check_list(const tree_node& node) {
    if (std::holds_alternative<std::vector<number>>(std::get<literal_list>(node.payload))) return;
    const tree_node& left = tree_.nodes[node.children[0]];
    if (const auto* number = std::get_if<param_number>(&left.payload)) return check_list_param(number->param_id);
    const auto* number = std::get_if<key_number>(&left.payload);
    const key_entry* key = number == nullptr ? nullptr : known_.find_key(number->key_id);
    if (number != nullptr && key == nullptr) return;  // the key itself is complained about
    if (key == nullptr || key->type != value_type::string)
      report("in_wants_string_key", "/lhs", "the left side of a list of strings must be a key or param of type string");
  }

  void check_list_param(std::uint32_t param_id) {
    const param_entry* param = known_.find_param(param_id);
    if (param == nullptr || param->type == value_type::string) return;  // an unknown one is complained about itself
    report("in_wants_string_key", "/lhs",
           "the param " + quote_name(param->name) + " is not a string, but the list contains strings");
  }

  void report(std::string code, std::string_view below, std::string message, std::string hint = {}) {
    problems_.add({.code = std::move(code),
                   .pointer = tree_.pointer_of(node_).append(below),
                   .message = std::move(message),
                   .hint = std::move(hint),
                   .node = {},
                   .source = {}});
  }

  const syntax_tree& tree_;
  const registries& known_;
  std::size_t node_ = 0;
  braid::diagnostics problems_;
};

/// Returns how a node reads its children: as numbers, strings or vectors. A node that selects one of its children reads
/// them in the same way as its own parent reads the node.
auto reading_below(const tree_node& parent, reading of_parent) -> reading {
  switch (parent.op) {
    case node_op::concat:
    case node_op::length:
    case node_op::bucket_text: return reading::text;
    case node_op::dot:
    case node_op::cosine: return reading::vector;
    case node_op::coalesce:
    case node_op::if_: return of_parent;
    default: return reading::number;
  }
}

/// Returns whether the node itself has the wrong type. For a node that only selects one of its children, the children
/// are checked instead.
auto is_misread(const tree_node& node, const facts& found, reading wanted) -> bool {
  if (wanted == reading::vector) return found.vector == 0;
  if (wanted == reading::number) return node.op == node_op::concat || node.op == node_op::const_text;
  return !found.text && node.op != node_op::coalesce && node.op != node_op::if_;
}

auto misread(reading wanted, std::string pointer) -> braid::diagnostic {
  if (wanted == reading::vector)
    return {.code = "wants_vector",
            .pointer = std::move(pointer),
            .message = "expected a key of type vector",
            .hint = "declare the key in keys.toml with type vector",
            .node = {},
            .source = {}};
  const bool number = wanted == reading::number;
  return {.code = number ? "string_in_arithmetic" : "text_wants_string",
          .pointer = std::move(pointer),
          .message = number ? "expected a number, got a string" : "expected a string, got a value of another type",
          .hint = number ? "use the length or the bucket of the string, which are numbers" : "",
          .node = {},
          .source = {}};
}

}  // namespace

auto check_names(const syntax_tree& tree, const registries& known) -> braid::diagnostics {
  return checker(tree, known).run();
}

auto check_buckets(const syntax_tree& tree, const std::vector<facts>& found) -> braid::diagnostics {
  braid::diagnostics problems;
  for (std::size_t at = 0; at < tree.nodes.size(); ++at) {
    const tree_node& node = tree.nodes[at];
    if (node.op != node_op::bucket || found[node.children[0]].exact) continue;
    problems.add({.code = "bucket_wants_integer",
                  .pointer = tree.pointer_of(node.children[0]),
                  .message = "a bucket needs an integer, but this value may be a fraction",
                  .hint = "use the bucket of an id",
                  .node = {},
                  .source = {}});
  }
  return problems;
}

namespace {

/// Reports a product of two vectors if their dimensions differ.
void check_dimensions(const syntax_tree& tree, const std::vector<facts>& found, braid::diagnostics& problems) {
  for (std::size_t at = 0; at < tree.nodes.size(); ++at) {
    const tree_node& node = tree.nodes[at];
    if (node.op != node_op::dot && node.op != node_op::cosine) continue;
    const std::uint32_t a = found[node.children[0]].vector;
    const std::uint32_t b = found[node.children[1]].vector;
    if (a == 0 || b == 0 || a == b) continue;
    problems.add({.code = "dimensions_differ",
                  .pointer = tree.pointer_of(at),
                  .message = "the vectors have " + std::to_string(a) + " and " + counted(b, "dimension"),
                  .hint = "multiply vectors of the same dimensions",
                  .node = {},
                  .source = {}});
  }
}

}  // namespace

auto check_texts(const syntax_tree& tree, const std::vector<facts>& found, reading root) -> braid::diagnostics {
  std::vector<reading> wanted(tree.nodes.size(), root);
  for (std::size_t at = tree.nodes.size(); at-- > 0;) {
    for (const std::uint32_t child : tree.nodes[at].children)
      if (child != tree_node::none) wanted[child] = reading_below(tree.nodes[at], wanted[at]);
  }
  braid::diagnostics problems;
  for (std::size_t at = 0; at < tree.nodes.size(); ++at) {
    if (find_row(tree.nodes[at].op).result == field_kind::value && is_misread(tree.nodes[at], found[at], wanted[at]))
      problems.add(misread(wanted[at], tree.pointer_of(at)));
  }
  check_dimensions(tree, found, problems);
  return problems;
}

}  // namespace rankd::detail
