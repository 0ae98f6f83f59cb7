// rankd/op/operators/sources/nearest.cpp: implements the source that searches a file of vectors for the vectors that
// are nearest to the vectors of its input rows.
#include <rankd/expr/detail/ops.hpp>
#include <rankd/op/detail/key_types.hpp>
#include <rankd/op/detail/bound.hpp>
#include <rankd/op/detail/lookup.hpp>
#include <rankd/op/option_value.hpp>
#include <rankd/op/vectors.hpp>
#include <rankd/plan/load_plan.hpp>
#include <rankd/rows/dictionary.hpp>
#include <rankd/store/detail/vector_layout.hpp>
#include <rankd/store/vector_file.hpp>
#include <rankd/registry/counted.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace rankd::detail::nearest_op {
namespace {

/// A vector that a search has found. The vector is identified by its id, which is an integer or a text.
template <typename Id>
struct found_id {
  double score = 0;
  Id id = {};
};

/// The vectors of another node, which replace the vectors of the file that have the same ids.
template <typename Id>
struct changed_vectors {
  std::vector<Id> ids;
  std::vector<std::string_view> vectors;
  std::vector<Id> gone;  ///< ids without a vector
};

/// Calls `visit` with each row and its id.
template <typename Id, typename Visit>
void for_each_id(const row_set& rows, const Visit& visit) {
  if constexpr (std::same_as<Id, std::string_view>) {
    const auto texts = rows.table().text_ids();
    rows.for_each_row([&](std::uint32_t row) { visit(row, (*texts)[row]); });
  } else {
    const std::span<const std::int64_t> ids = rows.table().ids();
    rows.for_each_row([&](std::uint32_t row) { visit(row, ids[row]); });
  }
}

auto make_batch(const std::vector<found_id<std::int64_t>>& found, braid::arena& memory) -> batch {
  const std::span<std::int64_t> ids = memory.uninitialized<std::int64_t>(found.size());
  std::ranges::transform(found, ids.begin(), &found_id<std::int64_t>::id);
  return batch(std::span<const std::int64_t>(ids));
}

auto make_batch(const std::vector<found_id<std::string_view>>& found, braid::arena& memory) -> batch {
  const std::span<std::uint32_t> codes = memory.uninitialized<std::uint32_t>(found.size());
  dictionary_builder words(memory);
  for (std::size_t at = 0; at < found.size(); ++at) codes[at] = words.intern(found[at].id);
  return batch(string_values{codes, words.finish()});
}

struct nearest_params {
  std::shared_ptr<const vector_file> from;
  vector_metric metric = vector_metric::dot;
  std::uint32_t query_key = 0;
  std::optional<std::uint32_t> out_key;
  option_value<std::int64_t> count;
  std::optional<option_value<std::int64_t>> probe;
  std::optional<option_value<std::int64_t>> ef_search;
  std::size_t only = 0;     ///< the input with the ids that may be found; 0: all ids may be found
  std::size_t except = 0;   ///< the input with the ids that are left out; 0: no id is left out
  std::size_t changes = 0;  ///< the input with vectors that replace those of the file; 0: no vectors

  [[nodiscard]] auto cost_ns(std::size_t rows, std::span<const scalar> params) const noexcept -> double {
    constexpr double number_ns = 0.15;
    const auto numbers = static_cast<double>(from->looked_at(options(params))) * from->dimensions();
    return 500 + static_cast<double>(rows) * number_ns * numbers;
  }

  [[nodiscard]] auto run(node_context& context) const -> op_result<row_set> {
    return from->id_type() == value_type::string ? search<std::string_view>(context) : search<std::int64_t>(context);
  }

