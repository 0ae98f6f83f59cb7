// rankd/server/events/event_log.cpp: writes groups of events to the disk, and recovers after a crash.
#include <rankd/server/events/event_log.hpp>

#include <rankd/engine/engine.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/file.hpp>
#include <rankd/registry/write_file.hpp>
#include <rankd/server/files/file_series.hpp>
#include <rankd/store/crc32c.hpp>

#include <braid/base/detail/number_in.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <iterator>
#include <limits>
#include <new>
#include <span>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr int for_owner_and_group = 0640;
constexpr auto folder_for_owner_and_group = static_cast<fs::perms>(0750);
constexpr std::string_view file_prefix = "events-";
constexpr std::string_view file_suffix = ".ndjson";
constexpr std::string_view sum_lead = R"(,"crc32c":")";
constexpr std::size_t sum_digits = 8;

auto make_checksum(std::string_view text) -> std::string {
  const std::uint32_t sum = crc32c(std::as_bytes(std::span(text.data(), text.size())));
  std::array<char, sum_digits> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), sum, 16);
  std::string out(digits.data(), end);
  return out.insert(0, sum_digits - out.size(), '0');
}

/// Returns the line of an event, with its checksum.
auto sealed(std::string line) -> std::string {
  line.pop_back();
  std::string sum = make_checksum(line);
  return line.append(sum_lead).append(sum).append("\"}\n");
}

/// The result of scanning the lines of a file.
struct line_scan {
  std::size_t good = 0;     // bytes before the end of the last whole line
  std::size_t damaged = 0;  // lines before that end that are not whole
  std::size_t behind = 0;   // lines after that end, including a partial one
};

/// Calls `see(event)` for each undamaged line, even for lines after a damaged line.
template <typename See>
auto scan_lines(std::string_view text, See see) -> line_scan {
  line_scan out;
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n', begin)) {
    const auto line = checked_event_line(text.substr(begin, end - begin));
    begin = end + 1;
    if (!line) {
      ++out.behind;
      continue;
    }
    see(*line);
    out.damaged += std::exchange(out.behind, std::size_t{0});
    out.good = begin;
  }
  if (begin != text.size()) ++out.behind;
  return out;
}

void note_damage(const serve_log& log, const fs::path& file, std::size_t lines) {
  const std::string name = file.string();
  log.note(log_level::warning, "events_damaged", {{"file", name}, {"lines", static_cast<std::int64_t>(lines)}});
}

/// Returns whether a path still refers to an open file.
auto leads_to(const fs::path& path, const braid::descriptor& file) -> bool {
  struct ::stat named{};
  struct ::stat opened{};
  return ::stat(path.c_str(), &named) == 0 && ::fstat(file.number(), &opened) == 0 && named.st_dev == opened.st_dev &&
         named.st_ino == opened.st_ino;
}

/// Returns whether another process has locked a file of a log, in the way in which `open_file` locks it.
auto is_written_by_another(const fs::path& path) -> bool {
  const braid::descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return file && ::flock(file.number(), LOCK_EX | LOCK_NB) != 0;
}

/// Logs why events could not be written to the disk, because clients learn only that writing failed. `error` is a value
/// of errno.
void note_failure(const serve_log& log, const fs::path& folder, int error) {
  const std::string message = std::generic_category().message(error);
  log.note(log_level::error, "events_not_written",
           {{"folder", std::string_view(folder.native())}, {"message", std::string_view(message)}});
}

void note_cut(const serve_log& log, const fs::path& file, std::size_t bytes) {
  const std::string name = file.string();
  log.note(log_level::warning, "events_cut", {{"file", name}, {"bytes", static_cast<std::int64_t>(bytes)}});
}

}  // namespace

auto checked_event_line(std::string_view line) -> std::optional<std::string> {
  const std::size_t tail = sum_lead.size() + sum_digits + 2;
  if (line.size() < tail || !line.ends_with("\"}")) return std::nullopt;
  const std::string_view event = line.substr(0, line.size() - tail);
  const std::string_view sum = line.substr(event.size());
  if (!sum.starts_with(sum_lead) || sum.substr(sum_lead.size(), sum_digits) != make_checksum(event))
    return std::nullopt;
  return std::string(event) + "}";
}

auto event_file_number(const fs::path& path) -> unsigned {
  const std::string file = path.filename().string();
  std::string_view name = file;
  if (!name.starts_with(file_prefix) || !name.ends_with(file_suffix)) return 0;
  name.remove_prefix(file_prefix.size());
  name.remove_suffix(std::min(file_suffix.size(), name.size()));
  return braid::detail::number_in<unsigned>(name).value_or(0);
}

