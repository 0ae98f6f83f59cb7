// rankd/store/load_store.cpp: implements the steps of a load: read, merge, sync, switch, clean.
#include <rankd/store/load_store.hpp>

#include <rankd/registry/write_file.hpp>
#include <rankd/store/data_writer.hpp>
#include <rankd/store/detail/load_mark.hpp>
#include <rankd/store/embedded.hpp>
#include <rankd/store/error.hpp>
#include <rankd/store/line_reader.hpp>
#include <rankd/store/record_parser.hpp>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace rankd {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t progress_step = std::uint64_t{1} << 20U;
constexpr std::size_t smallest_map = std::size_t{16} << 20U;

auto unreadable(const fs::path& file, std::error_code error) -> braid::diagnostic {
  return {.code = "data_unreadable",
          .pointer = {},
          .message = "the file cannot be read: " + error.message(),
          .hint = {},
          .node = {},
          .source = file.string()};
}

/// Returns whether a write failed because the disk is full. LMDB reports a partial write as an I/O error.
auto is_full_disk(std::error_code error, const fs::path& folder) -> bool {
  constexpr std::uintmax_t little = std::uintmax_t{1} << 20U;
  if (error == std::errc::no_space_on_device || error == std::error_code(EDQUOT, std::system_category())) return true;
  std::error_code unknown;
  const fs::space_info room = fs::space(folder, unknown);
  return error == std::errc::io_error && !unknown && room.available < little;
}

/// The deletion of a key, or of some of its fields, that a line requests.
struct deletion {
  record_origin origin;
  std::vector<std::string> fields;  ///< empty: the key
};

/// A running load, from the lock to the new manifest.
class load_job {
 public:
  load_job(const fs::path& folder, std::span<const fs::path> files, const load_options& options,
           std::optional<store_manifest> old)
      : folder_(folder), files_(files), options_(options), old_(old), parser_(options.vectors) {}

  /// Reads all files, and creates a new generation of the store from them.
  auto run() -> braid::checked<load_report>;
  /// Applies `changes` to the open store `old`, instead of reading files.
  auto run(embedded_store old, const store_changes& changes) -> braid::checked<load_report>;

 private:
  auto make_and_switch() -> braid::checked<load_report>;
  auto fail_on(std::error_code error) -> std::unexpected<braid::diagnostics>;
  void measure();
  auto attempt(std::size_t map_bytes) -> braid::result<void>;
  auto open_writer(std::size_t map_bytes) -> braid::result<data_writer>;
  auto save(data_writer& writer) -> braid::result<void>;
  auto put_changes(data_writer& writer) -> braid::result<void>;
  auto read_file(data_writer& writer, std::uint32_t index) -> braid::result<void>;
  auto read_line(data_writer& writer, const text_line& line, std::uint32_t index) -> braid::result<void>;
  void show(const parsed_record& record);
  void twin(const parsed_record& record, record_origin first, record_origin second);
  auto note_deletion(data_writer& writer, const parsed_record& record) -> braid::result<void>;
  auto merge(data_writer& writer) -> braid::result<void>;
  auto keep_history(data_writer& writer, const embedded_store::snapshot& old) -> braid::result<void>;
  auto merge_entry(data_writer& writer, const store_entry& entry) -> braid::result<void>;
  auto without_fields(const store_entry& entry, const deletion& gone) -> std::span<const std::byte>;
  void report(load_stage stage, std::uint64_t bytes_done) const;
  [[nodiscard]] auto bytes_read() const -> std::uint64_t;
  [[nodiscard]] auto full() const -> bool { return diagnostics_.size() >= max_load_diagnostics; }
  [[nodiscard]] auto new_generation() const -> std::uint64_t { return old_ ? old_->generation + 1 : 1; }

  const fs::path& folder_;
  std::span<const fs::path> files_;
  const load_options& options_;
  std::optional<store_manifest> old_;
  std::optional<embedded_store> old_store_;  ///< only in merge mode
  const store_changes* changes_ = nullptr;   ///< null: the files say what changes

