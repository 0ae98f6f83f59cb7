// rankd/registry/project.cpp: finds and reads rankd.toml.
#include <rankd/registry/project.hpp>
#include <rankd/registry/object_reader.hpp>
#include <rankd/registry/toml.hpp>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

auto read_folder(object_reader& reader, std::string_view field, presence need, const std::filesystem::path& root)
    -> std::optional<std::filesystem::path> {
  const std::string* text = reader.text(field, need);
  if (text == nullptr) return std::nullopt;
  if (text->empty()) {
    reader.report(field, "bad_value", "the name of a folder must not be empty");
    return std::nullopt;
  }
  return (root / *text).lexically_normal();
}

/// Reads the names whose values are redacted. Does not check that these names exist, because the params are not known
/// here.
auto read_redacted(const nlohmann::json& table, std::string pointer, braid::diagnostics& problems)
    -> std::vector<std::string> {
  std::vector<std::string> out;
  object_reader in(table, std::move(pointer), problems);
  if (const nlohmann::json* names = in.array("redact", presence::required)) {
    for (std::size_t at = 0; at < names->size(); ++at) {
      const nlohmann::json& each = (*names)[at];
      if (each.is_string())
        out.push_back(each.get<std::string>());
      else
        problems.add({.code = "wrong_type",
                      .pointer = braid::json_pointer(in.pointer_of("redact"), at),
                      .message = "each name must be a string, not " + described(each),
                      .hint = {},
                      .node = {},
                      .source = {}});
    }
  }
  in.refuse_unknown_fields();
  return out;
}

/// Reads the tables `operators`. Each table names the file of a library. Two tables must not name the same file.
auto read_operators(object_reader& project, const std::filesystem::path& root, braid::diagnostics& problems)
    -> std::vector<std::filesystem::path> {
  std::vector<std::filesystem::path> out;
  const nlohmann::json* const tables = project.array("operators", presence::optional);
  if (tables == nullptr) return out;
  for (std::size_t at = 0; at < tables->size(); ++at) {
    object_reader in((*tables)[at], braid::json_pointer(project.pointer_of("operators"), at), problems);
    if (const std::string* file = in.text("library", presence::required)) {
      std::filesystem::path place = (root / *file).lexically_normal();
      if (file->empty())
        in.report("library", "bad_value", "the name of a file must not be empty");
      else if (std::ranges::find(out, place) != out.end())
        in.report("library", "duplicate_value", "this library is listed twice");
      out.push_back(std::move(place));
    }
    in.refuse_unknown_fields();
  }
  return out;
}

