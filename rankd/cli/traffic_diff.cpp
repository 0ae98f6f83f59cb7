// rankd/cli/traffic_diff.cpp: records read, two plans run, and what differs for people and programs.
#include <rankd/cli/traffic_diff.hpp>

#include <rankd/cli/printable.hpp>
#include <rankd/cli/progress.hpp>
#include <rankd/cli/report.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/server/traffic_comparison.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

namespace fs = std::filesystem;
using ordered = nlohmann::ordered_json;

constexpr std::size_t max_moves = 10;  // of a request, for people
constexpr std::array<std::string_view, 3> end_names{"whole", "torn", "damaged"};

/// A file of recorded traffic, once it is read.
struct read_record {
  std::string file;
  traffic_reader::end end{};
  std::uint64_t position = 0;
};

/// The files, and those of folders in the order of their names.
auto files_of(const std::vector<fs::path>& given) -> braid::checked<std::vector<fs::path>> {
  std::vector<fs::path> out;
  for (const fs::path& each : given) {
    std::error_code error;
    if (!fs::is_directory(each, error)) {
      out.push_back(each);
      continue;
    }
    std::vector<fs::path> inside;
    for (fs::directory_iterator at(each, error), end; !error && at != end; at.increment(error))
      if (at->path().extension() == ".rec") inside.push_back(at->path());
    if (inside.empty()) return refused("no_records", "the folder holds no file NAME.rec", {}, each);
    std::ranges::sort(inside);
    out.insert(out.end(), inside.begin(), inside.end());
  }
  return out;
}

auto size_of(const fs::path& file) -> std::uint64_t {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(file, error);
  return error ? 0 : size;
}

/// Gives all of a file to the comparison.
auto take_all(const fs::path& file, traffic_comparison& into, const std::function<void(std::uint64_t)>& progress)
    -> braid::checked<read_record> {
  auto from = traffic_reader::open(file);
  if (!from) return std::unexpected(std::move(from.error()));
  into.begin(file.filename().string());
  while (const auto frame = from->next()) {
    if (auto taken = into.take(*frame); !taken) {
      if (taken.error().front().source.empty()) taken.error().set_source(file.string());
      return std::unexpected(std::move(taken.error()));
    }
    progress(from->position());
  }
  return read_record{.file = file.string(), .end = from->how_it_ends(), .position = from->position()};
}

auto names_in(const traffic_comparison& of) -> std::string {
  std::string out;
  for (const auto& [name, count] : of.plans()) out.append(out.empty() ? "" : ", ").append(name);
  return out.empty() ? "no request at all is recorded" : "the records have requests to: " + out;
}

auto fixed(double value) -> std::string {
  std::array<char, 32> room{};
  std::snprintf(room.data(), room.size(), "%.4f", value);
  return room.data();
}

auto mean(double sum, const traffic_differences& of) -> double {
  return of.compared() == 0 ? 0 : sum / static_cast<double>(of.compared());
}

auto position_text(const moved_id& of) -> std::string {
  if (!of.was) return "new at " + std::to_string(*of.is);
  return std::to_string(*of.was) + " → " + (of.is ? std::to_string(*of.is) : std::string("gone"));
}

auto answer_text(const compared_answer& of) -> std::string {
  return of.code == "ok" ? std::to_string(of.candidates) : of.code;
}

auto lines_of(const changed_request& of, bool is_one_record) -> std::string {
  std::string out = "request " + printable(of.request_id) + " (number " + std::to_string(of.number) +
                    (is_one_record ? "" : " of " + printable(of.record)) + "): ";
  out += std::string(to_string(of.verdict.change)) + ", overlap " + fixed(of.verdict.overlap) + ", rbo " +
         fixed(of.verdict.rbo) + ", candidates " + printable(answer_text(of.before)) + " → " +
         printable(answer_text(of.after)) + "\n";
  for (std::size_t at = 0; at < std::min(of.moves.size(), max_moves); ++at) {
    const moved_id& each = of.moves[at];
    out += "  " + printable(to_text(each.id)) + ": " + position_text(each) + ": " + printable(each.why) + "\n";
  }
  if (of.moved > max_moves) out += "  and " + std::to_string(of.moved - max_moves) + " more\n";
  return out;
}

