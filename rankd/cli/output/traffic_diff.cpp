// rankd/cli/output/traffic_diff.cpp: runs two plans on recorded traffic, and prints the differences for people and
// programs.
#include <rankd/cli/output/traffic_diff.hpp>

#include <rankd/cli/output/printable.hpp>
#include <rankd/cli/output/progress.hpp>
#include <rankd/cli/output/report.hpp>
#include <rankd/server/traffic/traffic_findings.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace rankd {
namespace {

constexpr std::size_t max_moves = 10;  // of a request, for people

auto position_text(const moved_id& id) -> std::string {
  if (!id.was) return "new at " + std::to_string(*id.is);
  return std::to_string(*id.was) + " → " + (id.is ? std::to_string(*id.is) : std::string("gone"));
}

auto answer_text(const compared_answer& answer) -> std::string {
  return answer.code == "ok" ? std::to_string(answer.candidates) : answer.code;
}

auto list_lines(const changed_request& request, bool is_one_record) -> std::string {
  std::string out = "request " + printable(request.request_id) + " (number " + std::to_string(request.number) +
                    (is_one_record ? "" : " of " + printable(request.record)) + "): ";
  out += std::string(to_string(request.verdict.change)) + ", overlap " + printed("%.4f", request.verdict.overlap) +
         ", rbo " + printed("%.4f", request.verdict.rbo) + ", candidates " + printable(answer_text(request.before)) +
         " → " + printable(answer_text(request.after)) + "\n";
  for (std::size_t at = 0; at < std::min(request.moves.size(), max_moves); ++at) {
    const moved_id& each = request.moves[at];
    out += "  " + printable(to_text(each.id)) + ": " + position_text(each) + ": " + printable(each.why) + "\n";
  }
  if (request.moved > max_moves) out += "  and " + std::to_string(request.moved - max_moves) + " more\n";
  return out;
}

auto not_compared(const traffic_differences& found, std::uint64_t lost, bool is_live) -> std::string {
  std::string out;
  const auto add = [&out](std::uint64_t count, const std::string& what) {
    if (count != 0) out += (out.empty() ? "not compared: " : ", ") + std::to_string(count) + " " + what;
  };
  add(found.not_recorded, "with unrecorded reads (the first: " + printable(found.first_not_recorded) +
                              (is_live ? ")" : "; use --live to read from the stores)"));
  add(found.redacted, "redacted");
  add(found.unusable, "unusable");
  add(lost, "not recorded");
  return out.empty() ? out : out + "\n";
}

auto for_people(const traffic_findings& findings, bool is_live) -> std::string {
  const traffic_differences& found = findings.found;
  std::string out = counted(found.requests, "request") + " to " + printable(findings.plan) + ", " +
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
  if (found.answered != 0) {
    out += "overlap@" + std::to_string(findings.depth) + " " + printed("%.4f", compute_mean(found.overlap, found)) +
           ", rank-biased overlap " + printed("%.4f", compute_mean(found.rbo, found)) + " (p = 0.9)";
    if (found.answered != found.compared()) out += ", of " + counted(found.answered, "request") + " with two answers";
    out += "\n";
  }
  out += not_compared(found, findings.lost, is_live);
  if (found.live_batches != 0)
    out += "batches of reads sent to the stores: " + std::to_string(found.live_batches) + "\n";
  for (const changed_request& each : found.changed) out += list_lines(each, findings.records.size() == 1);
  if (const auto more = found.different() - found.changed.size(); more != 0)
    out += "and " + counted(more, "less changed request") + "\n";
  return out;
}

/// Reports on standard error that the end of a file of recorded traffic is damaged. The requests before the damage were
/// compared.
void note_end(const read_record& record) {
  if (record.end == traffic_reader::end::whole) return;
  std::fprintf(stderr, "rankd: %s: %s after byte %llu; the requests before that were compared\n",
               printable(record.file).c_str(),
               record.end == traffic_reader::end::torn ? "ends within a record" : "is damaged",
               static_cast<unsigned long long>(record.position));
}

}  // namespace

auto compare_on_traffic(const diff_options& options, const workspace& workspace, const bound_plan& before,
                        const bound_plan& after) -> braid::checked<traffic_report> {
  const auto files = list_records(options.traffic);
  if (!files) return std::unexpected(files.error());
  open_stores stores;  // used until the comparison is gone
  store_list live;
  if (options.is_live) {
    const std::array read_by{&before, &after};
    auto opened = open_plan_stores(workspace, read_by, {.observer = load_bars()});
    if (!opened) return std::unexpected(std::move(opened.error()));
    stores = std::move(*opened);
    live = std::make_shared<const std::vector<store*>>(stores.pointers());
  }
  progress_bar bar("comparing");
  const auto of =
      compare_on_records(*files,
                         {.declared = &workspace.declared,
                          .before = std::make_shared<const bound_plan>(before),
                          .after = std::make_shared<const bound_plan>(after),
                          .recorded_plan = options.recorded_plan.empty() ? before.name : options.recorded_plan,
                          .live = std::move(live),
                          .depth = options.depth,
                          .max_changed = options.max_changed,
                          .workers = options.workers},
                         [&](std::uint64_t done, std::uint64_t all) { return bar.show(done, all), true; });
  if (!of) return std::unexpected(of.error());
  for (const read_record& each : of->records) note_end(each);
  const traffic_differences& found = of->found;
  const bool is_damaged =
      std::ranges::find(of->records, traffic_reader::end::damaged, &read_record::end) != of->records.end();
  return traffic_report{.text = options.form == output_form::programs ? to_json(*of) : for_people(*of, options.is_live),
                        .is_all_equal = !is_damaged && found.compared() != 0 &&
                                        found.different() + found.not_recorded + found.unusable == 0};
}

}  // namespace rankd
