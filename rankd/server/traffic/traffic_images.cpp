// rankd/server/traffic/traffic_images.cpp: collects the files of a project and of its plans for a record, and writes
// the files of a record to a folder.
#include <rankd/server/traffic/traffic_images.hpp>

#include <rankd/engine/plans/plan_experiments.hpp>
#include <rankd/op/operator_list.hpp>
#include <rankd/plan/json.hpp>
#include <rankd/plan/load_plan.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/digest.hpp>
#include <rankd/registry/experiments.hpp>
#include <rankd/registry/file.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/registry/write_file.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <system_error>

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> registry_files{"keys.toml", "params.toml", "capabilities.toml"};

auto endpoints_file(std::string_view environment) -> std::string {
  return "endpoints." + std::string(environment) + ".toml";
}

/// Returns whether a file with this name may be written into the folder. Refuses paths, because a record may come from
/// anyone.
auto is_file_name(std::string_view name) -> bool {
  constexpr std::size_t longest = 200;
  const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.'; };
  return !name.empty() && name.size() <= longest && name.front() != '.' && std::ranges::all_of(name, fits);
}

auto write_texts(const fs::path& folder, const std::vector<recorded_text>& texts, std::string_view suffix = {})
    -> braid::checked<void> {
  std::error_code error;
  fs::create_directories(folder, error);
  for (const recorded_text& each : texts) {
    if (!is_file_name(each.name)) return refused("bad_name", quote_name(each.name) + " is not a valid file name");
    const fs::path file = folder / (each.name + std::string(suffix));
    if (const auto written = write_file(file, each.text); !written)
      return refused("unwritable_file", "cannot be written: " + written.error().message(), {}, file);
  }
  return {};
}

auto plan_changed(std::string message, std::string hint, const fs::path& source = {})
    -> std::unexpected<braid::diagnostics> {
  return refused("plan_changed", std::move(message), std::move(hint), source);
}

constexpr const char* load_again = "load the plans again, so that the server runs the plans in the files";

/// Returns the text of experiments.toml, or an empty text if the plan has no experiments. Fails if the file contains
/// other experiments than the plan has at the given time.
auto experiments_text(const bound_plan& plan, const fs::path& folder, const registries& declared,
                      std::chrono::sys_seconds now) -> braid::checked<std::string> {
  if (plan.experiments == nullptr) return std::string();
  auto text = read_text_file(folder / experiments_file);
  if (!text) return text;
  const auto all = experiment_set::load(folder, declared);
  if (!all) return std::unexpected(all.error());
  const auto running = find_experiments(*all, plan.name, declared, now);
  if (running == nullptr || *running != *plan.experiments || read_text_file(folder / experiments_file) != *text)
    return plan_changed("the experiments of plan `" + plan.name + "` differ from those in its file", load_again,
                        folder / experiments_file);
  return text;
}

}  // namespace

auto make_image(const project& project, const registries& declared, std::string version)
    -> braid::checked<recorded_project> {
  recorded_project out{
      .version = std::move(version), .environment = project.environment, .registry = {}, .digests = {}};
  std::vector<std::string> names(registry_files.begin(), registry_files.end());
  names.push_back(endpoints_file(project.environment));
  for (std::string& name : names) {
    std::error_code error;
    if (!fs::exists(project.registry / name, error)) continue;  // it may be absent: the registries were loaded
    auto text = read_text_file(project.registry / name);
    if (!text) return std::unexpected(std::move(text.error()));
    out.registry.push_back({std::move(name), std::move(*text)});
  }
  for (const registry_digest& each : declared.digests()) out.digests.push_back({each.name, each.sha256});
  if (!project.cursors.key.empty()) out.cursor_age = project.cursors.max_age;
  return out;
}

auto make_image(const bound_plan& plan, const project& project, const registries& declared)
    -> braid::checked<recorded_plan> {
  const auto now = experiment_time();
  recorded_plan out{.name = plan.name,
                    .digest = plan.digest,
                    .artifact = {},
                    .models = {},
                    .max_rows = plan.budget.rows,
                    .max_bytes = plan.budget.bytes,
                    .experiments = {},
                    .experiments_at = now.time_since_epoch()};
  const fs::path file = project.plans / (plan.name + ".json");
  auto text = read_text_file(file);
  if (!text) return std::unexpected(std::move(text.error()));
  if (sha256_hex(*text) != plan.artifact_digest)
    return plan_changed("has changed since plan `" + plan.name + "` was loaded", load_again, file);
  out.artifact = std::move(*text);
  fs::path model;
  std::string bytes;
  model_folder models(project.models, declared, [&](const fs::path& from) {
    auto read = read_model_file(from);
    model = from;
    if (read) bytes = *read;
    return read;
  });
  for (const model_digest& each : plan.models) {
    const auto digest = models.digest(each.name);
    if (!digest) return std::unexpected(digest.error());
    if (*digest != each.sha256)
      return plan_changed("has changed since plan `" + plan.name + "` was loaded", load_again, model);
    out.models.push_back({each.name, std::exchange(bytes, {})});
  }
  auto experiments = experiments_text(plan, project.registry, declared, now);
  if (!experiments) return std::unexpected(std::move(experiments.error()));
  out.experiments = std::move(*experiments);
  return out;
}

