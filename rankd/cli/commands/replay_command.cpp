// rankd/cli/commands/replay_command.cpp: rankd replay: answers recorded requests again from their recorded reads.
#include <rankd/cli/commands/replay_command.hpp>

#include <rankd/cli/detail/common_options.hpp>
#include <rankd/cli/output/printable.hpp>
#include <rankd/cli/output/report.hpp>
#include <rankd/plan/artifact_folder.hpp>
#include <rankd/plan/json.hpp>
#include <rankd/op/operator_library.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/server/traffic/traffic_replay.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace rankd {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 6> result_names{"equal", "different", "missing",
                                                       "timed", "redacted",  "unusable"};
constexpr std::array<std::string_view, 3> end_names{"whole", "torn", "damaged"};
constexpr std::size_t max_shown = 10;     // requests whose answers differ, for people
constexpr std::size_t max_listed = 1000;  // the same for programs
constexpr std::size_t max_value = 60;     // of a line for people

auto name_of(replay_result result) -> std::string_view { return result_names[static_cast<std::size_t>(result)]; }

/// The first difference between two answers.
struct difference {
  std::string pointer;
  std::string was;
  std::string is;
};

auto shown(const json* value) -> std::string { return value == nullptr ? "nothing" : value->dump(); }

auto first_difference(const json& was, const json& is, const std::string& pointer) -> std::optional<difference> {
  if (was == is) return std::nullopt;
  if (was.is_array() && is.is_array()) {
    for (std::size_t at = 0; at < std::max(was.size(), is.size()); ++at) {
      const std::string here = braid::json_pointer(pointer, at);
      if (at >= was.size()) return difference{here, shown(nullptr), shown(&is[at])};
      if (at >= is.size()) return difference{here, shown(&was[at]), shown(nullptr)};
      if (auto found = first_difference(was[at], is[at], here)) return found;
    }
  }
  if (was.is_object() && is.is_object()) {
    for (const auto& [name, value] : was.items()) {
      const std::string here = braid::json_pointer(pointer, name);
      const auto other = is.find(name);
      if (other == is.end()) return difference{here, shown(&value), shown(nullptr)};
      if (auto found = first_difference(value, *other, here)) return found;
    }
    for (const auto& [name, value] : is.items())
      if (!was.contains(name)) return difference{braid::json_pointer(pointer, name), shown(nullptr), shown(&value)};
  }
  return difference{pointer, shown(&was), shown(&is)};
}

/// Returns the first difference between two answers. If the answers are not JSON, or differ only in how the same JSON
/// is written, returns both answers completely.
auto find_difference(const replayed_request& request) -> difference {
  const auto was = parse_json(request.recorded, "recorded");
  const auto is = parse_json(request.replayed, "replayed");
  if (was && is)
    if (auto found = first_difference(*was, *is, "")) return std::move(*found);
  return {"", request.recorded, request.replayed};
}

auto cut(const std::string& text) -> std::string {
  if (text.size() <= max_value) return printable(text);
  return printable(text.substr(0, max_value)) + "…";
}

auto is_other_than_equal(replay_result result) -> bool { return result != replay_result::equal; }

auto format_line(const replayed_request& request) -> std::string {
  std::string out = "request " + printable(request.request_id) + " (number " + std::to_string(request.number);
  if (!request.plan.empty()) out += ", plan " + printable(request.plan);
  out += "): " + std::string(name_of(request.result));
  if (!request.why.empty()) out += ": " + printable(request.why);
  if (request.result != replay_result::different) return out + "\n";
  const difference found = find_difference(request);
  return out + ": " + printable(found.pointer) + ": " + cut(found.was) + " → " + cut(found.is) + "\n";
}

/// Parses a text as JSON. Returns the text itself as a JSON string if it is not JSON.
auto or_text(const std::string& text) -> json {
  auto parsed = parse_json(text, "answer");
  return parsed ? std::move(*parsed) : json(text);
}

