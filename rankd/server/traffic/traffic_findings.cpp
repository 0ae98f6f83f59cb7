// rankd/server/traffic/traffic_findings.cpp: reads records, runs two plans, and writes the differences as JSON.
#include <rankd/server/traffic/traffic_findings.hpp>

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

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

namespace fs = std::filesystem;
using ordered = nlohmann::ordered_json;

constexpr std::array<std::string_view, 3> end_names{"whole", "torn", "damaged"};

auto size_of(const fs::path& file) -> std::uint64_t {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(file, error);
  return error ? 0 : size;
}

/// Passes all frames of a file to the comparison. `go_on` is called with the position in the file.
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
    if (!go_on(from->position())) return refused("comparison_stopped", "the comparison was given up");
  }
  return read_record{.file = file.string(), .end = from->how_it_ends(), .position = from->position()};
}

auto names_in(const traffic_comparison& of) -> std::string {
  std::string out;
  for (const auto& [name, count] : of.plans()) out.append(out.empty() ? "" : ", ").append(name);
  return out.empty() ? "no request at all is recorded" : "the records have requests to: " + out;
}

auto make_json(const moved_id& of) -> ordered {
  const auto position = [](const std::optional<std::size_t>& at) { return at ? ordered(*at) : ordered(nullptr); };
  ordered id = std::visit([](const auto& value) { return ordered(value); }, of.id);
  return {{"id", std::move(id)},
          {"was", position(of.was)},
          {"is", position(of.is)},
          {"node", of.node.empty() ? ordered(nullptr) : ordered(of.node)},
          {"why", of.why}};
}

auto make_json(const std::vector<moved_id>& all) -> ordered {
  ordered out = ordered::array();
  for (const moved_id& each : all) out.push_back(make_json(each));
  return out;
}

auto make_json(const changed_request& of) -> ordered {
  const auto side = [](const compared_answer& each) {
    return ordered{{"code", each.code}, {"candidates", each.candidates}};
  };
  return {{"number", of.number},
          {"record", of.record},
          {"request_id", of.request_id},
          {"change", to_string(of.verdict.change)},
          {"overlap", of.verdict.overlap},
          {"rbo", of.verdict.rbo},
          {"before", side(of.before)},
          {"after", side(of.after)},
          {"moved", of.moved},
          {"moves", make_json(of.moves)}};
}

/// Ids may be any bytes.
auto dumped(const ordered& what) -> std::string { return what.dump(-1, ' ', false, ordered::error_handler_t::replace); }

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
    if (inside.empty()) return refused("no_records", "the folder holds no file NAME.rec", {}, each);
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
                   names_in(**comparison) + "; --requests-of names one");
  return out;
}

auto compute_mean(double sum, const traffic_differences& of) -> double {
  return of.answered == 0 ? 0 : sum / static_cast<double>(of.answered);
}

auto to_json(const traffic_findings& findings) -> std::string {
  const traffic_differences& found = findings.found;
  ordered files = ordered::array();
  for (const read_record& each : findings.records)
    files.push_back({{"file", each.file}, {"end", end_names[static_cast<std::size_t>(each.end)]}});
  ordered changed = ordered::array();
  for (const changed_request& each : found.changed) changed.push_back(make_json(each));
  const auto mean = [&](double sum) {
    return found.answered == 0 ? ordered(nullptr) : ordered(compute_mean(sum, found));
  };
  ordered different{{"all", found.different()}};
  for (const auto change :
       {answer_change::error, answer_change::candidates, answer_change::order, answer_change::values})
    different[std::string(to_string(change))] = found.count(change);
  return dumped({{"plan", findings.plan},
                 {"records", std::move(files)},
                 {"requests", found.requests},
                 {"other_plans", found.others},
                 {"lost", findings.lost},
                 {"redacted", found.redacted},
                 {"unusable", found.unusable},
                 {"not_recorded", found.not_recorded},
                 {"first_not_recorded", found.not_recorded == 0 ? ordered(nullptr) : ordered(found.first_not_recorded)},
                 {"live_batches", found.live_batches},
                 {"compared", found.compared()},
                 {"equal", found.count(answer_change::equal)},
                 {"different", std::move(different)},
                 {"answered", found.answered},
                 {"depth", findings.depth},
                 {"overlap", mean(found.overlap)},
                 {"rbo", mean(found.rbo)},
                 {"changed", std::move(changed)}});
}

auto to_json(const std::vector<moved_id>& moves) -> std::string { return dumped(make_json(moves)); }

}  // namespace rankd
