// rankd/plan/load_plan.cpp: reads the top level of an artifact.
#include <rankd/plan/load_plan.hpp>
#include <rankd/expr/detail/ops.hpp>
#include <rankd/expr/parse.hpp>
#include <rankd/plan/detail/artifact.hpp>
#include <rankd/plan/json.hpp>
#include <rankd/plan/registry_digests.hpp>
#include <rankd/plan/source_location.hpp>
#include <rankd/registry/digest.hpp>
#include <rankd/registry/file.hpp>
#include <rankd/registry/names.hpp>

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

namespace rankd {
namespace detail {
namespace {

constexpr int_range file_position_range{.min = 1, .max = std::numeric_limits<std::int32_t>::max()};

}  // namespace

auto read_span(const nlohmann::json& value, std::string pointer, std::size_t files, braid::diagnostics& problems)
    -> source_span {
  object_reader in(value, std::move(pointer), problems);
  const auto position = [&in](std::string_view field) {
    return static_cast<std::uint32_t>(in.integer(field, presence::required, file_position_range).value_or(0));
  };
  source_span out;
  const auto file = in.integer("file", presence::required);
  if (file && (*file < 0 || static_cast<std::uint64_t>(*file) >= files))
    in.report("file", "out_of_range", "`file` must be an index into `source_files`");
  out.file = static_cast<std::uint32_t>(file.value_or(0));
  out.line = position("line");
  out.column = position("column");
  out.end_line = position("end_line");
  out.end_column = position("end_column");
  in.refuse_unknown_fields();
  return out;
}

auto read_extensions(object_reader& reader, draft& draft, braid::diagnostics& problems) -> std::vector<plan_extension> {
  std::vector<plan_extension> out;
  const nlohmann::json* value = reader.object("extensions", presence::optional);
  if (value == nullptr) return out;
  for (const auto& [capability, payload] : value->items()) {
    const std::string pointer = braid::json_pointer(reader.pointer_of("extensions"), capability);
    if (!draft.known.capabilities.find(capability))
      problems.add({.code = "capability_not_required",
                    .pointer = pointer,
                    .message = quote_name(capability) + " is not among `capabilities_required`",
                    .hint = {},
                    .node = {},
                    .source = {}});
    const capability_entry* declared = draft.rules.declared.find_capability(capability);
    if (declared != nullptr && declared->payload) problems.append(declared->payload->check(payload, pointer));
    out.push_back({capability, canonical_json(payload)});
  }
  return out;
}

}  // namespace detail

namespace {

using detail::draft;
using json = nlohmann::json;

void report(draft& draft, std::string pointer, std::string_view code, std::string message, std::string hint = {}) {
  draft.problems.add({.code = std::string(code),
                      .pointer = std::move(pointer),
                      .message = std::move(message),
                      .hint = std::move(hint),
                      .node = {},
                      .source = {}});
}

/// Returns the strings of an array. Reports an item that is not a string, and returns an empty text in its place.
auto read_strings(const json& list, std::string_view parent, draft& draft) -> std::vector<std::string> {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto text = scalar_from_json(list[i], value_type::string);
    if (!text) report(draft, braid::json_pointer(parent, i), text.error().code, "each item " + text.error().message);
    out.push_back(text ? std::get<std::string>(*text) : std::string());
  }
  return out;
}

/// Returns false if the document has another format version. The fields of such a document are not read, because errors
/// about these fields would be misleading.
auto check_version(object_reader& reader) -> bool {
  const auto version = reader.integer("schema_version", presence::required);
  if (!version || *version == 1) return true;
  reader.report("schema_version", "unsupported_schema", "this engine reads only artifacts of `schema_version` 1");
  return false;
}

void read_plan_name(object_reader& reader, std::optional<std::string> stem, draft& draft) {
  const std::string* name = reader.text("plan_name", presence::required);
  if (name == nullptr) return;
  draft.out.plan_name = *name;
  if (!is_plan_word(*name))
    reader.report("plan_name", "bad_name", quote_name(*name) + " must consist of letters, digits and `_`");
  else if (stem && *stem != *name)
    reader.report("plan_name", "name_mismatch",
                  "the plan is called " + quote_name(*name) + ", but its file is called " + quote_name(*stem));
}

void check_capability(const std::string& id, const std::string& pointer, draft& draft) {
  if (!is_capability_id(id)) {
    report(draft, pointer, "bad_capability_id", quote_name(id) + " is not of the form `cap.rfc.NNNN.slug.vK`");
    return;
  }
  const registries& declared = draft.rules.declared;
  const capability_entry* entry = declared.find_capability(id);
  if (entry != nullptr && entry->status != lifecycle::blocked) {
    if (std::ranges::find(draft.rules.capabilities, std::string_view(id)) == draft.rules.capabilities.end())
      report(draft, pointer, "unsupported_capability",
             "the capability " + quote_name(id) + " is declared, but this engine has no code for it");
    return;
  }
  if (entry != nullptr)
    return report(draft, pointer, "unsupported_capability", "the capability " + quote_name(id) + " is blocked");
  const auto& offered = draft.rules.capabilities;
  if (std::ranges::find(offered, std::string_view(id)) != offered.end())
    return report(draft, pointer, "unsupported_capability",
                  "the capability " + quote_name(id) + " is not declared in registry/capabilities.toml");
  report(draft, pointer, "unsupported_capability",
         "the capability " + quote_name(id) + " is not supported: this engine has no code for it",
         braid::did_you_mean(id, std::vector<std::string_view>(offered.begin(), offered.end())));
}

void read_capabilities(object_reader& reader, draft& draft) {
  const json* list = reader.array("capabilities_required", presence::optional);
  if (list == nullptr) return;
  const std::string parent = reader.pointer_of("capabilities_required");
  auto ids = read_strings(*list, parent, draft);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (!(*list)[i].is_string()) continue;
    const std::string pointer = braid::json_pointer(parent, i);
    check_capability(ids[i], pointer, draft);
    draft.known.capabilities.add(ids[i], static_cast<std::uint32_t>(i));
    if (i == 0 || ids[i - 1] < ids[i]) continue;
    if (ids[i - 1] == ids[i])
      report(draft, pointer, "duplicate_value", quote_name(ids[i]) + " is listed twice");
    else
      report(draft, pointer, "not_sorted", quote_name(ids[i]) + " must not come after a greater one; sort the list");
  }
  draft.out.capabilities_required = std::move(ids);
}