  record_parser parser_;
  braid::diagnostics diagnostics_;
  detail::load_mark mark_;  ///< what was read and put
  std::map<std::string, deletion, std::less<>> deletions_;
  std::uint64_t deleted_ = 0;  ///< of these, what was there
  record_builder builder_;
  bool begun_ = false;  ///< a file that is there was made by this load, not by an earlier one
  load_report report_;
  record_origin shown_;  ///< the last record that `seen` was called for
  std::vector<std::uint64_t> file_bytes_;
  std::uint64_t bytes_total_ = 0;
  store_manifest made_;  ///< names the new data file, once it is complete
};

auto load_job::run() -> braid::checked<load_report> {
  measure();
  if (!diagnostics_.empty()) return std::unexpected(diagnostics_);
  if (old_ && options_.mode == load_mode::merge) {
    auto opened = embedded_store::open(folder_);
    if (!opened) return std::unexpected(opened.error());
    old_store_ = std::move(*opened);
  }
  mark_.made_from = detail::load_sources(files_, options_.mode, old_);
  return make_and_switch();
}

auto load_job::run(embedded_store old, const store_changes& changes) -> braid::checked<load_report> {
  old_store_.emplace(std::move(old));
  changes_ = &changes;
  return make_and_switch();
}

auto load_job::make_and_switch() -> braid::checked<load_report> {
  std::size_t map_bytes = options_.first_map_bytes;
  if (map_bytes == 0) map_bytes = smallest_map + 4 * bytes_total_ + (old_ ? 2 * old_->data_bytes : 0);
  braid::result<void> done = attempt(map_bytes);
  while (!done && done.error() == store_errc::full) done = attempt(map_bytes *= 2);
  if (!done) return fail_on(done.error());
  if (!diagnostics_.empty()) return fail_on({});

  report(load_stage::switching, bytes_total_);
  done = write_manifest(folder_, made_);
  if (!done) return fail_on(done.error());
  report(load_stage::cleaning, bytes_total_);
  remove_other_generations(folder_, new_generation());
  report_.records = mark_.records;
  report_.kept = mark_.kept;
  report_.deleted = deleted_;
  report_.generation = new_generation();
  return report_;
}

auto load_job::fail_on(std::error_code error) -> std::unexpected<braid::diagnostics> {
  const bool full_disk = is_full_disk(error, folder_);
  remove_other_generations(folder_, old_ ? old_->generation : 0);
  if (full_disk)
    diagnostics_.append(store_diagnostic("disk_full", folder_, "the disk has not enough free space for the new store",
                                         "free some disk space and load again; the store is unchanged"));
  else if (error)
    diagnostics_.append(store_diagnostic(error == store_errc::corrupt ? "store_corrupt" : "store_write_failed", folder_,
                                         "the load failed: " + error.message(), "the store is unchanged"));
  return std::unexpected(diagnostics_);
}

void load_job::measure() {
  for (const fs::path& file : files_) {
    std::error_code error;
    const std::uint64_t size = fs::file_size(file, error);
    if (error)
      diagnostics_.add(unreadable(file, error));
    else
      bytes_total_ += file_bytes_.emplace_back(size);
  }
}

auto load_job::attempt(std::size_t map_bytes) -> braid::result<void> {
  diagnostics_ = {};
  deletions_.clear();
  deleted_ = 0;
  auto writer = open_writer(map_bytes);
  if (!writer) return braid::fail(writer.error());

  if (changes_ != nullptr)
    if (auto done = put_changes(*writer); !done) return done;
  while (mark_.file < files_.size() && !full()) {
    if (auto done = read_file(*writer, mark_.file); !done) return done;
    ++mark_.file;
    mark_.line = {};
  }
  if (diagnostics_.empty() && options_.refused) diagnostics_.append(options_.refused());
  if (!diagnostics_.empty()) return {};
  if (auto done = merge(*writer); !done) return done;
  if (!diagnostics_.empty()) return {};
  report(load_stage::syncing, bytes_total_);
  const auto size = writer->finish();
  if (!size) return braid::fail(size.error());
  const auto sealed = seal_generation(folder_, new_generation());
  if (!sealed) return braid::fail(sealed.error());
  made_ = *sealed;
  return {};
}

