// rankd/server/traffic/traffic_findings.cpp: runs two plans on recorded traffic, and writes the differences as JSON.
#include <rankd/server/traffic/traffic_findings.hpp>

#include <rankd/registry/json_members.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/folder_names.hpp>
#include <rankd/registry/names.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

namespace rankd {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> end_names{"whole", "torn", "damaged"};

auto size_of(const fs::path& file) -> std::uint64_t {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(file, error);
  return error ? 0 : size;
}

/// Passes all frames of a file to the comparison. Repeatedly calls `go_on` with the position in the file, and stops if
/// `go_on` returns false.
auto take_all(const fs::path& file, traffic_comparison& into, const std::function<bool(std::uint64_t)>& go_on)
    -> braid::checked<read_record> {
  auto from = traffic_reader::open(file);
  if (!from) return std::unexpected(std::move(from.error()));
  into.begin(file.filename().string());
  while (const auto frame = from->next()) {
    if (auto taken = into.take(*frame); !taken) {
      if (taken.error().front().source.empty()) taken.error().set_source(file.string());
      return std::unexpected(std::move(taken.error()));
    }
    if (!go_on(from->position())) return refused("comparison_stopped", "the comparison was stopped");
  }
  return read_record{.file = file.string(), .end = from->how_it_ends(), .position = from->position()};
}

auto names_in(const traffic_comparison& comparison) -> std::string {
  std::string out;
  for (const auto& [name, count] : comparison.plans()) out.append(out.empty() ? "" : ", ").append(name);
  return out.empty() ? "the recordings contain no request" : "the recordings have requests to: " + out;
}

void append_side(std::string& out, std::string_view name, const compared_answer& answer) {
  append_json_name(out, name);
  out += '{';
  append_json_member(out, "code", answer.code);
  append_json_count(out, "candidates", answer.candidates);
  out += '}';
}

void append_changed(std::string& out, const changed_request& request) {
  out += '{';
  append_json_count(out, "number", request.number);
  append_json_member(out, "record", request.record);
  append_json_member(out, "request_id", request.request_id);
  append_json_member(out, "change", to_string(request.verdict.change));
  append_json_number_or_null(out, "overlap", request.verdict.overlap);
  append_json_number_or_null(out, "rbo", request.verdict.rbo);
  append_side(out, "before", request.before);
  append_side(out, "after", request.after);
  append_json_count(out, "moved", request.moved);
  append_json_name(out, "moves");
  append_moves(out, request.moves, move_parts::all);
  out += '}';
}

void append_file(std::string& out, const read_record& each) {
  out += '{';
  append_json_member(out, "file", each.file);
  append_json_member(out, "end", end_names[static_cast<std::size_t>(each.end)]);
  out += '}';
}

}  // namespace

auto list_records(const std::vector<fs::path>& places) -> braid::checked<std::vector<fs::path>> {
  std::vector<fs::path> out;
  for (const fs::path& each : places) {
    std::error_code error;
    if (!fs::is_directory(each, error)) {
      out.push_back(each);
      continue;
    }
    std::vector<fs::path> inside;
    for (const std::string& name : folder_names(each).value_or(std::vector<std::string>()))
      if (fs::path(name).extension() == ".rec") inside.push_back(each / name);
    if (inside.empty()) return refused("no_records", "the folder contains no file NAME.rec", {}, each);
    std::ranges::sort(inside);
    out.insert(out.end(), inside.begin(), inside.end());
  }
  return out;
}

auto compare_on_records(const std::vector<fs::path>& files, traffic_comparison::settings settings,
                        const traffic_progress& progress) -> braid::checked<traffic_findings> {
  traffic_findings out{.plan = settings.recorded_plan, .depth = settings.depth, .records = {}, .lost = 0, .found = {}};
  auto comparison = traffic_comparison::make(std::move(settings));
  if (!comparison) return std::unexpected(std::move(comparison.error()));
  std::uint64_t all = 0;
  for (const fs::path& each : files) all += size_of(each);
  std::uint64_t done = 0;
  for (const fs::path& each : files) {
    auto read = take_all(each, **comparison, [&](std::uint64_t position) { return progress(done + position, all); });
    if (!read) return std::unexpected(std::move(read.error()));
    done += read->position;
    out.records.push_back(std::move(*read));
  }
  out.found = (*comparison)->finish();
  out.lost = (*comparison)->lost();
  if (out.found.requests == 0)
    return refused("unknown_plan", "no recorded request is for plan " + quote_name(out.plan),
                   names_in(**comparison) + "; name a recorded plan with --requests-of");
  return out;
}

auto compute_mean(double sum, const traffic_differences& differences) -> double {
  return differences.answered == 0 ? 0 : sum / static_cast<double>(differences.answered);
}

auto to_json(const traffic_findings& findings) -> std::string {
  const traffic_differences& found = findings.found;
  const auto mean = [&](double sum) {
    return found.answered == 0 ? std::nullopt : std::optional(compute_mean(sum, found));
  };
  std::string out = "{";
  append_json_member(out, "plan", findings.plan);
  append_json_name(out, "records");
  append_json_list(out, findings.records, append_file);
  append_json_count(out, "requests", found.requests);
  append_json_count(out, "other_plans", found.others);
  append_json_count(out, "lost", findings.lost);
  append_json_count(out, "redacted", found.redacted);
  append_json_count(out, "unusable", found.unusable);
  append_json_count(out, "not_recorded", found.not_recorded);
  append_json_or_null(out, "first_not_recorded",
                      found.not_recorded == 0 ? std::nullopt : std::optional(found.first_not_recorded));
  append_json_count(out, "live_batches", found.live_batches);
  append_json_count(out, "compared", found.compared());
  append_json_count(out, "equal", found.count(answer_change::equal));
  append_json_name(out, "different");
  out += '{';
  append_json_count(out, "all", found.different());
  for (const auto change :
       {answer_change::error, answer_change::candidates, answer_change::order, answer_change::values})
    append_json_count(out, to_string(change), found.count(change));
  out += '}';
  append_json_count(out, "answered", found.answered);
  append_json_count(out, "depth", findings.depth);
  append_json_number_or_null(out, "overlap", mean(found.overlap));
  append_json_number_or_null(out, "rbo", mean(found.rbo));
  append_json_name(out, "changed");
  append_json_list(out, found.changed, append_changed);
  return out += '}';
}

auto to_json(const std::vector<moved_id>& moves) -> std::string {
  std::string out;
  append_moves(out, moves, move_parts::all);
  return out;
}

}  // namespace rankd
