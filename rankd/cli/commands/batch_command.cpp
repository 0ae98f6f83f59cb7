// rankd/cli/commands/batch_command.cpp: rankd batch: answers a file of requests with a file of answers.
#include <rankd/cli/output/batch_output.hpp>
#include <rankd/cli/commands/commands.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/cli/output/printable.hpp>
#include <rankd/cli/output/progress.hpp>
#include <rankd/cli/output/report.hpp>
#include <rankd/embed/ranker.hpp>
#include <rankd/embed/workspace.hpp>
#include <rankd/engine/batch/batch_runner.hpp>
#include <rankd/op/models.hpp>
#include <rankd/op/operator_library.hpp>
#include <rankd/plan/artifact_folder.hpp>
#include <rankd/registry/digest.hpp>
#include <rankd/registry/file.hpp>
#include <rankd/store/folder.hpp>
#include <rankd/store/line_reader.hpp>
#include <rankd/store/vector_file.hpp>

#include <braid/base/config.hpp>

#include <cstdio>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

namespace fs = std::filesystem;

auto unreadable(const fs::path& file, std::error_code error) -> std::unexpected<braid::diagnostics> {
  return refused("requests_unreadable", "the requests cannot be read from " +
                                            (file.empty() ? "standard input" : file.string()) + ": " + error.message());
}

/// The part of a file of requests that this batch must answer.
struct request_range {
  line_position begin;
  std::uint64_t end = UINT64_MAX;  ///< lines that begin here or later belong to others
};

auto is_regular(const fs::path& file) -> bool {
  std::error_code error;
  return !file.empty() && fs::is_regular_file(file, error);
}

auto read_range(const fs::path& file, batch_shard shard) -> braid::checked<request_range> {
  if (shard.count == 1) return request_range{};
  if (!is_regular(file))
    return refused("shard_of_stream", "only a regular file can be divided by --shard", "name one with --in");
  std::error_code error;
  const std::uint64_t size = fs::file_size(file, error);
  if (error) return unreadable(file, error);
  const auto cut = [&](std::uint64_t index) {
    return size / shard.count * index + size % shard.count * index / shard.count;
  };
  const auto begin = find_line(file, cut(shard.index - 1));
  if (!begin) return unreadable(file, begin.error());
  return request_range{*begin, cut(shard.index)};
}

/// Returns the size of the file and a hash of its first bytes, so that a resumed batch notices if the file was
/// replaced.
auto fingerprint(const fs::path& file) -> nlohmann::json {
  constexpr std::size_t looked_at = 1U << 16U;
  std::error_code error;
  const auto size = fs::file_size(file, error);
  std::string head(looked_at, '\0');
  if (std::FILE* opened = std::fopen(file.c_str(), "rb")) {
    head.resize(std::fread(head.data(), 1, head.size(), opened));
    std::fclose(opened);
  }
  return {{"bytes", error ? 0 : size}, {"head", sha256_hex(head)}};
}

/// Returns a digest of all plans that a request could name. The digest also covers the models, operators and files of
/// vectors that these plans could use.
auto plans_digest(const workspace& workspace) -> std::string {
  std::string all;
  const auto add = [&all](const std::string& name, const braid::checked<std::string>& text) {
    if (text) all += name + ' ' + sha256_hex(*text) + '\n';
  };
  if (const auto plans = list_artifacts(workspace.where.plans))
    for (const artifact& each : *plans) add(each.name, read_text_file(each.file));
  for (const fs::path& each : model_files(workspace.where.models)) add(each.filename().string(), read_model_file(each));
  for (const fs::path& each : workspace.where.operators)
    if (const auto text = read_text_file(each, largest_library)) all += each.string() + ' ' + sha256_hex(*text) + '\n';
  for (const endpoint_entry& each : workspace.declared.endpoints())
    if (const auto* const vectors = std::get_if<file_resolver>(&each.resolver))
      if (const auto digest = vector_file::make_digest(workspace.where.root / vectors->path))
        all += each.endpoint_id + ' ' + *digest + '\n';
  return sha256_hex(all);
}

