// rankd/expr/compile.cpp: compiles trees to programs: chooses the form of each value, writes the instructions and
// assigns registers.
#include <rankd/expr/compile.hpp>
#include <rankd/expr/detail/check.hpp>
#include <rankd/expr/detail/facts.hpp>
#include <rankd/expr/detail/hash_functions.hpp>
#include <rankd/expr/detail/mixed.hpp>
#include <rankd/expr/detail/ops.hpp>
#include <rankd/expr/detail/program.hpp>

#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace rankd {
namespace {

using namespace detail;

/// The form in which the parent of a node needs the node's result.
enum class form : std::uint8_t {
  unused,    ///< not needed, because the parent is a constant
  floating,  ///< as a double, for arithmetic
  exact,     ///< as an int64, to be compared or looked up
  presence,  ///< only whether it is null
  text,      ///< as a string
  truth,
};

/// Returns the literal list of the operation `in` if it contains numbers. Returns null for a list of strings.
auto number_list(const tree_node& node) -> const std::vector<number>* {
  return std::get_if<std::vector<number>>(&std::get<literal_list>(node.payload));
}

/// Finds the form in which the result of each node is needed. Proceeds from the root of a tree to its leaves.
class form_finder {
 public:
  form_finder(const syntax_tree& tree, const std::vector<facts>& facts)
      : tree_(tree), facts_(facts), forms_(tree.nodes.size(), form::unused) {}

  /// Returns the form of each node. If the root is a value and not a predicate, it has the form `wanted`.
  auto run(form wanted) -> std::vector<form> {
    forms_.back() = find_row(tree_.root().op).result == field_kind::truth ? form::truth : wanted;
    for (std::size_t index = tree_.nodes.size(); index-- > 0;) {
      if (forms_[index] != form::unused && !facts_[index].known) ask_children(index);
    }
    return std::move(forms_);
  }

 private:
  void ask_children(std::size_t index) {
    const tree_node& node = tree_.nodes[index];
    switch (node.op) {
      case node_op::cmp: return ask_comparison(node);
      case node_op::in:
        if (number_list(node) != nullptr) ask_exact(node.children[0]);
        return;
      case node_op::is_null:
      case node_op::not_null: return ask(node, form::presence);
      case node_op::concat:
      case node_op::length:
      case node_op::bucket_text:
      case node_op::dot:
      case node_op::cosine: return ask(node, form::text);
      case node_op::coalesce: return ask(node, form_of_sides(index));
      case node_op::mod: return ask(node, facts_[index].exact ? form::exact : form::floating);
      case node_op::bucket: return ask(node, form::exact);
      case node_op::if_:
        ask(node, form_of_sides(index));
        forms_[node.children[0]] = form::truth;
        return;
      default: return ask(node, find_row(node.op).result == field_kind::truth ? form::truth : form::floating);
    }
  }

  /// Sets the forms of a comparison's operands. `==` and `!=` with a literal null only test whether the other operand
  /// is null. `<`, `<=`, `>` and `>=` with a literal null are never true, so no operand is needed.
  void ask_comparison(const tree_node& node) {
    const auto how = std::get<comparison>(node.payload);
    const auto null_side = std::ranges::find_if(node.children.begin(), node.children.begin() + 2, [this](auto child) {
      return tree_.nodes[child].op == node_op::const_null;
    });
    if (null_side == node.children.begin() + 2) {
      ask_exact(node.children[0]);
      ask_exact(node.children[1]);
    } else if (how == comparison::equal || how == comparison::not_equal) {
      forms_[null_side == node.children.begin() ? node.children[1] : node.children[0]] = form::presence;
    }
  }

  /// Returns the form of the children from which a node selects: its own, or `floating` for a presence test.
  [[nodiscard]] auto form_of_sides(std::size_t index) const -> form {
    return forms_[index] == form::presence ? form::floating : forms_[index];
  }

