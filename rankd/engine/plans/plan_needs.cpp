// rankd/engine/plans/plan_needs.cpp: computes which fields of a request the nodes of a plan need.
#include <rankd/engine/plans/plan_needs.hpp>

#include <rankd/engine/detail/diagnostic_list.hpp>
#include <rankd/op/operator_list.hpp>
#include <rankd/plan/key_template.hpp>
#include <rankd/registry/json_text.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <variant>

namespace rankd {
namespace {

using detail::diagnostic_list;

/// Returns the names of the candidate columns that the plan reads, for use in messages, such as "id, price, rating".
auto list_names(const plan_needs& needs) -> std::string {
  std::string out = "id";
  for (const key_entry* key : needs.candidate_keys) out += ", " + key->name;
  return out;
}

/// Returns the JSON pointer to a column of the candidates. If the request contains the candidates as rows, the pointer
/// refers to the first row that has this column.
auto find_place(const candidate_rows& given, std::size_t column, std::string_view name) -> std::string {
  const std::string parent = given.form == candidates_form::columns
                                 ? std::string("/candidates")
                                 : braid::json_pointer("/candidates", std::size_t{given.first_rows[column]});
  return braid::json_pointer(parent, name);
}

void check_candidates(const candidate_rows& given, const plan_needs& needs, const registries& declared,
                      diagnostic_list problems) {
  const auto columns = given.rows.columns();
  std::vector<std::string_view> taken;
  for (const key_entry* key : needs.candidate_keys) taken.emplace_back(key->name);
  for (std::size_t at = 0; at < columns.size(); ++at) {
    const key_entry& key = *declared.find_key(columns[at].key_id);
    if (std::ranges::find(taken, key.name) != taken.end()) continue;
    problems.add("unknown_column", find_place(given, at, key.name),
                 "no node of the plan reads `" + key.name + "` from candidates; the plan reads " + list_names(needs),
                 braid::did_you_mean(key.name, taken));
  }
  if (given.rows.size() == 0) return;
  for (const key_entry* key : needs.read_keys) {
    if (key->nullable || given.rows.find(key->key_id)) continue;
    const bool in_columns = given.form == candidates_form::columns;
    problems.add("missing_field", in_columns ? "/candidates" : "/candidates/0",
                 (in_columns ? "the column `" : "the field `") + key->name +
                     "` is missing: the plan reads this key from candidates, and its values must not be null");
  }
}

/// Returns whether a request lacks the value of a param.
auto lacks(const rank_request& request, std::size_t param) -> bool {
  return std::ranges::find(request.in_context, param) == request.in_context.end() &&
         std::ranges::find(request.overridden, param) == request.overridden.end();
}

/// Collects the params that nodes read in formulas, in keys and as options.
class param_collector {
 public:
  explicit param_collector(const registries& declared) : declared_(&declared) {}

  void add_needs(const plan& loaded, const plan_node& node) {
    for (const plan_param& param : node.params) {
      if (param.kind == param_kind::expr_id) add(loaded.expr_table[param.index()].tree);
      if (param.kind == param_kind::pred_id) add(loaded.pred_table[param.index()].tree);
      for (const std::uint32_t condition : param.trees) add(loaded.pred_table[condition].tree);
      if (param.kind == param_kind::key_template) add_holes(std::get<std::string>(param.value));
    }
  }

  void add_option(const param_binding& bound) { add(declared_->find_param(bound.param_id)); }

  /// Returns the params in the order of the registry, without duplicates.
  auto take() -> std::vector<const param_entry*> {
    std::ranges::sort(found_);
    const auto repeated = std::ranges::unique(found_);
    found_.erase(repeated.begin(), repeated.end());
    return std::move(found_);
  }

 private:
  void add(const syntax_tree& tree) {
    for (const tree_node& node : tree.nodes)
      for_each_param(node, [this](std::uint32_t param, std::string_view) { add(declared_->find_param(param)); });
  }

  void add_holes(const std::string& text) {
    const auto keys = key_template::parse(text);  // named: g++ 12 ends temporaries early
    for (const template_hole& hole : keys->holes)
      if (hole.from == template_hole::source_kind::param) add(declared_->find_param(hole.name));
  }

  void add(const param_entry* param) { found_.push_back(param); }

