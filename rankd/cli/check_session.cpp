// rankd/cli/check_session.cpp: reads messages, and checks and compares the artifacts in them.
#include <rankd/cli/check_session.hpp>

#include <rankd/cli/output/diff_lines.hpp>
#include <rankd/cli/plan_tests/plan_tests.hpp>
#include <rankd/engine/plans/bound_plan.hpp>
#include <rankd/engine/plan_check.hpp>
#include <rankd/engine/explain/plan_comparison.hpp>
#include <rankd/engine/ranking.hpp>
#include <rankd/op/operator_list.hpp>
#include <rankd/op/operator_library.hpp>
#include <rankd/plan/json.hpp>
#include <rankd/plan/load_plan.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/digest.hpp>
#include <rankd/registry/file.hpp>
#include <rankd/registry/json_text.hpp>
#include <rankd/registry/object_reader.hpp>

#include <array>
#include <filesystem>
#include <utility>

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

using json = nlohmann::json;

/// The artifact that a message is about. The message contains the artifact itself, or the name of its file.
struct given_artifact {
  std::string text;
  std::string source;               ///< the name in diagnostics; empty for a text that the message carries
  std::optional<std::string> name;  ///< the stem of its file, which the plan must have as its name
};

/// Reads an artifact of a message. Returns nothing if an error was reported.
auto read_given(object_reader& reader, braid::diagnostics& problems) -> std::optional<given_artifact> {
  const std::string* const text = reader.text("artifact", presence::optional);
  const std::string* const file = reader.text("file", presence::optional);
  const std::string* const name = reader.text("name", presence::optional);
  given_artifact out;
  if (name != nullptr) out.name = *name;
  if ((text == nullptr) == (file == nullptr)) {
    if (problems.empty())
      problems.add({.code = "missing_field",
                    .pointer = reader.pointer(),
                    .message = "the message must have either `artifact` or `file`",
                    .hint = {},
                    .node = {},
                    .source = {}});
    return std::nullopt;
  }
  if (text != nullptr) {
    out.text = *text;
    return out;
  }
  auto read = read_text_file(*file);
  if (!read) {
    problems.append(std::move(read.error()));
    return std::nullopt;
  }
  out.text = std::move(*read);
  out.source = *file;
  return out;
}

/// Appends a member `"name":[…]` with at most `braid::diagnostics::max_items` diagnostics.
void append_diagnostic_list(std::string& out, std::string_view name, const braid::diagnostics& all) {
  out += '"';
  out += name;
  out += "\":" + diagnostics_json(all);
}

void append_caches(std::string& out, const std::vector<cache_inputs>& all) {
  out += ",\"caches\":{";
  for (const cache_inputs& each : all) {
    if (!out.ends_with('{')) out += ',';
    append_json_string(out, each.node_id);
    out += each.reads_user ? ":[\"user\"" : ":[";
    for (const param_entry* param : each.params) {
      if (!out.ends_with('[')) out += ',';
      append_json_string(out, "P." + param->name);
    }
    out += ']';
  }
  out += '}';
}

auto parsed(const given_artifact& given, const registries& declared) -> braid::checked<plan> {
  const plan_rules rules{.ops = all_op_shapes(), .declared = declared};
  if (!given.name) return parse_plan(given.text, given.source, rules);
  return load_plan({.name = *given.name, .file = given.source, .text = given.text, .problems = {}}, rules);
}

/// Binds one of two compared artifacts, with the files of models and vectors that the artifact names.
auto bound(const given_artifact& given, const project& project, const registries& declared)
    -> braid::checked<bound_plan> {
  auto loaded = parsed(given, declared);
  if (!loaded) return std::unexpected(std::move(loaded.error()));
  model_folder models(project.models, declared);
  vector_folder vectors(project.root);
  const plan_budget budget = project.budgets.of(loaded->plan_name);
  return bind_plan(std::move(*loaded), declared, budget, &models, &vectors);
}

auto no_project() -> std::unexpected<braid::diagnostics> {
  return refused("no_project", "no project is open", "open a project first: send a message whose `do` is `open`");
}

/// Reads the id of a message, which the answer repeats. Returns the id as JSON, or null if the message has no id.
auto read_id(object_reader& reader, braid::diagnostics& problems) -> std::string {
  const json* const id = reader.value("id", presence::optional);
  if (id == nullptr) return "null";
  const bool is_text = id->is_string() && id->get_ref<const std::string&>().size() <= check_session::max_id;
  if (is_text || id->is_number_integer()) return id->dump(-1, ' ', true, json::error_handler_t::replace);
  problems.add(
      {.code = "wrong_type",
       .pointer = "/id",
       .message = "`id` must be an integer or a string of at most " + std::to_string(check_session::max_id) + " bytes",
       .hint = {},
       .node = {},
       .source = {}});
  return "null";
}

auto make_answer(const std::string& id, const braid::checked<std::string>& members) -> std::string {
  if (members) return "{\"id\":" + id + "," + *members + "}";
  std::string out = "{\"id\":" + id + ",\"error\":" + diagnostics_json(members.error()) + "}";
  return out;
}

}  // namespace

