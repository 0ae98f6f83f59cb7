// rankd/engine/plans/plan_library.cpp: loads plans in the background, and publishes them by exchanging one pointer.
#include <rankd/engine/plans/plan_library.hpp>

#include <rankd/op/operator_list.hpp>
#include <rankd/plan/load_plan.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/digest.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace rankd {
namespace {

auto unknown_plan(std::string_view name, const std::vector<std::string_view>& known)
    -> std::unexpected<braid::diagnostics> {
  return refused("unknown_plan", "no plan is called `" + std::string(name) + "`", braid::did_you_mean(name, known));
}

auto number_of(const std::shared_ptr<const plan_version>& version) -> std::uint64_t { return version->number; }

/// Returns whether the model files still have the digests that the plan was bound with.
auto has_models(const bound_plan& plan, model_folder& models) -> bool {
  return std::ranges::all_of(plan.models,
                             [&models](const model_digest& each) { return models.digest(each.name) == each.sha256; });
}

/// Returns whether the files of vectors still have the digests that the plan was bound with.
auto has_vectors(const bound_plan& plan, const registries& declared, vector_folder& vectors) -> bool {
  return std::ranges::all_of(plan.vectors, [&](const model_digest& each) {
    return vectors.digest(*declared.find_endpoint(each.name)) == each.sha256;
  });
}

auto has_experiments(const bound_plan& plan, const std::shared_ptr<const plan_experiments>& running) -> bool {
  if (plan.experiments == nullptr || running == nullptr) return plan.experiments == running;
  return *plan.experiments == *running;
}

template <typename Histories>
auto no_such_plan(std::string_view name, const Histories& all) -> std::unexpected<braid::diagnostics> {
  std::vector<std::string_view> known;
  for (const auto& [each, kept] : all) known.emplace_back(each);
  return unknown_plan(name, known);
}

auto no_such_version(std::string_view name, std::uint64_t number) -> std::unexpected<braid::diagnostics> {
  return refused("unknown_version",
                 "no version " + std::to_string(number) + " of plan `" + std::string(name) + "` is kept");
}

}  // namespace

plan_library::plan_library(const registries& declared, plan_library_options options)
    : declared_(std::shared_ptr<const void>(), &declared),
      options_(std::move(options)),
      current_(std::make_shared<const plan_set>(std::vector<version_ptr>(), std::vector<left_out_plan>(), declared_)) {
  options_.max_kept = std::max<std::size_t>(options_.max_kept, 1);
}

auto plan_library::version_history::find(std::uint64_t number) const -> version_ptr {
  const auto found = std::ranges::find(kept, number, number_of);
  return found == kept.end() ? nullptr : *found;
}

auto plan_library::reload(const std::filesystem::path& folder, std::optional<plan_budgets> budgets,
                          std::optional<experiment_set> experiments, std::shared_ptr<const registries> declared,
                          const plan_name_check& also) -> braid::checked<reload_report> {
  const std::scoped_lock alone(reloads_);
  if (declared == nullptr) declared = declared_;
  const bool keeps_going = options_.on_bad_plan == bad_plans::leave_out;
  const auto image = read_folder_image(folder, options_.read, keeps_going ? image_faults::kept : image_faults::refused);
  if (!image) return std::unexpected(image.error());
  if (image->empty())
    return refused("no_artifacts", "the folder contains no plan", "build the plans with dslc", folder);

  model_folder models(options_.models, *declared, options_.read);
  vector_folder vectors(options_.root);
  auto [found, left_out, names, problems] =
      bind_all(*image, {.budgets = budgets ? *budgets : options_.budgets,
                        .experiments = experiments ? *experiments : options_.experiments,
                        .models = models,
                        .vectors = vectors,
                        .declared = declared,
                        .now = experiment_time()});
  if (!models.stands_still())
    return refused("folder_changing", "model files have changed while they were read", "load the plans again later",
                   options_.models);
  if (budgets || experiments || also) add_pinned_to(names);  // a pinned plan serves even when its file is gone
  if (budgets) problems.append(budgets->strangers(names));
  if (experiments) problems.append(experiments->strangers(names));
  if (also) problems.append(also(names));
  if (found.empty() && !would_serve(left_out))
    for (left_out_plan& each : left_out) problems.append(std::move(each.problems));
  if (!problems.empty()) return std::unexpected(std::move(problems));
  const bool registries_changed = declared != declared_;
  declared_ = std::move(declared);
  reload_report report = install(found, std::move(left_out));
  report.registries_changed = registries_changed;
  if (budgets) options_.budgets = std::move(*budgets);
  if (experiments) options_.experiments = std::move(*experiments);
  return report;
}

