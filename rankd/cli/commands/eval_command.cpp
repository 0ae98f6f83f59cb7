// rankd/cli/commands/eval_command.cpp: rankd eval: compares the answers of one or two plans with relevance judgements.
#include <rankd/cli/commands/commands.hpp>

#include <rankd/cli/output/printable.hpp>
#include <rankd/cli/output/progress.hpp>
#include <rankd/cli/output/report.hpp>
#include <rankd/cli/output/table.hpp>
#include <rankd/embed/workspace.hpp>
#include <rankd/engine/detail/json_parts.hpp>
#include <rankd/engine/engine.hpp>
#include <rankd/engine/requests/page_cursors.hpp>
#include <rankd/engine/plans/plan_needs.hpp>
#include <rankd/engine/explain/quality.hpp>
#include <rankd/plan/json.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/json_text.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/registry/object_reader.hpp>
#include <rankd/store/id_batch.hpp>
#include <rankd/store/line_reader.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

/// One line of a file of judgements: a request, and the relevance of ids for this request.
struct judged_request {
  rank_request request;
  judgements judged;
};

/// The answers of one plan, and their metrics.
struct plan_result {
  std::string plan;
  std::string digest;
  std::vector<quality> qualities;  ///< by request
  std::set<row_id> shown;          ///< among the first candidates of any answer
  std::size_t failed = 0;
  std::string first_failure;
};

auto list_ids(value_type type) -> std::string_view {
  return type == value_type::string ? "strings of 1 to 128 bytes without NUL" : "integers of 64 bits";
}

auto read_relevance(object_reader& line, value_type id_type, braid::diagnostics& problems) -> judgements {
  judgements out;
  const nlohmann::json* relevance = line.object("relevance", presence::required);
  if (relevance == nullptr) return out;
  constexpr double max_relevance = 1000;  // for which 2^relevance is still a number
  for (const auto& [text, value] : relevance->items()) {
    const std::string pointer = braid::json_pointer(line.pointer_of("relevance"), text);
    const auto id = parse_id(text, id_type);
    const auto grade = scalar_from_json(value, value_type::floating);
    if (id && out.contains(*id))
      problems.add({.code = "duplicate_value",
                    .pointer = pointer,
                    .message = "id " + to_text(*id) + " appears twice, in two spellings",
                    .hint = {},
                    .node = {},
                    .source = {}});
    else if (id && grade && std::get<double>(*grade) >= 0 && std::get<double>(*grade) <= max_relevance)
      out[*id] = std::get<double>(*grade);
    else
      problems.add({.code = id ? "bad_value" : "bad_id",
                    .pointer = pointer,
                    .message = id ? "a relevance must be a number from 0 to 1000, not " + described(value)
                                  : quote_name(text) + " is not an id: ids are " + std::string(list_ids(id_type)),
                    .hint = {},
                    .node = {},
                    .source = {}});
  }
  return out;
}

/// Parses a line of judgements. A plan named on the command line replaces the plan in the request.
auto read_judged(std::string_view text, std::uint64_t number, const std::string& file, const registries& declared)
    -> braid::checked<judged_request> {
  const std::string place = file + ":" + std::to_string(number);
  auto document = parse_json(text, file, number);
  if (!document) {
    // The message of a syntax error already contains its line and column. Any other diagnostic has only a JSON pointer,
    // so its source is set.
    braid::diagnostics placed;
    for (braid::diagnostic each : document.error()) {
      if (!each.pointer.empty()) each.source = place;
      placed.add(std::move(each));
    }
    return std::unexpected(std::move(placed));
  }
  braid::diagnostics problems;
  object_reader line(*document, "", problems);
  judged_request out;
  if (const nlohmann::json* given = line.object("request", presence::required)) {
    nlohmann::json request = *given;
    request.erase("plan");
    auto read = parse_request(request.dump(), declared, {.line = number});
    if (read)
      out.request = std::move(*read);
    else
      for (braid::diagnostic each : read.error()) {
        each.pointer.insert(0, "/request");
        problems.add(std::move(each));
      }
  }
  out.judged = read_relevance(line, declared.id_type(), problems);
  line.refuse_unknown_fields();
  if (problems.empty()) return out;
  braid::diagnostics placed;
  for (braid::diagnostic each : problems) {
    each.source = place;
    placed.add(std::move(each));
  }
  return std::unexpected(std::move(placed));
}

auto unreadable(const std::filesystem::path& file, std::error_code error) -> std::unexpected<braid::diagnostics> {
  return refused("unreadable_file", "cannot be read: " + error.message(), {}, file);
}