auto check_session::open(object_reader& message, braid::diagnostics& problems) -> braid::checked<std::string> {
  const std::string* const folder = message.text("project", presence::required);
  message.refuse_unknown_fields();
  if (!problems.empty()) return std::unexpected(std::move(problems));
  project_.reset();
  std::string out;
  auto made = load(*folder);
  append_diagnostic_list(out, "diagnostics", made ? braid::diagnostics() : made.error());
  if (made) project_.emplace(std::move(*made));
  return out;
}

auto check_session::load(const std::filesystem::path& folder) -> braid::checked<opened> {
  auto where = project::load(folder);
  if (!where) return std::unexpected(std::move(where.error()));
  auto declared = registries::load(where->registry, where->environment);
  if (!declared) return std::unexpected(std::move(declared.error()));
  if (auto loaded = load_operators(where->operators); !loaded) return std::unexpected(std::move(loaded.error()));
  return opened{.where = std::move(*where), .declared = std::move(*declared)};
}

auto check_session::check(object_reader& message, braid::diagnostics& problems) -> braid::checked<std::string> {
  const auto given = read_given(message, problems);
  const auto wants_normal = message.boolean("normalized", presence::optional);
  message.refuse_unknown_fields();
  if (!problems.empty()) return std::unexpected(std::move(problems));
  if (!project_) return no_project();
  std::string out;
  const auto loaded = parsed(*given, project_->declared);
  if (!loaded) {
    append_diagnostic_list(out, "diagnostics", loaded.error());
    return out;
  }
  const plan_findings found = check_plan(*loaded, project_->declared);
  append_diagnostic_list(out, "diagnostics", found.problems);
  if (!found.problems.empty()) return out;
  out += ',';
  append_diagnostic_list(out, "warnings", found.warnings);
  append_caches(out, found.caches);
  out += ",\"digest\":\"" + loaded->digest + '"';
  if (wants_normal.value_or(false)) {
    auto document = parse_json(given->text, given->source).value();
    const json_dismantler end(document);
    out += ",\"artifact\":" + canonical_json(document);
  }
  return out;
}

auto check_session::check_tests(object_reader& message, braid::diagnostics& problems) -> braid::checked<std::string> {
  const auto given = read_given(message, problems);
  message.refuse_unknown_fields();
  if (!problems.empty()) return std::unexpected(std::move(problems));
  if (!project_) return no_project();
  const auto tests = parse_plan_tests(given->text, given->source, project_->declared);
  std::string out;
  append_diagnostic_list(out, "diagnostics", tests ? braid::diagnostics() : tests.error());
  return out;
}

auto check_session::compare(object_reader& message, braid::diagnostics& problems) -> braid::checked<std::string> {
  constexpr std::array<std::string_view, 2> names{"before", "after"};
  std::array<std::optional<given_artifact>, 2> given;
  for (std::size_t at = 0; at < names.size(); ++at) {
    const json* const side = message.object(names[at], presence::required);
    if (side == nullptr) continue;
    object_reader in(*side, message.pointer_of(names[at]), problems);
    given[at] = read_given(in, problems);
    in.refuse_unknown_fields();
  }
  message.refuse_unknown_fields();
  if (!problems.empty()) return std::unexpected(std::move(problems));
  if (!project_) return no_project();
  const auto before = bound(*given[0], project_->where, project_->declared);
  const auto after = bound(*given[1], project_->where, project_->declared);
  std::string out;
  append_diagnostic_list(out, names[0], before ? braid::diagnostics() : before.error());
  out += ',';
  append_diagnostic_list(out, names[1], after ? braid::diagnostics() : after.error());
  if (!before || !after) return out;
  const plan_comparison found = compare_plans(*before, *after);
  std::string all = comparison_json(found, *before, *after);
  all.erase(all.find_last_not_of('\n') + 1);
  out += ",\"comparison\":" + all + ",\"lines\":";
  append_json_string(out, diff_lines(found));
  return out;
}

auto check_session::answer(std::string_view message) -> std::string {
  constexpr std::array<std::string_view, 4> verbs{"open", "plan", "tests", "diff"};
  auto document = parse_json(message, "");
  if (!document) return make_answer("null", std::unexpected(std::move(document.error())));
  const json_dismantler end(*document);
  braid::diagnostics problems;
  object_reader in(*document, "", problems);
  const std::string id = document->is_object() ? read_id(in, problems) : "null";
  const auto verb = in.choice("do", presence::required, verbs);
  if (!problems.empty() || !verb) return make_answer(id, std::unexpected(std::move(problems)));
  using handler = braid::checked<std::string> (check_session::*)(object_reader&, braid::diagnostics&);
  constexpr std::array<handler, 4> handlers{&check_session::open, &check_session::check, &check_session::check_tests,
                                            &check_session::compare};
  return make_answer(id, (this->*handlers[*verb])(in, problems));
}

auto check_session::answer_too_long(std::size_t max_bytes) -> std::string {
  return make_answer("null",
                     refused("message_too_long", "the message has more than " + std::to_string(max_bytes) + " bytes",
                             "send the path of a large artifact as `file`"));
}

}  // namespace rankd
