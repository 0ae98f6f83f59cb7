// rankd/server/vector_merger.cpp: compares lists of changed vectors with their files, and merges the lists into the
// files.
#include <rankd/server/vector_merger.hpp>

#include <rankd/engine/engine.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/write_file.hpp>
#include <rankd/store/load_store.hpp>
#include <rankd/store/record.hpp>

#include <braid/task/pool.hpp>
#include <braid/thread/scheduling.hpp>

#include <algorithm>
#include <new>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace rankd {
namespace {

namespace fs = std::filesystem;

/// An exception that ends the computation of a merge if the merge is cancelled.
struct merge_cancelled {};

auto not_locked(const fs::path& file, std::error_code error) -> std::unexpected<braid::diagnostics> {
  return refused("vectors_not_locked", "the lock file cannot be used: " + error.message(),
                 "servers need permission to write into the folder of the file", file.string() + ".lock");
}

auto unreadable(const vector_changes_policy& list, std::error_code error) -> std::unexpected<braid::diagnostics> {
  return refused("changes_unreadable", "the list of changes `" + list.set + "` in endpoint `" + list.endpoint_id +
                                           "` cannot be read: " + error.message());
}

/// Returns the newest data of a store. The process may answer from older data. If another process has merged ids and
/// removed them from the list, the list in the older data still contains these ids, possibly with vectors from before
/// that merge.
auto open_newest(const followed_store& store) -> braid::checked<std::shared_ptr<const embedded_store>> {
  const auto manifest = read_manifest(store.folder());
  if (!manifest) return std::unexpected(manifest.error());
  auto served = store.data();
  if (served->manifest() == *manifest) return served;
  auto opened = embedded_store::open(store.folder());
  if (!opened) return std::unexpected(std::move(opened.error()));
  return std::make_shared<const embedded_store>(std::move(*opened));
}

/// Returns the changes to the store that remove ids from a list if their vectors are in the file. Returns no changes if
/// the file contains none of these vectors.
auto shortened(const embedded_store& now, const vector_changes_policy& list, const vector_file& file,
               std::error_code& error) -> store_changes {
  store_changes out;
  const auto snapshot = now.take_snapshot();
  const auto listed = snapshot ? read_listed(*snapshot, list, file)
                               : braid::result<std::vector<listed_vector>>(braid::fail(snapshot.error()));
  const auto set =
      snapshot ? snapshot->find(list.set) : braid::result<std::optional<record_view>>(braid::fail(snapshot.error()));
  if (!listed || !set) {
    error = listed ? set.error() : listed.error();
    return out;
  }
  std::unordered_set<std::string_view> merged;
  for (const listed_vector& each : *listed)
    if (is_merged(file, each)) merged.insert(each.member);
  if (merged.empty() || !*set) return out;
  std::vector<std::string_view> left;
  for (std::size_t at = 0; at < (*set)->count(); ++at)
    if (!merged.contains((*set)->text_at(at))) left.push_back((*set)->text_at(at));
  if (left.empty()) {
    out.deleted[list.set] = {};
    return out;
  }
  record_builder builder;
  const auto bytes = builder.set(left, (*set)->origin());
  out.records[list.set] = {bytes.begin(), bytes.end()};
  return out;
}

}  // namespace

vector_merger::vector_merger(std::vector<target> targets, plan_library& plans, serve_log log,
                             std::function<void(merge_step)> on_step)
    : plans_(plans), log_(log), on_step_(std::move(on_step)) {
  for (target& each : targets) {
    counts_.push_back({.endpoint_id = each.endpoint_id});
    places_.push_back({.of = std::move(each), .index = places_.size()});
  }
}

vector_merger::~vector_merger() {
  cancel();
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.reset();  // joins it
}

auto vector_merger::start(braid::duration between) -> braid::checked<void> {
  if (places_.empty()) return {};
  for (place& each : places_) attempt(each, braid::steady_time().now(), &vector_merger::follow_file);
  auto made = braid::thread::create({.name = "vectors", .on_refused = braid::refusal::ignore},
                                    [this, between] { run(between); });
  if (!made) return std::unexpected(no_runtime(made.error()));
  thread_.emplace(std::move(*made));
  return {};
}

void vector_merger::run(braid::duration between) {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, between, [this] { return ending_; })) return;
    }
    look(braid::steady_time().now());
  }
}

void vector_merger::cancel() noexcept { is_cancelled_.store(true, braid::relaxed); }

auto vector_merger::counts() const -> std::vector<merge_counts> {
  const std::scoped_lock lock(mutex_);
  return counts_;
}

template <typename Change>
void vector_merger::count(const place& entry, const Change& change) {
  const std::scoped_lock lock(mutex_);
  change(counts_[entry.index]);
}

void vector_merger::look(braid::time_point now) {
  for (place& each : places_)
    if (!is_cancelled_.load(braid::relaxed) && now >= each.not_before)
      attempt(each, now, &vector_merger::follow_and_merge);
}

