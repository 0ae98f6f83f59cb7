// rankd/registry/experiments.cpp: reads experiments.toml, and computes the bucket of a unit.
#include <rankd/registry/experiments.hpp>

#include <rankd/registry/detail/section.hpp>
#include <rankd/registry/digest.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/registry/utc_time.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

using detail::section;
using detail::used_once;
using std::chrono::sys_seconds;

constexpr std::array<std::string_view, 3> status_names{"draft", "active", "ended"};
constexpr auto no_layer = static_cast<std::size_t>(-1);
constexpr int_range bucket_counts{.min = 1, .max = 1'000'000};

/// Calls `read(row)` for each table of an array. Then reports the fields that `read` has not read.
template <typename Read>
void for_each_item(object_reader& reader, std::string_view field, presence need, braid::diagnostics& problems,
                   Read read) {
  const nlohmann::json* items = reader.array(field, need);
  if (items == nullptr) return;
  const std::string parent = reader.pointer_of(field);
  for (std::size_t at = 0; at < items->size(); ++at) {
    object_reader row((*items)[at], braid::json_pointer(parent, at), problems);
    read(row);
    row.refuse_unknown_fields();
  }
}

/// Parses a time such as `2026-11-24T00:00:00Z`, without a fraction.
auto parse_time(std::string_view text) -> std::optional<sys_seconds> {
  const auto time = text.contains('.') ? std::nullopt : parse_utc_time(text);
  return time ? std::optional(std::chrono::floor<std::chrono::seconds>(*time)) : std::nullopt;
}

auto read_time(object_reader& row, std::string_view field) -> std::optional<sys_seconds> {
  const std::string* text = row.text(field, presence::optional);
  if (text == nullptr) return std::nullopt;
  auto time = parse_time(*text);
  if (!time)
    row.report(field, "bad_date", quote_name(*text) + " is not a time of the form `2026-11-24T00:00:00Z` (UTC)");
  return time;
}

/// Returns whether two experiments may run at the same time.
auto meet(const experiment_entry& a, const experiment_entry& b) -> bool {
  if (a.status != experiment_status::active || b.status != experiment_status::active) return false;
  const bool a_first = a.end && b.start && *a.end <= *b.start;
  const bool b_first = b.end && a.start && *b.end <= *a.start;
  return !a_first && !b_first;
}

auto share_a_plan(const experiment_entry& a, const experiment_entry& b) -> bool {
  return std::ranges::any_of(a.plans, [&b](const std::string& plan) { return b.belongs_to(plan); });
}

/// Reads one file. The result is complete only if no errors were reported.
class file_reader {
 public:
  file_reader(section& section, const registries& declared) : problems_(section.problems), declared_(declared) {
    object_reader top(section.document, "", problems_);
    for_each_item(top, "layer", presence::optional, problems_, [this](object_reader& row) { read_layer(row); });
    for_each_item(top, "experiment", presence::optional, problems_,
                  [this](object_reader& row) { read_experiment(row); });
    top.refuse_unknown_fields();
    check_together();
  }

  std::vector<experiment_layer> layers;
  std::vector<experiment_entry> experiments;

 private:
  void report(std::string pointer, std::string code, std::string message, std::string hint = {}) {
    problems_.add({.code = std::move(code),
                   .pointer = std::move(pointer),
                   .message = std::move(message),
                   .hint = std::move(hint),
                   .node = {},
                   .source = {}});
  }

  /// Returns the param with this name. If there is no such param, or if experiments must not use it, reports an error
  /// and returns null.
  auto find_param(const std::string& name, const std::string& pointer) -> const param_entry* {
    const param_entry* param = declared_.find_param(name);
    if (param == nullptr) {
      report(pointer, "unknown_param", "no param is called " + quote_name(name),
             braid::did_you_mean(name, declared_.param_names()));
      return nullptr;
    }
    if (param->status != lifecycle::blocked) return param;
    report(pointer, "blocked_param", "param `" + name + "` is blocked", declared_.successor_hint(*param));
    return nullptr;
  }

