// rankd/embed/workspace.cpp: finds and opens a project and its stores.
#include <rankd/embed/workspace.hpp>

#include <rankd/registry/diagnostic.hpp>
#include <rankd/op/operator_list.hpp>
#include <rankd/op/operator_library.hpp>
#include <rankd/plan/artifact_folder.hpp>
#include <rankd/plan/load_plan.hpp>
#include <rankd/registry/file.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/store/load_store.hpp>
#include <rankd/store/redis_options.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace rankd {
namespace {

namespace fs = std::filesystem;

auto project_folder(const fs::path& given) -> braid::checked<fs::path> {
  if (!given.empty()) return given;
  if (auto found = project::find(fs::current_path())) return *found;
  return refused("no_project", "there is no rankd.toml here or in any parent folder",
                 "change to a project folder, set --project, or create a project with `rankd init demo DIR`");
}

auto is_embedded(const endpoint_entry& endpoint) -> bool {
  return std::holds_alternative<endpoint_entry::embedded_resolver>(endpoint.resolver);
}

auto find_folder(const endpoint_entry& endpoint, const fs::path& root) -> fs::path {
  return root / std::get<endpoint_entry::embedded_resolver>(endpoint.resolver).path;
}

/// Returns the artifact file of the plan with this name. If the argument is the path of a file, returns that path.
auto find_artifact(const project& project, std::string_view name_or_file) -> braid::checked<fs::path> {
  if (name_or_file.ends_with(".json")) return fs::path(name_or_file);
  auto artifacts = list_artifacts(project.plans);
  if (!artifacts) return std::unexpected(std::move(artifacts.error()));
  std::vector<std::string_view> names;
  for (const artifact& each : *artifacts) {
    if (each.name == name_or_file) return each.file;
    names.emplace_back(each.name);
  }
  std::string hint = braid::did_you_mean(name_or_file, names);
  if (hint.empty()) hint = "`rankd plans` lists the plans of the project";
  return refused("unknown_plan", "no plan is called `" + std::string(name_or_file) + "`", std::move(hint));
}

/// Binds the operators of a plan, with the budget that the project sets for the plan's name.
auto bound_to(const workspace& workspace, braid::checked<plan> loaded, const fs::path& file)
    -> braid::checked<bound_plan> {
  if (!loaded) return std::unexpected(std::move(loaded.error()));
  model_folder models(workspace.where.models, workspace.declared);
  vector_folder vectors(workspace.where.root);
  const plan_budget budget = workspace.where.budgets.of(loaded->plan_name);
  auto bound = bind_plan(std::move(*loaded), workspace.declared, budget, &models, &vectors);
  if (!bound) {
    bound.error().set_source(file.string());
    return std::unexpected(std::move(bound.error()));
  }
  bound->warnings.set_source(file.string());
  braid::diagnostics problems;
  add_experiments(*bound, find_experiments(workspace.experiments, bound->name, workspace.declared, experiment_time()),
                  workspace.declared, problems);
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return bound;
}

/// Loads the plan that is the fallback of another plan.
auto load_substitute(const workspace& workspace, std::string_view name)
    -> braid::checked<std::shared_ptr<const bound_plan>> {
  const auto file = find_artifact(workspace.where, name);
  if (!file) return nullptr;
  auto bound = bound_to(workspace, load_plan(*file, {all_op_shapes(), workspace.declared}), *file);
  if (!bound) return std::unexpected(std::move(bound.error()));
  return std::make_shared<const bound_plan>(std::move(*bound));
}

/// Returns the plan, together with its fallback plan if there is one.
auto with_substitute(const workspace& workspace, braid::checked<bound_plan> plan, const fs::path& file)
    -> braid::checked<bound_plan> {
  if (!plan || substitute_name(*plan).empty()) return plan;
  auto found = load_substitute(workspace, substitute_name(*plan));
  if (!found) return std::unexpected(std::move(found.error()));
  braid::diagnostics problems = add_substitute(*plan, std::move(*found));
  if (problems.empty()) return plan;
  problems.set_source(file.string());
  return std::unexpected(std::move(problems));
}

/// Returns true if an option of any node of the plan names this endpoint.
auto names_endpoint(const bound_plan& plan, const endpoint_entry& endpoint) -> bool {
  return std::ranges::any_of(plan.stated->nodes, [&endpoint](const plan_node& node) {
    return std::ranges::any_of(node.params, [&endpoint](const plan_param& param) {
      return param.kind == param_kind::endpoint_ref && param.value == scalar(endpoint.endpoint_id);
    });
  });
}

/// Opens the stores of the endpoints for which `is_wanted` returns true. All other stores are null.
template <typename Wanted>
auto open_some(const workspace& workspace, const store_choice& choice, const Wanted& is_wanted)
    -> braid::checked<open_stores> {
  open_stores stores;
  for (const endpoint_entry& endpoint : workspace.declared.endpoints()) {
    stores.owned.emplace_back();
    if (!is_wanted(endpoint)) continue;
    auto opened = open_endpoint_store(workspace, endpoint, choice);
    if (!opened) return std::unexpected(std::move(opened.error()));
    stores.owned.back() = std::move(*opened);
  }
  return stores;
}

/// Sets the environment of a project. Errors: unknown_environment.
auto set_environment(project& project, const std::string& name) -> braid::diagnostics {
  if (name.empty()) return {};
  if (std::ranges::find(environments, name) == environments.end())
    return make_diagnostic("unknown_environment", "the environment must be dev, test or prod, got " + quote_name(name));
  project.environment = name;
  return {};
}

}  // namespace

