// rankd/cli/plan_tests/plan_tests.cpp: parses the JSON of tests into requests to run and expectations to check.
#include <rankd/cli/plan_tests/plan_tests.hpp>

#include <rankd/engine/detail/read_candidates.hpp>
#include <rankd/expr/formula_text.hpp>
#include <rankd/expr/parse.hpp>
#include <rankd/plan/artifact_folder.hpp>
#include <rankd/plan/json.hpp>
#include <rankd/plan/registry_digests.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/file.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/registry/object_reader.hpp>
#include <rankd/store/record_parser.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

using json = nlohmann::json;

constexpr std::int64_t schema_version = 1;

/// A part of the document, with its location in the author's file.
struct located {
  const json* value;
  std::string pointer;
};

auto list_items(const json* list, const std::string& pointer) -> std::vector<located> {
  std::vector<located> out;
  for (std::size_t at = 0; list != nullptr && at < list->size(); ++at)
    out.push_back({&(*list)[at], braid::json_pointer(pointer, at)});
  return out;
}

/// Returns a source span as text, such as "plans/feed.test.ts:12:5", or an empty text if the value is not a span.
auto place_text(const json& span, const std::vector<std::string>& files) -> std::string {
  const auto number = [&](const char* field) -> std::optional<std::uint64_t> {
    const auto found = span.is_object() ? span.find(field) : span.end();
    if (found == span.end() || !found->is_number_unsigned()) return std::nullopt;
    return found->get<std::uint64_t>();
  };
  const auto file = number("file");
  const auto line = number("line");
  const auto column = number("column");
  if (!file || !line || !column || *file >= files.size()) return {};
  const std::string& name = files[*file];
  return name.substr(0, name.find('#')) + ":" + std::to_string(*line) + ":" + std::to_string(*column);
}

/// Returns the part of `within` that a token of a JSON pointer names, or null if there is no such part.
auto step(const json& within, std::string token) -> const json* {
  if (within.is_array()) {
    std::size_t at = 0;
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), at);
    return error == std::errc() && at < within.size() ? &within[at] : nullptr;
  }
  const auto replace = [&token](std::string_view from, char to) {
    for (std::size_t at = token.find(from); at != std::string::npos; at = token.find(from, at + 1))
      token.replace(at, from.size(), 1, to);
  };
  replace("~1", '/');
  replace("~0", '~');
  const auto found = within.is_object() ? within.find(token) : within.end();
  return found == within.end() ? nullptr : &*found;
}

/// Returns the source location of the smallest part that contains `pointer` and has a location.
auto place_around(const json& document, std::string_view pointer, const std::vector<std::string>& files)
    -> std::string {
  std::string found;
  for (const json* at = &document; at != nullptr;) {
    if (at->is_object() && at->contains("source_span")) found = place_text(at->at("source_span"), files);
    if (pointer.empty()) break;
    const std::size_t end = std::min(pointer.find('/', 1), pointer.size());
    at = step(*at, std::string(pointer.substr(1, end - 1)));
    pointer.remove_prefix(end);
  }
  return found;
}

class tests_reader {
 public:
  tests_reader(const json& document, const registries& declared) : document_(document), declared_(declared) {}

  auto run() -> braid::checked<plan_tests>;

 private:
  void read_files(object_reader& top);
  auto read_records(object_reader& reader) -> std::vector<test_record>;
  auto read_record(const located& from) -> std::optional<test_record>;
  auto read_models(object_reader& top) -> std::vector<stub_model>;
  auto read_vectors(object_reader& top) -> std::vector<stub_vectors>;
  [[nodiscard]] auto with_own_id(json item) const -> json;
  auto read_test(const located& from, const std::vector<test_record>& shared) -> plan_test;
  void read_request(object_reader& reader, plan_test& test);
  void read_faults(object_reader& reader, plan_test& test);
  void read_expectations(object_reader& reader, plan_test& test);
  auto read_expectation(const located& from) -> std::optional<expectation>;
  auto read_ids(object_reader& reader, id_rule rule) -> std::optional<id_expectation>;
  auto read_rows(object_reader& reader, bool holds) -> std::optional<row_expectation>;
  auto read_names(object_reader& reader) -> std::optional<degraded_expectation>;
  auto read_key(object_reader& reader) -> const key_entry*;
  auto read_kind(object_reader& reader, std::size_t kind) -> std::optional<decltype(expectation::what)>;
  [[nodiscard]] auto placed() const -> braid::diagnostics;
  void report(std::string code, std::string pointer, std::string message, std::string hint = {}) {
    problems_.add({.code = std::move(code),
                   .pointer = std::move(pointer),
                   .message = std::move(message),
                   .hint = std::move(hint),
                   .node = {},
                   .source = {}});
  }

