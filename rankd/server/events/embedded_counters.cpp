// rankd/server/events/embedded_counters.cpp: applies steps in memory, writes snapshots, and applies the log again.
#include <rankd/server/events/embedded_counters.hpp>

#include <rankd/engine/engine.hpp>
#include <rankd/engine/requests/page_cursors.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/file.hpp>
#include <rankd/registry/write_file.hpp>
#include <rankd/server/events/counter_snapshot.hpp>
#include <rankd/server/events/step_kinds.hpp>

#include <algorithm>
#include <deque>
#include <limits>
#include <new>
#include <ranges>
#include <string>
#include <unordered_set>
#include <utility>
#include <variant>

namespace rankd {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

/// The time for which an expired hash is kept. If the disk is busy, an event that was received before the expiry may be
/// counted after the expiry. Such an event must still find the hash, so that the result is the same as if all events of
/// the log were counted again.
constexpr std::chrono::minutes sweep_delay{1};
constexpr std::chrono::seconds between_sweeps{1};
constexpr std::size_t max_ids = std::size_t{1} << 20U;

/// The event ids within the log's window. With these ids, repeated events are detected: a group of events may be in the
/// log although it was reported as failed, and clients may send the events of this group again.
class recent_ids {
 public:
  explicit recent_ids(milliseconds window) noexcept : window_(window) {}

  /// Adds an id. Returns false if the id was added before.
  auto insert(const std::string& id, milliseconds received) -> bool {
    while (!ages_.empty() && (ages_.front().first <= received - window_ || ages_.size() >= max_ids)) {
      ids_.erase(ages_.front().second);
      ages_.pop_front();
    }
    if (!ids_.insert(id).second) return false;
    ages_.emplace_back(received, id);
    return true;
  }

 private:
  milliseconds window_;
  std::unordered_set<std::string> ids_;
  std::deque<std::pair<milliseconds, std::string>> ages_;
};

/// Calls `see(event)` for the event in each undamaged line. Returns the number of damaged lines.
template <typename See>
auto for_each_whole_line(std::string_view text, See see) -> std::size_t {
  std::size_t others = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const auto line = end == std::string_view::npos ? std::nullopt : checked_event_line(text.substr(0, end));
    if (line)
      see(*line);
    else
      ++others;
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return others;
}

/// Returns whether a log may contain a snapshot's position. A position in a missing file is accepted, because old files
/// may have been removed. It is not accepted if the number of that file is higher than the number of the newest file.
auto is_in(event_position place, const std::vector<fs::path>& files) -> bool {
  if (place.file == 0) return true;
  if (files.empty() || place.file > event_file_number(files.back())) return false;
  const auto file = std::ranges::find(files, place.file, event_file_number);
  if (file == files.end()) return true;
  std::error_code error;
  const std::uintmax_t size = fs::file_size(*file, error);
  return !error && place.bytes <= size;
}

void note_file(const serve_log& log, std::string_view event, const fs::path& file, std::string_view message) {
  const std::string name = file.string();
  log.note(log_level::warning, event, {{"file", name}, {"message", message}});
}

void note_recount(const serve_log& log, const fs::path& snapshot, std::string_view reason,
                  const std::vector<fs::path>& files) {
  const std::string name = snapshot.string();
  const std::string first = files.empty() ? "" : files.front().filename().string();
  const std::string last = files.empty() ? "" : files.back().filename().string();
  log.note(log_level::warning, "counters_recounted",
           {{"file", name}, {"message", reason}, {"first", first}, {"last", last}});
}

}  // namespace