auto not_compared(const traffic_differences& found, std::uint64_t lost, bool is_live) -> std::string {
  std::string out;
  const auto add = [&out](std::uint64_t count, const std::string& what) {
    if (count != 0) out += (out.empty() ? "not compared: " : ", ") + std::to_string(count) + " " + what;
  };
  add(found.not_recorded, "read what the record does not hold (the first: " + printable(found.first_not_recorded) +
                              (is_live ? ")" : "; --live asks the store)"));
  add(found.redacted, "redacted");
  add(found.unusable, "unusable");
  add(lost, "lost when they were recorded");
  return out.empty() ? out : out + "\n";
}

auto for_people(const traffic_differences& found, const std::vector<read_record>& records, std::uint64_t lost,
                const std::string& plan, const diff_options& options) -> std::string {
  std::string out = counted(found.requests, "request") + " to " + printable(plan) + ", " +
                    std::to_string(found.compared()) +
                    " compared: " + std::to_string(found.count(answer_change::equal)) + " equal, " +
                    std::to_string(found.different()) + " different";
  std::string_view separator = " (";
  for (const auto change :
       {answer_change::error, answer_change::candidates, answer_change::order, answer_change::values}) {
    if (found.count(change) == 0) continue;
    out += std::string(std::exchange(separator, ", ")) + std::to_string(found.count(change)) + " " +
           std::string(to_string(change));
  }
  out += found.different() == 0 ? "\n" : ")\n";
  if (found.compared() != 0)
    out += "overlap@" + std::to_string(options.depth) + " " + fixed(mean(found.overlap, found)) +
           ", rank-biased overlap " + fixed(mean(found.rbo, found)) + " (p = 0.9)\n";
  out += not_compared(found, lost, options.is_live);
  if (found.live_batches != 0) out += "batches asked of the store: " + std::to_string(found.live_batches) + "\n";
  for (const changed_request& each : found.changed) out += lines_of(each, records.size() == 1);
  if (const auto more = found.different() - found.changed.size(); more != 0)
    out += "and " + counted(more, "less changed request") + "\n";
  return out;
}

auto json_of(const moved_id& of) -> ordered {
  const auto position = [](const std::optional<std::size_t>& at) { return at ? ordered(*at) : ordered(nullptr); };
  ordered id = std::visit([](const auto& value) { return ordered(value); }, of.id);
  return {{"id", std::move(id)},
          {"was", position(of.was)},
          {"is", position(of.is)},
          {"node", of.node.empty() ? ordered(nullptr) : ordered(of.node)},
          {"why", of.why}};
}

auto json_of(const changed_request& of) -> ordered {
  const auto side = [](const compared_answer& each) {
    return ordered{{"code", each.code}, {"candidates", each.candidates}};
  };
  ordered moves = ordered::array();
  for (const moved_id& each : of.moves) moves.push_back(json_of(each));
  return {{"number", of.number},
          {"record", of.record},
          {"request_id", of.request_id},
          {"change", to_string(of.verdict.change)},
          {"overlap", of.verdict.overlap},
          {"rbo", of.verdict.rbo},
          {"before", side(of.before)},
          {"after", side(of.after)},
          {"moved", of.moved},
          {"moves", std::move(moves)}};
}