auto workspace::open(const fs::path& folder, const workspace_choice& choice) -> braid::checked<workspace> {
  const auto root = project_folder(folder);
  if (!root) return std::unexpected(root.error());
  auto where = project::load(*root);
  if (!where) return std::unexpected(std::move(where.error()));
  if (auto problems = set_environment(*where, choice.environment); !problems.empty())
    return std::unexpected(std::move(problems));
  auto store = choice.store.empty() ? braid::checked<fs::path>() : parse_store_url(choice.store);
  if (!store) return std::unexpected(std::move(store.error()));
  auto declared = registries::load(where->registry, where->environment);
  if (!declared) return std::unexpected(std::move(declared.error()));
  if (auto loaded = load_operators(where->operators); !loaded) return std::unexpected(std::move(loaded.error()));
  auto experiments = experiment_set::load(where->registry, *declared);
  if (!experiments) return std::unexpected(std::move(experiments.error()));
  return workspace{std::move(*where), std::move(*declared), std::move(*experiments),
                   store->empty() ? fs::path() : fs::absolute(*store)};
}

auto workspace::load_named_plan(std::string_view name_or_file) const -> braid::checked<bound_plan> {
  const auto file = find_artifact(where, name_or_file);
  if (!file) return std::unexpected(file.error());
  if (auto problems = verify_index_entry({file->stem().string(), *file}); !problems.empty())
    return std::unexpected(std::move(problems));
  return with_substitute(*this, bound_to(*this, load_plan(*file, {all_op_shapes(), declared}), *file), *file);
}

auto workspace::load_plan_file(const fs::path& file) const -> braid::checked<bound_plan> {
  const auto text = read_text_file(file);
  if (!text) return std::unexpected(text.error());
  return with_substitute(*this, bound_to(*this, parse_plan(*text, file.string(), {all_op_shapes(), declared}), file),
                         file);
}

auto workspace::embedded_folder() const -> braid::checked<fs::path> {
  for (const endpoint_entry& endpoint : declared.endpoints())
    if (is_embedded(endpoint)) return find_folder(endpoint, where.root);
  return refused("no_embedded_store", "no endpoint of environment `" + where.environment + "` is an embedded store",
                 "set --store DIR; rankd load can also fill a server: --store redis://HOST:PORT");
}

auto parse_store_url(std::string_view url) -> braid::checked<fs::path> {
  constexpr std::string_view scheme = "lmdb:";
  if (url == scheme) return refused("store_unsupported", "`lmdb:` names no folder", "write lmdb:PATH");
  if (url.starts_with(scheme)) return fs::path(url.substr(scheme.size()));
  if (is_redis_url(url))
    return refused("store_unsupported", "expected an embedded store, got the URL of a Redis server",
                   "write PATH or lmdb:PATH");
  if (url.substr(0, url.find('/')).find(':') != std::string_view::npos)
    return refused("store_unsupported", "`" + std::string(url) + "` is not a store that this build supports",
                   "write PATH or lmdb:PATH");
  return fs::path(url);
}

auto store_folder(const fs::path& project, std::string_view url) -> braid::checked<fs::path> {
  if (!url.empty()) return parse_store_url(url);
  const auto in = workspace::open(project);
  if (!in) return std::unexpected(in.error());
  return in->embedded_folder();
}

auto open_stores::pointers() const -> std::vector<store*> {
  std::vector<store*> all;
  for (const auto& each : owned) all.push_back(each.get());
  return all;
}

auto open_endpoint_store(const workspace& workspace, const endpoint_entry& endpoint, const store_choice& choice)
    -> braid::checked<std::unique_ptr<store>> {
  if (endpoint.kind == endpoint_entry::kind_type::vectors) return nullptr;
  if (is_embedded(endpoint) && !workspace.store.empty()) {
    endpoint_entry moved = endpoint;
    moved.resolver = embedded_resolver{workspace.store};
    return open_store(moved, workspace.where.root, choice.words);
  }
  if (is_embedded(endpoint) && workspace.where.data) {
    load_options how{.vectors = list_lengths(workspace.declared)};
    if (choice.observer) how.progress = choice.observer(*workspace.where.data);
    auto loaded = load_if_missing(find_folder(endpoint, workspace.where.root), *workspace.where.data, how);
    if (!loaded) return std::unexpected(std::move(loaded.error()));
  }
  return open_store(endpoint, workspace.where.root, choice.words);
}

auto open_all_stores(const workspace& workspace, const store_choice& choice) -> braid::checked<open_stores> {
  return open_some(workspace, choice, [](const endpoint_entry& /*each*/) { return true; });
}

auto reads_endpoint(const bound_plan& plan, const endpoint_entry& endpoint) -> bool {
  for (const bound_plan* each = &plan; each != nullptr; each = each->substitute.get())
    if (names_endpoint(*each, endpoint)) return true;
  return false;
}

auto open_plan_stores(const workspace& workspace, std::span<const bound_plan* const> plans, const store_choice& choice)
    -> braid::checked<open_stores> {
  return open_some(workspace, choice, [plans](const endpoint_entry& each) {
    return std::ranges::any_of(plans, [&each](const bound_plan* plan) { return reads_endpoint(*plan, each); });
  });
}

}  // namespace rankd