/// Opens the unfinished file of an interrupted load of the same data, or creates a new file.
auto load_job::open_writer(std::size_t map_bytes) -> braid::result<data_writer> {
  const fs::path file = data_file(folder_, new_generation());
  const bool may_go_on = changes_ == nullptr && (begun_ || !options_.refused);
  auto begun =
      may_go_on ? data_writer::reopen(file, map_bytes)
                : braid::result<data_writer>(braid::fail(std::make_error_code(std::errc::no_such_file_or_directory)));
  if (begun) {
    const auto note = begun->note();
    auto mark = note ? detail::parse_load_mark(*note) : std::nullopt;
    if (mark && mark->made_from == mark_.made_from && mark->file <= files_.size()) {
      mark_ = std::move(*mark);
      if (!std::exchange(begun_, true)) report_.resumed_at = bytes_read();
      return begun;
    }
  }
  remove_other_generations(folder_, old_ ? old_->generation : 0);
  std::string made_from = std::move(mark_.made_from);
  mark_ = {};
  mark_.made_from = std::move(made_from);
  begun_ = true;
  return data_writer::create(file, map_bytes);
}

/// Saves the records and the progress. Diagnostics and deletions cannot be saved, so a load that has any of them saves
/// no progress, and the next load begins again.
auto load_job::save(data_writer& writer) -> braid::result<void> {
  return writer.save(diagnostics_.empty() && deletions_.empty() ? detail::to_text(mark_) : std::string());
}

/// Returns the number of bytes in all files before the current position.
auto load_job::bytes_read() const -> std::uint64_t {
  const auto whole = file_bytes_.begin() + mark_.file;
  return std::accumulate(file_bytes_.begin(), whole, mark_.line.bytes);
}

auto load_job::put_changes(data_writer& writer) -> braid::result<void> {
  for (const auto& [key, bytes] : changes_->records) {
    if (auto put = writer.put(key, bytes); !put) return braid::fail(put.error());
    ++mark_.records;
  }
  for (const auto& [key, fields] : changes_->deleted) deletions_.emplace(key, deletion{.origin = {}, .fields = fields});
  if (changes_->history.empty()) return {};
  const std::vector<std::string_view> texts(changes_->history.begin(), changes_->history.end());
  const auto put = writer.put(embedded_store::history_key, builder_.text_list(texts, {}));
  if (!put) return braid::fail(put.error());
  return {};
}

auto load_job::read_file(data_writer& writer, std::uint32_t index) -> braid::result<void> {
  report(load_stage::reading, bytes_read());
  auto reader = line_reader::open(files_[index], mark_.line);
  if (!reader) {
    diagnostics_.add(unreadable(files_[index], reader.error()));
    return {};
  }
  std::uint64_t reported = mark_.line.bytes;
  while (!full()) {
    const auto line = reader->next();
    if (!line) diagnostics_.add(unreadable(files_[index], line.error()));
    if (!line || !*line) break;
    if (auto done = read_line(writer, **line, index); !done) return done;
    mark_.line = reader->position();
    if (writer.unsaved() >= options_.save_bytes)
      if (auto done = save(writer); !done) return done;
    if (mark_.line.bytes - reported < progress_step) continue;
    reported = mark_.line.bytes;
    report(load_stage::reading, bytes_read());
  }
  if (full())
    diagnostics_.add({.code = "too_many_diagnostics",
                      .pointer = {},
                      .message = "the rest of the data was not read",
                      .hint = {},
                      .node = {},
                      .source = files_[index].string()});
  return {};
}

auto load_job::read_line(data_writer& writer, const text_line& line, std::uint32_t index) -> braid::result<void> {
  auto parsed = parser_.parse(line, index);
  if (!parsed) {
    parsed.error().set_source(files_[index].string());
    diagnostics_.append(std::move(parsed.error()));
    return {};
  }
  if (!*parsed) return {};
  const parsed_record& record = **parsed;
  if (const auto deleted = deletions_.find(record.key); deleted != deletions_.end()) {
    twin(record, deleted->second.origin, record.origin);
    return {};
  }
  if (record.deletes()) return note_deletion(writer, record);
  show(record);
  const auto existing = writer.put(record.key, record.bytes);
  if (!existing) return braid::fail(existing.error());
  if (*existing) twin(record, (*existing)->origin(), record.origin);
  ++mark_.records;
  return {};
}