constexpr std::size_t max_judgement_diagnostics = 100;

/// Calls `use` with each request of a file, one at a time, because a file may be larger than memory. Returns the errors
/// of all wrong lines together.
template <typename Use>
auto for_each_judged(const std::filesystem::path& file, const registries& declared, Use use) -> braid::checked<void> {
  auto lines = line_reader::open(file);
  if (!lines) return unreadable(file, lines.error());
  braid::diagnostics problems;
  while (problems.size() < max_judgement_diagnostics) {
    const auto line = lines->next();
    if (!line) return unreadable(file, line.error());
    if (!*line) break;
    const text_line& text = **line;
    if (!text.too_long && text.text.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    auto read = text.too_long ? refused("line_too_long", "the line is longer than 16 MiB", {},
                                        file.string() + ":" + std::to_string(text.number))
                              : read_judged(text.text, text.number, file.string(), declared);
    if (!read)
      problems.append(std::move(read.error()));
    else if (problems.empty())
      use(std::move(*read));
  }
  if (problems.size() >= max_judgement_diagnostics)
    problems.append(make_diagnostic("too_many_diagnostics", "the rest was not read", "correct these lines first"));
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return {};
}

/// The number of requests in a file of judgements, and all ids that the file judges.
struct judged_file {
  std::size_t requests = 0;
  std::set<row_id> ids;  ///< that have a relevance for some request
};

/// Reads the whole file before any request runs, so that a wrong line at the end of the file is reported at once.
auto read_judgements(const std::filesystem::path& file, const registries& declared) -> braid::checked<judged_file> {
  judged_file out;
  const auto read = for_each_judged(file, declared, [&out](const judged_request& each) {
    ++out.requests;
    for (const auto& [id, relevance] : each.judged) out.ids.insert(id);
  });
  if (!read) return std::unexpected(read.error());
  if (out.requests == 0)
    return refused("no_requests", "the file has no request", "write one request on each line", file);
  return out;
}

/// Returns the values of a column as texts, in the form in which answers show them.
auto list_values(const ranking& answer, const key_entry* key) -> std::vector<std::optional<std::string>> {
  std::vector<std::optional<std::string>> out;
  const auto column = key == nullptr ? std::nullopt : answer.rows.table().find(key->key_id);
  answer.rows.for_each_row([&](std::uint32_t row) {
    out.emplace_back();
    if (!column || column->is_null(row)) return;
    detail::append_value(out.back().emplace(), *column, row);
  });
  if (key == nullptr) out.clear();
  return out;
}

void note(plan_result& into, const ranking& answer, const judgements& judged, const eval_options& options,
          const key_entry* diversity) {
  if (answer.error) {
    if (into.failed++ == 0) into.first_failure = answer.error->code + ": " + answer.error->message;
  }
  std::vector<row_id> ids;
  if (!answer.error) answer.rows.for_each_row([&](std::uint32_t row) { ids.push_back(answer.rows.table().id(row)); });
  const auto values = answer.error ? std::vector<std::optional<std::string>>() : list_values(answer, diversity);
  into.qualities.push_back(measure_quality(ids, values, judged, options.quality));
  ids.resize(std::min(ids.size(), options.quality.depth));
  into.shown.insert(ids.begin(), ids.end());
}

/// Returns an answer without candidates for a request that failed.
auto failed_for(const braid::diagnostics& problems) -> ranking {
  ranking out;
  out.error = rank_error{problems.front().code, problems.front().message, {}, {}};
  return out;
}

auto run_plan(const bound_plan& plan, std::size_t requests, const workspace& workspace, const open_stores& stores,
              const eval_options& options, const key_entry* diversity) -> braid::checked<plan_result> {
  plan_result out{
      .plan = plan.name, .digest = plan.digest, .qualities = {}, .shown = {}, .failed = 0, .first_failure = {}};
  std::optional<engine> ranker;  // destroyed after the runtime, whose last tasks still use it
  const auto on = braid::runtime::create({.workers = options.workers, .name = "rankd"});
  if (!on) return std::unexpected(no_runtime(on.error()));
  ranker.emplace(**on, workspace.declared, stores.pointers(),
                 engine_options{.times = budget_times::ignored, .cursors = make_page_cursors(workspace.where.cursors)});
  const auto run = [&](judged_request each) {
    const auto missing = fit_to_plan(each.request, plan, workspace.declared);
    const ranking answer =
        missing.empty() ? (*on)->run(ranker->rank(plan, std::move(each.request))) : failed_for(missing);
    note(out, answer, each.judged, options, diversity);
  };
  if (const auto read = for_each_judged(options.judgements, workspace.declared, run); !read)
    return std::unexpected(read.error());
  if (out.qualities.size() != requests)
    return refused("unreadable_file", "the file has changed while it was read",
                   "start again, and do not change the file while it is read", options.judgements);
  return out;
}

/// Returns the values of a metric for the requests that have such a value.
auto defined(const plan_result& result, std::size_t metric) -> std::vector<double> {
  std::vector<double> out;
  for (const quality& each : result.qualities)
    if (each[metric]) out.push_back(*each[metric]);
  return out;
}

/// Returns the difference (second minus first) for each request for which both values exist.
auto differences(const plan_result& first, const plan_result& second, std::size_t metric) -> std::vector<double> {
  std::vector<double> out;
  for (std::size_t at = 0; at < first.qualities.size(); ++at)
    if (const auto &a = first.qualities[at][metric], &b = second.qualities[at][metric]; a && b) out.push_back(*b - *a);
  return out;
}

/// The number of judged ids, and how many of them appear in answers.
struct coverage {
  std::size_t shown = 0;
  std::size_t judged = 0;

  [[nodiscard]] auto share() const -> double {
    return judged == 0 ? 0 : static_cast<double>(shown) / static_cast<double>(judged);
  }
};

auto measure_coverage(const plan_result& result, const std::set<row_id>& judged) -> coverage {
  const auto shown = std::ranges::count_if(judged, [&](const row_id& id) { return result.shown.contains(id); });
  return {static_cast<std::size_t>(shown), judged.size()};
}

using estimates = std::array<std::optional<mean_estimate>, quality_metrics>;

/// The results that rankd eval prints.
struct evaluation {
  std::vector<plan_result> plans;
  std::vector<estimates> means;     ///< of each plan
  std::vector<coverage> covered;    ///< by each plan
  std::optional<estimates> paired;  ///< if there are two plans
  std::size_t requests = 0;
};

auto evaluate(std::vector<plan_result> plans, const judged_file& judged, const eval_options& options) -> evaluation {
  evaluation out{.plans = std::move(plans), .means = {}, .covered = {}, .paired = {}, .requests = judged.requests};
  for (const plan_result& each : out.plans) {
    estimates& means = out.means.emplace_back();
    for (std::size_t metric = 0; metric < quality_metrics; ++metric)
      means[metric] = estimate_mean(defined(each, metric), options.bootstrap);
    out.covered.push_back(measure_coverage(each, judged.ids));
  }
  if (out.plans.size() < 2) return out;
  out.paired.emplace();
  for (std::size_t metric = 0; metric < quality_metrics; ++metric)
    (*out.paired)[metric] = estimate_mean(differences(out.plans[0], out.plans[1], metric), options.bootstrap);
  return out;
}

void append_number(std::string& out, std::string_view name, double value) {
  out += out.ends_with('{') ? "\"" : ",\"";
  out += name;
  out += "\":";
  append_json_number(out, value);
}

void append_estimates(std::string& out, const estimates& all) {
  for (std::size_t metric = 0; metric < quality_metrics; ++metric) {
    out += out.ends_with('{') ? "\"" : ",\"";
    out += name_of(static_cast<quality_metric>(metric));
    out += "\":";
    if (!all[metric]) {
      out += "null";
      continue;
    }
    out += '{';
    append_number(out, "mean", all[metric]->mean);
    append_number(out, "low", all[metric]->low);
    append_number(out, "high", all[metric]->high);
    out += ",\"requests\":" + std::to_string(all[metric]->count) + "}";
  }
}

auto as_json(const evaluation& results, const eval_options& options) -> std::string {
  std::string out = "{\"requests\":" + std::to_string(results.requests) +
                    ",\"depth\":" + std::to_string(options.quality.depth) + ",\"gain\":\"" +
                    (options.quality.gain == gain_form::linear ? "linear" : "exponential") +
                    "\",\"resamples\":" + std::to_string(options.bootstrap.resamples) +
                    ",\"seed\":" + std::to_string(options.bootstrap.seed);
  append_number(out, "confidence", options.bootstrap.confidence);
  out += ",\"plans\":[";
  for (std::size_t at = 0; at < results.plans.size(); ++at) {
    const plan_result& plan = results.plans[at];
    out += at == 0 ? "{\"plan\":" : ",{\"plan\":";
    append_json_string(out, plan.plan);
    out += ",\"digest\":\"" + plan.digest + "\",\"failed\":" + std::to_string(plan.failed);
    if (plan.failed != 0) {
      out += ",\"first_failure\":";
      append_json_string(out, plan.first_failure);
    }
    out += ",\"metrics\":{";
    append_estimates(out, results.means[at]);
    out += ",\"coverage\":{";
    append_number(out, "share", results.covered[at].share());
    out += ",\"shown\":" + std::to_string(results.covered[at].shown) +
           ",\"judged\":" + std::to_string(results.covered[at].judged) + "}}}";
  }
  out += ']';
  if (results.paired) {
    out += ",\"difference\":{";
    append_estimates(out, *results.paired);
    out += '}';
  }
  return out + "}\n";
}

auto format_cell(const std::optional<mean_estimate>& each, const char* format) -> std::string {
  if (!each) return "-";
  return printed(format, each->mean) + " [" + printed(format, each->low) + ", " + printed(format, each->high) + "]";
}

void print_table(const evaluation& results, const eval_options& options) {
  print(counted(results.requests, "request") + ", the first " + counted(options.quality.depth, "candidate") + ", " +
        printed("%g", options.bootstrap.confidence * 100) + " % confidence intervals by " +
        counted(options.bootstrap.resamples, "resample") + " with seed " + std::to_string(options.bootstrap.seed) +
        "\n\n");
  std::vector<text_table::head> heads{{"metric"}};
  for (const plan_result& each : results.plans) heads.push_back({each.plan});
  if (results.paired) heads.push_back({"difference"});
  text_table table(std::move(heads));
  for (std::size_t metric = 0; metric < quality_metrics; ++metric) {
    std::vector<std::string> row{std::string(name_of(static_cast<quality_metric>(metric)))};
    for (const estimates& each : results.means) row.push_back(format_cell(each[metric], "%.4f"));
    if (results.paired) row.push_back(format_cell((*results.paired)[metric], "%+.4f"));
    table.add(std::move(row));
  }
  std::vector<std::string> row{"coverage"};
  for (const coverage& each : results.covered) row.push_back(printed("%.4f", each.share()));
  if (results.paired) row.push_back(printed("%+.4f", results.covered[1].share() - results.covered[0].share()));
  table.add(std::move(row));
  print(table.to_text());
}

auto find_column(const eval_options& options, const registries& declared) -> braid::checked<const key_entry*> {
  if (options.diversity.empty()) return nullptr;
  if (const key_entry* found = declared.find_key(options.diversity)) return found;
  return refused("unknown_key", "no key is called " + quote_name(options.diversity),
                 braid::did_you_mean(options.diversity, declared.key_names()));
}

}  // namespace