auto embedded_counters::make(const event_rules& rules, const registries& declared, embedded_counters_options options)
    -> std::unique_ptr<embedded_counters> {
  std::unique_ptr<embedded_counters> made(new embedded_counters(rules, declared, std::move(options)));
  if (!made->options_.now) made->options_.now = milliseconds_now;
  for (const event_rule& each : rules.all())
    if (std::holds_alternative<embedded_resolver>(declared.endpoints()[each.endpoint].resolver))
      made->hashes_.try_emplace(each.endpoint);
  if (made->hashes_.empty()) return nullptr;
  for (auto& [endpoint, hashes] : made->hashes_)
    hashes = std::make_shared<counted_values>(made->options_.max_bytes / made->hashes_.size(), made->options_.now);
  return made;
}

embedded_counters::~embedded_counters() { end(); }

auto embedded_counters::find_values(std::size_t endpoint) const -> std::shared_ptr<const counted_values> {
  const auto found = hashes_.find(endpoint);
  return found == hashes_.end() ? nullptr : found->second;
}

auto embedded_counters::start() -> braid::checked<void> {
  if (auto counted = count_log(); !counted) return counted;
  auto saver = braid::thread::create({.name = "counters", .on_refused = braid::refusal::ignore}, [this] { work(); });
  if (!saver) return std::unexpected(no_runtime(saver.error()));
  saver_.emplace(std::move(*saver));
  return {};
}

/// Reads the snapshot. Returns an empty text if the snapshot was read or does not exist yet. Otherwise, returns why the
/// snapshot cannot be used. Fails if the file cannot be read, because the file may contain a valid snapshot, without
/// which the counters must not be restored.
auto embedded_counters::take_snapshot() -> braid::checked<std::string_view> {
  const fs::path file = options_.folder / counters_snapshot_file;
  std::error_code error;
  if (!fs::exists(file, error) && !error) return {};
  const auto text = read_text_file(file, std::numeric_limits<std::size_t>::max());
  if (!text) return std::unexpected(text.error());
  auto read = counter_snapshot::parse(*text);
  if (!read) return "it is damaged";
  if (!is_in(read->until, event_files(options_.folder))) return "the snapshot counts events beyond the end of the log";
  for (const auto& [endpoint, hashes] : hashes_)
    for (auto& [key, value] : read->values[declared_->endpoints()[endpoint].endpoint_id])
      hashes->insert(std::move(key), std::move(value));
  saved_ = until_ = read->until;
  return {};
}

/// Restores the counters: reads the snapshot, and counts the events of the log after the position of the snapshot.
auto embedded_counters::count_log() -> braid::checked<void> {
  const std::scoped_lock lock(saving_, counting_);
  const auto taken = take_snapshot();
  if (!taken) return std::unexpected(taken.error());
  const std::vector<fs::path> files = event_files(options_.folder);
  if (!taken->empty()) note_recount(options_.log, options_.folder / counters_snapshot_file, *taken, files);
  const event_position from = until_;
  const auto next = std::ranges::lower_bound(files, from.file, {}, event_file_number);
  if (from.file != 0 && next != files.end() && event_file_number(*next) != from.file)
    note_file(options_.log, "counters_gap", *next,
              "files before this one are missing, and the snapshot may not include their events");
  recent_ids seen(options_.window);
  for (const fs::path& file : std::ranges::subrange(next, files.end())) {
    const unsigned number = event_file_number(file);
    const auto text = read_text_file(file, std::numeric_limits<std::size_t>::max());
    if (!text) return std::unexpected(text.error());
    const std::size_t begin = number == from.file ? std::min<std::size_t>(from.bytes, text->size()) : 0;
    const std::size_t damaged =
        for_each_whole_line(std::string_view(*text).substr(begin), [&](const std::string& line) {
          const auto event = parse_event_line(line, *rules_, *declared_);
          if (!event || !seen.insert(event->what.event_id, event->received)) return;
          for (const rule_step& each : list_steps(event->what, *rules_, event->received)) count_step(each);
        });
    if (damaged != 0) note_file(options_.log, "counters_passed_over", file, "damaged lines are not counted");
    until_ = {.file = number, .bytes = text->size()};
  }
  return {};
}