  void read_layer(object_reader& row) {
    experiment_layer layer;
    layer.name = detail::read_name(row);
    if (!layer.name.empty()) layer_names_.claim(row, "name", layer.name);
    if (const std::string* salt = row.text("salt", presence::required)) {
      layer.salt = *salt;
      if (salt->empty()) row.report("salt", "bad_value", "`salt` must have at least one character");
      salts_.claim(row, "salt", *salt);
    }
    read_unit(row, layer);
    if (const auto count = row.integer("buckets", presence::optional, bucket_counts))
      layer.buckets = static_cast<std::uint32_t>(*count);
    layer.doc = detail::read_doc(row);
    layers.push_back(std::move(layer));
  }

  void read_unit(object_reader& row, experiment_layer& layer) {
    const std::string* unit = row.text("unit", presence::optional);
    if (unit == nullptr || *unit == user_unit) return;
    const param_entry* param = find_param(*unit, row.pointer_of("unit"));
    if (param == nullptr) return;
    layer.unit_param = param->param_id;
    if (param->type != value_type::integer && param->type != value_type::string)
      row.report(
          "unit", "bad_unit",
          "a unit must be an int or a string, but param `" + *unit + "` is a " + std::string(to_string(param->type)));
  }

  void read_experiment(object_reader& row) {
    experiment_entry entry;
    if (const std::string* id = row.text("id", presence::required)) {
      entry.id = *id;
      ids_.claim(row, "id", *id);
      if (!is_experiment_id(*id))
        row.report("id", "bad_experiment_id", quote_name(*id) + " is not of the form `exp_NNNN`");
    }
    entry.name = detail::read_name(row);
    if (!entry.name.empty()) names_.claim(row, "name", entry.name);
    const experiment_layer* layer = find_layer(row, entry);
    if (const auto status = row.choice("status", presence::required, status_names))
      entry.status = static_cast<experiment_status>(*status);
    read_plans(row, entry);
    read_arms(row, layer, entry);
    read_filter(row, entry);
    entry.start = read_time(row, "start");
    entry.end = read_time(row, "end");
    if (entry.start && entry.end && *entry.end <= *entry.start)
      row.report("end", "bad_date", "`end` must be later than `start`");
    entry.doc = detail::read_doc(row);
    experiments.push_back(std::move(entry));
    pointers_.push_back(row.pointer());
  }

  auto find_layer(object_reader& row, experiment_entry& entry) -> const experiment_layer* {
    entry.layer = no_layer;
    const std::string* name = row.text("layer", presence::required);
    if (name == nullptr) return nullptr;
    const auto found = std::ranges::find(layers, *name, &experiment_layer::name);
    if (found != layers.end()) {
      entry.layer = static_cast<std::size_t>(found - layers.begin());
      return &*found;
    }
    std::vector<std::string_view> known;
    for (const experiment_layer& each : layers) known.emplace_back(each.name);
    row.report("layer", "unknown_layer", "no layer is called " + quote_name(*name), braid::did_you_mean(*name, known));
    return nullptr;
  }

  void read_plans(object_reader& row, experiment_entry& entry) {
    const nlohmann::json* plans = row.array("plans", presence::required);
    if (plans == nullptr) return;
    if (plans->empty()) row.report("plans", "empty_list", "`plans` must name at least one plan");
    for (std::size_t at = 0; at < plans->size(); ++at) {
      const nlohmann::json& plan = (*plans)[at];
      const std::string pointer = braid::json_pointer(row.pointer_of("plans"), at);
      if (!plan.is_string())
        report(pointer, "wrong_type", "each plan must be a string, not " + described(plan));
      else if (!is_plan_word(plan.get_ref<const std::string&>()))
        report(pointer, "bad_value",
               quote_name(plan.get<std::string>()) + " is not a plan name: use letters, digits and `_`");
      else if (entry.belongs_to(plan.get_ref<const std::string&>()))
        report(pointer, "duplicate_value", "plan `" + plan.get<std::string>() + "` is named twice");
      else
        entry.plans.push_back(plan.get<std::string>());
    }
  }