auto load_job::note_deletion(data_writer& writer, const parsed_record& record) -> braid::result<void> {
  const auto existing = writer.find(record.key);
  if (!existing) return braid::fail(existing.error());
  if (*existing) {
    twin(record, (*existing)->origin(), record.origin);
    return {};
  }
  deletions_.emplace(record.key, deletion{record.origin, {record.fields.begin(), record.fields.end()}});
  return {};
}

/// Passes a record to `options_.seen`. A load that needs a larger file reads lines again, but each record is passed
/// only once.
void load_job::show(const parsed_record& record) {
  if (!options_.seen) return;
  const record_view view = *record_view::parse(record.bytes);
  const record_origin here = view.origin();
  if (here.file < shown_.file || (here.file == shown_.file && here.line <= shown_.line)) return;
  shown_ = here;
  options_.seen(record.key, view);
}

void load_job::twin(const parsed_record& record, record_origin first, record_origin second) {
  std::string message = "the key `" + std::string(record.key) + "` is already in line " + std::to_string(first.line);
  if (first.file != second.file) message += " of " + files_[first.file].string();
  braid::diagnostics problem(line_diagnostic(second.line, "duplicate_key", "", message,
                                             "each key may occur only once in a load; combine the two lines"));
  problem.set_source(files_[second.file].string());
  diagnostics_.append(std::move(problem));
}

auto load_job::merge(data_writer& writer) -> braid::result<void> {
  report(load_stage::merging, bytes_total_);
  if (!old_store_) return {};
  const auto snapshot = old_store_->take_snapshot();
  if (!snapshot) return braid::fail(snapshot.error());
  auto cursor = snapshot->walk();
  if (!cursor) return braid::fail(cursor.error());
  for (;;) {
    const auto entry = cursor->next();
    if (!entry) return braid::fail(entry.error());
    if (!*entry) return keep_history(writer, *snapshot);
    if (!mark_.merged_to.empty() && (*entry)->key <= mark_.merged_to) continue;
    if (auto done = merge_entry(writer, **entry); !done) return done;
    mark_.merged_to = (*entry)->key;
    if (writer.unsaved() >= options_.save_bytes)
      if (auto done = save(writer); !done) return done;
  }
}

/// Copies the history of the old store, unless the changes contain a new history.
auto load_job::keep_history(data_writer& writer, const embedded_store::snapshot& old) -> braid::result<void> {
  const auto kept = old.history();
  if (!kept) return braid::fail(kept.error());
  if (!*kept) return {};
  if (auto put = writer.put(embedded_store::history_key, (*kept)->bytes()); !put) return braid::fail(put.error());
  return {};
}

auto load_job::merge_entry(data_writer& writer, const store_entry& entry) -> braid::result<void> {
  std::span<const std::byte> bytes = entry.record.bytes();
  if (const auto gone = deletions_.find(entry.key); gone != deletions_.end()) {
    bytes = without_fields(entry, gone->second);
    if (bytes.empty()) return {};
  }
  const auto newer = writer.put(entry.key, bytes);
  if (!newer) return braid::fail(newer.error());
  if (!*newer) ++mark_.kept;
  return {};
}

/// Returns the record without the deleted fields, or nothing if no field remains or the whole key is deleted.
auto load_job::without_fields(const store_entry& entry, const deletion& gone) -> std::span<const std::byte> {
  if (gone.fields.empty()) {
    ++deleted_;
    return {};
  }
  if (entry.record.kind() != record_kind::hash) {
    braid::diagnostics problem(
        line_diagnostic(gone.origin.line, "not_a_hash", "/fields",
                        "the key `" + std::string(entry.key) + "` is not a hash, so it has no fields to delete",
                        "remove `fields` to delete the whole key"));
    if (changes_ == nullptr) problem.set_source(files_[gone.origin.file].string());
    diagnostics_.append(std::move(problem));
    return {};
  }
  std::vector<hash_field> left;
  for (std::size_t at = 0; at < entry.record.count(); ++at)
    if (const hash_field each = entry.record.field_at(at); !std::ranges::binary_search(gone.fields, each.name))
      left.push_back(each);
  deleted_ += entry.record.count() - left.size();
  return left.empty() ? std::span<const std::byte>() : builder_.hash(left, entry.record.origin());
}