auto for_programs(const traffic_differences& found, const std::vector<read_record>& records, std::uint64_t lost,
                  const std::string& plan, const diff_options& options) -> std::string {
  ordered files = ordered::array();
  for (const read_record& each : records)
    files.push_back({{"file", each.file}, {"end", end_names[static_cast<std::size_t>(each.end)]}});
  ordered changed = ordered::array();
  for (const changed_request& each : found.changed) changed.push_back(json_of(each));
  const auto mean_of = [&](double sum) { return found.compared() == 0 ? ordered(nullptr) : ordered(mean(sum, found)); };
  ordered different{{"all", found.different()}};
  for (const auto change :
       {answer_change::error, answer_change::candidates, answer_change::order, answer_change::values})
    different[std::string(to_string(change))] = found.count(change);
  const ordered out{
      {"plan", plan},
      {"records", std::move(files)},
      {"requests", found.requests},
      {"other_plans", found.others},
      {"lost", lost},
      {"redacted", found.redacted},
      {"unusable", found.unusable},
      {"not_recorded", found.not_recorded},
      {"first_not_recorded", found.not_recorded == 0 ? ordered(nullptr) : ordered(found.first_not_recorded)},
      {"live_batches", found.live_batches},
      {"compared", found.compared()},
      {"equal", found.count(answer_change::equal)},
      {"different", std::move(different)},
      {"depth", options.depth},
      {"overlap", mean_of(found.overlap)},
      {"rbo", mean_of(found.rbo)},
      {"changed", std::move(changed)}};
  return out.dump(-1, ' ', false, ordered::error_handler_t::replace);  // ids may be any bytes
}

/// On standard error, since what was read is right all the same.
void note_end(const read_record& of) {
  if (of.end == traffic_reader::end::whole) return;
  std::fprintf(stderr, "rankd: %s: %s after byte %llu; the requests before that were compared\n",
               printable(of.file).c_str(), of.end == traffic_reader::end::torn ? "ends within a record" : "is damaged",
               static_cast<unsigned long long>(of.position));
}

}  // namespace

auto compare_on_traffic(const diff_options& options, const workspace& in, const bound_plan& before,
                        const bound_plan& after) -> braid::checked<traffic_report> {
  const auto files = files_of(options.traffic);
  if (!files) return std::unexpected(files.error());
  open_stores stores;  // used until the comparison is gone
  store_list live;
  if (options.is_live) {
    auto opened = open_all_stores(in);
    if (!opened) return std::unexpected(std::move(opened.error()));
    stores = std::move(*opened);
    live = std::make_shared<const std::vector<store*>>(stores.pointers());
  }
  const std::string plan = options.recorded_plan.empty() ? before.name : options.recorded_plan;
  auto comparison = traffic_comparison::make({.declared = &in.declared,
                                              .before = std::make_shared<const bound_plan>(before),
                                              .after = std::make_shared<const bound_plan>(after),
                                              .recorded_plan = plan,
                                              .live = std::move(live),
                                              .depth = options.depth,
                                              .max_changed = options.max_changed,
                                              .workers = options.workers});
  if (!comparison) return std::unexpected(std::move(comparison.error()));
  std::uint64_t all = 0;
  for (const fs::path& each : *files) all += size_of(each);
  progress_bar bar("comparing");
  std::uint64_t done = 0;
  std::vector<read_record> records;
  for (const fs::path& each : *files) {
    auto read = take_all(each, **comparison, [&](std::uint64_t position) { bar.show(done + position, all); });
    if (!read) return std::unexpected(std::move(read.error()));
    done += read->position;
    records.push_back(std::move(*read));
  }
  const traffic_differences found = (*comparison)->finish();
  for (const read_record& each : records) note_end(each);
  if (found.requests == 0)
    return refused("unknown_plan", "no recorded request is for plan " + quote_name(plan),
                   names_in(**comparison) + "; --requests-of names one");
  const bool is_damaged = std::ranges::find(records, traffic_reader::end::damaged, &read_record::end) != records.end();
  const std::uint64_t lost = (*comparison)->lost();
  return traffic_report{.text = options.form == output_form::programs
                                    ? for_programs(found, records, lost, plan, options)
                                    : for_people(found, records, lost, plan, options),
                        .is_all_equal = !is_damaged && found.compared() != 0 &&
                                        found.different() + found.not_recorded + found.unusable == 0};
}

}  // namespace rankd