  const json& document_;
  const registries& declared_;
  braid::diagnostics problems_;
  std::vector<std::string> files_;
  std::string plan_;
  record_parser parser_{list_lengths(declared_)};
};

/// Returns the diagnostics. Each message ends with the location in the author's file.
auto tests_reader::placed() const -> braid::diagnostics {
  braid::diagnostics out;
  for (braid::diagnostic each : problems_) {
    const std::string place = place_around(document_, each.pointer, files_);
    if (!place.empty()) each.message += " (" + place + ")";
    out.add(std::move(each));
  }
  return out;
}

void tests_reader::read_files(object_reader& top) {
  const json* files = top.array("source_files", presence::optional);
  for (const auto& [file, pointer] : list_items(files, "/source_files"))
    files_.push_back(file->is_string() ? file->get<std::string>() : std::string());
}

auto tests_reader::read_record(const located& from) -> std::optional<test_record> {
  object_reader in(*from.value, from.pointer, problems_);
  const json* record = in.object("record", presence::required);
  in.value("source_span", presence::optional);
  in.refuse_unknown_fields();
  if (record == nullptr) return std::nullopt;
  std::string line = record->dump();
  const std::size_t size = line.size();
  line.append(line_reader::padding, ' ');
  const auto parsed = parser_.parse({std::string_view(line).substr(0, size), 1, false}, 0);
  line.resize(size);
  if (parsed && *parsed) return test_record{std::string((*parsed)->key), std::move(line)};
  if (parsed) return std::nullopt;
  for (braid::diagnostic each : parsed.error()) {
    constexpr std::string_view prefix = "line 1: ";
    if (each.message.starts_with(prefix)) each.message.erase(0, prefix.size());
    each.pointer.insert(0, in.pointer_of("record"));
    problems_.add(std::move(each));
  }
  return std::nullopt;
}

auto tests_reader::read_records(object_reader& reader) -> std::vector<test_record> {
  std::vector<test_record> out;
  std::set<std::string, std::less<>> keys;
  for (const located& each : list_items(reader.array("records", presence::optional), reader.pointer_of("records"))) {
    auto record = read_record(each);
    if (!record) continue;
    if (!keys.insert(record->key).second)
      report("duplicate_key", each.pointer, "another record already has the key " + quote_name(record->key));
    out.push_back(std::move(*record));
  }
  return out;
}

void tests_reader::read_request(object_reader& reader, plan_test& test) {
  const json* given = reader.object("request", presence::required);
  if (given == nullptr) return;
  auto request = parse_request(given->dump(), declared_);
  if (!request) {
    for (braid::diagnostic each : request.error()) {
      each.pointer.insert(0, reader.pointer_of("request"));
      problems_.add(std::move(each));
    }
    return;
  }
  if (!request->plan.empty() && request->plan != plan_)
    report("plan_mismatch", reader.pointer_of("request") + "/plan",
           "the request names the plan " + quote_name(request->plan) + ", but these are the tests of the plan " +
               quote_name(plan_));
  test.request = std::move(*request);
}

void tests_reader::read_faults(object_reader& reader, plan_test& test) {
  for (const auto& [value, pointer] :
       list_items(reader.array("faults", presence::optional), reader.pointer_of("faults"))) {
    object_reader in(*value, pointer, problems_);
    const std::string* endpoint = in.text("endpoint", presence::required);
    const std::string* prefix = in.text("key_prefix", presence::optional);
    const auto code = in.choice("code", presence::required, fault_codes);
    in.value("source_span", presence::optional);
    in.refuse_unknown_fields();
    if (endpoint == nullptr || !code) continue;
    if (declared_.find_endpoint(*endpoint) == nullptr)
      in.report("endpoint", "unknown_endpoint", "no endpoint has the id " + quote_name(*endpoint));
    test.faults.push_back({*endpoint, {prefix == nullptr ? std::string() : *prefix, *code}});
  }
}

