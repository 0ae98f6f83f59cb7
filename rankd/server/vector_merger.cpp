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
void vector_merger::count(const place& at, const Change& change) {
  const std::scoped_lock lock(mutex_);
  change(counts_[at.index]);
}

void vector_merger::look(braid::time_point now) {
  for (place& each : places_)
    if (!is_cancelled_.load(braid::relaxed) && now >= each.not_before)
      attempt(each, now, &vector_merger::follow_and_merge);
}

void vector_merger::attempt(place& at, braid::time_point now, braid::checked<void> (vector_merger::*step)(place&)) {
  braid::checked<void> done;
  try {
    done = (this->*step)(at);
  } catch (const merge_cancelled&) {
    return;
  } catch (const std::bad_alloc&) {
    done = refused("out_of_memory", "there is not enough memory to merge", "a merge holds all vectors twice in memory");
  }
  if (done)
    succeed(at);
  else
    fail(at, done.error().front(), now);
}

void vector_merger::succeed(place& at) {
  at.complaint.clear();
  at.pause = {};
}

/// Postpones the next attempt after a failure. Logs the failure unless it is the same as the last failure.
void vector_merger::fail(place& at, const braid::diagnostic& why, braid::time_point now) {
  count(at, [](merge_counts& of) { ++of.failures; });
  at.pause = at.pause == braid::duration::zero() ? first_pause : std::min(2 * at.pause, max_pause);
  at.not_before = now + at.pause;
  std::string complaint = why.code + why.message;
  if (std::exchange(at.complaint, complaint) == complaint) return;
  log_.note(log_level::error, "vectors_not_merged",
            {{"endpoint", at.of.endpoint_id}, {"code", why.code}, {"message", why.message}, {"source", why.source}});
}

void vector_merger::after(merge_step done) const {
  if (on_step_) on_step_(done);
}

auto vector_merger::follow_file(place& at) -> braid::checked<void> {
  if (!at.claims) {
    auto opened = vector_claims::open(at.of.file);
    if (!opened) return not_locked(at.of.file, opened.error());
    at.claims.emplace(std::move(*opened));
  }
  const auto digest = follow(at);
  if (!digest) return std::unexpected(digest.error());
  const auto data = at.of.store->data();
  const auto snapshot = data->take_snapshot();
  const auto listed =
      snapshot ? count_listed(*snapshot, at.of.list) : braid::result<std::size_t>(braid::fail(snapshot.error()));
  if (!listed) return unreadable(at.of.list, listed.error());
  count(at, [&listed](merge_counts& of) { of.listed = *listed; });
  return {};
}

/// Follows the file, and merges if the list is long enough and no other process merges.
auto vector_merger::follow_and_merge(place& at) -> braid::checked<void> {
  if (auto followed = follow_file(at); !followed) return followed;
  const std::uint32_t merge_at = at.of.list.merge_at;
  if (merge_at == 0 || at.served.empty() || counts_[at.index].listed < merge_at) {
    at.opened.reset();
    return {};
  }
  const auto locked = at.claims->try_lock();
  if (!locked) return not_locked(at.of.file, locked.error());
  if (!*locked) return {};
  braid::checked<void> done;
  try {
    done = merge_list(at);
  } catch (...) {
    at.claims->unlock();
    throw;
  }
  at.claims->unlock();
  return done;
}

/// Opens the served file. Keeps the file open for the next call, because opening a file reads its whole contents.
auto vector_merger::open_file(place& at) -> braid::checked<std::shared_ptr<const vector_file>> {
  if (at.opened != nullptr && at.opened->digest() == at.served) return at.opened;
  auto file = vector_file::open(at.of.file);
  if (file) at.opened = *file;
  return file;
}

/// Publishes plans that use the current file, and claims the files in use. Returns the digest of the current file.
/// Claims the file before the publication, because otherwise another process could remove changes that requests of this
/// process need.
auto vector_merger::follow(place& at) -> braid::checked<std::string> {
  auto digest = vector_file::make_digest(at.of.file);
  if (!digest) return digest;
  if (auto claimed = claim_used(at, *digest); !claimed) return std::unexpected(std::move(claimed.error()));
  if (at.of.list.merge_at > 0) {
    const auto report = plans_.reload_vectors();
    if (!report) return std::unexpected(report.error());
    if (auto claimed = claim_used(at, *digest); !claimed) return std::unexpected(std::move(claimed.error()));
  }
  const std::vector<std::string> used = plans_.vectors_in_use(at.of.endpoint_id);
  if (at.served != *digest && std::ranges::find(used, *digest) != used.end()) {
    count(at, [](merge_counts& of) { ++of.generation; });
    const bool is_first = at.served.empty();
    at.served = *digest;
    if (!is_first)
      log_.note(log_level::info, "vectors_changed", {{"endpoint", at.of.endpoint_id}, {"digest", *digest}});
  }
  return digest;
}