auto plan_library::try_artifact(std::string text, const std::string& name) -> braid::checked<bound_plan> {
  const std::scoped_lock alone(reloads_);
  const artifact_image image{.name = name, .file = name + ".json", .text = std::move(text), .problems = {}};
  model_folder models(options_.models, *declared_, options_.read);
  vector_folder vectors(options_.root);
  auto found = bind(image, {.budgets = options_.budgets,
                            .experiments = options_.experiments,
                            .models = models,
                            .vectors = vectors,
                            .declared = declared_,
                            .now = experiment_time()});
  if (!found) return std::unexpected(std::move(found.error()));
  bound_plan plan = found->bound ? bound_plan(std::move(*found->bound)) : bound_plan(found->same->plan);
  if (substitute_name(plan).empty()) return plan;
  braid::diagnostics problems = add_substitute(plan, current()->find(substitute_name(plan)));
  if (problems.empty()) return plan;
  problems.set_source(image.file.string());
  return std::unexpected(std::move(problems));
}

/// Binds a version again with the files of vectors that exist now. All other parts of the version stay the same.
auto plan_library::bind_vectors(const version_ptr& old, vector_folder& vectors) -> braid::checked<bound_plan> {
  const bound_plan& now = old->plan;
  model_folder models(options_.models, *now.declared, options_.read);
  auto bound = bind_plan(plan(*now.stated), *now.declared, now.budget, &models, &vectors);
  if (!bound) return bound;
  if (bound->models != now.models)
    return refused("needs_reload", "models of plan `" + now.name + "` have changed as well",
                   "reload the plans: send SIGHUP, or call POST /v1/reload");
  bound->declared = now.declared;
  bound->experiments = now.experiments;
  bound->warnings = now.warnings;
  if (now.substitute != nullptr)
    if (auto problems = add_substitute(*bound, now.substitute); !problems.empty())
      return std::unexpected(std::move(problems));
  return bound;
}

auto plan_library::reload_vectors() -> braid::checked<reload_report> {
  const std::scoped_lock alone(reloads_);
  std::vector<version_ptr> newest;
  {
    const std::scoped_lock lock(changes_);
    for (const auto& [name, here] : histories_) newest.push_back(here.kept.back());
  }
  vector_folder vectors(options_.root);
  std::vector<version_ptr> found;
  reload_report report;
  braid::diagnostics problems;
  for (const version_ptr& each : newest) {
    if (has_vectors(each->plan, *each->plan.declared, vectors)) {
      report.unchanged.push_back(each->plan.name);
      continue;
    }
    auto bound = bind_vectors(each, vectors);
    if (bound)
      found.push_back(made_version(std::move(*bound)));
    else
      problems.append(std::move(bound.error()));
  }
  if (!problems.empty()) return std::unexpected(std::move(problems));
  if (found.empty()) return report;
  const std::scoped_lock lock(changes_);
  version_histories next = histories_;
  for (version_ptr& each : found) {
    const std::string& name = each->plan.name;
    report.changed.push_back(name);
    last_numbers_[name] = each->number;
    keep(next.find(name)->second, std::move(each));
  }
  renew_fallbacks(next);
  publish(std::move(next), left_out_);
  return report;
}

auto plan_library::vectors_in_use(std::string_view endpoint_id) const -> std::vector<std::string> {
  std::vector<std::string> out;
  const auto add = [&](const bound_plan& plan) {
    for (const model_digest& each : plan.vectors)
      if (each.name == endpoint_id && std::ranges::find(out, each.sha256) == out.end()) out.push_back(each.sha256);
  };
  const std::scoped_lock lock(changes_);
  std::size_t stored = 0;
  for (const auto& [name, here] : histories_) {
    stored += here.kept.size();
    for (const version_ptr& version : here.kept) {
      const plan_version_info info = info_of(here, version);
      if (!info.serves && info.users == 0) continue;
      add(version->plan);
      if (version->plan.substitute != nullptr) add(*version->plan.substitute);
    }
  }
  if (versions_in_memory() > stored) out.emplace_back();
  return out;
}

/// Returns whether any of the given plans has an earlier version that continues to serve.
auto plan_library::would_serve(const std::vector<left_out_plan>& left_out) const -> bool {
  const std::scoped_lock lock(changes_);
  return std::ranges::any_of(left_out, [this](const left_out_plan& each) { return histories_.contains(each.name); });
}