auto tests_reader::read_ids(object_reader& reader, id_rule rule) -> std::optional<id_expectation> {
  const json* ids = reader.array("ids", presence::required);
  if (ids == nullptr) return std::nullopt;
  id_expectation out{.rule = rule, .ids = {}};
  for (const auto& [value, pointer] : list_items(ids, reader.pointer_of("ids"))) {
    if (declared_.id_type() == value_type::string) {
      auto text = detail::id_from_json(*value, value_type::string);
      if (text)
        out.ids.push_back(std::move(*text));
      else
        report("bad_id", pointer, "an id is " + detail::refused_id(*value, value_type::string));
      continue;
    }
    const auto id = scalar_from_json(*value, value_type::integer);
    if (id)
      out.ids.emplace_back(std::get<std::int64_t>(*id));
    else
      report(id.error().code, pointer, id.error().message);
  }
  return out;
}

auto tests_reader::read_names(object_reader& reader) -> std::optional<degraded_expectation> {
  const json* names = reader.array("names", presence::required);
  if (names == nullptr) return std::nullopt;
  degraded_expectation out;
  for (const auto& [value, pointer] : list_items(names, reader.pointer_of("names"))) {
    const auto name = scalar_from_json(*value, value_type::string);
    if (name)
      out.names.push_back(std::get<std::string>(*name));
    else
      report(name.error().code, pointer, name.error().message);
  }
  return out;
}

auto tests_reader::read_key(object_reader& reader) -> const key_entry* {
  const auto id = reader.id("key_id", presence::required);
  if (!id) return nullptr;
  const key_entry* key = declared_.find_key(*id);
  if (key == nullptr)
    reader.report("key_id", "unknown_key", "no key has the number " + std::to_string(*id));
  else if (!key->allow_read)
    reader.report("key_id", "unreadable_key", "the key " + quote_name(key->name) + " cannot be read");
  return key;
}

auto tests_reader::read_rows(object_reader& reader, bool holds) -> std::optional<row_expectation> {
  const json* value = reader.object("pred", presence::required);
  if (value == nullptr) return std::nullopt;
  const auto tree = parse_pred(*value, reader.pointer_of("pred"));
  if (!tree) {
    problems_.append(tree.error());
    return std::nullopt;
  }
  auto code = compile_pred(*tree, declared_);
  if (!code) {
    problems_.append(std::move(code.error()));
    return std::nullopt;
  }
  return row_expectation{.holds = holds, .test = std::move(*code), .text = formula_text(*tree, declared_)};
}

constexpr std::array<std::string_view, 13> kinds{"ids",      "first_ids", "same_ids", "contains", "excludes",
                                                 "in_order", "count",     "at_most",  "every",    "none",
                                                 "sorted",   "error",     "degraded"};

auto tests_reader::read_kind(object_reader& reader, std::size_t kind) -> std::optional<decltype(expectation::what)> {
  constexpr std::array<std::string_view, 2> directions{"asc", "desc"};
  constexpr int_range natural{.min = 0, .max = std::numeric_limits<std::int64_t>::max()};
  constexpr int_range positive{.min = 1, .max = std::numeric_limits<std::int64_t>::max()};
  if (kind <= static_cast<std::size_t>(id_rule::in_order)) return read_ids(reader, static_cast<id_rule>(kind));
  if (kinds[kind] == "every" || kinds[kind] == "none") return read_rows(reader, kinds[kind] == "every");
  if (kinds[kind] == "count") {
    const std::int64_t min = reader.integer("min", presence::optional, natural).value_or(0);
    const std::int64_t max = reader.integer("max", presence::optional, natural).value_or(natural.max);
    if (max < min) reader.report("max", "out_of_range", "`max` is less than `min`");
    return count_expectation{static_cast<std::uint64_t>(min), static_cast<std::uint64_t>(max)};
  }
  if (kinds[kind] == "error") {
    const std::string* code = reader.text("code", presence::required);
    const std::string* node = reader.text("node", presence::optional);
    if (code == nullptr) return std::nullopt;
    return error_expectation{*code, node == nullptr ? std::string() : *node};
  }
  if (kinds[kind] == "degraded") return read_names(reader);
  const key_entry* key = read_key(reader);
  if (kinds[kind] == "sorted") {
    const auto direction = reader.choice("order", presence::required, directions);
    if (key == nullptr || !direction) return std::nullopt;
    return order_expectation{key, *direction == 0 ? sort_direction::ascending : sort_direction::descending};
  }
  const auto count = reader.integer("count", presence::required, positive);
  const auto window = reader.integer("window", presence::optional, positive);
  if (key == nullptr || !count) return std::nullopt;
  spread_expectation out{.key = key, .count = static_cast<std::uint64_t>(*count), .window = std::nullopt};
  if (window) out.window = static_cast<std::uint64_t>(*window);
  return out;
}