void vector_merger::attempt(place& entry, braid::time_point now, braid::checked<void> (vector_merger::*step)(place&)) {
  braid::checked<void> done;
  try {
    done = (this->*step)(entry);
  } catch (const merge_cancelled&) {
    return;
  } catch (const std::bad_alloc&) {
    done = refused("out_of_memory", "there is not enough memory to merge", "a merge holds all vectors twice in memory");
  }
  if (done)
    succeed(entry);
  else
    fail(entry, done.error().front(), now);
}

void vector_merger::succeed(place& entry) {
  entry.complaint.clear();
  entry.pause = {};
}

/// Postpones the next attempt after a failure. Logs the failure unless it is the same as the last failure.
void vector_merger::fail(place& entry, const braid::diagnostic& problem, braid::time_point now) {
  count(entry, [](merge_counts& counts) { ++counts.failures; });
  entry.pause = entry.pause == braid::duration::zero() ? first_pause : std::min(2 * entry.pause, max_pause);
  entry.not_before = now + entry.pause;
  std::string complaint = problem.code + problem.message;
  if (std::exchange(entry.complaint, complaint) == complaint) return;
  log_.note(log_level::error, "vectors_not_merged",
            {{"endpoint", entry.of.endpoint_id},
             {"code", problem.code},
             {"message", problem.message},
             {"source", problem.source}});
}

void vector_merger::after(merge_step done) const {
  if (on_step_) on_step_(done);
}

auto vector_merger::follow_file(place& entry) -> braid::checked<void> {
  if (!entry.claims) {
    auto opened = vector_claims::open(entry.of.file);
    if (!opened) return not_locked(entry.of.file, opened.error());
    entry.claims.emplace(std::move(*opened));
  }
  const auto digest = follow(entry);
  if (!digest) return std::unexpected(digest.error());
  const auto data = entry.of.store->data();
  const auto snapshot = data->take_snapshot();
  const auto listed =
      snapshot ? count_listed(*snapshot, entry.of.list) : braid::result<std::size_t>(braid::fail(snapshot.error()));
  if (!listed) return unreadable(entry.of.list, listed.error());
  count(entry, [&listed](merge_counts& counts) { counts.listed = *listed; });
  return {};
}

/// Follows the file, and merges if the list is long enough and no other process merges.
auto vector_merger::follow_and_merge(place& entry) -> braid::checked<void> {
  if (auto followed = follow_file(entry); !followed) return followed;
  const std::uint32_t merge_at = entry.of.list.merge_at;
  if (merge_at == 0 || entry.served.empty() || counts_[entry.index].listed < merge_at) {
    entry.opened.reset();
    return {};
  }
  const auto locked = entry.claims->try_lock();
  if (!locked) return not_locked(entry.of.file, locked.error());
  if (!*locked) return {};
  braid::checked<void> done;
  try {
    done = merge_list(entry);
  } catch (...) {
    entry.claims->unlock();
    throw;
  }
  entry.claims->unlock();
  return done;
}

/// Opens the served file. Keeps the file open for the next call, because opening a file reads its whole contents.
auto vector_merger::open_file(place& entry) -> braid::checked<std::shared_ptr<const vector_file>> {
  if (entry.opened != nullptr && entry.opened->digest() == entry.served) return entry.opened;
  auto file = vector_file::open(entry.of.file);
  if (file) entry.opened = *file;
  return file;
}

/// Publishes plans that use the current file, and claims the files in use. Returns the digest of the current file.
/// Claims the file before the publication, because otherwise another process could remove changes that requests of this
/// process need.
auto vector_merger::follow(place& entry) -> braid::checked<std::string> {
  auto digest = vector_file::make_digest(entry.of.file);
  if (!digest) return digest;
  if (auto claimed = claim_used(entry, *digest); !claimed) return std::unexpected(std::move(claimed.error()));
  if (entry.of.list.merge_at > 0) {
    const auto report = plans_.reload_vectors();
    if (!report) return std::unexpected(report.error());
    if (auto claimed = claim_used(entry, *digest); !claimed) return std::unexpected(std::move(claimed.error()));
  }
  const std::vector<std::string> used = plans_.vectors_in_use(entry.of.endpoint_id);
  if (entry.served != *digest && std::ranges::find(used, *digest) != used.end()) {
    count(entry, [](merge_counts& counts) { ++counts.generation; });
    const bool is_first = entry.served.empty();
    entry.served = *digest;
    if (!is_first)
      log_.note(log_level::info, "vectors_changed", {{"endpoint", entry.of.endpoint_id}, {"digest", *digest}});
  }
  return digest;
}

/// Claims the given version of the file and all versions that requests may use, and releases all other versions.
auto vector_merger::claim_used(place& entry, const std::string& digest) -> braid::checked<void> {
  std::vector<std::string> used = plans_.vectors_in_use(entry.of.endpoint_id);
  const bool is_certain = std::ranges::find(used, std::string()) == used.end();
  std::erase(used, std::string());
  used.push_back(digest);
  for (const std::string& each : used) {
    if (std::ranges::find(entry.claimed, each) != entry.claimed.end()) continue;
    if (const auto done = entry.claims->claim(each); !done) return not_locked(entry.of.file, done.error());
    entry.claimed.push_back(each);
  }
  if (!is_certain) return {};  // a version that is no longer stored may use any file that was claimed
  for (const std::string& each : std::vector<std::string>(entry.claimed)) {
    if (std::ranges::find(used, each) != used.end()) continue;
    if (const auto done = entry.claims->release(each); !done) return not_locked(entry.of.file, done.error());
    std::erase(entry.claimed, each);
  }
  return {};
}