 private:
  template <typename Id>
  [[nodiscard]] auto search(node_context& context) const -> op_result<row_set> {
    const std::vector<std::string_view> queries = list_queries(context.inputs[0]);
    nearest_options how = options(context.params);
    const std::size_t wanted = how.count;
    const changed_vectors<Id> changed = list_changed<Id>(context.inputs);
    const std::optional<vector_filter> allowed = make_filter(context.inputs, changed);
    const std::uint64_t searched = (allowed ? allowed->size() : from->size()) + changed.vectors.size();
    const std::uint64_t most = queries.size() * std::min<std::uint64_t>(wanted, searched);
    if (most > batch::max_rows)
      return std::unexpected(op_error{"too_many_rows", "a search for " + counted(queries.size(), "row") +
                                                           " may return " + std::to_string(most) +
                                                           " ids, which are more than a batch can hold"});
    if (!context.may_make(most, most * (sizeof(std::int64_t) + sizeof(double)))) return over_budget();
    how.allowed = allowed ? &*allowed : nullptr;
    how.is_shared = context.rows_of_part != evaluate_options::one_part;
    how.stop = context.stop;
    std::vector<found_id<Id>> all;
    all.reserve(most);
    for (const std::string_view query : queries) {
      const nearest_found found = from->nearest(query, how);
      context.looked_at += found.looked_at + changed.vectors.size();
      const std::size_t begin = all.size();
      for (const neighbour& each : found.all) all.push_back({each.score, id_in_file<Id>(each.id)});
      add_changed(query, changed, wanted, begin, all);
    }
    const row_set out{make_batch(all, context.memory)};
    if (!out_key) return out;
    const std::span<double> scores = context.memory.uninitialized<double>(all.size());
    std::ranges::transform(all, scores.begin(), &found_id<Id>::score);
    const column column_of_scores{.values = std::span<const double>(scores), .validity = {}};
    return out.with_column(*out_key, column_of_scores, context.memory);
  }

  template <typename Id>
  [[nodiscard]] auto id_in_file(std::int64_t id) const -> Id {
    if constexpr (std::same_as<Id, std::string_view>)
      return from->text(id);
    else
      return id;
  }

  /// Adds the changed vectors to the results that begin at `begin`, and keeps the nearest of all vectors.
  template <typename Id>
  void add_changed(std::string_view query, const changed_vectors<Id>& changed, std::size_t wanted, std::size_t begin,
                   std::vector<found_id<Id>>& all) const {
    if (changed.vectors.empty()) return;
    std::vector<double> scores(changed.vectors.size());
    score_vectors(query, changed.vectors, metric, scores);
    for (std::size_t at = 0; at < scores.size(); ++at)
      if (!std::isnan(scores[at])) all.push_back({scores[at], changed.ids[at]});
    const auto own = all.begin() + static_cast<std::ptrdiff_t>(begin);
    const std::size_t kept = std::min(wanted, all.size() - begin);
    std::partial_sort(own, own + static_cast<std::ptrdiff_t>(kept), all.end(),
                      [](const found_id<Id>& a, const found_id<Id>& b) {
                        return a.score > b.score || (a.score == b.score && a.id < b.id);
                      });
    all.resize(begin + kept);
  }

  /// Returns the vectors of the input `changes` that may be found. If several rows have the same id, the last row
  /// counts.
  template <typename Id>
  [[nodiscard]] auto list_changed(std::span<const row_set> inputs) const -> changed_vectors<Id> {
    changed_vectors<Id> out;
    if (changes == 0) return out;
    const row_set& rows = inputs[changes];
    std::unordered_map<Id, std::uint32_t> last;
    for_each_id<Id>(rows, [&last](std::uint32_t row, Id id) { last.insert_or_assign(id, row); });
    std::unordered_set<Id> allowed;
    if (only != 0) for_each_id<Id>(inputs[only], [&](std::uint32_t /*row*/, Id id) { allowed.insert(id); });
    std::unordered_set<Id> refused;
    if (except != 0) for_each_id<Id>(inputs[except], [&](std::uint32_t /*row*/, Id id) { refused.insert(id); });
    const std::optional<column> vectors = rows.table().find(query_key);
    for_each_id<Id>(rows, [&](std::uint32_t row, Id id) {
      if (last.at(id) != row) return;
      const bool may_be_found = (only == 0 || allowed.contains(id)) && !refused.contains(id);
      if (!may_be_found || !vectors || vectors->strings() == nullptr || vectors->is_null(row))
        return out.gone.push_back(id);
      out.ids.push_back(id);
      out.vectors.push_back((*vectors->strings())[row]);
    });
    return out;
  }

  /// Returns which vectors of the file the search may find. Returns nothing if the search may find all vectors.
  template <typename Id>
  [[nodiscard]] auto make_filter(std::span<const row_set> inputs, const changed_vectors<Id>& changed) const
      -> std::optional<vector_filter> {
    if (only == 0 && except == 0 && changed.ids.empty() && changed.gone.empty()) return std::nullopt;
    vector_filter allowed = only == 0 ? vector_filter::all(*from) : vector_filter::none(*from);
    if (only != 0) for_each_id<Id>(inputs[only], [&](std::uint32_t /*row*/, Id id) { allowed.allow(id); });
    if (except != 0) for_each_id<Id>(inputs[except], [&](std::uint32_t /*row*/, Id id) { allowed.refuse(id); });
    for (const Id id : changed.ids) allowed.refuse(id);
    for (const Id id : changed.gone) allowed.refuse(id);
    return allowed;
  }

