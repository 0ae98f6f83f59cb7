// rankd/cli/commands/rank_command.cpp: rankd rank: answers one request.
#include <rankd/cli/commands/commands.hpp>
#include <rankd/cli/output/explain_tables.hpp>
#include <rankd/cli/output/printable.hpp>
#include <rankd/cli/output/progress.hpp>
#include <rankd/cli/output/report.hpp>
#include <rankd/cli/output/table.hpp>
#include <rankd/embed/ranker.hpp>
#include <rankd/embed/workspace.hpp>
#include <rankd/engine/requests/request.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/file.hpp>
#include <rankd/registry/names.hpp>

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

/// Returns the request that is given by the value of --request: either the value itself, or the contents of the file
/// that it names.
auto text_of(const std::string& request) -> braid::checked<std::string> {
  if (!request.empty() && request.find_first_not_of(" \t\r\n") == request.find('{')) return request;
  auto text = request.empty() ? read_standard_input() : read_text_file(request);
  if (text) text->erase(0, text->size() - without_mark(*text).size());
  return text;
}

/// Returns a value of a row as text.
auto cell(const column& values, std::uint32_t row) -> std::string {
  if (values.is_null(row)) return std::string(nothing);
  if (const auto* text = values.strings(); text != nullptr && text->dimensions != 0)
    return "(" + counted(text->dimensions, "number") + ")";
  if (const auto* text = values.strings()) return std::string((*text)[row]);
  if (const auto* flags = values.booleans()) return (*flags)[row] ? "true" : "false";
  if (const auto* whole = values.integers()) return std::to_string((*whole)[row]);
  return printed("%.6g", (*values.floats())[row]);
}

/// Prints rows as a table with the number and the id of each row, and a column for each of these keys. If the rows have
/// no column for a key, the table shows dashes.
void print_rows(const row_set& rows, const std::vector<const key_entry*>& keys, std::string number) {
  using align = text_table::align;
  std::vector<text_table::head> heads{{std::move(number), align::right}, {"id", align::right}};
  std::vector<std::optional<column>> columns;
  for (const key_entry* key : keys) {
    columns.push_back(rows.table().find(key->key_id));
    const bool is_text = !columns.back() || columns.back()->strings() || columns.back()->booleans();
    heads.push_back({key->name, is_text ? align::left : align::right});
  }
  text_table table(std::move(heads));
  for (std::size_t at = 0; at < rows.size(); ++at) {
    std::vector<std::string> cells{std::to_string(at + 1), to_text(rows.table().id(rows.row(at)))};
    for (const std::optional<column>& values : columns)
      cells.push_back(values ? cell(*values, rows.row(at)) : std::string(nothing));
    table.add(std::move(cells));
  }
  print(table.to_text());
}

/// Returns the title above captured rows.
auto capture_title(const captured_rows& rows) -> std::string {
  std::string out = rows.node + (rows.side == capture_side::in ? " reads from " + rows.source : " returns");
  if (!rows.fused_with.empty()) return out + ": no rows to show, because the node was merged with " + rows.fused_with;
  if (!rows.rows)
    return out + ": no rows to show, because the state of the node is " + std::string(to_string(rows.state));
  return out + " " + counted(rows.rows->size() + rows.cut, "row") +
         (rows.cut == 0 ? "" : ", of which " + std::to_string(rows.cut) + " are not shown");
}

void print_captures(const ranking& answer) {
  for (const captured_rows& each : answer.captured) {
    print("\n" + capture_title(each) + "\n");
    if (each.rows) print_rows(*each.rows, each.keys, "row");
  }
}

/// Prints an explanation for people. The times are always printed, further parts only on request.
void print_explanation(const explanation& explanation, explain_mode asked) {
  print("\n" + nodes_text(explanation));
  if (asked == explain_mode::off) return;
  print("\n" + path_text(explanation));
  if (!explanation.ids.empty()) print("\n" + fates_text(explanation));
}

/// Requests explanations for the ids of --why. Returns a diagnostic for each text that is not an id.
auto ask_for_explanation(const rank_options& options, value_type id_type, rank_request& request) -> braid::diagnostics {
  braid::diagnostics problems;
  if (options.form == output_form::people || options.explain == explain_mode::on) request.explain = explain_mode::on;
  for (const std::string& text : options.why) {
    auto id = parse_id(text, id_type);
    if (!id)
      problems.append(make_diagnostic(
          "bad_id", "--why: an id is " + std::string(id_sentence(id_type)) + ", not " + quote_name(text)));
    else if (std::ranges::find(request.explain_ids, *id) == request.explain_ids.end())
      request.explain_ids.push_back(std::move(*id));
  }
  return problems;
}

/// Requests the nodes and keys of --capture. Returns a diagnostic for each error.
auto ask_for_rows(const rank_options& options, const registries& declared, rank_request& request)
    -> braid::diagnostics {
  braid::diagnostics problems;
  for (const std::string& text : options.captures) {
    auto asked = parse_capture(text, declared);
    if (!asked) {
      problems.append(std::move(asked.error()));
      continue;
    }
    std::erase_if(request.captures, [&](const asked_capture& each) { return each.node == asked->node; });
    request.captures.push_back(std::move(*asked));
  }
  if (request.captures.size() > max_captured_nodes)
    problems.append(make_diagnostic("too_many_captures", "the request and --capture name more than " +
                                                             std::to_string(max_captured_nodes) + " nodes"));
  return problems;
}

/// Prints an answer, and returns the exit status of the command.
auto show(const rank_options& options, const rank_answer& answer) -> exit_status {
  if (!answer.result) return report(answer.problems, options.form, answer.request_id);
  const ranking& result = *answer.result;
  if (options.form == output_form::programs) {
    print(to_json(answer) + "\n");
  } else if (result.error) {
    std::fprintf(stderr, "rankd: %s [%s]\n", printable(result.error->message).c_str(), result.error->code.c_str());
    print_captures(result);
    if (options.explain == explain_mode::on) print_explanation(*result.explained, options.explain);
  } else {
    print_rows(result.rows, result.fields, "rank");
    print_captures(result);
    if (!result.next_cursor.empty()) print("\nnext page: \"cursor\": \"" + result.next_cursor + "\"\n");
    print_explanation(*result.explained, options.explain);
  }
  std::fflush(stdout);  // the answer is out before nodes that end late are waited for
  return result.error ? exit_status::failed : exit_status::fine;
}

}  // namespace

auto has_text_ids(const project_options& options) -> bool {
  const auto in = workspace::open(options.project);
  return in && in->declared.id_type() == value_type::string;
}

auto rank_command(const rank_options& options) -> exit_status {
  const auto in = ranker::open({.project = options.project,
                                .workers = options.workers,
                                .node_timeout = options.node_timeout,
                                .observer = load_bars()});
  if (!in) return report(in.error(), options.form);
  const auto text = text_of(options.request);
  if (!text) return report(text.error(), options.form);
  const auto adjust = [&options](rank_request& request, const workspace& workspace) {
    auto problems = ask_for_rows(options, workspace.declared, request);
    return problems.empty() ? ask_for_explanation(options, workspace.declared.id_type(), request) : problems;
  };
  return show(options, (*in)->rank(*text, {.plan = options.plan, .adjust = adjust}));
}

}  // namespace rankd