auto make_json(const replayed_request& request, bool with_answers) -> json {
  json out{{"number", request.number}, {"request_id", request.request_id}, {"result", name_of(request.result)}};
  if (!request.plan.empty()) out["plan"] = request.plan;
  if (!request.why.empty()) out["why"] = request.why;
  if (request.result == replay_result::different) {
    const difference found = find_difference(request);
    out["pointer"] = found.pointer;
    out["recorded"] = found.was;
    out["replayed"] = found.is;
  }
  if (with_answers && !request.replayed.empty()) out["answer"] = or_text(request.replayed);
  return out;
}

/// The results of replaying all requests of a file.
class tally {
 public:
  explicit tally(const replay_options& options) : options_(&options) {}

  void add(const replayed_request& request) {
    ++counts_[static_cast<std::size_t>(request.result)];
    const bool is_one = !options_->request_id.empty();
    if (options_->form == output_form::programs) {
      if ((is_other_than_equal(request.result) || is_one) && listed_.size() < max_listed)
        listed_.push_back(make_json(request, is_one));
      return;
    }
    if (is_one && !request.replayed.empty()) print(printable(request.replayed) + "\n");
    if (is_other_than_equal(request.result) && shown_++ < max_shown) lines_ += format_line(request);
  }

  [[nodiscard]] auto count(replay_result result) const -> std::uint64_t {
    return counts_[static_cast<std::size_t>(result)];
  }
  [[nodiscard]] auto all() const -> std::uint64_t {
    std::uint64_t sum = 0;
    for (const std::uint64_t each : counts_) sum += each;
    return sum;
  }

  void print_for_people(std::uint64_t lost) const {
    std::string out = counted(all(), "request");
    for (std::size_t at = 0; at < counts_.size(); ++at)
      if (at == 0 || counts_[at] != 0)
        out += (at == 0 ? ": " : ", ") + std::to_string(counts_[at]) + " " + std::string(result_names[at]);
    if (lost != 0) out += "; " + std::to_string(lost) + " not recorded";
    out += "\n" + lines_;
    if (shown_ > max_shown) out += "and " + std::to_string(shown_ - max_shown) + " more\n";
    print(out);
  }

  void print_for_programs(std::uint64_t lost, const traffic_reader& from) const {
    json out{{"requests", all()},
             {"lost", lost},
             {"end", end_names[static_cast<std::size_t>(from.how_it_ends())]},
             {"bytes", from.position()},
             {"found", listed_}};
    for (std::size_t at = 0; at < counts_.size(); ++at) out[std::string(result_names[at])] = counts_[at];
    print(out.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");  // ids may be any bytes
  }

 private:
  const replay_options* options_;
  std::array<std::uint64_t, result_names.size()> counts_{};
  std::string lines_;
  std::uint64_t shown_ = 0;
  json listed_ = json::array();
};

/// Returns the artifacts among the given files and in the given folders.
auto artifacts_in(const std::vector<std::filesystem::path>& given)
    -> braid::checked<std::vector<std::filesystem::path>> {
  std::vector<std::filesystem::path> out;
  for (const std::filesystem::path& each : given) {
    std::error_code error;
    if (!std::filesystem::is_directory(each, error)) {
      out.push_back(each);
      continue;
    }
    const auto listed = list_artifacts(each);
    if (!listed) return std::unexpected(listed.error());
    if (listed->empty()) return refused("no_artifacts", "the folder contains no plan", {}, each);
    for (const artifact& one : *listed) out.push_back(one.file);
  }
  return out;
}

/// A list of frames, and the bytes that the frames point to.
struct frame_group {
  std::deque<std::string> contents;
  std::vector<traffic_reader::frame> frames;
};

/// Returns the next frames, which are run together, or no frames at the end of the file. The memory that is used
/// depends on the largest frame.
auto read_group(traffic_reader& from) -> frame_group {
  constexpr std::size_t max_frames = 1024;
  constexpr std::size_t enough_bytes = std::size_t{8} << 20U;
  frame_group out;
  for (std::size_t bytes = 0; out.frames.size() < max_frames && bytes < enough_bytes;) {
    const auto frame = from.next();
    if (!frame) break;
    bytes += frame->content.size();
    out.frames.push_back({.kind = frame->kind, .content = out.contents.emplace_back(frame->content)});
  }
  return out;
}

/// Reports a damaged or incomplete end of the file on standard error. This is not an error of the command, because the
/// requests before the damage are valid.
void note_end(const replay_options& options, const traffic_reader& from) {
  if (from.how_it_ends() == traffic_reader::end::whole) return;
  const bool is_torn = from.how_it_ends() == traffic_reader::end::torn;
  std::fprintf(stderr, "rankd: %s: %s after byte %llu; the requests before that were read\n",
               printable(options.file.string()).c_str(), is_torn ? "ends within a record" : "is damaged",
               static_cast<unsigned long long>(from.position()));
}

}  // namespace