/// Returns the inode number, size and time of change of a file. These values change when the file is rewritten, even if
/// the file has the same size as before.
auto read_identity(const fs::path& file) -> nlohmann::json {
  struct ::stat status{};
  if (::stat(file.c_str(), &status) != 0) return {};
  return {status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

/// Returns the names of the experiments that run now.
auto list_running(const experiment_set& experiments) -> std::string {
  std::string out;
  const auto now = experiment_time();
  for (const experiment_entry& each : experiments.experiments())
    if (each.runs_at(now)) out += " " + each.name;
  return out;
}

/// Returns as JSON everything that the answers depend on. A batch is resumed only if the returned value has not
/// changed.
auto made_from(const batch_command_options& options, const workspace& workspace, const bound_plan* plan)
    -> nlohmann::json {
  nlohmann::json stores = nlohmann::json::array();
  for (const endpoint_entry& endpoint : workspace.declared.endpoints()) {
    if (!is_store(endpoint) || (plan != nullptr && !reads_endpoint(*plan, endpoint))) continue;
    const auto* embedded = std::get_if<embedded_resolver>(&endpoint.resolver);
    if (embedded == nullptr) {  // the contents of a server are unknown
      const auto* const server = std::get_if<static_resolver>(&endpoint.resolver);
      if (server != nullptr) stores.push_back({endpoint.endpoint_id, server->host, server->port});
      if (server != nullptr) continue;
      for (const auto& node : std::get<cluster_resolver>(endpoint.resolver).nodes)
        stores.push_back({endpoint.endpoint_id, node.host, node.port});
      continue;
    }
    const fs::path folder = workspace.where.root / embedded->path;
    const auto manifest = read_manifest(folder);
    if (manifest)
      stores.push_back(
          {endpoint.endpoint_id, manifest->generation, read_identity(data_file(folder, manifest->generation))});
  }
  nlohmann::json registries = nlohmann::json::array();
  for (const registry_digest& each : workspace.declared.digests()) registries.push_back(each.sha256);
  if (!workspace.experiments.digest().empty())
    registries.push_back(workspace.experiments.digest() + list_running(workspace.experiments));
  return {{"version", RANKD_VERSION},
          {"requests", is_regular(options.in) ? fingerprint(options.in) : nlohmann::json()},
          {"shard", std::to_string(options.shard.index) + "/" + std::to_string(options.shard.count)},
          {"plan", plan != nullptr ? plan->name + " " + plan->digest : plans_digest(workspace)},
          {"budgets", workspace.where.budgets.to_text()},
          {"registries", std::move(registries)},
          {"stores", std::move(stores)}};
}

void print_summary(const batch_progress& done, const fs::path& out) {
  std::fprintf(stderr, "answered %s, %s of them with an error%s%s\n", counted(done.answered, "request").c_str(),
               done.failed == 0 ? "none" : std::to_string(done.failed).c_str(), out.empty() ? "" : ", into ",
               printable(out.string()).c_str());
}

auto open_requests(const fs::path& file, line_position start) -> braid::checked<line_reader> {
  auto opened = file.empty() ? line_reader::standard_input() : line_reader::open(file, start);
  if (!opened) return unreadable(file, opened.error());
  return std::move(*opened);
}

/// Returns whether two paths refer to the same file.
auto is_same_file(const fs::path& one, const fs::path& other) -> bool {
  std::error_code error;
  return fs::equivalent(one, other, error) && !error;
}

/// Returns whether an output file of the batch is the same file as the file of requests.
auto writes_over_requests(const batch_command_options& options) -> bool {
  if (options.in.empty() || options.out.empty() || !is_regular(options.in)) return false;
  for (const char* suffix : {"", ".part", ".part.state"})
    if (is_same_file(options.in, options.out.string() + suffix)) return true;
  return false;
}

auto open_output(const batch_command_options& options, const workspace& workspace, const bound_plan* plan)
    -> braid::checked<batch_output> {
  if (options.out.empty()) return batch_output::standard_output();
  if (options.earlier == unfinished::resume && !is_regular(options.in))
    return refused("not_resumable", "only a batch that reads a regular file can be resumed", "name one with --in");
  return batch_output::open(options.out, made_from(options, workspace, plan), options.earlier);
}

/// Reads requests and writes answers. The output is opened only when the first request is read. The saved state of the
/// output describes all input files, and one of them may be a store that does not exist before it is filled on its
/// first use.
class batch_job {
 public:
  batch_job(const batch_command_options& options, const workspace& workspace, const bound_plan* plan,
            request_range range, line_reader requests)
      : options_(&options), in_(&workspace), plan_(plan), range_(range) {
    requests_.emplace(std::move(requests));
    std::error_code error;
    if (is_regular(options.in)) end_ = std::min<std::uint64_t>(range.end, fs::file_size(options.in, error));
  }

  /// Returns the next requests, or an empty list at the end.
  auto next_lines() -> braid::checked<std::vector<batch_line>> {
    if (!answers_)
      if (auto begun = begin(); !begun) return std::unexpected(std::move(begun.error()));
    std::vector<batch_line> lines;
    std::size_t bytes = 0;
    constexpr std::size_t enough_bytes = std::size_t{1} << 20U;
    while (lines.size() < batch_runner::max_lines && bytes < enough_bytes) {
      if (requests_->bytes_done() >= range_.end) break;
      const auto line = requests_->next();
      if (!line) return unreadable(options_->in, line.error());
      if (!*line) break;
      if (is_blank(**line)) continue;
      bytes += (*line)->text.size();
      lines.push_back(taken(**line));
    }
    if (!lines.empty()) ends_.push_back(requests_->position());
    return lines;
  }

  /// Writes the answers to the oldest unanswered requests.
  auto write(const batch_answers& piece) -> braid::checked<void> {
    batch_progress now = answers_->progress();
    now.read = ends_.front();
    now.answered += piece.answered;
    now.failed += piece.failed;
    ends_.pop_front();
    if (auto done = answers_->write(piece.text, now); !done) return done;
    if (end_ != 0) bar_.show(answers_->progress().read.bytes - range_.begin.bytes, end_ - range_.begin.bytes);
    return {};
  }

  /// Completes the output. Called after all answers were written. Fails if the file of requests became shorter while it
  /// was read.
  auto finish() -> braid::checked<batch_progress> {
    if (end_ != 0 && requests_->bytes_done() < end_)
      return refused("requests_unreadable", options_->in.string() + " became shorter while it was read");
    if (auto done = answers_->finish(); !done) return std::unexpected(std::move(done.error()));
    return answers_->progress();
  }

 private:
  auto begin() -> braid::checked<void> {
    auto answers = open_output(*options_, *in_, plan_);
    if (!answers) return std::unexpected(std::move(answers.error()));
    answers_.emplace(std::move(*answers));
    if (answers_->progress().read.bytes == 0) return {};
    std::fprintf(stderr, "continuing after request line %llu\n",
                 static_cast<unsigned long long>(answers_->progress().read.lines));
    auto rest = open_requests(options_->in, answers_->progress().read);
    if (!rest) return std::unexpected(std::move(rest.error()));
    requests_.emplace(std::move(*rest));
    return {};
  }

  static auto is_blank(const text_line& line) -> bool {
    return !line.too_long && line.text.find_first_not_of(" \t\r") == std::string_view::npos;
  }

  static auto taken(const text_line& line) -> batch_line {
    batch_line out{.number = line.number, .text = std::string(line.text), .unreadable = {}};
    if (line.too_long)
      out.unreadable = make_diagnostic("line_too_long",
                                       "line " + std::to_string(line.number) + " is longer than 16 MiB", {}, "request")
                           .front();
    return out;
  }

  const batch_command_options* options_;
  const workspace* in_;
  const bound_plan* plan_;
  request_range range_;
  std::optional<line_reader> requests_;
  std::optional<batch_output> answers_;
  progress_bar bar_{"ranking"};
  std::deque<line_position> ends_;  ///< after each piece that was read and not written
  std::uint64_t end_ = 0;           ///< of the part, if it is known
};

auto answer_all(const batch_command_options& options, ranker& open_project) -> braid::checked<batch_progress> {
  std::shared_ptr<const bound_plan> plan;
  if (!options.plan.empty()) {
    auto found = open_project.find_plan(options.plan, options.fallbacks);
    if (!found) return std::unexpected(std::move(found.error()));
    plan = std::move(*found);
  }
  if (writes_over_requests(options))
    return refused("output_unwritable", "the answers would overwrite the requests", "name another file with --out");
  auto range = read_range(options.in, options.shard);
  if (!range) return std::unexpected(std::move(range.error()));
  auto requests = open_requests(options.in, range->begin);  // a pipe is opened once
  if (!requests) return std::unexpected(std::move(requests.error()));
  const auto in = open_project.project();
  batch_job job(options, *in, plan.get(), *range, std::move(*requests));
  auto done = open_project.rank_many([&job] { return job.next_lines(); },
                                     [&job](const batch_answers& piece) { return job.write(piece); },
                                     {.plan = options.plan,
                                      .fallbacks = options.fallbacks,
                                      .cache_mib = options.cache_mib,
                                      .in_flight = options.in_flight});
  if (!done) return std::unexpected(std::move(done.error()));
  return job.finish();
}

}  // namespace

auto batch_command(const batch_command_options& options) -> exit_status {
  BRAID_EXPECTS(options.earlier == unfinished::refuse || !options.out.empty(),
                "only a batch into a file can be resumed");
  const auto in = ranker::open({.project = options.project,
                                .workers = options.workers,
                                .node_timeout = options.node_timeout,
                                .observer = load_bars()});
  if (!in) return report(in.error());
  const auto done = answer_all(options, **in);
  if (!done) return report(done.error());
  print_summary(*done, options.out);
  return done->failed == 0 ? exit_status::fine : exit_status::failed;
}

}  // namespace rankd