  const registries* declared_;
  std::vector<const param_entry*> found_;
};

void add_keys(const plan_node& candidates, std::vector<std::uint32_t>& keys) {
  if (const plan_param* taken = candidates.find_param("keys"))
    keys.insert(keys.end(), taken->key_ids.begin(), taken->key_ids.end());
}

/// Returns the registry entries of these keys, in ascending order of their ids and without duplicates.
auto find_entries(std::vector<std::uint32_t> keys, const registries& declared) -> std::vector<const key_entry*> {
  std::ranges::sort(keys);
  const auto repeated = std::ranges::unique(keys);
  keys.erase(repeated.begin(), repeated.end());
  std::vector<const key_entry*> out;
  for (const std::uint32_t key : keys) out.push_back(declared.find_key(key));
  return out;
}

/// Narrows the range of a param to the values that all options bound to it accept.
void add_range(std::vector<param_range>& ranges, std::size_t param, const param_binding& bound) {
  const auto known = std::ranges::find(ranges, param, &param_range::param);
  if (known == ranges.end()) {
    ranges.push_back({.param = param, .min = bound.min, .max = bound.max});
    return;
  }
  known->min = std::max(known->min, bound.min);
  known->max = std::min(known->max, bound.max);
}

/// Reports a param if its value is null, or outside of the range that the plan accepts. A default is always within the
/// range, so the value comes from the request.
void check_range(const rank_request& request, const param_range& range, const registries& declared,
                 diagnostic_list problems) {
  const scalar& value = request.params[range.param];
  if (!is_null(value) && !(value < range.min) && !(range.max < value)) return;
  const std::string& name = declared.params()[range.param].name;
  const bool is_context = std::ranges::find(request.in_context, range.param) != request.in_context.end();
  problems.add("param_out_of_range", braid::json_pointer(is_context ? "/context" : "/param_overrides", name),
               "the plan accepts `" + name + "` from " + number_text(range.min) + " to " + number_text(range.max) +
                   ", not " + number_text(value));
}

}  // namespace

auto find_needs(const plan& loaded, const registries& declared, const std::vector<bool>& bypassed) -> plan_needs {
  plan_needs out;
  std::vector<std::uint32_t> taken;
  std::vector<std::uint32_t> read;
  param_collector params(declared);
  for (node_index at = 0; at < loaded.nodes.size(); ++at) {
    const plan_node& node = loaded.nodes[at];
    const request_part part = find_op(node.op)->reads;
    const bool runs = bypassed.empty() || !bypassed[at];
    if (part == request_part::candidates) {
      out.takes_candidates = true;
      add_keys(node, taken);
    }
    out.pages = out.pages || part == request_part::cursor;
    if (!runs) continue;
    params.add_needs(loaded, node);
    for (const plan_param& option : node.params)
      if (option.bound)
        add_range(out.ranges, declared.index_of(*declared.find_param(option.bound->param_id)), *option.bound);
    out.user = out.user || part == request_part::user;
    if (part != request_part::candidates) continue;
    out.candidates = true;
    add_keys(node, read);
  }
  std::ranges::sort(out.ranges, {}, &param_range::param);
  out.candidate_keys = find_entries(std::move(taken), declared);
  out.read_keys = find_entries(std::move(read), declared);
  out.context_params = params.take();
  std::erase_if(out.context_params, [](const param_entry* each) { return !each->required; });
  return out;
}

auto params_read_by(const plan& loaded, const registries& declared, const std::vector<bool>& bypassed)
    -> std::vector<const param_entry*> {
  param_collector params(declared);
  for (node_index at = 0; at < loaded.nodes.size(); ++at) {
    if (!bypassed.empty() && bypassed[at]) continue;
    const plan_node& node = loaded.nodes[at];
    params.add_needs(loaded, node);
    for (const plan_param& option : node.params)
      if (option.bound) params.add_option(*option.bound);
  }
  return params.take();
}

auto check_needs(const rank_request& request, const plan_needs& needs, const registries& declared)
    -> braid::diagnostics {
  braid::diagnostics all;
  diagnostic_list problems{all};
  if (needs.user && !request.user_id) problems.add("missing_field", "", "the field `user_id` is missing");
  for (const param_entry* param : needs.context_params)
    if (lacks(request, declared.index_of(*param)))
      problems.add(
          "missing_field", "/context",
          "the field `" + param->name + "` is missing in `context`: the plan reads this param, and it has no default");
  if (needs.candidates && request.candidates == nullptr)
    problems.add("missing_field", "",
                 "the field `candidates` is missing: the plan ranks the candidates of the request, with the columns " +
                     list_names(needs));
  if (request.candidates != nullptr && !needs.takes_candidates)
    problems.add("unknown_field", "/candidates", "no node of the plan uses candidates of the request");
  else if (request.candidates != nullptr)
    check_candidates(*request.candidates, needs, declared, problems);
  if (request.cursor && !needs.pages)
    problems.add("unknown_field", "/cursor", "no node of the plan returns pages, so a cursor is not allowed");
  for (const param_range& range : needs.ranges) check_range(request, range, declared, problems);
  all.set_source("request");
  return all;
}

}  // namespace rankd
