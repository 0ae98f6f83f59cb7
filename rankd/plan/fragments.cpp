// rankd/plan/fragments.cpp: reads which nodes of an artifact come from fragments.
#include <rankd/plan/fragments.hpp>

#include <rankd/plan/detail/artifact.hpp>
#include <rankd/registry/names.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

namespace rankd {

auto make_title(const fragment_use& use) -> std::string { return use.fragment + " " + use.version; }

namespace detail {
namespace {

using json = nlohmann::json;

/// Returns whether a name belongs to a node or to a nested use of a fragment inside the use whose id is `id`.
auto is_inside(std::string_view name, std::string_view id) -> bool {
  return name.starts_with(id) && name.substr(id.size()).starts_with("__");
}

/// Returns whether a text is a version: three numbers of at most six digits, separated by points.
auto is_version(std::string_view text) -> bool {
  std::size_t numbers = 0;
  for (bool more = true; more; ++numbers) {
    const std::string_view number = text.substr(0, text.find('.'));
    const bool digits = std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; });
    if (!digits || number.empty() || number.size() > 6) return false;
    more = number.size() < text.size();
    text.remove_prefix(more ? number.size() + 1 : number.size());
  }
  return numbers == 3;
}

auto is_digest(std::string_view text) -> bool {
  return text.size() == 64 &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

/// Reads the uses of fragments in one artifact.
class use_reader {
 public:
  explicit use_reader(draft& draft) : draft_(draft) {}

  void read(const json& value, const std::string& pointer) {
    const std::size_t before = draft_.problems.size();
    object_reader in(value, pointer, draft_.problems);
    fragment_use use;
    use.id = read_text(in, "id", is_plan_word, "bad_name", "letters, digits and `_`");
    if (!use.id.empty() && !ids_.insert(use.id).second)
      in.report("id", "duplicate_value", "another use is already called " + quote_name(use.id));
    use.fragment = read_text(in, "fragment", is_plan_word, "bad_name", "letters, digits and `_`");
    use.version = read_text(in, "version", is_version, "bad_value", "a version such as 2.1.0");
    use.sha256 = read_text(in, "sha256", is_digest, "bad_value", "64 lower-case hexadecimal digits");
    read_arguments(in);
    read_nodes(in, use);
    read_result(in, use, before);
    if (const json* place = in.value("place", presence::optional))
      read_span(*place, in.pointer_of("place"), draft_.out.source_files.size(), draft_.problems);
    in.refuse_unknown_fields();
    if (draft_.problems.size() != before) return;
    check_owners(use, in.pointer_of("nodes"));
    draft_.out.fragments.push_back(std::move(use));
  }

 private:
  void add(std::string pointer, std::string_view code, std::string message, std::string hint = {}) {
    draft_.problems.add({.code = std::string(code),
                         .pointer = std::move(pointer),
                         .message = std::move(message),
                         .hint = std::move(hint),
                         .node = {},
                         .source = {}});
  }

  static auto read_text(object_reader& reader, std::string_view field, bool (*is_right)(std::string_view),
                        std::string_view code, std::string_view problem) -> std::string {
    const std::string* text = reader.text(field, presence::required);
    if (text == nullptr) return {};
    if (!is_right(*text)) reader.report(field, code, "`" + std::string(field) + "` is " + std::string(problem));
    return *text;
  }

  void read_arguments(object_reader& reader) {
    const json* args = reader.object("args", presence::required);
    if (args == nullptr) return;
    for (const auto& [name, value] : args->items()) {
      const std::string pointer = braid::json_pointer(reader.pointer_of("args"), name);
      if (!is_plan_word(name)) add(pointer, "bad_name", quote_name(name) + " must consist of letters, digits and `_`");
      if (value.is_array() || value.is_null())
        add(pointer, "wrong_type", "an argument must be a value, an expression or a node, not " + described(value));
      if (value.is_object()) read_reference(value, pointer);
    }
  }

  /// Reads an argument that is a reference: `{"node": ID}` or `{"expr": ID}`.
  void read_reference(const json& value, const std::string& pointer) {
    object_reader in(value, pointer, draft_.problems);
    const bool is_node = value.contains("node");
    const std::string_view field = is_node ? "node" : "expr";
    const std::string* target = in.text(field, presence::required);
    in.refuse_unknown_fields();
    if (target == nullptr) return;
    name_table& known = is_node ? draft_.known.nodes : draft_.known.exprs;
    if (known.find(*target)) return;
    add(in.pointer_of(field), is_node ? "unknown_node" : "unknown_expr",
        (is_node ? "there is no node " : "there is no expression ") + quote_name(*target), known.hint(*target));
  }

  void read_nodes(object_reader& reader, fragment_use& use) {
    const json* list = reader.array("nodes", presence::required);
    if (list == nullptr) return;
    if (list->empty()) reader.report("nodes", "too_few_items", "`nodes` must list at least one item");
    std::set<std::uint32_t> seen;
    for (std::size_t i = 0; i < list->size(); ++i)
      if (const auto node = read_node((*list)[i], braid::json_pointer(reader.pointer_of("nodes"), i), use.id, seen))
        use.nodes.push_back(*node);
  }

  auto read_node(const json& item, std::string pointer, const std::string& use, std::set<std::uint32_t>& seen)
      -> std::optional<std::uint32_t> {
    if (!item.is_string()) {
      add(std::move(pointer), "wrong_type", "an item must be the id of a node, not " + described(item));
      return std::nullopt;
    }
    const auto& name = item.get_ref<const std::string&>();
    const auto number = draft_.known.nodes.find(name);
    if (!number)
      add(std::move(pointer), "unknown_node", "there is no node " + quote_name(name), draft_.known.nodes.hint(name));
    else if (seen.contains(*number))
      add(std::move(pointer), "duplicate_value", "the item is listed twice");
    else if (!use.empty() && !is_inside(name, use))
      add(std::move(pointer), "bad_name",
          "each node of the use " + quote_name(use) + " of a fragment must have a name that begins with " +
              quote_name(use + "__") + " and continues with a name");
    else
      seen.insert(*number);
    return number;
  }

  void read_result(object_reader& reader, fragment_use& use, std::size_t problems_before) {
    const std::string* name = reader.text("result", presence::required);
    if (name == nullptr || draft_.problems.size() != problems_before) return;
    const auto number = draft_.known.nodes.find(*name);
    if (!number || std::ranges::find(use.nodes, *number) == use.nodes.end())
      reader.report("result", "unknown_node", quote_name(*name) + " is not in `nodes` of this use of the fragment");
    else
      use.result = *number;
  }

  /// Checks that a node belongs to one use only. The node may also belong to uses that enclose this use.
  void check_owners(const fragment_use& use, const std::string& pointer) {
    for (std::size_t i = 0; i < use.nodes.size(); ++i) {
      std::vector<std::string>& owners = owners_[use.nodes[i]];
      const bool is_beside = std::ranges::any_of(
          owners, [&](const std::string& other) { return !is_inside(use.id, other) && !is_inside(other, use.id); });
      if (is_beside)
        add(braid::json_pointer(pointer, i), "duplicate_value",
            "this node already belongs to another use of a fragment");
      else if (owners.size() == max_fragment_nesting)
        add(braid::json_pointer(pointer, i), "fragments_too_deep",
            "a node can be in at most " + std::to_string(max_fragment_nesting) + " nested uses of fragments");
      else
        owners.push_back(use.id);
    }
  }

  draft& draft_;
  std::set<std::string> ids_;
  std::map<std::uint32_t, std::vector<std::string>> owners_;
};

}  // namespace

void read_fragments(object_reader& top, draft& draft) {
  const json* extensions = top.value("extensions", presence::optional);
  if (extensions == nullptr || !extensions->is_object()) return;
  const auto payload = extensions->find(fragment_capability);
  if (payload == extensions->end()) return;
  object_reader in(*payload, braid::json_pointer(top.pointer_of("extensions"), fragment_capability), draft.problems);
  use_reader uses(draft);
  if (const json* list = in.array("uses", presence::required))
    for (std::size_t i = 0; i < list->size(); ++i) uses.read((*list)[i], braid::json_pointer(in.pointer_of("uses"), i));
  in.refuse_unknown_fields();
}

}  // namespace detail
}  // namespace rankd