auto event_files(const fs::path& folder) -> std::vector<fs::path> {
  std::vector<fs::path> out;
  std::error_code ignored;
  for (fs::directory_iterator at(folder, ignored), end; !ignored && at != end; at.increment(ignored))
    if (event_file_number(at->path()) != 0) out.push_back(at->path());
  std::ranges::sort(out, {}, event_file_number);
  return out;
}

auto event_log::open(event_log_options options) -> braid::checked<std::unique_ptr<event_log>> {
  std::unique_ptr<event_log> made(new event_log(std::move(options)));
  if (!made->options_.sync) made->options_.sync = ::fdatasync;
  if (auto started = made->start(); !started) return std::unexpected(std::move(started.error()));
  return made;
}

auto event_log::start() -> braid::checked<void> {
  const auto created = create_durable_folder(options_.folder);
  if (!created) return unwritable_file(options_.folder, created.error().value());
  std::error_code why;
  if (*created) fs::permissions(options_.folder, folder_for_owner_and_group, why);
  if (why) return unwritable_file(options_.folder, why.value());
  const fs::path lock = options_.folder / "lock";
  lock_ = braid::descriptor(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, for_owner_and_group));
  if (!lock_) return unwritable_file(lock, errno);
  if (::flock(lock_.number(), LOCK_EX | LOCK_NB) != 0)
    return refused("folder_in_use", "another process writes events to this folder",
                   "use a separate folder for each server", options_.folder);
  if (const auto files = event_files(options_.folder); !files.empty() && is_written_by_another(files.back()))
    return refused("folder_in_use",
                   "another process still writes events to this folder, although its lock file was deleted",
                   "stop that process, and use a separate folder for each server", options_.folder);
  const auto now = std::chrono::duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch());
  if (auto fine = recover(now); !fine) return fine;
  if (const auto started = log_.start(); !started) return std::unexpected(no_runtime(started.error()));
  is_open_ = true;
  return {};
}

event_log::~event_log() {
  log_.finish();
  if (is_open_ && options_.on_end) options_.on_end();
}

auto event_log::find_path(unsigned number) const -> fs::path {
  std::string digits = std::to_string(number);
  digits.insert(0, 6 - std::min<std::size_t>(digits.size(), 6), '0');
  return options_.folder / (std::string(file_prefix) + digits + std::string(file_suffix));
}