auto eval_command(const eval_options& options) -> exit_status {
  const auto in = workspace::open(options.project);
  if (!in) return report(in.error(), options.form);
  const auto diversity = find_column(options, in->declared);
  if (!diversity) return report(diversity.error(), options.form);
  std::vector<bound_plan> plans;
  for (const std::string& each : options.plans) {
    auto plan = in->load_named_plan(each);
    if (!plan) return report(plan.error(), options.form);
    plans.push_back(std::move(*plan));
  }
  const auto judged = read_judgements(options.judgements, in->declared);
  if (!judged) return report(judged.error(), options.form);
  std::vector<const bound_plan*> read_by;
  for (const bound_plan& each : plans) read_by.push_back(&each);
  const auto stores = open_plan_stores(*in, read_by, {.observer = load_bars()});
  if (!stores) return report(stores.error(), options.form);
  std::vector<plan_result> results;
  for (const bound_plan& each : plans) {
    auto result = run_plan(each, judged->requests, *in, *stores, options, *diversity);
    if (!result) return report(result.error(), options.form);
    results.push_back(std::move(*result));
  }
  const evaluation found = evaluate(std::move(results), *judged, options);
  if (options.form == output_form::programs)
    print(as_json(found, options));
  else
    print_table(found, options);
  std::fflush(stdout);
  bool fine = true;
  for (const plan_result& each : found.plans) {
    if (each.failed == 0) continue;
    fine = false;
    std::fprintf(stderr, "rankd: %s of %s failed and count as empty answers; the first: %s\n",
                 counted(each.failed, "request").c_str(), printable(each.plan).c_str(),
                 printable(each.first_failure).c_str());
  }
  return fine ? exit_status::fine : exit_status::failed;
}

}  // namespace rankd