void plan_library::add_pinned_to(std::vector<std::string>& names) const {
  const std::scoped_lock lock(changes_);
  for (const auto& [name, here] : histories_)
    if (here.pinned) names.push_back(name);
}

/// Returns the newest version of a plan if its artifact has the given digest. Returns null otherwise.
auto plan_library::find_newest(std::string_view name, std::string_view artifact_digest) const -> version_ptr {
  const std::scoped_lock lock(changes_);
  const auto at = histories_.find(name);
  if (at == histories_.end() || at->second.kept.back()->plan.artifact_digest != artifact_digest) return nullptr;
  return at->second.kept.back();
}

/// Binds all plans of a folder. Binds plans without a fallback plan first, because other plans may use these plans as
/// fallback plans.
auto plan_library::bind_all(const std::vector<artifact_image>& image, const bind_rules& rules) -> bound_folder {
  bound_folder out;
  bound_images images;
  std::map<std::string_view, braid::diagnostics> wrong;
  for (const artifact_image& each : image) {
    out.names.push_back(each.name);
    auto bound = bind(each, rules);
    if (bound)
      images.emplace(each.name, std::move(*bound));
    else
      wrong.emplace(each.name, std::move(bound.error()));
  }
  for (const bool names_substitute : {false, true})
    for (const artifact_image& each : image) {
      const auto at = images.find(each.name);
      if (at == images.end() || substitute_name(at->second.plan()).empty() == names_substitute) continue;
      plan_handle substitute = substitute_for(at->second.plan(), images, out);
      auto version = add_substitute_to(at->second, std::move(substitute), each);
      if (version)
        out.found.push_back(std::move(*version));
      else
        wrong.emplace(each.name, std::move(version.error()));
    }
  std::ranges::sort(out.found, {}, [](const version_ptr& each) { return std::string_view(each->plan.name); });
  for (auto& [name, problems] : wrong)
    if (options_.on_bad_plan == bad_plans::leave_out)
      out.left_out.push_back({std::string(name), std::move(problems)});
    else
      out.problems.append(std::move(problems));
  return out;
}

/// Returns the fallback plan of a plan. If a version of the fallback plan is pinned, returns that version. Otherwise,
/// returns the version of this reload, or the last valid version if this reload has found errors in the fallback plan.
/// Returns null if the plan has no fallback plan or the name is unknown. If the fallback plan has a fallback plan
/// itself, which is an error, the result is used only to report that error.
auto plan_library::substitute_for(const bound_plan& plan, const bound_images& images, const bound_folder& found) const
    -> plan_handle {
  const std::string_view name = substitute_name(plan);
  if (name.empty()) return nullptr;
  {
    const std::scoped_lock lock(changes_);
    const auto at = histories_.find(name);
    if (at != histories_.end() && at->second.pinned) {
      const version_ptr pinned = at->second.serving();
      return {pinned, &pinned->plan};
    }
  }
  for (const version_ptr& each : found.found)
    if (each->plan.name == name) return {each, &each->plan};
  if (const auto at = images.find(name); at != images.end()) return {plan_handle(), &at->second.plan()};
  return std::ranges::find(found.names, name) == found.names.end() ? nullptr : current()->find(name);
}

/// Binds one plan. If the artifact, models, budget, experiments and registries of the plan have not changed, reuses its
/// newest version. In that case, only the fallback plan may differ.
auto plan_library::bind(const artifact_image& image, const bind_rules& rules) -> braid::checked<bound_image> {
  if (!image.problems.empty()) return std::unexpected(image.problems);
  const plan_budget budget = rules.budgets.of(image.name);
  const registries& declared = *rules.declared;
  auto experiments = find_experiments(rules.experiments, image.name, declared, rules.now);
  if (auto same = find_newest(image.name, sha256_hex(image.text));
      same && same->plan.declared == rules.declared && same->plan.budget == budget &&
      has_experiments(same->plan, experiments) && has_models(same->plan, rules.models) &&
      has_vectors(same->plan, declared, rules.vectors))
    return bound_image{std::move(same), std::nullopt};
  auto loaded = load_plan(image, {all_op_shapes(), declared});
  if (!loaded) return std::unexpected(loaded.error());
  auto bound = bind_plan(std::move(*loaded), declared, budget, &rules.models, &rules.vectors);
  if (!bound) {
    bound.error().set_source(image.file.string());
    return std::unexpected(std::move(bound.error()));
  }
  bound->declared = rules.declared;
  braid::diagnostics problems;
  add_experiments(*bound, std::move(experiments), declared, problems);
  if (!problems.empty()) return std::unexpected(std::move(problems));
  bound->warnings.append(unread_settings(*bound, declared));
  bound->warnings.set_source(image.file.string());
  return bound_image{nullptr, std::move(*bound)};
}

