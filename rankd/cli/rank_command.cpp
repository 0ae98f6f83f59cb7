// rankd/cli/rank_command.cpp: rankd rank: one request, one response.
#include <rankd/cli/commands.hpp>
#include <rankd/cli/explain_tables.hpp>
#include <rankd/cli/printable.hpp>
#include <rankd/cli/report.hpp>
#include <rankd/cli/table.hpp>
#include <rankd/cli/workspace.hpp>
#include <rankd/engine/engine.hpp>
#include <rankd/engine/request.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/file.hpp>

#include <braid/runtime/runtime.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/types.h>
#include <unistd.h>

namespace rankd {
namespace {

constexpr std::string_view nothing = "-";  ///< what a table shows for a value that is absent

auto read_standard_input() -> braid::checked<std::string> {
  std::string text;
  for (std::array<char, 65'536> part{};;) {
    const ssize_t got = ::read(STDIN_FILENO, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return refused("request_unreadable", "the request cannot be read from standard input: " +
                                               std::error_code(errno, std::system_category()).message());
    if (got == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
}

/// The text that --request gives or names.
auto text_of(const std::string& request) -> braid::checked<std::string> {
  if (!request.empty() && request.find_first_not_of(" \t\r\n") == request.find('{')) return request;
  auto text = request.empty() ? read_standard_input() : read_text_file(request);
  if (text) text->erase(0, text->size() - without_mark(*text).size());
  return text;
}

/// `field` of the hash of each candidate, for those columns of the table that no plan fetches.
auto look_up(store& from, const row_set& rows, std::string_view field, braid::arena& memory)
    -> braid::task<std::vector<std::string>> {
  const std::span<std::int64_t> ids = memory.uninitialized<std::int64_t>(rows.size());
  for (std::size_t at = 0; at < rows.size(); ++at) ids[at] = rows.id(at);
  auto reading = from.hget({"user:", ids}, field, memory);
  const auto found = co_await std::move(reading);
  std::vector<std::string> texts(rows.size(), std::string(nothing));
  if (found)
    for (std::size_t at = 0; at < texts.size(); ++at) texts[at] = std::string((*found)[at].value_or(nothing));
  co_return texts;
}

auto printed(const char* format, double value) -> std::string {
  std::array<char, 32> buffer{};
  std::snprintf(buffer.data(), buffer.size(), format, value);
  return buffer.data();
}

/// The text or number that the answer has for a candidate.
auto cell(const ranking& answer, std::string_view key_name, std::size_t position) -> std::optional<std::string> {
  const auto key = std::ranges::find(answer.fields, key_name, &key_entry::name);
  if (key == answer.fields.end()) return std::nullopt;
  const auto values = answer.rows.table().find((*key)->key_id);
  const std::uint32_t row = answer.rows.row(position);
  if (!values || values->is_null(row)) return std::nullopt;
  if (const auto* text = values->strings()) return std::string((*text)[row]);
  if (const auto* floats = values->floats()) return printed("%.6g", (*floats)[row]);
  return std::nullopt;
}

void print_candidates(const ranking& answer, const std::vector<std::string>& countries,
                      const std::vector<std::string>& titles) {
  using align = text_table::align;
  text_table table({{"rank", align::right},
                    {"id", align::right},
                    {"score", align::right},
                    {"country", align::left},
                    {"title", align::left}});
  for (std::size_t at = 0; at < answer.rows.size(); ++at)
    table.add({std::to_string(at + 1), std::to_string(answer.rows.id(at)),
               cell(answer, "final_score", at).value_or(std::string(nothing)),
               cell(answer, "country", at).value_or(countries[at]), cell(answer, "title", at).value_or(titles[at])});
  print(table.to_text());
}

/// Whether all candidates of a plan are users, whose hashes the store knows: only an operator that gives users began
/// the rows of its outputs.
auto gives_users(const bound_plan& plan) -> bool {
  constexpr std::array<std::string_view, 3> givers{"core::viewer", "core::follow", "core::recommendation"};
  std::vector<node_index> open = plan.outputs;
  std::vector<bool> seen(plan.nodes.size(), false);
  while (!open.empty()) {
    const node_index at = open.back();
    open.pop_back();
    if (seen[at]) continue;
    seen[at] = true;
    const bound_node& node = plan.nodes[at];
    if (std::ranges::find(givers, node.op_name) != givers.end()) continue;
    if (node.change == row_change::dense_source) return false;
    // The rows of a join are those of its first source.
    open.insert(open.end(), node.sources.begin(),
                node.change == row_change::matched ? node.sources.begin() + 1 : node.sources.end());
  }
  return true;
}

void print_for_people(const ranking& answer, const bound_plan& plan, const open_stores& stores, braid::runtime& on) {
  braid::arena memory;
  std::vector<std::string> countries(answer.rows.size(), std::string(nothing));
  std::vector<std::string> titles = countries;
  const auto from = std::ranges::find_if(stores.owned, [](const auto& each) { return each != nullptr; });
  if (from != stores.owned.end() && gives_users(plan)) {
    countries = on.run(look_up(**from, answer.rows, "country", memory));
    titles = on.run(look_up(**from, answer.rows, "title", memory));
  }
  print_candidates(answer, countries, titles);
}

/// For people: times always, the rest where it was asked for.
void print_explanation(const explanation& what, explain_mode asked) {
  print("\n" + nodes_text(what));
  if (asked == explain_mode::off) return;
  print("\n" + path_text(what));
  if (!what.ids.empty()) print("\n" + fates_text(what));
}

void ask_for_explanation(const rank_options& options, rank_request& request) {
  if (options.form == output_form::people || options.explain == explain_mode::on) request.explain = explain_mode::on;
  for (const std::int64_t id : options.why)
    if (std::ranges::find(request.explain_ids, id) == request.explain_ids.end()) request.explain_ids.push_back(id);
}

/// A request that has been read, on a workspace that is open.
auto answer(const rank_options& options, const workspace& in, rank_request request) -> exit_status {
  const std::string id = request.request_id;
  const auto name = plan_to_run(request, options.plan);
  if (!name) return report(name.error(), options.form, id);
  const auto plan = in.load_plan_of(*name);
  if (!plan) return report(plan_diagnostics(request, plan.error()), options.form, id);
  if (const auto missing = check_needs(request, route_of(*plan, request.params)->needs, in.declared); !missing.empty())
    return report(missing, options.form, id);
  const auto stores = open_all_stores(in);
  if (!stores) return report(stores.error(), options.form, id);

  engine_options how;
  if (options.node_timeout) how.node_timeout = *options.node_timeout;
  ask_for_explanation(options, request);
  std::optional<engine> ranker;  // destroyed after the runtime, whose last tasks still use it
  const auto on = braid::runtime::create({.workers = options.workers, .name = "rankd"});
  if (!on) return report(no_runtime(on.error()), options.form, id);
  ranker.emplace(**on, in.declared, stores->pointers(), how);
  const ranking result = (*on)->run(ranker->rank(*plan, std::move(request)));

  if (options.form == output_form::programs) {
    print(to_json(result) + "\n");
  } else if (result.error) {
    std::fprintf(stderr, "rankd: %s [%s]\n", printable(result.error->message).c_str(), result.error->code.c_str());
    if (options.explain == explain_mode::on) print_explanation(*result.explained, options.explain);
  } else {
    print_for_people(result, *plan, *stores, **on);
    print_explanation(*result.explained, options.explain);
  }
  std::fflush(stdout);  // the answer is out before nodes that end late are waited for
  return result.error ? exit_status::failed : exit_status::fine;
}

}  // namespace

auto rank_command(const rank_options& options) -> exit_status {
  const auto in = workspace::open(options.project);
  if (!in) return report(in.error(), options.form);
  const auto text = text_of(options.request);
  if (!text) return report(text.error(), options.form);
  auto request = parse_request(*text, in->declared);
  if (!request) return report(request.error(), options.form, request_id_of(*text));
  return answer(options, *in, std::move(*request));
}

}  // namespace rankd