void load_job::report(load_stage stage, std::uint64_t bytes_done) const {
  if (options_.progress) options_.progress({stage, bytes_done, bytes_total_});
}

/// Creates the folder, if necessary, and locks it for writing.
auto lock_folder(const fs::path& folder, lock_wait wait) -> braid::checked<folder_lock> {
  const auto created = create_durable_folder(folder);
  auto lock = created ? folder_lock::acquire(folder, wait) : braid::result<folder_lock>(braid::fail(created.error()));
  if (lock) return std::move(*lock);
  if (lock.error() == std::errc::operation_would_block)
    return std::unexpected(
        store_diagnostic("store_busy", folder, "another load into this store is running", "wait until it is done"));
  return std::unexpected(
      store_diagnostic("store_write_failed", folder, "the folder cannot be written: " + lock.error().message(), {}));
}

/// Returns the manifest of a store, or nothing if there is no store yet.
auto find_manifest(const fs::path& folder) -> braid::checked<std::optional<store_manifest>> {
  auto manifest = read_manifest(folder);
  if (manifest) return *manifest;
  if (manifest.error().front().code == "store_missing") return std::nullopt;
  return std::unexpected(std::move(manifest.error()));
}

auto ndjson_files(const fs::path& data_folder) -> braid::checked<std::vector<fs::path>> {
  std::vector<fs::path> files;
  std::error_code error;
  for (auto item = fs::directory_iterator(data_folder, error); !error && item != fs::directory_iterator();
       item.increment(error)) {
    if (item->path().extension() == ".ndjson") files.push_back(item->path());
  }
  if (error) return std::unexpected(braid::diagnostics(unreadable(data_folder, error)));
  if (files.empty())
    return std::unexpected(store_diagnostic("data_missing", data_folder, "the folder has no .ndjson file", {}));
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

auto load_store(const fs::path& folder, std::span<const fs::path> files, const load_options& options)
    -> braid::checked<load_report> {
  if (auto found = find_manifest(folder); !found) return std::unexpected(std::move(found.error()));
  auto lock = lock_folder(folder, options.wait);
  if (!lock) return std::unexpected(lock.error());
  auto old = find_manifest(folder);
  if (!old) return std::unexpected(std::move(old.error()));
  const replaced_manifest replaced(folder);
  auto report = load_job(folder, files, options, *old).run();
  { const folder_lock ended = std::move(*lock); }  // other loads do not wait for the servers
  if (report && options.wait_for_readers != braid::duration::zero())
    report->readers = replaced.wait_for_readers(options.wait_for_readers);
  return report;
}

auto change_store(const fs::path& folder, const std::function<store_changes(const embedded_store&)>& make)
    -> braid::checked<std::optional<load_report>> {
  if (auto there = read_manifest(folder); !there) return std::unexpected(std::move(there.error()));
  const auto lock = lock_folder(folder, lock_wait::until_free);
  if (!lock) return std::unexpected(lock.error());
  auto now = embedded_store::open(folder);
  if (!now) return std::unexpected(std::move(now.error()));
  const store_changes changes = make(*now);
  if (changes.is_empty()) return std::nullopt;
  const store_manifest old = now->manifest();
  auto report = load_job(folder, {}, {}, old).run(std::move(*now), changes);
  if (!report) return std::unexpected(std::move(report.error()));
  return *report;
}

auto load_if_missing(const fs::path& folder, const fs::path& data_folder, const load_options& options)
    -> braid::checked<std::optional<load_report>> {
  auto found = find_manifest(folder);
  if (!found) return std::unexpected(std::move(found.error()));
  if (*found) return std::nullopt;
  const auto files = ndjson_files(data_folder);
  if (!files) return std::unexpected(files.error());

  const auto lock = lock_folder(folder, lock_wait::until_free);
  if (!lock) return std::unexpected(lock.error());
  found = find_manifest(folder);
  if (!found) return std::unexpected(std::move(found.error()));
  if (*found) return std::nullopt;  // another process was first
  auto report = load_job(folder, *files, options, std::nullopt).run();
  if (!report) return std::unexpected(std::move(report.error()));
  return *report;
}

}  // namespace rankd