auto replay_command(const replay_options& options) -> exit_status {
  if (auto loaded = load_operators(options.operators); !loaded) return report(loaded.error(), options.form);
  auto plans = artifacts_in(options.plans);
  if (!plans) return report(plans.error(), options.form);
  auto file = traffic_reader::open(options.file);
  if (!file) return report(file.error(), options.form);
  const bool is_other = !plans->empty();
  traffic_replay again({.plans = std::move(*plans),
                        .request_id = options.request_id,
                        .vectors = options.vectors,
                        .workers = options.workers});
  tally found(options);
  for (bool at_end = false; !at_end;) {
    const frame_group group = read_group(*file);
    at_end = group.frames.empty();
    auto results = again.take_all(group.frames);
    if (!results) {
      if (results.error().front().source.empty()) results.error().set_source(options.file.string());
      return report(results.error(), options.form);
    }
    for (const replayed_request& each : *results) found.add(each);
  }
  note_end(options, *file);
  if (!options.request_id.empty() && found.all() == 0)
    return report(
        make_diagnostic("unknown_request", "no recorded request has the request_id " + quote_name(options.request_id),
                        {}, options.file),
        options.form);
  if (const auto unused = again.unused_plans(); is_other && !unused.empty())
    return report(make_diagnostic("unknown_plan", "no recorded request runs plan " + quote_name(unused.front()), {},
                                  options.file),
                  options.form);
  if (options.form == output_form::programs)
    found.print_for_programs(again.lost(), *file);
  else
    found.print_for_people(again.lost());
  if (found.all() == 0) std::fprintf(stderr, "rankd: no request was compared\n");
  const bool is_damaged = file->how_it_ends() == traffic_reader::end::damaged || found.all() == 0;
  const bool is_wrong = found.count(replay_result::different) + found.count(replay_result::missing) +
                            found.count(replay_result::unusable) !=
                        0;
  return is_damaged || is_wrong ? exit_status::failed : exit_status::fine;
}

void add_replay(CLI::App& app, std::function<exit_status()>& chosen) {
  auto* command =
      app.add_subcommand("replay", "Answer recorded requests again from their recorded reads, and compare the answers");
  auto options = std::make_shared<replay_options>();
  command->add_option("file", options->file, "A file that `rankd serve --record FILE` has written")
      ->required()
      ->check(check_not_empty)
      ->type_name("FILE");
  command
      ->add_option(
          "--plan", options->plans,
          "Run this artifact, or the artifacts of this folder, instead of the recorded plans with the same names")
      ->allow_extra_args(false)
      ->check(check_not_empty)
      ->type_name("FILE|DIR");
  command
      ->add_option("--request", options->request_id,
                   "Answer only the requests with this request_id, and print the answers")
      ->check(check_not_empty)
      ->type_name("ID");
  command
      ->add_option("--operators", options->operators,
                   "A library of operators that the plans use, named as in rankd.toml")
      ->allow_extra_args(false)
      ->check(check_not_empty)
      ->type_name("FILE");
  command
      ->add_option(
          "--vectors", options->vectors,
          "The project with the vector files that the plans search; the files must be the same as when recording")
      ->check(check_folder)
      ->type_name("DIR");
  detail::add_form(*command, options->form);
  command
      ->add_option("--workers", options->workers,
                   "Number of threads that answer requests; default: one for each available CPU")
      ->check(whole_number(1, 4096));
  command->footer(
      "This command needs no project, store or model, because the file contains them. The file contains no operator\n"
      "libraries and no vector files: name them with --operators and --vectors. Exit status: 0 all compared answers "
      "are\n"
      "equal, 1 an answer differs, or something is missing or damaged, 2 wrong usage.");
  command->callback([options, &chosen] { chosen = [options] { return replay_command(*options); }; });
}

}  // namespace rankd