auto recorded_world::make(const recorded_project& image, const fs::path& vectors)
    -> braid::checked<std::unique_ptr<recorded_world>> {
  std::error_code error;
  std::string folder = (fs::temp_directory_path(error) / "rankd_replay_XXXXXX").string();
  if (error || ::mkdtemp(folder.data()) == nullptr)
    return refused("no_folder",
                   "no folder can be created for the recorded project: " +
                       std::error_code(errno, std::generic_category()).message(),
                   "set TMPDIR to a folder that can be written");
  std::unique_ptr<recorded_world> made(new recorded_world(folder));
  if (!vectors.empty()) made->vectors_.emplace(vectors);
  if (auto written = write_texts(made->folder_, image.registry); !written)
    return std::unexpected(std::move(written.error()));
  auto declared = registries::load(made->folder_, image.environment);
  if (!declared) return std::unexpected(std::move(declared.error()));
  made->declared_.emplace(std::move(*declared));
  const auto is_same = [](const recorded_text& was, const registry_digest& is) {
    return was.name == is.name && was.text == is.sha256;
  };
  if (!std::ranges::equal(image.digests, made->declared().digests(), is_same))
    return refused(
        "registry_changed",
        "this version of rankd reads the recorded registries differently than the version that recorded them",
        "replay the recording with rankd " + image.version + ", which recorded it");
  return made;
}

recorded_world::~recorded_world() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

auto recorded_world::replace_by(const fs::path& file) -> braid::checked<void> {
  auto text = read_text_file(file);
  if (!text) return std::unexpected(std::move(text.error()));
  auto document = parse_json(*text, file.string());
  if (!document) return std::unexpected(document.error());
  const json_dismantler end(*document);
  const auto name = document->is_object() ? document->find("plan_name") : document->end();
  if (name == document->end() || !name->is_string())
    return refused("missing_field", "has no `plan_name`, so it is not a plan", {}, file);
  const auto& plan = name->get_ref<const std::string&>();
  replacements_.insert_or_assign(plan,
                                 artifact_image{.name = plan, .file = file, .text = std::move(*text), .problems = {}});
  return {};
}

/// Binds a recorded plan without deadlines and time limits, because a replay may take any time. All model files have
/// the extension .json, because the format of a model is recognized by its contents.
auto recorded_world::bind(const recorded_plan& image, const artifact_image& artifact) -> braid::checked<bound_plan> {
  const fs::path own = folder_ / ("plan_" + std::to_string(image.number));
  if (auto written = write_texts(own, image.models, ".json"); !written)
    return std::unexpected(std::move(written.error()));
  auto loaded = load_plan(artifact, {all_op_shapes(), declared()});
  if (!loaded) return std::unexpected(std::move(loaded.error()));
  model_folder models(own, declared());
  auto bound = bind_plan(std::move(*loaded), declared(), {.rows = image.max_rows, .bytes = image.max_bytes}, &models,
                         vectors_ ? &*vectors_ : nullptr);
  braid::diagnostics problems;
  if (!bound) problems = std::move(bound.error());
  if (bound)
    for (bound_node& each : bound->nodes) each.timeout = braid::duration::max();
  if (bound && !substitute_name(*bound).empty()) {
    auto substitute = image.substitute ? find(*image.substitute) : nullptr;
    problems.append(add_substitute(*bound, std::move(substitute)));
  }
  if (bound && !image.experiments.empty()) {
    if (auto written = write_texts(own, {{std::string(experiments_file), image.experiments}}); !written)
      return std::unexpected(std::move(written.error()));
    const auto all = experiment_set::load(own, declared());
    if (!all) return std::unexpected(all.error());
    add_experiments(*bound,
                    find_experiments(*all, bound->name, declared(), std::chrono::sys_seconds(image.experiments_at)),
                    declared(), problems);
  }
  if (problems.empty()) return bound;
  problems.set_source(artifact.file.string());
  return std::unexpected(std::move(problems));
}

auto recorded_world::add(const recorded_plan& image) -> braid::checked<void> {
  const auto other = replacements_.find(image.name);
  const bool is_recorded = other == replacements_.end();
  if (!is_recorded) used_.insert(image.name);
  const artifact_image own{.name = image.name, .file = image.name + ".json", .text = image.artifact, .problems = {}};
  auto bound = is_recorded || vectors_ ? bind(image, own) : bind(image, other->second);
  if (bound && bound->digest != image.digest && !bound->vectors.empty())
    return refused("vectors_changed", "plan `" + image.name + "` searches other vector files than when it was recorded",
                   "name the project that has the files of the recording: --vectors DIR");
  if (!is_recorded && vectors_) bound = bind(image, other->second);
  if (!bound) return std::unexpected(std::move(bound.error()));
  if (is_recorded && bound->digest != image.digest)
    return plan_changed("the recorded plan `" + image.name + "` is bound differently than when it was recorded",
                        "replay it with the rankd that recorded it");
  plans_[image.number] = std::make_shared<const bound_plan>(std::move(*bound));
  return {};
}

auto recorded_world::unused() const -> std::vector<std::string> {
  std::vector<std::string> out;
  for (const auto& [name, plan] : replacements_)
    if (!used_.contains(name)) out.push_back(name);
  return out;
}

auto recorded_world::find(std::uint32_t number) const -> std::shared_ptr<const bound_plan> {
  const auto found = plans_.find(number);
  return found == plans_.end() ? nullptr : found->second;
}

}  // namespace rankd