/// Opens a file of the log and locks it. Syncs the folder, so that the name of a new file is durable before any event
/// in this file is reported as written.
auto event_log::open_file(unsigned number) noexcept -> bool {
  braid::descriptor next;
  try {
    next = braid::descriptor(
        ::open(find_path(number).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, for_owner_and_group));
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
  }
  if (!next) return false;
  // Locks the file in addition to the folder, because the lock file of the folder may be deleted.
  if (::flock(next.number(), LOCK_EX | LOCK_NB) != 0) return false;
  const braid::descriptor folder(::open(options_.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || ::fsync(folder.number()) != 0) return false;
  const ::off_t size = ::lseek(next.number(), 0, SEEK_END);
  if (size < 0) return false;
  file_ = std::move(next);
  number_ = number;
  size_ = static_cast<std::uint64_t>(size);
  is_broken_ = false;
  return true;
}

/// Removes a partial line that a crash has left, and reads the ids of the events of the last `window`, beginning with
/// the newest file. If there are undamaged lines after a damaged line, the file is kept and a new file is begun,
/// because the events in these lines were reported as written.
auto event_log::recover(milliseconds now) -> braid::checked<void> {
  const std::vector<fs::path> files = event_files(options_.folder);
  unsigned number = files.empty() ? 1 : event_file_number(files.back());
  std::vector<std::pair<milliseconds, std::string>> known;
  for (std::size_t left = files.size(); left > 0 && known.size() < options_.max_ids; --left) {
    const fs::path& file = files[left - 1];
    const auto text = read_text_file(file, std::numeric_limits<std::size_t>::max());
    if (!text) return std::unexpected(text.error());
    milliseconds newest{0};
    const line_scan lines = scan_lines(*text, [&](const std::string& line) {
      const auto event = nlohmann::json::parse(line, nullptr, false);
      const auto id = event.find("event_id");
      const auto received = event.find("received_ms");
      if (id == event.end() || received == event.end() || !id->is_string() || !received->is_number_integer()) return;
      const milliseconds at(received->get<std::int64_t>());
      newest = std::max(newest, at);
      if (at > now - options_.window) known.emplace_back(at, id->get<std::string>());
    });
    const bool is_newest = left == files.size();
    if (is_newest && lines.damaged == 0 && lines.behind != 0) {
      if (::truncate(file.c_str(), static_cast<::off_t>(lines.good)) != 0) return unwritable_file(file, errno);
      note_cut(options_.log, file, text->size() - lines.good);
    } else if (lines.damaged + lines.behind != 0) {
      note_damage(options_.log, file, lines.damaged + lines.behind);
      if (is_newest) ++number;
    }
    if (newest <= now - options_.window && lines.good != 0) break;
  }
  std::ranges::sort(known);
  for (auto& [at, id] : known)
    if (ids_.insert(id).second) ages_.emplace_back(at, std::move(id));
  event_counts ignored;
  forget(now, ignored);
  if (!open_file(number)) return unwritable_file(options_.folder, errno);
  if (options_.sync(file_.number()) != 0) return unwritable_file(find_path(number_), errno);
  return {};
}

/// Removes ids that are older than the window, and the oldest ids beyond the maximum number. Requires that the caller
/// holds the mutex of the log.
void event_log::forget(milliseconds now, event_counts& counts) {
  while (!ages_.empty() && (ages_.front().first <= now - options_.window || ages_.size() > options_.max_ids)) {
    if (ages_.front().first > now - options_.window) ++counts.forgotten;
    ids_.erase(ages_.front().second);
    ages_.pop_front();
  }
}

auto event_log::add(const std::vector<event>& events, const event_rules& rules, milliseconds now)
    -> braid::future<event_outcome> {
  std::vector<std::string> lines;
  std::size_t bytes = 0;
  for (const event& each : events) bytes += lines.emplace_back(sealed(event_line(each, now))).size();
  waiter mine;
  auto result = mine.done.get_future();
  log_.locked([&](batch& waiting, event_counts& counts) {
    forget(now, counts);
    if (waiting.bytes.size() + bytes > options_.max_waiting) {
      counts.refused += events.size();
      static_cast<void>(mine.done.set_value(event_outcome{.result = event_outcome::result_kind::full}));
      return;
    }
    const queue_sizes before{waiting.bytes.size(), waiting.ids.size(), waiting.steps.size(), ages_.size()};
    try {
      for (std::size_t at = 0; at < events.size(); ++at) {
        const bool is_new = take(events[at], lines[at], rules, now, waiting);
        ++(is_new ? mine.outcome.accepted : mine.outcome.duplicates);
      }
      // Even a call with only repeated events waits for the next group. The group that is being written may contain the
      // first event with the same id, and writing that group may fail.
      waiting.waiters.push_back(std::move(mine));
    } catch (...) {
      take_back(before, waiting);
      throw;
    }
  });
  return result;
}

/// Adds an event to the waiting group. Returns false if an event with the same id was accepted before. Requires that
/// the caller holds the mutex of the log.
auto event_log::take(const event& one, const std::string& line, const event_rules& rules, milliseconds now,
                     batch& waiting) -> bool {
  waiting.ids.push_back(one.event_id);  // first, so that `take_back` finds it
  if (!ids_.insert(one.event_id).second) {
    waiting.ids.pop_back();
    return false;
  }
  ages_.emplace_back(now, one.event_id);
  waiting.bytes += line;
  if (options_.on_written) std::ranges::move(list_steps(one, rules, now), std::back_inserter(waiting.steps));
  return true;
}

/// Removes all events of a call from the waiting group after an allocation has failed. The client may send these events
/// again. Requires that the caller holds the mutex of the log.
void event_log::take_back(const queue_sizes& before, batch& waiting) noexcept {
  for (; waiting.ids.size() > before.ids; waiting.ids.pop_back()) ids_.erase(waiting.ids.back());
  waiting.bytes.resize(before.bytes);
  waiting.steps.erase(waiting.steps.begin() + static_cast<std::ptrdiff_t>(before.steps), waiting.steps.end());
  while (ages_.size() > before.ages) ages_.pop_back();
}

void event_log::write(batch& taken, append_then /*then*/) {
  const bool is_written = taken.bytes.empty() ? is_in_place() : write_in_place(taken.bytes);
  if (is_written && options_.on_written && !taken.bytes.empty()) count(std::move(taken.steps));
  settle(taken, is_written ? event_outcome::result_kind::written : event_outcome::result_kind::failed);
}

/// Reports the events of a batch as failed, although the events may be on the disk.
void event_log::lose(batch& taken) noexcept { settle(taken, event_outcome::result_kind::failed); }

/// Passes the changes of written events to the counters. If an allocation fails, the events stay written but are not
/// counted.
void event_log::count(std::vector<rule_step> steps) noexcept {
  const auto lost = static_cast<std::int64_t>(steps.size());
  try {
    options_.on_written(std::move(steps), {.file = number_, .bytes = size_});
  } catch (...) {
    options_.log.note(log_level::error, "counters_failed", {{"lost", lost}, {"message", "there is no memory"}});
  }
}

/// Removes from the file the events that were written but not reported, and syncs the file. The log must not write
/// before this function has succeeded. Otherwise the removed events could still exist after a restart. A repeated event
/// would then be dropped as a duplicate, although no counter has counted it.
auto event_log::cut() -> bool {
  return ::ftruncate(file_.number(), static_cast<::off_t>(size_)) == 0 && options_.sync(file_.number()) == 0;
}

/// Returns whether the paths of the lock and of the file still refer to the open files. Also returns false if the
/// memory for this check cannot be allocated. If the function returns false, the written events are reported as failed.
auto event_log::is_in_place() noexcept -> bool {
  bool is_there = false;
  try {
    is_there = leads_to(options_.folder / "lock", lock_) && leads_to(find_path(number_), file_);
  } catch (const std::bad_alloc&) {
    return false;
  }
  if (is_there != is_misplaced_) return is_there;
  is_misplaced_ = !is_there;
  const std::string_view folder = options_.folder.native();
  if (is_there)
    options_.log.note(log_level::info, "events_back", {{"folder", folder}});
  else
    options_.log.note(log_level::error, "events_misplaced", {{"folder", folder}});
  return is_there;
}

/// Writes events. Checks that the files are in place, both before and after the write. If a file is not in place, the
/// events are reported as failed.
auto event_log::write_in_place(std::string_view bytes) -> bool {
  if (!is_in_place()) return false;
  const std::uint64_t before = size_;
  const unsigned file = number_;
  if (!append(bytes)) return false;
  if (is_in_place()) return true;
  size_ = file == number_ ? before : size_ - bytes.size();
  is_broken_ = !cut();
  return false;
}

/// Writes and syncs bytes. After a failed sync the log continues in a new file, because the system may have dropped
/// pages of the old file.
auto event_log::append(std::string_view bytes) -> bool {
  if (is_broken_ && !cut()) return note_failure(options_.log, options_.folder, errno), false;
  if (is_broken_ || (size_ != 0 && size_ + bytes.size() > options_.max_bytes))
    if (!open_file(number_ + 1) && is_broken_) return note_failure(options_.log, options_.folder, errno), false;
  const bool is_whole = write_bytes(file_.number(), bytes) == bytes.size();
  if (is_whole && options_.sync(file_.number()) == 0) {
    size_ += bytes.size();
    return true;
  }
  const int why = errno;
  is_broken_ = !cut() || is_whole;
  note_failure(options_.log, options_.folder, why);
  return false;
}

/// Reports the outcome of a group. If the group is lost, the waiting events are dropped as well, because they may be
/// duplicates of events in that group.
void event_log::settle(batch& taken, event_outcome::result_kind result) noexcept {
  batch next;
  log_.locked([&](batch& waiting, event_counts& counts) {
    if (result == event_outcome::result_kind::failed) {
      drop(taken, counts);
      drop(waiting, counts);
      std::swap(next, waiting);
    }
    for (waiter& each : taken.waiters) {
      each.outcome.result = result;
      if (result == event_outcome::result_kind::failed) continue;
      counts.accepted += each.outcome.accepted;
      counts.duplicates += each.outcome.duplicates;
    }
    if (result == event_outcome::result_kind::written && !taken.bytes.empty()) {
      ++counts.syncs;
      counts.bytes += taken.bytes.size();
    }
  });
  for (waiter& each : next.waiters) each.outcome.result = result;
  for (batch* const of : {&taken, &next})
    for (waiter& each : of->waiters) static_cast<void>(each.done.set_value(each.outcome));
}

/// Forgets the ids of lost events, so that clients can send the events again. Requires that the caller holds the mutex
/// of the log.
void event_log::drop(const batch& taken, event_counts& counts) {
  counts.failed += taken.ids.size();
  for (const std::string& id : taken.ids) ids_.erase(id);
  std::erase_if(ages_, [this](const auto& each) { return !ids_.contains(each.second); });
}

}  // namespace rankd