  void ask_exact(std::uint32_t child) { forms_[child] = facts_[child].exact ? form::exact : form::floating; }

  void ask(const tree_node& node, form wanted) {
    for (const std::uint32_t child : node.children) {
      if (child != tree_node::none) forms_[child] = wanted;
    }
  }

  const syntax_tree& tree_;
  const std::vector<facts>& facts_;
  std::vector<form> forms_;
};

/// Assigns register numbers, and reuses the numbers that were given back.
class register_file {
 public:
  auto take() -> std::uint32_t {
    if (free_.empty()) return count_++;
    const std::uint32_t index = free_.back();
    free_.pop_back();
    return index;
  }
  void give_back(std::uint32_t index) { free_.push_back(index); }
  [[nodiscard]] auto count() const noexcept -> std::uint32_t { return count_; }

 private:
  std::vector<std::uint32_t> free_;
  std::uint32_t count_ = 0;
};

/// Writes the instructions of one checked tree, children before parents.
class writer {
 public:
  writer(const syntax_tree& tree, const registries& known, form wanted = form::floating)
      : tree_(tree),
        known_(known),
        facts_(find_facts(tree, known)),
        forms_(form_finder(tree, facts_).run(wanted)),
        values_(tree.nodes.size()),
        truths_(tree.nodes.size()) {}

  auto run() -> program;

 private:
  void write_value(std::size_t index);
  void write_constant(std::size_t index);
  void write_key(std::size_t index);
  void write_param(std::size_t index);
  void write_arithmetic(std::size_t index);
  void write_choice(std::size_t index);
  void write_selection(std::size_t index);
  void write_remainder(std::size_t index);
  void write_bucket(std::size_t index);
  void write_joined(std::size_t index);
  void write_length(std::size_t index);
  void write_product(std::size_t index);
  void write_unused(std::size_t index);
  auto compile_truth(std::size_t index, truth_slot out) -> instruction;
  auto compile_comparison(const tree_node& node, truth_slot out) -> instruction;
  auto compile_list(const tree_node& node, truth_slot out) -> instruction;
  auto compile_regex(std::size_t index, truth_slot out) -> instruction;
  auto compile_pair(const tree_node& node, truth_slot out) -> instruction;
  auto compile_fixed_text(const text_source& source) -> fixed_text;
  auto compile_text_test(text_test test, truth_slot out) -> instruction;

  auto key_slot(std::uint32_t key_id) -> std::uint32_t;
  auto param_slot(std::uint32_t param_id) -> std::uint32_t;
  auto new_slot(std::size_t index) -> value_slot;
  void give_back_children(const tree_node& node);
  void give_back(std::uint32_t child);

  [[nodiscard]] auto is_exact(std::size_t index) const -> bool { return forms_[index] == form::exact; }
  auto counts(std::size_t index) -> slot_counts& {
    if (forms_[index] == form::text) return out_.strings;
    return is_exact(index) ? out_.exacts : out_.floats;
  }
  auto registers(std::size_t index) -> register_file& {
    if (forms_[index] == form::text) return text_registers_;
    return is_exact(index) ? exact_registers_ : float_registers_;
  }

