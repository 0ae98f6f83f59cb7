// rankd/registry/load_registries.cpp: reads keys, params, features and capabilities, and loads all registries of a
// folder.
#include <rankd/registry/detail/section.hpp>
#include <rankd/registry/digest.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/registry/project.hpp>
#include <rankd/registry/toml.hpp>

#include <algorithm>
#include <array>
#include <numeric>

namespace rankd {
namespace detail {
namespace {

constexpr std::array<std::string_view, 3> status_names{"active", "deprecated", "blocked"};

}  // namespace

auto read_section(const std::filesystem::path& file, presence need) -> section {
  section out{.file = file, .document = nlohmann::json::object(), .problems = {}};
  std::error_code error;
  if (need == presence::optional && !std::filesystem::exists(file, error)) return out;
  auto document = read_toml_file(file);
  if (document)
    out.document = std::move(*document);
  else
    out.problems = std::move(document.error());
  return out;
}

auto read_name(object_reader& row) -> std::string {
  const std::string* name = row.text("name", presence::required);
  if (name == nullptr) return {};
  if (is_identifier(*name)) return *name;
  row.report("name", "bad_name",
             quote_name(*name) + " must consist of letters, digits and `_`, and must not begin with a digit");
  return {};
}

auto read_doc(object_reader& row) -> std::string {
  const std::string* doc = row.text("doc", presence::optional);
  return doc == nullptr ? std::string() : *doc;
}

auto read_status(object_reader& row) -> lifecycle {
  return static_cast<lifecycle>(row.choice("status", presence::optional, status_names).value_or(0));
}

}  // namespace detail

auto to_string(lifecycle status) noexcept -> std::string_view {
  return detail::status_names[static_cast<std::size_t>(status)];
}

namespace {

using detail::section;
using detail::used_once;

/// The names of types, in the order of value_type. Only keys may have the last type, vector.
constexpr std::array<std::string_view, 5> type_names{"int", "float", "string", "bool", "vector"};
constexpr std::span<const std::string_view> plain_type_names(type_names.data(), 4);

/// The names of sources in params.toml, in the order of param_source.
constexpr std::array<std::string_view, 2> source_names{"override", "context"};
/// The names of units in params.toml, in the order of clock_unit.
constexpr std::array<std::string_view, 2> clock_names{"seconds", "milliseconds"};

/// Describes how the files of keys and params differ from each other.
template <typename Entry>
struct row_shape {
  std::string_view table;
  std::string_view id_field;
  std::uint32_t Entry::* id;
  std::span<const std::string_view> types;
};

constexpr row_shape<key_entry> key_rows{"key", "key_id", &key_entry::key_id, type_names};
constexpr row_shape<param_entry> param_rows{"param", "param_id", &param_entry::param_id, plain_type_names};

struct replacement {
  std::string pointer;
  std::uint32_t by;
  std::uint32_t self;
};

void check_replacements(const std::vector<replacement>& all, const used_once<std::uint32_t>& ids,
                        braid::diagnostics& problems) {
  for (const auto& [pointer, by, self] : all) {
    const auto report = [&](std::string_view message) {
      problems.add({.code = "unknown_replacement",
                    .pointer = pointer,
                    .message = std::string(message),
                    .hint = {},
                    .node = {},
                    .source = {}});
    };
    if (by == self)
      report("an entry cannot be replaced by itself");
    else if (!ids.contains(by))
      report("no entry with the id " + std::to_string(by) + " is declared");
  }
}

void read_own_fields(object_reader& row, key_entry& out) {
  const auto size = row.integer("dimensions", presence::optional, {.min = 1, .max = max_dimensions});
  out.dimensions = static_cast<std::uint32_t>(size.value_or(0));
}

/// Reads the fields that only params have. A context param may be overridden only if its row sets `allow_write`.
void read_own_fields(object_reader& row, param_entry& out) {
  out.source = static_cast<param_source>(row.choice("source", presence::optional, source_names).value_or(0));
  out.required = row.boolean("required", presence::optional).value_or(false);
  if (const auto unit = row.choice("clock", presence::optional, clock_names))
    out.clock = static_cast<clock_unit>(*unit);
  if (out.source == param_source::context && row.value("allow_write", presence::optional) == nullptr)
    out.allow_write = false;
}

/// Reads the fields that keys and params share. Returns the type, or nothing if the type is absent or wrong.
template <typename Entry>
auto read_fields(object_reader& row, const row_shape<Entry>& shape, Entry& out) -> std::optional<value_type> {
  out.*shape.id = row.id(shape.id_field, presence::required).value_or(0);
  out.name = detail::read_name(row);
  std::optional<value_type> type;
  if (const auto chosen = row.choice("type", presence::required, shape.types)) type = static_cast<value_type>(*chosen);
  out.type = type.value_or(value_type::floating);
  out.nullable = row.boolean("nullable", presence::required).value_or(true);
  if (!type)
    row.value("default", presence::optional);
  else if (auto value = row.typed("default", presence::optional, *type))
    out.default_value = std::move(*value);
  out.doc = detail::read_doc(row);
  out.status = detail::read_status(row);
  out.allow_read = row.boolean("allow_read", presence::optional).value_or(true);
  out.allow_write = row.boolean("allow_write", presence::optional).value_or(true);
  out.replaced_by = row.id("replaced_by", presence::optional);
  read_own_fields(row, out);
  return type;
}

/// Reads all rows of a table. `check(row, entry)` applies the rules that only this table has.
template <typename Entry, typename Check>
auto read_values(section& section, const row_shape<Entry>& shape, Check check) -> std::vector<Entry> {
  std::vector<Entry> out;
  std::vector<replacement> replaced;
  used_once<std::uint32_t> ids("duplicate_id");
  used_once<std::string> names("duplicate_name");
  detail::for_each_row(section, shape.table, [&](object_reader& row) {
    Entry entry;
    const bool typed = read_fields(row, shape, entry).has_value();
    if (entry.*shape.id != 0) ids.claim(row, shape.id_field, entry.*shape.id);
    if (!entry.name.empty()) names.claim(row, "name", entry.name);
    if (entry.replaced_by) replaced.push_back({row.pointer_of("replaced_by"), *entry.replaced_by, entry.*shape.id});
    if (typed) check(row, entry);
    out.push_back(std::move(entry));
  });
  check_replacements(replaced, ids, section.problems);
  std::ranges::sort(out, {}, shape.id);
  return out;
}

void check_id_key(object_reader& row, const key_entry& key) {
  const auto demand = [&row](bool holds, std::string_view field, std::string_view message) {
    if (!holds) row.report(field, "bad_id_key", "key 1 " + std::string(message));
  };
  demand(key.name == "id", "name", "must be called `id`");
  demand(key.type == value_type::integer || key.type == value_type::string, "type", "must be an int or a string");
  demand(!key.nullable, "nullable", "is on every row, so it must not be nullable");
  demand(is_null(key.default_value), "default", "must not have a default: every row has its own id");
  demand(key.status == lifecycle::active, "status", "must be active");
  demand(key.allow_read, "allow_read", "must be readable");
  demand(!key.allow_write, "allow_write", "must not be writable");
}

/// Checks a key of type vector: it needs a length, and must be nullable because it cannot have a default.
void check_vector(object_reader& row, const key_entry& key) {
  row.value("dimensions", presence::required);
  if (!key.nullable) row.report("nullable", "bad_value", "a vector cannot have a default, so it must be nullable");
}

void check_key(object_reader& row, const key_entry& key) {
  if (key.key_id == registries::id_key) return check_id_key(row, key);
  if (key.type == value_type::vector) return check_vector(row, key);
  if (row.value("dimensions", presence::optional) != nullptr)
    row.report("dimensions", "bad_value", "only a key of type vector may have `dimensions`");
  if (key.nullable || !is_null(key.default_value) || row.value("default", presence::optional) != nullptr) return;
  row.report("default", "missing_default", "a key that is not nullable needs a default");
}

auto read_keys(section& section) -> std::vector<key_entry> {
  if (!section.problems.empty()) return {};  // the file could not be read
  auto out = read_values(section, key_rows, check_key);
  const bool has_id = std::ranges::find(out, registries::id_key, &key_entry::key_id) != out.end();
  if (!has_id)
    section.problems.add({.code = "missing_id_key",
                          .pointer = "/key",
                          .message = "key 1, the `id` of rows, is missing",
                          .hint = {},
                          .node = {},
                          .source = {}});
  return out;
}

/// Checks a param whose value is the current time. The clock replaces the default, so the param must not have a default
/// and must not be required.
void check_clock(object_reader& row, const param_entry& param, bool has_default) {
  if (param.source != param_source::context)
    row.report("clock", "bad_clock", "only a param whose source is context can have `clock`");
  else if (param.type != value_type::integer)
    row.report("clock", "bad_clock", "a param with `clock` must be of type int");
  else if (has_default || param.required)
    row.report("clock", "bad_clock", "a param with `clock` must neither be required nor have a default");
}

/// Checks that a context param always has a value: it must be required, nullable, or have a default.
void check_param(object_reader& row, const param_entry& param) {
  const bool has_default = row.value("default", presence::optional) != nullptr;
  if (param.clock) return check_clock(row, param, has_default);
  if (param.required && param.source != param_source::context)
    row.report("required", "bad_required", "only a param whose source is context can be required");
  else if (param.required && has_default)
    row.report("required", "bad_required", "a required param must not have a default");
  else if (param.source == param_source::context && !param.required && !param.nullable && !has_default)
    row.report("default", "missing_default", "a context param needs a default, unless it is required or nullable");
}

auto read_params(section& section) -> std::vector<param_entry> { return read_values(section, param_rows, check_param); }

auto read_capabilities(section& section) -> std::vector<capability_entry> {
  std::vector<capability_entry> out;
  used_once<std::string> ids("duplicate_id");
  used_once<std::string> names("duplicate_name");
  detail::for_each_row(section, "capability", [&](object_reader& row) {
    capability_entry entry;
    if (const std::string* id = row.text("id", presence::required)) {
      entry.id = *id;
      ids.claim(row, "id", *id);
      if (!is_capability_id(*id))
        row.report("id", "bad_capability_id", quote_name(*id) + " is not of the form `cap.rfc.NNNN.slug.vK`");
    }
    entry.name = detail::read_name(row);
    if (!entry.name.empty()) names.claim(row, "name", entry.name);
    entry.status = detail::read_status(row);
    entry.doc = detail::read_doc(row);
    if (const auto* schema = row.object("payload_schema", presence::optional)) {
      entry.payload_schema = canonical_json(*schema);
      auto rules = payload_rules::compile(*schema, row.pointer_of("payload_schema"));
      if (rules)
        entry.payload = std::move(*rules);
      else
        section.problems.append(std::move(rules.error()));
    }
    out.push_back(std::move(entry));
  });
  std::ranges::sort(out, {}, &capability_entry::id);
  return out;
}

/// Returns as JSON the fields of the endpoints that must be equal in all environments.
auto endpoints_document(const std::vector<endpoint_entry>& sorted) -> nlohmann::json {
  nlohmann::json rows = nlohmann::json::array();
  for (const endpoint_entry& entry : sorted)
    rows.push_back({{"endpoint_id", entry.endpoint_id}, {"kind", to_string(entry.kind)}, {"name", entry.name}});
  return {{"endpoint", std::move(rows)}};
}

auto endpoints_file(const std::filesystem::path& folder, std::string_view environment) -> std::filesystem::path {
  return folder / ("endpoints." + std::string(environment) + ".toml");
}

/// The sections in the order in which they are read. The endpoint files of other environments are read after all
/// sections.
constexpr std::array<std::string_view, 4> section_names{"keys", "params", "capabilities", "endpoints"};
constexpr std::size_t endpoints_at = 3;

/// Checks the endpoint files of the other environments by the same rules, and compares the endpoints' ids, names and
/// kinds with those of the current environment.
void check_other_environments(const std::filesystem::path& folder, std::string_view environment,
                              const std::vector<endpoint_entry>& endpoints, std::vector<section>& sections) {
  for (const std::string_view name : environments) {
    if (name == environment) continue;
    section other = detail::read_section(endpoints_file(folder, name), presence::optional);
    std::error_code error;
    const auto theirs = detail::read_endpoints(other, name);
    if (sections[endpoints_at].problems.empty() && other.problems.empty() && std::filesystem::exists(other.file, error))
      detail::compare_endpoints(endpoints, theirs, other);
    sections.push_back(std::move(other));
  }
}

template <typename Entry>
auto order_by_name(const std::vector<Entry>& entries) -> std::vector<std::uint32_t> {
  std::vector<std::uint32_t> out(entries.size());
  std::iota(out.begin(), out.end(), 0U);
  std::ranges::sort(out, {}, [&](std::uint32_t i) -> std::string_view { return entries[i].name; });
  return out;
}

auto unknown_environment(std::string_view environment) -> braid::diagnostic {
  return {.code = "unknown_environment",
          .pointer = {},
          .message = quote_name(environment) + " is not an environment: use dev, test or prod",
          .hint = braid::did_you_mean(environment, {environments.begin(), environments.end()}),
          .node = {},
          .source = {}};
}

}  // namespace

auto to_string(param_source source) noexcept -> std::string_view {
  return source_names[static_cast<std::size_t>(source)];
}

auto to_string(clock_unit unit) noexcept -> std::string_view { return clock_names[static_cast<std::size_t>(unit)]; }

auto registries::load(const std::filesystem::path& folder, std::string_view environment) -> braid::checked<registries> {
  if (std::ranges::find(environments, environment) == environments.end())
    return std::unexpected(braid::diagnostics(unknown_environment(environment)));

  std::vector<section> sections;
  sections.push_back(detail::read_section(folder / "keys.toml", presence::required));
  sections.push_back(detail::read_section(folder / "params.toml", presence::required));
  sections.push_back(detail::read_section(folder / "capabilities.toml", presence::optional));
  sections.push_back(detail::read_section(endpoints_file(folder, environment), presence::required));

  registries out;
  out.keys_ = read_keys(sections[0]);
  out.params_ = read_params(sections[1]);
  out.capabilities_ = read_capabilities(sections[2]);
  out.endpoints_ = detail::read_endpoints(sections[endpoints_at], environment);
  detail::check_change_fields(out.endpoints_, out.keys_, sections[endpoints_at]);
  check_other_environments(folder, environment, out.endpoints_, sections);

  braid::diagnostics problems;
  for (section& from : sections) {
    from.problems.set_source(from.file.string());
    problems.append(std::move(from.problems));
  }
  if (!problems.empty()) return std::unexpected(std::move(problems));

  std::ranges::sort(out.endpoints_, {}, &endpoint_entry::endpoint_id);
  out.keys_by_name_ = order_by_name(out.keys_);
  out.params_by_name_ = order_by_name(out.params_);
  sections[endpoints_at].document = endpoints_document(out.endpoints_);
  for (std::size_t i = 0; i < section_names.size(); ++i)
    out.digests_.push_back({.name = std::string(section_names[i]),
                            .sha256 = sha256_hex(canonical_json(sections[i].document)),
                            .entries = detail::digests_of_entries(section_names[i], sections[i].document)});
  return out;
}

}  // namespace rankd