  void read_arms(object_reader& row, const experiment_layer* layer, experiment_entry& entry) {
    used_once<std::string> names("duplicate_name");
    const std::int64_t last = layer == nullptr ? bucket_counts.max - 1 : layer->buckets - 1;
    for_each_item(row, "arms", presence::required, problems_, [&](object_reader& reader) {
      experiment_arm arm;
      arm.name = detail::read_name(reader);
      if (!arm.name.empty()) names.claim(reader, "name", arm.name);
      const auto from = reader.integer("from", presence::required, {.min = 0, .max = last});
      const auto to = reader.integer("to", presence::required, {.min = 0, .max = last});
      arm.from = static_cast<std::uint32_t>(from.value_or(1));
      arm.to = static_cast<std::uint32_t>(to.value_or(0));
      if (from && to && *to < *from) reader.report("to", "bad_value", "the last bucket must not be before the first");
      if (!from || !to) arm = {.name = arm.name, .from = 1, .to = 0, .set = {}};  // no bucket
      read_settings(reader, arm);
      check_overlap(entry, arm, reader.pointer_of("from"));
      entry.arms.push_back(std::move(arm));
    });
    if (const auto* arms = row.value("arms", presence::optional); arms != nullptr && arms->is_array() && arms->empty())
      row.report("arms", "empty_list", "an experiment must have at least one arm");
  }

  void read_settings(object_reader& row, experiment_arm& arm) {
    const nlohmann::json* values = row.object("set", presence::optional);
    if (values == nullptr) return;
    object_reader in(*values, row.pointer_of("set"), problems_);
    for (const auto& [name, value] : values->items()) {
      const param_entry* param = find_param(name, in.pointer_of(name));
      if (param == nullptr) continue;
      if (param->source == param_source::context)
        report(in.pointer_of(name), "wrong_source",
               "param `" + name + "` comes from the context of requests, so an arm cannot set it");
      else if (auto read = in.typed(name, presence::required, param->type))
        arm.set.push_back({.param_id = param->param_id, .value = std::move(*read)});
    }
  }

  void read_filter(object_reader& row, experiment_entry& entry) {
    const nlohmann::json* filter = row.object("filter", presence::optional);
    if (filter == nullptr) return;
    object_reader in(*filter, row.pointer_of("filter"), problems_);
    const std::string* name = in.text("param", presence::required);
    const nlohmann::json* values = in.array("in", presence::required);
    in.refuse_unknown_fields();
    const param_entry* param = name == nullptr ? nullptr : find_param(*name, in.pointer_of("param"));
    if (param == nullptr || values == nullptr) return;
    if (values->empty()) in.report("in", "empty_list", "`in` must list at least one value");
    entry.filter = experiment_filter{.param_id = param->param_id, .in = {}};
    for (std::size_t at = 0; at < values->size(); ++at) {
      auto read = scalar_from_json((*values)[at], param->type);
      if (read)
        entry.filter->in.push_back(std::move(*read));
      else
        report(braid::json_pointer(in.pointer_of("in"), at), read.error().code, read.error().message);
    }
  }

  void check_overlap(const experiment_entry& experiment, const experiment_arm& arm, const std::string& pointer) {
    for (const experiment_arm& other : experiment.arms) {
      const std::uint32_t first = std::max(arm.from, other.from);
      const std::uint32_t last = std::min(arm.to, other.to);
      if (first > last) continue;
      return report(pointer, "overlapping_buckets",
                    "buckets " + std::to_string(first) + " to " + std::to_string(last) + " belong to arm `" +
                        other.name + "` of `" + experiment.name + "`");
    }
  }

  auto arm_pointer(std::size_t experiment, std::size_t arm) const -> std::string {
    return braid::json_pointer(braid::json_pointer(pointers_[experiment], "arms"), arm);
  }

  /// Checks rules that concern all experiments together. If there are too many arms, reports only this error, because
  /// the other checks compare each arm with all other arms.
  void check_together() {
    std::vector<std::size_t> active;
    std::size_t arms = 0;
    for (std::size_t at = 0; at < experiments.size(); ++at) {
      if (experiments[at].status != experiment_status::active || experiments[at].arms.empty()) continue;
      active.push_back(at);
      arms += experiments[at].arms.size();
      if (arms <= experiment_set::max_arms) continue;
      return report(
          braid::json_pointer(pointers_[at], "arms"), "too_many_arms",
          "the active experiments may have at most " + std::to_string(experiment_set::max_arms) + " arms in total");
    }
    for (const std::size_t at : active)
      for (const std::size_t before : active)
        if (before < at && meet(experiments[before], experiments[at])) check_pair(experiments[before], at);
  }