  const syntax_tree& tree_;
  const registries& known_;
  std::vector<facts> facts_;
  std::vector<form> forms_;
  std::vector<value_slot> values_;  ///< the slot of each node's result, if it is a number
  std::vector<truth_slot> truths_;  ///< the same for truths
  register_file float_registers_;
  register_file exact_registers_;
  register_file text_registers_;
  register_file truth_registers_;
  program out_;
};

auto writer::run() -> program {
  for (const tree_node& node : tree_.nodes) {
    for_each_key(node, [this](std::uint32_t key, std::string_view) { out_.keys.push_back(key); });
  }
  std::ranges::sort(out_.keys);
  out_.keys.erase(std::ranges::unique(out_.keys).begin(), out_.keys.end());
  for (std::size_t index = 0; index < tree_.nodes.size(); ++index) {
    if (forms_[index] == form::unused) {
      write_unused(index);
      continue;
    }
    if (forms_[index] != form::truth) {
      write_value(index);
      continue;
    }
    truths_[index] = truth_registers_.take();
    out_.each.push_back(compile_truth(index, truths_[index]));
    give_back_children(tree_.nodes[index]);
  }
  out_.value = values_.back();
  out_.truth = truths_.back();
  out_.floats.registers = float_registers_.count();
  out_.exacts.registers = exact_registers_.count();
  out_.strings.registers = text_registers_.count();
  out_.truths = truth_registers_.count();
  return std::move(out_);
}

void writer::write_value(std::size_t index) {
  if (facts_[index].known || tree_.nodes[index].op == node_op::const_text) return write_constant(index);
  switch (tree_.nodes[index].op) {
    case node_op::key_ref: return write_key(index);
    case node_op::param_ref: return write_param(index);
    case node_op::coalesce: return write_choice(index);
    case node_op::if_: return write_selection(index);
    case node_op::mod: return write_remainder(index);
    case node_op::bucket:
    case node_op::bucket_text: return write_bucket(index);
    case node_op::concat: return write_joined(index);
    case node_op::length: return write_length(index);
    case node_op::dot:
    case node_op::cosine: return write_product(index);
    default: return write_arithmetic(index);
  }
}

void writer::write_constant(std::size_t index) {
  values_[index] = new_slot(index);
  const std::optional<number>& value = facts_[index].value;
  const std::uint32_t cell = values_[index].index;
  const auto* text = std::get_if<std::string>(&tree_.nodes[index].payload);
  if (forms_[index] == form::text)
    out_.strings_known.push_back({cell, text != nullptr ? std::optional(*text) : std::nullopt});
  else if (is_exact(index))
    out_.exacts_known.push_back({cell, value ? as_exact_integer(*value) : std::nullopt});
  else
    out_.floats_known.push_back({cell, value ? std::optional(as_double(*value)) : std::nullopt});
}

void writer::write_key(std::size_t index) {
  const std::uint32_t key = key_slot(std::get<key_number>(tree_.nodes[index].payload).key_id);
  const value_slot out = values_[index] = new_slot(index);
  if (forms_[index] == form::text)
    out_.each.push_back(load_key<std::string_view>{key, out});
  else if (is_exact(index))
    out_.each.push_back(load_key<std::int64_t>{key, out});
  else if (forms_[index] == form::presence)
    out_.each.push_back(load_presence{key, out});
  else
    out_.each.push_back(load_key<double>{key, out});
}

void writer::write_param(std::size_t index) {
  values_[index] = new_slot(index);
  const param_form wanted = forms_[index] == form::text       ? param_form::text
                            : is_exact(index)                 ? param_form::exact
                            : forms_[index] == form::presence ? param_form::presence
                                                              : param_form::floating;
  const std::uint32_t param = param_slot(std::get<param_number>(tree_.nodes[index].payload).param_id);
  out_.params.push_back({param, wanted, values_[index].index});
}

void writer::write_arithmetic(std::size_t index) {
  const tree_node& node = tree_.nodes[index];
  compute code{.what = *find_row(node.op).computes, .in = {}, .out = {}};
  for (std::uint32_t slot = 0; slot < count_operands(code.what); ++slot) code.in[slot] = values_[node.children[slot]];
  code.out = values_[index] = new_slot(index);
  (facts_[index].uniform ? out_.once : out_.each).push_back(code);
  give_back_children(node);
}

void writer::write_choice(std::size_t index) {
  const tree_node& node = tree_.nodes[index];
  const value_slot a = values_[node.children[0]];
  const value_slot b = values_[node.children[1]];
  const value_slot out = values_[index] = new_slot(index);
  std::vector<instruction>& code = facts_[index].uniform ? out_.once : out_.each;
  if (forms_[index] == form::text)
    code.push_back(choose<std::string_view>{a, b, out});
  else if (is_exact(index))
    code.push_back(choose<std::int64_t>{a, b, out});
  else
    code.push_back(choose<double>{a, b, out});
  give_back_children(node);
}

void writer::write_selection(std::size_t index) {
  const tree_node& node = tree_.nodes[index];
  const truth_slot pred = truths_[node.children[0]];
  const value_slot a = values_[node.children[1]];
  const value_slot b = values_[node.children[2]];
  const value_slot out = values_[index] = new_slot(index);
  if (forms_[index] == form::text)
    out_.each.push_back(select<std::string_view>{pred, a, b, out});
  else if (is_exact(index))
    out_.each.push_back(select<std::int64_t>{pred, a, b, out});
  else
    out_.each.push_back(select<double>{pred, a, b, out});
  give_back_children(node);
}

void writer::write_remainder(std::size_t index) {
  const tree_node& node = tree_.nodes[index];
  const value_slot a = values_[node.children[0]];
  const value_slot b = values_[node.children[1]];
  const value_slot out = values_[index] = new_slot(index);
  std::vector<instruction>& code = facts_[index].uniform ? out_.once : out_.each;
  if (is_exact(index))
    code.push_back(remainder<std::int64_t, std::int64_t>{a, b, out});
  else if (facts_[index].exact)
    code.push_back(remainder<std::int64_t, double>{a, b, out});
  else
    code.push_back(remainder<double, double>{a, b, out});
  give_back_children(node);
}

void writer::write_bucket(std::size_t index) {
  const tree_node& node = tree_.nodes[index];
  const auto& choice = std::get<bucket_choice>(node.payload);
  const value_slot x = values_[node.children[0]];
  const value_slot out = values_[index] = new_slot(index);
  std::vector<instruction>& code = facts_[index].uniform ? out_.once : out_.each;
  const auto count = static_cast<std::uint64_t>(choice.count);
  const std::uint64_t seed = hash_of(choice.seed);
  const bool of_text = node.op == node_op::bucket_text;
  if (is_exact(index) && of_text)
    code.push_back(find_text_bucket<std::int64_t>{x, seed, count, out});
  else if (is_exact(index))
    code.push_back(find_bucket<std::int64_t>{x, seed, count, out});
  else if (of_text)
    code.push_back(find_text_bucket<double>{x, seed, count, out});
  else
    code.push_back(find_bucket<double>{x, seed, count, out});
  give_back_children(node);
}

/// Writes one instruction for nested concatenations: `a + b + c` copies each string once.
void writer::write_joined(std::size_t index) {
  const std::uint32_t parent = tree_.nodes[index].parent;
  if (parent != tree_node::none && tree_.nodes[parent].op == node_op::concat) return;
  std::vector<std::uint32_t> parts;
  std::vector<std::uint32_t> todo{static_cast<std::uint32_t>(index)};
  while (!todo.empty()) {
    const std::uint32_t part = todo.back();
    todo.pop_back();
    const tree_node& node = tree_.nodes[part];
    if (node.op == node_op::concat)
      todo.insert(todo.end(), {node.children[1], node.children[0]});
    else
      parts.push_back(part);
  }
  join_texts code{.parts = {}, .buffer = out_.buffers++, .out = {}};
  for (const std::uint32_t part : parts) code.parts.push_back(values_[part]);
  code.out = values_[index] = new_slot(index);
  (facts_[index].uniform ? out_.once : out_.each).push_back(std::move(code));
  for (const std::uint32_t part : parts) give_back(part);
}

void writer::write_length(std::size_t index) {
  const value_slot x = values_[tree_.nodes[index].children[0]];
  const value_slot out = values_[index] = new_slot(index);
  std::vector<instruction>& code = facts_[index].uniform ? out_.once : out_.each;
  if (is_exact(index))
    code.push_back(measure_text<std::int64_t>{x, out});
  else
    code.push_back(measure_text<double>{x, out});
  give_back_children(tree_.nodes[index]);
}

void writer::write_product(std::size_t index) {
  const tree_node& node = tree_.nodes[index];
  const auto how = node.op == node_op::dot ? vector_product::dot : vector_product::cosine;
  const value_slot out = values_[index] = new_slot(index);
  out_.each.push_back(multiply_vectors{how, values_[node.children[0]], values_[node.children[1]], out});
  give_back_children(node);
}

/// Compiles the pattern of an unused regex test if the pattern comes from a param. So a request with an invalid pattern
/// fails even if the result of the test does not matter.
void writer::write_unused(std::size_t index) {
  const auto* test = std::get_if<regex_test>(&tree_.nodes[index].payload);
  if (test != nullptr && std::holds_alternative<param_number>(test->pattern)) compile_regex(index, truth_slot{});
}

auto writer::compile_truth(std::size_t index, truth_slot out) -> instruction {
  const tree_node& node = tree_.nodes[index];
  switch (node.op) {
    case node_op::const_bool: return set_truth{std::get<bool>(node.payload), out};
    case node_op::and_:
      return combine_truths{connective::both, truths_[node.children[0]], truths_[node.children[1]], out};
    case node_op::or_:
      return combine_truths{connective::either, truths_[node.children[0]], truths_[node.children[1]], out};
    case node_op::not_: return invert_truth{truths_[node.children[0]], out};
    case node_op::is_null: return test_null{values_[node.children[0]], null_test::is_null, out};
    case node_op::not_null: return test_null{values_[node.children[0]], null_test::not_null, out};
    case node_op::in: return compile_list(node, out);
    case node_op::regex: return compile_regex(index, out);
    case node_op::cmp_text:
    case node_op::starts_with:
    case node_op::ends_with:
    case node_op::contains: return compile_pair(node, out);
    default: return compile_comparison(node, out);
  }
}

auto writer::compile_comparison(const tree_node& node, truth_slot out) -> instruction {
  const auto how = std::get<comparison>(node.payload);
  const std::uint32_t a = node.children[0];
  const std::uint32_t b = node.children[1];
  if (forms_[a] == form::unused && forms_[b] == form::unused) return set_truth{false, out};
  if (forms_[a] == form::unused || forms_[b] == form::unused) {
    const null_test wanted = how == comparison::equal ? null_test::is_null : null_test::not_null;
    return test_null{values_[forms_[a] == form::unused ? b : a], wanted, out};
  }
  using exact = std::int64_t;
  if (is_exact(a) && is_exact(b)) return compare_values<exact, exact>{how, values_[a], values_[b], out};
  if (is_exact(a)) return compare_values<exact, double>{how, values_[a], values_[b], out};
  if (is_exact(b)) return compare_values<exact, double>{mirrored(how), values_[b], values_[a], out};
  return compare_values<double, double>{how, values_[a], values_[b], out};
}

/// Converts a list of numbers to values of the operand's type, and sorts them. Omits numbers that are not equal to any
/// value of this type.
template <typename EqualTo>
auto sorted_list(const std::vector<number>& list, EqualTo equal_to) {
  std::vector<typename std::invoke_result_t<EqualTo, const number&>::value_type> sorted;
  for (const number& each : list) {
    if (const auto value = equal_to(each)) sorted.push_back(*value);
  }
  std::ranges::sort(sorted);
  return sorted;
}

auto writer::compile_list(const tree_node& node, truth_slot out) -> instruction {
  const std::uint32_t left = node.children[0];
  const std::vector<number>* numbers = number_list(node);
  if (numbers == nullptr) {
    const auto& strings = std::get<std::vector<std::string>>(std::get<literal_list>(node.payload));
    if (const auto* param = std::get_if<param_number>(&tree_.nodes[left].payload))
      return match_param{param_slot(param->param_id), text_matcher::any_of(strings), out};
    const std::uint32_t key_id = std::get<key_number>(tree_.nodes[left].payload).key_id;
    return compile_text_test({key_slot(key_id), text_matcher::any_of(strings)}, out);
  }
  if (is_exact(left)) return find_number<std::int64_t>{sorted_list(*numbers, as_exact_integer), values_[left], out};
  return find_number<double>{sorted_list(*numbers, as_exact_double), values_[left], out};
}

auto writer::compile_regex(std::size_t index, truth_slot out) -> instruction {
  const auto& test = std::get<regex_test>(tree_.nodes[index].payload);
  if (const auto* literal = std::get_if<std::string>(&test.pattern))
    return compile_text_test({key_slot(test.key_id), std::move(*text_matcher::regex(*literal, test.letters))}, out);
  const std::uint32_t param = param_slot(std::get<param_number>(test.pattern).param_id);
  return compile_text_test(
      {key_slot(test.key_id), param_pattern{param, test.letters, tree_.pointer_of(index, "pattern")}}, out);
}

auto find_relation(const tree_node& node) -> text_relation {
  switch (node.op) {
    case node_op::starts_with: return text_relation::starts_with;
    case node_op::ends_with: return text_relation::ends_with;
    case node_op::contains: return text_relation::contains;
    default: return static_cast<text_relation>(std::get<text_pair>(node.payload).how);
  }
}

/// Compiles a test of two strings. If only one of the two strings depends on rows, the test is evaluated once for each
/// string of the dictionary.
auto writer::compile_pair(const tree_node& node, truth_slot out) -> instruction {
  const auto& pair = std::get<text_pair>(node.payload);
  const text_relation how = find_relation(node);
  const auto* left = std::get_if<key_number>(&pair.a);
  const auto* right = std::get_if<key_number>(&pair.b);
  if (left != nullptr && right != nullptr)
    return relate_columns{how, key_slot(left->key_id), key_slot(right->key_id), out};
  if (left == nullptr && right == nullptr)
    return relate_fixed{how, compile_fixed_text(pair.a), compile_fixed_text(pair.b), out};
  const bool matched_is_left = left != nullptr;
  const std::uint32_t key = key_slot(matched_is_left ? left->key_id : right->key_id);
  const fixed_text other = compile_fixed_text(matched_is_left ? pair.b : pair.a);
  if (const auto* param = std::get_if<std::uint32_t>(&other))
    return compile_text_test({key, param_relation{*param, how, matched_is_left}}, out);
  return compile_text_test({key, text_matcher::relation(how, std::get<std::string>(other), matched_is_left)}, out);
}

/// Compiles a string that is not read from a key: a literal or a param.
auto writer::compile_fixed_text(const text_source& source) -> fixed_text {
  if (const auto* param = std::get_if<param_number>(&source)) return param_slot(param->param_id);
  return std::get<std::string>(source);
}

auto writer::compile_text_test(text_test test, truth_slot out) -> instruction {
  out_.texts.push_back(std::move(test));
  return match_text{static_cast<std::uint32_t>(out_.texts.size() - 1), out};
}

auto writer::key_slot(std::uint32_t key_id) -> std::uint32_t {
  return static_cast<std::uint32_t>(std::ranges::lower_bound(out_.keys, key_id) - out_.keys.begin());
}

auto writer::param_slot(std::uint32_t param_id) -> std::uint32_t {
  const std::uint32_t place = known_.index_of(*known_.find_param(param_id));
  out_.params_wanted = std::max<std::size_t>(out_.params_wanted, place + 1);
  return place;
}

/// Returns a new cell if the value is the same for all rows, or else a register of the type that the parent needs.
auto writer::new_slot(std::size_t index) -> value_slot {
  if (facts_[index].uniform) return {.index = counts(index).cells++, .uniform = true};
  return {.index = registers(index).take(), .uniform = false};
}

/// Gives back the registers of a node's operands. Must be called after a register was taken for the result, so that an
/// instruction never overwrites its operands.
void writer::give_back_children(const tree_node& node) {
  for (const std::uint32_t child : node.children)
    if (child != tree_node::none) give_back(child);
}

void writer::give_back(std::uint32_t child) {
  if (forms_[child] == form::unused) return;
  if (forms_[child] == form::truth)
    truth_registers_.give_back(truths_[child]);
  else if (!values_[child].uniform)
    registers(child).give_back(values_[child].index);
}

/// Returns all diagnostics about a tree.
auto check(const syntax_tree& tree, const registries& known) -> braid::diagnostics {
  braid::diagnostics problems = check_names(tree, known);
  return problems.empty() ? check_buckets(tree, find_facts(tree, known)) : std::move(problems);
}

auto write(const syntax_tree& tree, const registries& known, form wanted) -> std::shared_ptr<const program> {
  return std::make_shared<const program>(writer(tree, known, wanted).run());
}

}  // namespace