/// Returns the capability that a plan must require for a node of a tree, or an empty text if the node needs no
/// capability. The capability depends on the node's operation. A comparison of a param with strings needs a separate
/// capability.
auto required_capability(const syntax_tree& tree, const tree_node& node) -> std::string_view {
  const auto* list = std::get_if<literal_list>(&node.payload);
  const bool of_strings = list != nullptr && std::holds_alternative<std::vector<std::string>>(*list);
  if (of_strings && tree.nodes[node.children[0]].op == node_op::param_ref) return branch_capability;
  return rankd::required_capability(node.op);
}

/// Reports the first operation in a tree that needs a capability which the plan does not list. Children are examined
/// before their parents.
void check_ops(const syntax_tree& tree, draft& draft) {
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const std::string_view capability = required_capability(tree, tree.nodes[i]);
    if (capability.empty() || draft.known.capabilities.find(capability)) continue;
    return report(draft, tree.pointer_of(i, "op"), "capability_not_required",
                  "the op " + quote_name(name_of(tree.nodes[i].op)) + " needs a capability that the plan does not list",
                  "add " + quote_name(capability) + " to `capabilities_required`");
  }
}

/// Reads one table of trees. `parse` parses one tree.
template <typename Tree, typename Parse>
void read_table(object_reader& top, std::string_view field, Parse parse, detail::name_table& known,
                std::vector<named_tree<Tree>>& table, draft& draft) {
  const json* value = top.object(field, presence::optional);
  if (value == nullptr) return;
  for (const auto& item : value->items()) {
    const std::string pointer = braid::json_pointer(top.pointer_of(field), item.key());
    if (!is_plan_word(item.key()))
      report(draft, pointer, "bad_name", quote_name(item.key()) + " must consist of letters, digits and `_`");
    auto tree = parse(item.value(), pointer);
    if (tree)
      check_ops(*tree, draft);
    else
      draft.problems.append(std::move(tree.error()));
    known.add(item.key(), static_cast<std::uint32_t>(table.size()));
    table.push_back({item.key(), tree ? std::move(*tree) : Tree()});
  }
}

/// Returns the part of a table at `path`, such as `id`, `id/a` or `id/a/b`, or null if there is no such part.
auto find_part(const json* table, std::string_view path) -> const json* {
  while (table != nullptr) {
    const std::string_view field = path.substr(0, path.find('/'));
    const auto found = table->is_object() ? table->find(field) : table->end();
    table = found == table->end() ? nullptr : &*found;
    if (field.size() == path.size()) break;
    path.remove_prefix(field.size() + 1);
  }
  return table;
}

/// Reads `source_spans`, which contains the source locations of the trees in both tables and of the parts of these
/// trees. The locations of the plan's nodes are stored in the nodes.
void read_spans(object_reader& top, draft& draft) {
  const json* value = top.object("source_spans", presence::optional);
  if (value == nullptr) return;
  for (const auto& [path, item] : value->items()) {
    const std::string pointer = braid::json_pointer(top.pointer_of("source_spans"), path);
    const auto span = detail::read_span(item, pointer, draft.out.source_files.size(), draft.problems);
    bool found = false;
    for (const std::string_view table : {"expr_table", "pred_table"}) {
      if (find_part(top.value(table, presence::optional), path) == nullptr) continue;
      draft.out.tree_spans.push_back({top.pointer_of(table) + "/" + path, span});
      found = true;
    }
    if (!found)
      report(draft, pointer, "unknown_expr",
             "there is no expression or predicate, and no part of one, with the name " + quote_name(path));
  }
  std::ranges::sort(draft.out.tree_spans, {}, &tree_span::pointer);
}