auto tests_reader::read_expectation(const located& from) -> std::optional<expectation> {
  object_reader in(*from.value, from.pointer, problems_);
  const auto kind = in.choice("kind", presence::required, kinds);
  in.value("source_span", presence::optional);
  if (!kind) return std::nullopt;
  auto what = read_kind(in, *kind);
  in.refuse_unknown_fields();
  if (!what) return std::nullopt;
  return expectation{.what = std::move(*what),
                     .kind = std::string(kinds[*kind]),
                     .place = place_around(document_, from.pointer, files_)};
}

void tests_reader::read_expectations(object_reader& reader, plan_test& test) {
  const json* list = reader.array("expect", presence::required);
  if (list == nullptr) return;
  if (list->empty())
    reader.report("expect", "no_expectations", "a test must have at least one expectation, otherwise it cannot fail");
  if (list->size() > max_test_expectations)
    return reader.report("expect", "too_many_expectations",
                         "a test may have at most " + std::to_string(max_test_expectations) + " expectations");
  for (const located& each : list_items(list, reader.pointer_of("expect")))
    if (auto read = read_expectation(each)) test.expected.push_back(std::move(*read));
  const bool fails = std::ranges::any_of(
      test.expected, [](const expectation& each) { return std::holds_alternative<error_expectation>(each.what); });
  if (fails && list->size() > 1)
    reader.report("expect", "bad_value",
                  "a test that expects an error cannot expect anything else, because a failed request returns no rows");
}

auto tests_reader::read_test(const located& from, const std::vector<test_record>& shared) -> plan_test {
  object_reader in(*from.value, from.pointer, problems_);
  plan_test out;
  if (const std::string* name = in.text("name", presence::required)) out.name = *name;
  in.value("source_span", presence::optional);
  out.place = place_around(document_, from.pointer, files_);
  out.records = read_records(in);
  for (const test_record& each : shared)
    if (std::ranges::find(out.records, each.key, &test_record::key) == out.records.end()) out.records.push_back(each);
  read_faults(in, out);
  read_request(in, out);
  read_expectations(in, out);
  in.refuse_unknown_fields();
  return out;
}

auto tests_reader::read_models(object_reader& top) -> std::vector<stub_model> {
  std::vector<stub_model> out;
  for (const located& each : list_items(top.array("models", presence::optional), "/models")) {
    object_reader in(*each.value, each.pointer, problems_);
    const std::string* name = in.text("name", presence::required);
    const json* intercept = in.value("intercept", presence::required);
    const json* weights = in.array("weights", presence::required);
    in.value("source_span", presence::optional);
    in.refuse_unknown_fields();
    if (name == nullptr || intercept == nullptr || weights == nullptr) continue;
    const auto fits = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    if (name->empty() || !std::ranges::all_of(*name, fits))
      in.report("name", "bad_name", quote_name(*name) + " must consist of letters, digits and `_`");
    else if (std::ranges::find(out, *name, &stub_model::name) != out.end())
      in.report("name", "duplicate_value", "the model " + quote_name(*name) + " is already replaced");
    else
      out.push_back(
          {.name = *name,
           .text = json{{"schema_version", 1}, {"kind", "linear"}, {"intercept", *intercept}, {"weights", *weights}}
                       .dump()});
  }
  return out;
}