/// Adds the fallback plan to a plan and creates a version. `found` is null for a plan without a fallback plan.
auto plan_library::add_substitute_to(bound_image bound, plan_handle found, const artifact_image& image)
    -> braid::checked<version_ptr> {
  const bool is_same = bound.same != nullptr && bound.same->plan.substitute == found;
  if (is_same && (found != nullptr || substitute_name(bound.plan()).empty())) return bound.same;
  bound_plan plan = bound.bound ? bound_plan(std::move(*bound.bound)) : bound_plan(bound.same->plan);
  if (!substitute_name(plan).empty()) {
    braid::diagnostics problems = add_substitute(plan, std::move(found));
    problems.set_source(image.file.string());
    if (!problems.empty()) return std::unexpected(std::move(problems));
  }
  return made_version(std::move(plan));
}

/// Creates a version with the next number. The number counts as used only when the version is stored. The caller must
/// hold the lock reloads_.
auto plan_library::made_version(bound_plan plan) -> version_ptr {
  const auto last = last_numbers_.find(plan.name);
  const std::uint64_t number = last == last_numbers_.end() ? 1 : last->second + 1;
  return std::make_shared<const plan_version>(plan_version{
      .plan = std::move(plan), .number = number, .loaded_at = std::chrono::system_clock::now(), .counted = tally_});
}

auto plan_library::install(const std::vector<version_ptr>& found, std::vector<left_out_plan> left_out)
    -> reload_report {
  reload_report report;
  report.left_out = std::move(left_out);
  for (const version_ptr& each : found) last_numbers_[each->plan.name] = each->number;
  const std::scoped_lock lock(changes_);
  version_histories next = histories_;
  add_versions(found, next, report);
  publish(std::move(next), report.left_out);
  return report;
}

void plan_library::add_versions(const std::vector<version_ptr>& found, version_histories& into,
                                reload_report& report) const {
  for (auto& [name, each] : into) each.in_folder = false;
  for (const left_out_plan& each : report.left_out)
    if (const auto at = into.find(each.name); at != into.end()) at->second.in_folder = true;
  for (const version_ptr& version : found) {
    const std::string& name = version->plan.name;
    const auto [at, is_new] = into.try_emplace(name);
    version_history& here = at->second;
    here.in_folder = true;
    if (!is_new && here.kept.back() == version) {
      report.unchanged.push_back(name);
      continue;
    }
    (is_new ? report.added : report.changed).push_back(name);
    report.warnings.append(version->plan.warnings);
    keep(here, version);
  }
  std::erase_if(into, [&report](const auto& each) {
    const auto& [name, here] = each;
    if (here.in_folder) return false;
    (here.pinned ? report.pinned_only : report.removed).push_back(name);
    return !here.pinned;
  });
}

/// Stores a version, and drops the oldest versions beyond the limit. Pinned versions are never dropped and do not
/// count.
void plan_library::keep(version_history& here, version_ptr version) const {
  here.kept.push_back(std::move(version));
  const auto is_pinned = [&here](const version_ptr& each) { return here.pinned == each->number; };
  while (here.kept.size() - static_cast<std::size_t>(std::ranges::count_if(here.kept, is_pinned)) > options_.max_kept)
    here.kept.erase(std::ranges::find_if_not(here.kept, is_pinned));
}

/// Creates new versions of the plans whose fallback plan has changed. If a plan does not fit its new fallback plan, the
/// plan stays unchanged. The caller must hold the locks reloads_ and changes_.
void plan_library::renew_fallbacks(version_histories& histories) {
  for (auto& [name, here] : histories) {
    const bound_plan& newest = here.kept.back()->plan;
    const auto of = histories.find(substitute_name(newest));
    if (of == histories.end() || !here.in_folder) continue;
    const version_ptr serving = of->second.serving();
    if (newest.substitute.get() == &serving->plan) continue;
    bound_plan renewed = newest;
    if (!add_substitute(renewed, {serving, &serving->plan}).empty()) continue;
    version_ptr version = made_version(std::move(renewed));
    last_numbers_[name] = version->number;
    keep(here, std::move(version));
  }
}

/// Publishes the given versions. First performs all steps that can throw. Versions that are no longer used are
/// destroyed after the lock of the readers was released. The caller must hold the lock changes_.
void plan_library::publish(version_histories next, std::vector<left_out_plan> left_out) {
  std::vector<version_ptr> serving;
  for (const auto& [name, each] : next) serving.push_back(each.serving());
  auto set = std::make_shared<const plan_set>(std::move(serving), left_out, declared_);
  replace_current(std::move(set));
  histories_.swap(next);
  left_out_.swap(left_out);
}