  void check_pair(const experiment_entry& before, std::size_t index) {
    const experiment_entry& one = experiments[index];
    if (before.layer == no_layer || one.layer == no_layer) return;
    for (std::size_t arm = 0; arm < one.arms.size(); ++arm) {
      if (before.layer == one.layer)
        check_overlap(before, one.arms[arm], braid::json_pointer(arm_pointer(index, arm), "from"));
      else if (share_a_plan(before, one))
        check_settings(before, one.arms[arm], braid::json_pointer(arm_pointer(index, arm), "set"));
    }
  }

  /// Reports a param that arms of two experiments set if a request may be in both arms, because a param can have only
  /// one value.
  void check_settings(const experiment_entry& before, const experiment_arm& arm, const std::string& pointer) {
    for (const experiment_arm::setting& each : arm.set) {
      const bool twice = std::ranges::any_of(before.arms, [&each](const experiment_arm& other) {
        return std::ranges::find(other.set, each.param_id, &experiment_arm::setting::param_id) != other.set.end();
      });
      if (!twice) continue;
      const std::string& name = declared_.find_param(each.param_id)->name;
      report(braid::json_pointer(pointer, name), "param_set_twice",
             "`" + before.name + "` of another layer sets `" + name + "` for the same plan",
             "put both experiments into the same layer");
    }
  }

  braid::diagnostics& problems_;
  const registries& declared_;
  used_once<std::string> layer_names_{"duplicate_name"};
  used_once<std::string> salts_{"duplicate_salt"};
  used_once<std::string> ids_{"duplicate_id"};
  used_once<std::string> names_{"duplicate_name"};
  std::vector<std::string> pointers_;  // of the experiments
};

}  // namespace

auto to_string(experiment_status status) noexcept -> std::string_view {
  return status_names[static_cast<std::size_t>(status)];
}

auto experiment_entry::runs_at(std::chrono::sys_seconds time) const noexcept -> bool {
  return status == experiment_status::active && (!start || *start <= time) && (!end || time < *end);
}

auto experiment_entry::belongs_to(std::string_view plan) const noexcept -> bool {
  return std::ranges::find(plans, plan) != plans.end();
}

auto experiment_set::load(const std::filesystem::path& folder, const registries& declared)
    -> braid::checked<experiment_set> {
  const std::filesystem::path file = folder / experiments_file;
  std::error_code error;
  if (!std::filesystem::exists(file, error) && !error) return experiment_set();  // else reading it says why not
  section from = detail::read_section(file, presence::required);
  experiment_set out;
  if (from.problems.empty()) {
    file_reader read(from, declared);
    out.layers_ = std::move(read.layers);
    out.experiments_ = std::move(read.experiments);
  }
  from.problems.set_source(file.string());
  if (!from.problems.empty()) return std::unexpected(std::move(from.problems));
  out.digest_ = sha256_hex(canonical_json(from.document));
  out.source_ = file.string();
  return out;
}

auto experiment_set::strangers(const std::vector<std::string>& plans) const -> braid::diagnostics {
  braid::diagnostics problems;
  for (std::size_t at = 0; at < experiments_.size(); ++at)
    for (std::size_t place = 0; place < experiments_[at].plans.size(); ++place) {
      const std::string& name = experiments_[at].plans[place];
      if (std::ranges::find(plans, name) != plans.end()) continue;
      const std::string row = braid::json_pointer("/experiment", at);
      problems.add({.code = "unknown_plan",
                    .pointer = braid::json_pointer(braid::json_pointer(row, "plans"), place),
                    .message = "no plan is called " + quote_name(name),
                    .hint = braid::did_you_mean(name, {plans.begin(), plans.end()}),
                    .node = {},
                    .source = source_});
    }
  return problems;
}

auto hash_to_bucket(std::string_view salt, std::string_view unit, std::uint32_t buckets) -> std::uint32_t {
  std::string text(salt);
  text += '\0';
  text += unit;
  return static_cast<std::uint32_t>(sha256_head(text) % buckets);
}

}  // namespace rankd