/// Returns an item of vectors whose id has the type of the project's ids. The property names of a TypeScript object do
/// not show whether digits are meant as a number or as a text.
auto tests_reader::with_own_id(json item) const -> json {
  if (declared_.id_type() == value_type::string && item.is_object() && item.contains("id") &&
      item["id"].is_number_integer())
    item["id"] = item["id"].dump();
  return item;
}

auto tests_reader::read_vectors(object_reader& top) -> std::vector<stub_vectors> {
  std::vector<stub_vectors> out;
  for (const located& each : list_items(top.array("vectors", presence::optional), "/vectors")) {
    object_reader in(*each.value, each.pointer, problems_);
    const std::string* endpoint = in.text("endpoint", presence::required);
    const json* items = in.array("items", presence::required);
    in.value("source_span", presence::optional);
    in.refuse_unknown_fields();
    if (endpoint == nullptr || items == nullptr) continue;
    const endpoint_entry* found = declared_.find_endpoint(*endpoint);
    if (found == nullptr)
      in.report("endpoint", "unknown_endpoint", "no endpoint has the id " + quote_name(*endpoint));
    else if (std::get_if<file_resolver>(&found->resolver) == nullptr)
      in.report("endpoint", "wrong_endpoint_kind", "the endpoint " + quote_name(*endpoint) + " has no vector file");
    else if (std::ranges::find(out, *endpoint, &stub_vectors::endpoint_id) != out.end())
      in.report("endpoint", "duplicate_value",
                "the vectors of the endpoint " + quote_name(*endpoint) + " are already replaced");
    stub_vectors& made = out.emplace_back(stub_vectors{.endpoint_id = *endpoint, .lines = {}});
    for (const json& item : *items) made.lines += with_own_id(item).dump() + "\n";
  }
  return out;
}

auto tests_reader::run() -> braid::checked<plan_tests> {
  object_reader top(document_, "", problems_);
  const auto version = top.integer("schema_version", presence::required);
  if (version && *version != schema_version)
    return refused("unsupported_schema",
                   "schema_version is " + std::to_string(*version) + ", but this engine reads only tests of version 1");
  read_files(top);
  if (const std::string* plan = top.text("tests_of", presence::required)) plan_ = *plan;
  top.text("built_by", presence::optional);
  // Checks that the registries have not changed. Predicates identify keys and params by number, and after a change a
  // number could mean another key or param.
  read_registry_digests(top, "the tests were", declared_, problems_);
  plan_tests out{.plan = plan_, .models = read_models(top), .vectors = read_vectors(top), .tests = {}};
  const std::vector<test_record> shared = read_records(top);
  const json* tests = top.array("tests", presence::required);
  if (tests != nullptr && tests->empty()) top.report("tests", "no_tests", "the file has no test");
  if (tests != nullptr && tests->size() > max_plan_tests) {
    top.report("tests", "too_many_tests", "a plan may have at most " + std::to_string(max_plan_tests) + " tests");
    tests = nullptr;
  }
  std::set<std::string, std::less<>> names;
  for (const located& each : list_items(tests, "/tests")) {
    plan_test test = read_test(each, shared);
    if (!test.name.empty() && !names.insert(test.name).second)
      report("duplicate_value", each.pointer + "/name", "another test is called " + quote_name(test.name));
    out.tests.push_back(std::move(test));
  }
  top.refuse_unknown_fields();
  if (problems_.empty()) return out;
  return std::unexpected(placed());
}

}  // namespace

auto parse_plan_tests(std::string_view text, std::string_view source_name, const registries& declared)
    -> braid::checked<plan_tests> {
  const auto document = parse_json(text, source_name);
  if (!document) return std::unexpected(document.error());
  auto out = tests_reader(*document, declared).run();
  if (!out) out.error().set_source(source_name);
  return out;
}

auto load_plan_tests(const std::filesystem::path& file, const registries& declared) -> braid::checked<plan_tests> {
  const auto text = read_text_file(file);
  if (!text) return std::unexpected(text.error());
  auto out = parse_plan_tests(*text, file.string(), declared);
  if (out && out->plan + std::string(test_suffix) != file.filename().string())
    return refused("name_mismatch",
                   "the file has the tests of " + quote_name(out->plan) + ", so its name must be " +
                       quote_name(out->plan + std::string(test_suffix)),
                   {}, file);
  return out;
}

}  // namespace rankd