void plan_library::replace_current(std::shared_ptr<const plan_set> next) {
  const std::scoped_lock lock(current_lock_);
  current_.swap(next);
}

auto plan_library::current() const -> std::shared_ptr<const plan_set> {
  const std::scoped_lock lock(current_lock_);
  return current_;
}

auto plan_library::find(std::string_view name) const -> braid::checked<plan_handle> {
  const std::shared_ptr<const plan_set> now = current();
  if (plan_handle found = now->find(name)) return found;
  std::vector<std::string_view> known;
  for (const version_ptr& each : now->versions()) known.emplace_back(each->plan.name);
  return unknown_plan(name, known);
}

auto plan_library::find(std::string_view name, std::uint64_t number) const -> braid::checked<plan_handle> {
  const std::scoped_lock lock(changes_);
  const auto at = histories_.find(name);
  if (at == histories_.end()) return no_such_plan(name, histories_);
  if (const version_ptr kept = at->second.find(number)) return plan_handle(kept, &kept->plan);
  return no_such_version(name, number);
}

/// Pins a stored version. The caller must hold the locks reloads_ and changes_.
auto plan_library::pin_kept(std::string_view name, std::uint64_t number) -> plan_version_info {
  version_histories next = histories_;
  next.find(name)->second.pinned = number;
  renew_fallbacks(next);
  publish(std::move(next), left_out_);
  const version_history& here = histories_.find(name)->second;
  return info_of(here, *std::ranges::find(here.kept, number, number_of));
}

auto plan_library::pin(std::string_view name, std::uint64_t number) -> braid::checked<plan_version_info> {
  const std::scoped_lock lock(reloads_, changes_);
  const auto at = histories_.find(name);
  if (at == histories_.end()) return no_such_plan(name, histories_);
  if (at->second.find(number) == nullptr) return no_such_version(name, number);
  return pin_kept(name, number);
}

auto plan_library::unpin(std::string_view name) -> braid::checked<void> {
  const std::scoped_lock lock(reloads_, changes_);
  version_histories next = histories_;
  const auto at = next.find(name);
  if (at == next.end()) return no_such_plan(name, next);
  at->second.pinned.reset();
  if (!at->second.in_folder) next.erase(at);
  renew_fallbacks(next);
  publish(std::move(next), left_out_);
  return {};
}

auto plan_library::roll_back(std::string_view name) -> braid::checked<plan_version_info> {
  const std::scoped_lock lock(reloads_, changes_);
  const auto at = histories_.find(name);
  if (at == histories_.end()) return no_such_plan(name, histories_);
  const auto& kept = at->second.kept;
  const auto serving = std::ranges::find(kept, at->second.serving());
  if (serving == kept.begin())
    return refused("no_earlier_version",
                   "no version of plan `" + std::string(name) + "` before the served version is stored");
  return pin_kept(name, number_of(*std::prev(serving)));
}

auto plan_library::info_of(const version_history& history, const version_ptr& version) const -> plan_version_info {
  const bool serves = history.serving() == version;
  // The history holds one reference to the version. The published set holds another one, and so does each plan that
  // uses the version as its fallback plan.
  const auto own = 1 + (serves ? 1 : 0) + standing_in(version);
  const auto all = version.use_count();
  return {.name = version->plan.name,
          .number = version->number,
          .digest = version->plan.digest,
          .loaded_at = version->loaded_at,
          .serves = serves,
          .pinned = history.pinned == version->number,
          .users = all > own ? static_cast<std::size_t>(all - own) : 0};
}

/// Returns the number of stored versions that use this version as their fallback plan.
auto plan_library::standing_in(const version_ptr& version) const -> std::ptrdiff_t {
  std::ptrdiff_t count = 0;
  for (const auto& [name, each] : histories_)
    count += std::ranges::count_if(
        each.kept, [&](const version_ptr& other) { return other->plan.substitute.get() == &version->plan; });
  return count;
}

auto plan_library::versions() const -> std::vector<plan_version_info> {
  const std::scoped_lock lock(changes_);
  std::vector<plan_version_info> all;
  for (const auto& [name, each] : histories_)
    for (const version_ptr& version : each.kept) all.push_back(info_of(each, version));
  return all;
}

auto plan_library::versions_in_memory() const noexcept -> std::size_t {
  return static_cast<std::size_t>(tally_.use_count() - 1);
}

}  // namespace rankd