/// Claims the given version of the file and all versions that requests may use, and releases all other versions.
auto vector_merger::claim_used(place& at, const std::string& digest) -> braid::checked<void> {
  std::vector<std::string> used = plans_.vectors_in_use(at.of.endpoint_id);
  const bool is_certain = std::ranges::find(used, std::string()) == used.end();
  std::erase(used, std::string());
  used.push_back(digest);
  for (const std::string& each : used) {
    if (std::ranges::find(at.claimed, each) != at.claimed.end()) continue;
    if (const auto done = at.claims->claim(each); !done) return not_locked(at.of.file, done.error());
    at.claimed.push_back(each);
  }
  if (!is_certain) return {};  // a version that is no longer stored may use any file that was claimed
  for (const std::string& each : std::vector<std::string>(at.claimed)) {
    if (std::ranges::find(used, each) != used.end()) continue;
    if (const auto done = at.claims->release(each); !done) return not_locked(at.of.file, done.error());
    std::erase(at.claimed, each);
  }
  return {};
}

/// Merges the changes that the file does not contain into the file, and removes the changes that the file contains from
/// the list. Requires that the caller holds the lock of the file.
auto vector_merger::merge_list(place& at) -> braid::checked<void> {
  if (const auto now = vector_file::make_digest(at.of.file); !now || *now != at.served) return {};  // followed first
  auto file = open_file(at);
  if (!file) return std::unexpected(std::move(file.error()));
  const auto data = open_newest(*at.of.store);
  if (!data) return std::unexpected(data.error());
  const auto snapshot = (*data)->take_snapshot();
  auto listed = snapshot ? read_listed(*snapshot, at.of.list, **file)
                         : braid::result<std::vector<listed_vector>>(braid::fail(snapshot.error()));
  if (!listed) return unreadable(at.of.list, listed.error());
  const auto missing = static_cast<std::size_t>(
      std::ranges::count_if(*listed, [&file](const listed_vector& each) { return !is_merged(**file, each); }));
  if (missing >= at.of.list.merge_at) {
    const braid::time_point begin = braid::steady_time().now();
    auto merged = merge(at, **file, std::move(*listed));
    count(at, [begin](merge_counts& of) { of.merging += braid::steady_time().now() - begin; });
    if (!merged) return merged;
    if (const auto next = follow(at); !next) return std::unexpected(next.error());
    after(merge_step::published);
    at.opened.reset();  // may be the old file, if its plans are pinned
    file = open_file(at);
    if (!file) return std::unexpected(std::move(file.error()));
  }
  const auto may = may_shorten(at, (*file)->digest());
  if (!may) return std::unexpected(may.error());
  if (!*may) return {};
  return shorten(at, **file);
}

/// Writes a new file that also contains the vectors of the list.
auto vector_merger::merge(place& at, const vector_file& base, std::vector<listed_vector> listed)
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
  const fs::path file = fs::canonical(at.of.file, error);  // a symbolic link stays
  const auto written = error ? braid::result<void>(braid::fail(error)) : replace_file(file, merged->bytes);
  if (!written)
    return refused("output_unwritable", "the merged file cannot be written: " + written.error().message(),
                   "make room on the disk, or permit the server to write into the folder", at.of.file);
  count(at, [](merge_counts& of) { ++of.merges; });
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(braid::steady_time().now() - begin).count();
  log_.note(log_level::info, "vectors_merged",
            {{"endpoint", at.of.endpoint_id},
             {"changes", changes},
             {"vectors", static_cast<std::int64_t>(merged->vectors)},
             {"bytes", static_cast<std::int64_t>(merged->bytes.size())},
             {"ms", static_cast<std::int64_t>(ms)}});
  after(merge_step::written);
  return {};
}

/// Returns whether all requests of all processes use the version with this digest.
auto vector_merger::may_shorten(place& at, const std::string& digest) -> braid::checked<bool> {
  const std::vector<std::string> used = plans_.vectors_in_use(at.of.endpoint_id);
  if (used != std::vector<std::string>{digest}) return false;
  const auto others = at.claims->has_others(digest);
  if (!others) return not_locked(at.of.file, others.error());
  return !*others;
}

/// Removes the ids whose vectors are in the file from the list. Keeps an id if its vector has changed since the merge.
auto vector_merger::shorten(place& at, const vector_file& file) -> braid::checked<void> {
  std::error_code error;
  const auto done = change_store(at.of.store->folder(),
                                 [&](const embedded_store& now) { return shortened(now, at.of.list, file, error); });
  if (error) return unreadable(at.of.list, error);
  if (!done) return std::unexpected(done.error());
  if (*done) after(merge_step::shortened);
  return {};
}

}  // namespace rankd