auto compiled_tree::cost() const noexcept -> cost_guess {
  constexpr double min_ns = 100;
  constexpr double step_ns = 20;          // of one instruction, for a block that is nearly empty
  constexpr double pattern_ns = 100'000;  // to compile what comes with a request
  constexpr double row_ns = 1;            // to write the result
  constexpr double step_row_ns = 0.5;
  constexpr double function_row_ns = 8;  // of the C library, one value at a time
  constexpr double text_row_ns = 100;    // at worst each row has a string of its own
  constexpr double string_row_ns = 15;   // to copy, measure or hash a short one
  const auto patterns = std::ranges::count_if(code_->texts, [](const detail::text_test& each) {
    return std::holds_alternative<detail::param_pattern>(each.test);
  });
  const auto functions = std::ranges::count_if(code_->each, [](const detail::instruction& each) {
    const auto* computing = std::get_if<detail::compute>(&each);
    return computing != nullptr && detail::is_of_library(computing->what);
  });
  const auto strings = std::ranges::count_if(code_->each, [](const detail::instruction& each) {
    return std::holds_alternative<detail::join_texts>(each) ||
           std::holds_alternative<detail::load_key<std::string_view>>(each);
  });
  const auto steps = static_cast<double>(code_->once.size() + code_->each.size());
  return {.once_ns = min_ns + step_ns * steps + pattern_ns * static_cast<double>(patterns),
          .row_ns = row_ns + step_row_ns * static_cast<double>(code_->each.size()) +
                    function_row_ns * static_cast<double>(functions) +
                    text_row_ns * static_cast<double>(code_->texts.size()) +
                    string_row_ns * static_cast<double>(strings)};
}