/// Merges the changes that the file does not contain into the file, and removes the changes that the file contains from
/// the list. Requires that the caller holds the lock of the file.
auto vector_merger::merge_list(place& entry) -> braid::checked<void> {
  if (const auto now = vector_file::make_digest(entry.of.file); !now || *now != entry.served)
    return {};  // followed first
  auto file = open_file(entry);
  if (!file) return std::unexpected(std::move(file.error()));
  const auto data = open_newest(*entry.of.store);
  if (!data) return std::unexpected(data.error());
  const auto snapshot = (*data)->take_snapshot();
  auto listed = snapshot ? read_listed(*snapshot, entry.of.list, **file)
                         : braid::result<std::vector<listed_vector>>(braid::fail(snapshot.error()));
  if (!listed) return unreadable(entry.of.list, listed.error());
  const auto missing = static_cast<std::size_t>(
      std::ranges::count_if(*listed, [&file](const listed_vector& each) { return !is_merged(**file, each); }));
  if (missing >= entry.of.list.merge_at) {
    const braid::time_point begin = braid::steady_time().now();
    auto merged = merge(entry, **file, std::move(*listed));
    count(entry, [begin](merge_counts& counts) { counts.merging += braid::steady_time().now() - begin; });
    if (!merged) return merged;
    if (const auto next = follow(entry); !next) return std::unexpected(next.error());
    after(merge_step::published);
    entry.opened.reset();  // may be the old file, if its plans are pinned
    file = open_file(entry);
    if (!file) return std::unexpected(std::move(file.error()));
  }
  const auto may = may_shorten(entry, (*file)->digest());
  if (!may) return std::unexpected(may.error());
  if (!*may) return {};
  return shorten(entry, **file);
}

/// Writes a new file that also contains the vectors of the list.
auto vector_merger::merge(place& entry, const vector_file& base, std::vector<listed_vector> listed)
    -> braid::checked<void> {
  const braid::time_point begin = braid::steady_time().now();
  const auto changes = static_cast<std::int64_t>(listed.size());
  const auto stop_if_cancelled = [this](std::uint64_t = 0, std::uint64_t = 0) {
    if (is_cancelled_.load(braid::relaxed)) throw merge_cancelled();
  };
  // The computation gets its own pool. Otherwise, the workers of the default pool would take part in it, and requests
  // would wait for these workers.
  braid::pool alone({.workers = 1,
                     .name = "merge",
                     .scheduling = braid::scheduling(braid::scheduling::other{.nice = 10}),
                     .max_spare_threads = 0});
  const auto merged =
      braid::run_in(alone, [&] { return merge_vectors(base, to_changes(std::move(listed), base), stop_if_cancelled); });
  stop_if_cancelled();
  if (!merged) return std::unexpected(merged.error());
  std::error_code error;
  const fs::path file = fs::canonical(entry.of.file, error);  // a symbolic link stays
  const auto written = error ? braid::result<void>(braid::fail(error)) : replace_file(file, merged->bytes);
  if (!written)
    return refused("output_unwritable", "the merged file cannot be written: " + written.error().message(),
                   "make room on the disk, or permit the server to write into the folder", entry.of.file);
  count(entry, [](merge_counts& counts) { ++counts.merges; });
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(braid::steady_time().now() - begin).count();
  log_.note(log_level::info, "vectors_merged",
            {{"endpoint", entry.of.endpoint_id},
             {"changes", changes},
             {"vectors", static_cast<std::int64_t>(merged->vectors)},
             {"bytes", static_cast<std::int64_t>(merged->bytes.size())},
             {"ms", static_cast<std::int64_t>(ms)}});
  after(merge_step::written);
  return {};
}

/// Returns whether all requests of all processes use the version with this digest.
auto vector_merger::may_shorten(place& entry, const std::string& digest) -> braid::checked<bool> {
  const std::vector<std::string> used = plans_.vectors_in_use(entry.of.endpoint_id);
  if (used != std::vector<std::string>{digest}) return false;
  const auto others = entry.claims->has_others(digest);
  if (!others) return not_locked(entry.of.file, others.error());
  return !*others;
}

/// Removes the ids whose vectors are in the file from the list. Keeps an id if its vector has changed since the merge.
auto vector_merger::shorten(place& entry, const vector_file& file) -> braid::checked<void> {
  std::error_code error;
  const auto done = change_store(entry.of.store->folder(),
                                 [&](const embedded_store& now) { return shortened(now, entry.of.list, file, error); });
  if (error) return unreadable(entry.of.list, error);
  if (!done) return std::unexpected(done.error());
  if (*done) after(merge_step::shortened);
  return {};
}

}  // namespace rankd
