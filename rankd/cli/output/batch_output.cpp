// rankd/cli/output/batch_output.cpp: writes OUT.part and its state, and renames it at the end.
#include <rankd/cli/output/batch_output.hpp>

#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/file.hpp>
#include <rankd/registry/write_file.hpp>

#include <optional>
#include <system_error>

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// The number of bytes of answers between two saves of the state. An interruption loses at most this many bytes.
constexpr std::uint64_t save_every = std::uint64_t{8} << 20U;
constexpr std::string_view part_suffix = ".part";

auto unwritable(std::error_code error, const fs::path& file, std::string hint = {}) -> braid::diagnostics {
  return make_diagnostic("output_unwritable", "the answers cannot be written: " + error.message(), std::move(hint),
                         file);
}

struct saved_state {
  json made_from;
  batch_progress progress;
  std::uint64_t bytes = 0;
};

auto parse_state(std::string_view text) -> std::optional<saved_state> {
  try {
    const json document = json::parse(text);
    return saved_state{
        document.at("made_from"),
        {{document.at("read_bytes").get<std::uint64_t>(), document.at("read_lines").get<std::uint64_t>()},
         document.at("answered").get<std::uint64_t>(),
         document.at("failed").get<std::uint64_t>()},
        document.at("bytes").get<std::uint64_t>()};
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

/// Returns the names of the members that differ between two objects.
auto differences(const json& before, const json& now) -> std::string {
  std::string names;
  for (const auto& [name, value] : now.items()) {
    if (before.is_object() && before.contains(name) && before[name] == value) continue;
    names += (names.empty() ? "" : ", ") + name;
  }
  return names.empty() ? "other inputs" : names;
}

}  // namespace

auto batch_output::open(fs::path out, const json& made_from, unfinished earlier) -> braid::checked<batch_output> {
  std::error_code error;
  if (const fs::path followed = fs::canonical(out, error); !error) out = followed;
  if (fs::is_directory(out, error)) return refused("output_unwritable", "this is a folder", "name a file in it", out);
  const bool is_device = fs::exists(out, error) && !fs::is_regular_file(out, error);
  const fs::path part = out.string() + std::string(part_suffix);
  // If there is a state without a part file, an earlier batch ended between its last two steps. The state can then be
  // ignored.
  if (!fs::exists(part, error)) earlier = unfinished::restart;
  auto file = atomic_file::create(out, {.suffix = part_suffix, .keeps_part = true});
  if (!file && file.error() == std::errc::operation_would_block)
    return refused("output_busy", "another process is writing this file", "wait until it is done", part);
  if (!file) return std::unexpected(unwritable(file.error(), is_device ? out : part));
  batch_output opened(std::move(*file));
  if (opened.file_.part().empty()) return opened;
  auto begun = opened.begin(made_from.dump(), earlier);
  if (!begun) return std::unexpected(std::move(begun.error()));
  return opened;
}

auto batch_output::standard_output() -> braid::checked<batch_output> {
  auto file = atomic_file::create({});
  if (!file) return std::unexpected(unwritable(file.error(), {}));
  return batch_output(std::move(*file));
}

auto batch_output::state() const -> fs::path { return file_.part().string() + ".state"; }

auto batch_output::failure(std::error_code error) const -> std::unexpected<braid::diagnostics> {
  const fs::path& part = file_.part();
  return std::unexpected(part.empty()
                             ? unwritable(error, {})
                             : unwritable(error, part, "the written answers are kept; continue with --resume"));
}

auto batch_output::begin(std::string made_from, unfinished earlier) -> braid::checked<void> {
  made_from_ = std::move(made_from);
  std::error_code error;
  const bool is_unfinished = fs::exists(state(), error);
  if (!is_unfinished && earlier != unfinished::restart && fs::file_size(file_.part(), error) != 0)
    return refused("batch_unfinished", "this file exists already, but rankd batch has not written it",
                   "move it away, or overwrite it with --restart", file_.part());
  if (is_unfinished && earlier == unfinished::refuse)
    return refused("batch_unfinished", "an earlier batch into this file was not finished",
                   "--resume continues it, --restart discards it", file_.part());
  if (is_unfinished && earlier == unfinished::resume) {
    const auto text = read_text_file(state());
    if (!text) return std::unexpected(text.error());
    return resume(*text, made_from_);
  }
  if (const auto done = file_.keep_first(0); !done) return failure(done.error());
  if (const auto done = save_state(); !done) return failure(done.error());
  return {};
}

auto batch_output::resume(std::string_view text, const std::string& made_from) -> braid::checked<void> {
  const auto saved = parse_state(text);
  const auto size = file_.size();
  if (!saved || !size || *size < saved->bytes)
    return refused("resume_corrupt", "the state of the earlier batch is damaged", "--restart discards it", state());
  if (const json now = json::parse(made_from); saved->made_from != now)
    return refused("resume_mismatch",
                   "the earlier batch used different inputs; these differ: " + differences(saved->made_from, now),
                   "--restart discards it", file_.part());
  if (const auto done = file_.keep_first(saved->bytes); !done) return failure(done.error());
  progress_ = saved->progress;
  bytes_ = bytes_safe_ = saved->bytes;
  return {};
}

auto batch_output::save_state() -> braid::result<void> {
  if (auto done = file_.sync(); !done) return done;
  const json document = {{"made_from", json::parse(made_from_)}, {"read_bytes", progress_.read.bytes},
                         {"read_lines", progress_.read.lines},   {"answered", progress_.answered},
                         {"failed", progress_.failed},           {"bytes", bytes_}};
  if (auto done = replace_file(state(), document.dump() + "\n"); !done) return done;
  bytes_safe_ = bytes_;
  return {};
}

auto batch_output::write(std::string_view lines, const batch_progress& now) -> braid::checked<void> {
  if (const auto done = file_.write(lines); !done) return failure(done.error());
  bytes_ += lines.size();
  progress_ = now;
  if (file_.part().empty() || bytes_ - bytes_safe_ < save_every) return {};
  if (const auto done = save_state(); !done) return failure(done.error());
  return {};
}

auto batch_output::finish() -> braid::checked<void> {
  if (file_.part().empty()) return {};
  const fs::path kept = state();
  if (const auto done = file_.finish(); !done) return failure(done.error());
  std::error_code ignored;  // a state without its part means nothing
  fs::remove(kept, ignored);
  return {};
}

}  // namespace rankd