/// Reads the table `cache`: the limits of the cache for rows of nodes.
auto read_cache(object_reader& reader, braid::diagnostics& problems) -> cache_settings {
  constexpr std::int64_t tebibyte = 1'048'576;
  cache_settings out;
  const nlohmann::json* table = reader.object("cache", presence::optional);
  if (table == nullptr) return out;
  object_reader fields(*table, reader.pointer_of("cache"), problems);
  if (const auto mib = fields.integer("mib", presence::optional, {.min = 0, .max = tebibyte}))
    out.mib = static_cast<std::uint64_t>(*mib);
  if (const auto entries = fields.integer("entries", presence::optional, {.min = 1, .max = 1'000'000'000}))
    out.entries = static_cast<std::uint64_t>(*entries);
  fields.refuse_unknown_fields();
  return out;
}

/// Reads the table `record_cache`: the limits of the cache for values from remote stores.
auto read_record_cache(object_reader& reader, braid::diagnostics& problems) -> record_cache_settings {
  constexpr std::int64_t tebibyte = 1'048'576;
  constexpr std::int64_t day_ms = 86'400'000;
  record_cache_settings out;
  const nlohmann::json* table = reader.object("record_cache", presence::optional);
  if (table == nullptr) return out;
  object_reader fields(*table, reader.pointer_of("record_cache"), problems);
  const auto read = [&](std::string_view name, auto& into, std::int64_t min, std::int64_t max) {
    if (const auto given = fields.integer(name, presence::optional, {.min = min, .max = max}))
      into = std::remove_reference_t<decltype(into)>(*given);
  };
  read("mib", out.mib, 0, tebibyte);
  read("entries", out.entries, 1, 1'000'000'000);
  read("age_ms", out.age, 1, day_ms);
  read("absent_age_ms", out.absent_age, 1, day_ms);
  read("tracked_age_ms", out.tracked_age, 1, day_ms);
  if (const auto given = fields.boolean("tracking", presence::optional)) out.tracking = *given;
  fields.refuse_unknown_fields();
  return out;
}

/// Reads the table `cursor`. The environment variable RANKD_CURSOR_KEY overrides the key in this table.
auto read_cursors(object_reader& reader, braid::diagnostics& problems) -> cursor_settings {
  constexpr std::int64_t year_s = 365 * 86'400;
  cursor_settings out;
  const char* const given = std::getenv(cursor_key_variable);
  if (const nlohmann::json* table = reader.object("cursor", presence::optional)) {
    object_reader fields(*table, reader.pointer_of("cursor"), problems);
    if (const std::string* key = fields.text("key", presence::optional)) {
      if (key->size() < min_cursor_key)
        fields.report("key", "bad_value", "a key must have at least " + std::to_string(min_cursor_key) + " bytes");
      out.key = *key;
    }
    if (const auto age = fields.integer("max_age_s", presence::optional, {.min = 1, .max = year_s}))
      out.max_age = std::chrono::seconds(*age);
    fields.refuse_unknown_fields();
  }
  if (given == nullptr) return out;
  out.key = given;
  if (out.key.size() < min_cursor_key)
    reader.report("cursor", "bad_value",
                  "the environment variable " + std::string(cursor_key_variable) + " has fewer than " +
                      std::to_string(min_cursor_key) + " bytes");
  return out;
}

}  // namespace

auto project::find(const std::filesystem::path& start) -> std::optional<std::filesystem::path> {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::absolute(start, error).lexically_normal();
  if (error) return std::nullopt;
  while (!std::filesystem::is_regular_file(folder / project_file, error)) {
    if (folder == folder.parent_path()) return std::nullopt;
    folder = folder.parent_path();
  }
  return folder;
}

auto project::load(const std::filesystem::path& path) -> braid::checked<project> {
  std::error_code error;
  const std::filesystem::path file = std::filesystem::is_directory(path, error) ? path / project_file : path;
  const auto document = read_toml_file(file);
  if (!document) return std::unexpected(document.error());

  braid::diagnostics problems;
  object_reader in(*document, "", problems);
  project out;
  out.root = file.parent_path();
  if (const std::string* name = in.text("name", presence::required)) out.name = *name;
  if (const auto chosen = in.choice("environment", presence::required, environments))
    out.environment = environments[*chosen];
  out.registry = read_folder(in, "registry", presence::required, out.root).value_or("");
  out.plans = read_folder(in, "plans", presence::required, out.root).value_or("");
  out.data = read_folder(in, "data", presence::optional, out.root);
  out.models = read_folder(in, "models", presence::optional, out.root).value_or("");
  out.operators = read_operators(in, out.root, problems);
  if (const nlohmann::json* table = in.object("budget", presence::optional))
    out.budgets = read_budgets(*table, in.pointer_of("budget"), problems);
  if (const nlohmann::json* table = in.object("audit", presence::optional))
    out.redacted = read_redacted(*table, in.pointer_of("audit"), problems);
  if (const nlohmann::json* tables = in.object("shadow", presence::optional))
    out.shadows = read_shadows(*tables, in.pointer_of("shadow"), problems);
  out.cursors = read_cursors(in, problems);
  out.cache = read_cache(in, problems);
  out.records = read_record_cache(in, problems);
  in.refuse_unknown_fields();
  if (problems.empty()) return out;
  problems.set_source(file.string());
  return std::unexpected(std::move(problems));
}

}  // namespace rankd