  /// Returns the options that do not depend on the inputs.
  [[nodiscard]] auto options(std::span<const scalar> params) const noexcept -> nearest_options {
    return {.metric = metric,
            .count = static_cast<std::size_t>(count.in(params)),
            .lists = probe ? static_cast<std::size_t>(probe->in(params)) : 0,
            .ef_search = ef_search ? static_cast<std::size_t>(ef_search->in(params)) : 0};
  }

  /// Returns the vectors of the rows that have a vector.
  [[nodiscard]] auto list_queries(const row_set& rows) const -> std::vector<std::string_view> {
    std::vector<std::string_view> out;
    const auto by = rows.table().find(query_key);
    if (!by || by->strings() == nullptr) return out;
    rows.for_each_row([&](std::uint32_t row) {
      if (!by->is_null(row)) out.push_back((*by->strings())[row]);
    });
    return out;
  }
};

constexpr std::int64_t max_nearest = 100'000;
constexpr std::size_t nearest_inputs = 1;
constexpr std::array<std::string_view, 1> vector_kinds{"vectors"};
constexpr std::array nearest_shape{
    param_shape{.name = "endpoint", .kind = param_kind::endpoint_ref, .choices = vector_kinds},
    param_shape{.name = "query", .kind = param_kind::key_id, .choices = vector_types, .capability = vectors_capability},
    param_shape{.name = "count", .kind = param_kind::int64, .range = {.min = 1, .max = max_nearest}, .bindable = true},
    param_shape{.name = "out_key",
                .kind = param_kind::key_id,
                .need = presence::nullable,
                .use = key_use::write,
                .choices = float_types},
    param_shape{.name = "probe",
                .kind = param_kind::int64,
                .need = presence::nullable,
                .range = {.min = 1, .max = max_lists},
                .bindable = true},
    param_shape{.name = "ef_search",
                .kind = param_kind::int64,
                .need = presence::nullable,
                .range = {.min = 1, .max = max_nearest},
                .bindable = true},
    param_shape{.name = "only", .kind = param_kind::node_ref, .need = presence::nullable},
    param_shape{.name = "except", .kind = param_kind::node_ref, .need = presence::nullable},
    param_shape{.name = "changes", .kind = param_kind::node_ref, .need = presence::nullable},
};

/// Returns the vectors endpoint that a param names. Reports unknown_endpoint or wrong_endpoint_kind and returns null if
/// there is no such endpoint or it is of another kind.
auto find_vectors(const plan_param& param, const bind_context& context, braid::diagnostics& problems)
    -> const endpoint_entry* {
  const auto& id = std::get<std::string>(param.value);
  const endpoint_entry* found = context.declared.find_endpoint(id);
  std::vector<std::string_view> known;
  for (const endpoint_entry& each : context.declared.endpoints()) known.push_back(each.endpoint_id);
  if (found != nullptr && found->kind == endpoint_entry::kind_type::vectors) return found;
  const bool is_unknown = found == nullptr;
  problems.add({.code = is_unknown ? "unknown_endpoint" : "wrong_endpoint_kind",
                .pointer = param.pointer,
                .message = is_unknown
                               ? "no endpoint has the id `" + id + "`"
                               : "endpoint `" + id + "` (" + found->name + ") is of kind " +
                                     std::string(to_string(found->kind)) + "; this operator searches a vector file",
                .hint = is_unknown ? braid::did_you_mean(id, known) : "name an endpoint of kind vectors",
                .node = {},
                .source = {}});
  return nullptr;
}

/// Opens the file of vectors. An error in the file is reported at the param that names the file's endpoint.
auto open_vectors(const plan_param& param, const endpoint_entry& endpoint, const bind_context& context,
                  braid::diagnostics& problems) -> std::shared_ptr<const vector_file> {
  if (context.vectors == nullptr) {
    problems.add({.code = "no_vectors",
                  .pointer = param.pointer,
                  .message = "vector files are not available here",
                  .hint = {},
                  .node = {},
                  .source = {}});
    return nullptr;
  }
  auto opened = context.vectors->find(endpoint);
  if (opened) return std::move(*opened);
  for (braid::diagnostic each : opened.error()) {
    each.message += " (" + each.source + ")";
    each.pointer = param.pointer;
    each.source.clear();
    problems.add(std::move(each));
  }
  return nullptr;
}

/// Reports wrong_id_type if the ids of a file are integers and the ids of the project are strings, or the reverse.
void check_ids(const plan_param& param, const vector_file& file, const endpoint_entry& endpoint,
               const bind_context& context, braid::diagnostics& problems) {
  if (file.id_type() == context.declared.id_type()) return;
  const bool has_texts = file.id_type() == value_type::string;
  problems.add({.code = "wrong_id_type",
                .pointer = param.pointer,
                .message = "the ids in the file of `" + endpoint.name + "` are " +
                           (has_texts ? "strings, but the ids of this project are integers"
                                      : "integers, but the ids of this project are strings"),
                .hint = has_texts ? R"(build it from lines like {"id": 7, "vector": [0.5, -1]})"
                                  : R"(build it from lines like {"id": "item:7", "vector": [0.5, -1]})",
                .node = {},
                .source = {}});
}

/// Reports metric_differs if a plan searches a graph that was built for another metric, because the search would miss
/// near vectors.
void check_metric(const plan_param& param, const vector_file& file, const endpoint_entry& endpoint,
                  braid::diagnostics& problems) {
  const auto graph = file.graph();
  if (!graph || graph->metric == endpoint.policy.metric) return;
  const std::string wanted(to_string(endpoint.policy.metric));
  problems.add({.code = "metric_differs",
                .pointer = param.pointer,
                .message = "the graph in the file of `" + endpoint.name + "` was made for the metric " +
                           std::string(to_string(graph->metric)) + ", but the endpoint has the metric " + wanted,
                .hint = "build the file with --index hnsw --metric " + wanted,
                .node = {},
                .source = {}});
}

auto bind_nearest(const plan_node& node, const bind_context& context) -> braid::checked<bound_ptr> {
  braid::diagnostics problems;
  const plan_param& named = *node.find_param("endpoint");
  const endpoint_entry* endpoint = find_vectors(named, context, problems);
  const plan_param& query = *node.find_param("query");
  const key_entry* key = find_typed_key(query, find_param_shape(nearest_shape, "query"), context, problems);
  nearest_params params;
  if (const plan_param* out = node.find_param("out_key"))
    if (const key_entry* found = find_typed_key(*out, find_param_shape(nearest_shape, "out_key"), context, problems))
      params.out_key = found->key_id;
  if (endpoint != nullptr) params.from = open_vectors(named, *endpoint, context, problems);
  if (key != nullptr && params.from != nullptr && key->dimensions != params.from->dimensions())
    problems.add({.code = "dimensions_differ",
                  .pointer = query.pointer,
                  .message = "key " + std::to_string(key->key_id) + " (" + key->name + ") has " +
                             counted(key->dimensions, "dimension") + ", but the vectors of `" + endpoint->name +
                             "` have " + std::to_string(params.from->dimensions()),
                  .hint = "use vectors from the same model",
                  .node = {},
                  .source = {}});
  if (params.from != nullptr) check_ids(named, *params.from, *endpoint, context, problems);
  const plan_param* ef_search = node.find_param("ef_search");
  if (params.from != nullptr && ef_search != nullptr) check_metric(*ef_search, *params.from, *endpoint, problems);
  if (!problems.empty()) return std::unexpected(std::move(problems));
  params.metric = endpoint->policy.metric;
  params.query_key = key->key_id;
  params.count = {*node.find_param("count"), context.declared};
  if (const plan_param* probe = node.find_param("probe"))
    params.probe = option_value<std::int64_t>(*probe, context.declared);
  if (ef_search != nullptr) params.ef_search = option_value<std::int64_t>(*ef_search, context.declared);
  // The list of a node's inputs contains first the node's input, and then the nodes that the options name, in the order
  // of the operator's shape.
  std::size_t inputs = nearest_inputs;
  if (node.find_param("only") != nullptr) params.only = inputs++;
  if (node.find_param("except") != nullptr) params.except = inputs++;
  if (node.find_param("changes") != nullptr) params.changes = inputs++;
  return make_bound(std::move(params));
}

}  // namespace

auto entry() -> op_entry {
  return {
      .shape = {.name = "core::nearest", .inputs = nearest_inputs, .params = nearest_shape},
      .change = row_change::dense_source,
      .doc = "Returns the ids of the vectors in a file that are nearest to the vector of each row, the nearest first.",
      .bind = &bind_nearest,
      .finds_rows_by = "query",
      .also_has_column = "changes"};
}

}  // namespace rankd::detail::nearest_op