void embedded_counters::add(const std::vector<rule_step>& steps, event_position after) {
  const std::scoped_lock lock(counting_);
  for (const rule_step& each : steps) count_step(each);
  until_ = after;
}

/// Applies a step. Requires that the caller holds `counting_`.
void embedded_counters::count_step(const rule_step& step) {
  const auto found = hashes_.find(rules_->all()[step.rule].endpoint);
  if (found == hashes_.end()) return;  // it is in Redis
  const auto change = [&](counted_value& value) { return apply_step(value, *rules_, step); };
  auto done = counted_values::outcome::full;
  try {
    done = found->second->update(step.key, step.received, change);
    if (done == counted_values::outcome::full && make_room(step))
      done = found->second->update(step.key, step.received, change);
  } catch (const std::bad_alloc&) {
    lost_.fetch_add(1, braid::relaxed);
    return;  // the log goes on: what is behind this step counts
  }
  if (done == counted_values::outcome::done) {
    written_.fetch_add(1, braid::relaxed);
    return;
  }
  lost_.fetch_add(1, braid::relaxed);
  if (done != counted_values::outcome::full || std::exchange(is_full_, true)) return;
  options_.log.note(log_level::warning, "counters_full",
                    {{"hashes", static_cast<std::int64_t>(hashes())}, {"bytes", static_cast<std::int64_t>(bytes())}});
}

/// Frees expired values. While the memory is full, values are freed at most once per `between_sweeps`, not for every
/// event.
auto embedded_counters::make_room(const rule_step& step) -> bool {
  if (step.received < swept_ + between_sweeps) return false;
  swept_ = step.received;
  return sweep(step.received);
}

/// Frees hashes that have expired by `now`. Returns false if no hash has expired. Requires that the caller holds
/// `counting_`.
auto embedded_counters::sweep(milliseconds now) -> bool {
  const std::size_t before = hashes();
  for (const auto& [endpoint, hashes] : hashes_) hashes->sweep(now - sweep_delay);
  if (hashes() == before) return false;
  is_full_ = false;
  return true;
}

auto embedded_counters::write_snapshot() -> braid::result<void> {
  const std::scoped_lock saving(saving_);
  std::string bytes;
  event_position until;
  {
    const std::scoped_lock lock(counting_);
    if (until_ == saved_) return {};
    sweep(options_.now());
    std::map<std::string, const counted_values*> by_id;
    for (const auto& [endpoint, hashes] : hashes_)
      by_id.emplace(declared_->endpoints()[endpoint].endpoint_id, hashes.get());
    until = until_;
    bytes = counter_snapshot::bytes_of(until, by_id);
  }
  const fs::path file = options_.folder / counters_snapshot_file;
  if (auto done = replace_file(file, bytes); !done) {
    snapshots_failed_.fetch_add(1, braid::relaxed);
    note_file(options_.log, "counters_not_saved", file, done.error().message());
    return done;
  }
  saved_ = until;
  return {};
}

void embedded_counters::work() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, options_.between_snapshots, [this] { return ending_; })) return;
    }
    try {
      static_cast<void>(write_snapshot());  // which reports what is wrong
    } catch (const std::bad_alloc&) {
      snapshots_failed_.fetch_add(1, braid::relaxed);  // the next one is tried
    }
  }
}

void embedded_counters::end() {
  if (!saver_) return;  // never started, or already ended
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  saver_.reset();  // joins it
  static_cast<void>(write_snapshot());
}

auto embedded_counters::counts() const -> counter_counts {
  return {.written = written_.load(braid::relaxed), .lost = lost_.load(braid::relaxed)};
}

auto embedded_counters::hashes() const -> std::size_t {
  std::size_t out = 0;
  for (const auto& [endpoint, hashes] : hashes_) out += hashes->size();
  return out;
}

auto embedded_counters::bytes() const -> std::size_t {
  std::size_t out = 0;
  for (const auto& [endpoint, hashes] : hashes_) out += hashes->bytes();
  return out;
}

}  // namespace rankd