auto compiled_tree::reads() const noexcept -> std::span<const std::uint32_t> { return code_->keys; }

auto compile_expr(const expr_tree& tree, const registries& known) -> braid::checked<expr_program> {
  if (braid::diagnostics problems = check(tree, known); !problems.empty()) return std::unexpected(std::move(problems));
  const std::vector<facts> found = find_facts(tree, known);
  const facts& root = found.back();
  braid::diagnostics as_number = check_texts(tree, found, reading::number);
  braid::diagnostics problems = root.text ? check_texts(tree, found, reading::text) : as_number;
  if (!problems.empty()) return std::unexpected(std::move(problems));
  auto of_strings = root.text ? write(tree, known, form::text) : nullptr;
  if (!as_number.empty()) return expr_program(of_strings, nullptr, of_strings);
  return expr_program(write(tree, known, form::floating), root.exact ? write(tree, known, form::exact) : nullptr,
                      std::move(of_strings));
}

auto compile_pred(const pred_tree& tree, const registries& known) -> braid::checked<pred_program> {
  if (braid::diagnostics problems = check(tree, known); !problems.empty()) return std::unexpected(std::move(problems));
  braid::diagnostics problems = check_texts(tree, find_facts(tree, known), reading::number);
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return pred_program(write(tree, known, form::truth));
}

}  // namespace rankd