/// Reads `built_by`. This field is a text or, in artifacts from other builders, an object of texts that contains the
/// name of the tool.
void read_builder(object_reader& reader, draft& draft) {
  const json* value = reader.value("built_by", presence::optional);
  if (value == nullptr) return;
  if (!value->is_object()) {
    if (const std::string* tool = reader.text("built_by", presence::optional)) draft.out.built_by = *tool;
    return;
  }
  object_reader parts(*value, reader.pointer_of("built_by"), draft.problems);
  parts.text("tool", presence::required);
  for (const auto& part : value->items())
    if (part.key() != "tool") parts.text(part.key(), presence::optional);
  draft.out.built_by = canonical_json(*value);
}

void read_origin(object_reader& reader, draft& draft) {
  read_builder(reader, draft);
  if (const json* files = reader.array("source_files", presence::optional))
    draft.out.source_files = read_strings(*files, reader.pointer_of("source_files"), draft);
}

void check_graph(std::size_t problems_before, draft& draft) {
  if (draft.problems.size() == problems_before) detail::link_fallbacks(draft.out, draft.problems);
  const bool edges_complete = draft.problems.size() == problems_before;
  draft.out.order = detail::order_nodes(draft.out.nodes, draft.problems);
  // If a name is misspelt or there is a cycle, the checks below are skipped, because they would report only
  // consequences of that error.
  if (!edges_complete || draft.problems.size() != problems_before) return;
  detail::check_depth(draft.out, draft.problems);
  detail::check_reach(draft.out, draft.problems);
}

void read_graph(object_reader& reader, draft& draft) {
  const std::size_t before = draft.problems.size();
  const json* nodes = reader.array("nodes", presence::required);
  const json* outputs = reader.array("outputs", presence::required);
  if (nodes == nullptr) return;
  detail::read_nodes(*nodes, draft);
  if (draft.out.nodes.size() != nodes->size()) return;  // too many: names and edges may lead to what was not read
  if (outputs != nullptr) detail::read_outputs(*outputs, draft);
  check_graph(before, draft);
}

void read_artifact(const json& document, std::optional<std::string> stem, draft& draft) {
  object_reader in(document, "", draft.problems);
  if (!document.is_object() || !check_version(in)) return;
  read_plan_name(in, std::move(stem), draft);
  read_capabilities(in, draft);
  draft.out.extensions = detail::read_extensions(in, draft, draft.problems);
  draft.out.registry_digests = read_registry_digests(in, "the plan was", draft.rules.declared, draft.problems);
  read_origin(in, draft);
  read_table(in, "expr_table", parse_expr, draft.known.exprs, draft.out.expr_table, draft);
  read_table(in, "pred_table", parse_pred, draft.known.preds, draft.out.pred_table, draft);
  read_spans(in, draft);
  read_graph(in, draft);
  detail::read_fragments(in, draft);
  detail::read_plan_fallback(in, draft);
  in.refuse_unknown_fields();
}

auto read_text(std::string_view text, std::string_view source_name, std::optional<std::string> stem,
               const plan_rules& rules) -> braid::checked<plan> {
  auto document = parse_json(text, source_name);
  if (!document) return std::unexpected(document.error());
  const json_dismantler end(*document);
  draft into{.rules = rules, .out = {}, .known = {}, .problems = {}};
  into.out.digest = sha256_hex(text);
  read_artifact(*document, std::move(stem), into);
  if (into.problems.empty()) return std::move(into.out);
  into.problems = with_locations(into.problems, into.out);
  into.problems.set_source(source_name);
  return std::unexpected(std::move(into.problems));
}

}  // namespace

auto implemented_capabilities() noexcept -> std::span<const std::string_view> {
  static const std::array<std::string_view, 12> all{rankd::required_capability(node_op::div),
                                                    fragment_capability,
                                                    bound_params_capability,
                                                    fallback_capability,
                                                    branch_capability,
                                                    rankd::required_capability(node_op::mod),
                                                    timeout_capability,
                                                    retry_capability,
                                                    detail::vectors_capability,
                                                    capture_capability,
                                                    cache_capability,
                                                    hedge_capability};
  return all;
}

auto load_plan(const std::filesystem::path& file, const plan_rules& rules) -> braid::checked<plan> {
  const auto text = read_text_file(file);
  if (!text) return std::unexpected(text.error());
  return read_text(*text, file.string(), file.stem().string(), rules);
}

auto load_plan(const artifact_image& image, const plan_rules& rules) -> braid::checked<plan> {
  return read_text(image.text, image.file.string(), image.name, rules);
}

auto parse_plan(std::string_view text, std::string_view source_name, const plan_rules& rules) -> braid::checked<plan> {
  return read_text(text, source_name, std::nullopt, rules);
}

}  // namespace rankd
