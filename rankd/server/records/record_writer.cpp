// rankd/server/records/record_writer.cpp: joins waiting calls, and writes them as one generation.
#include <rankd/server/records/record_writer.hpp>

#include <rankd/registry/digest.hpp>
#include <rankd/server/records/record_call.hpp>
#include <rankd/store/embedded.hpp>
#include <rankd/store/record_parser.hpp>

#include <braid/base/detail/number_in.hpp>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace rankd {
namespace {

using std::chrono::milliseconds;
using outcome_kind = record_outcome::result_kind;

auto system_now() -> milliseconds {
  return std::chrono::duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch());
}

/// An earlier call. In the history of a store, each such call is a line `ID TIME DIGEST GENERATION RECORDS DELETIONS`.
struct past_call {
  std::string id;
  milliseconds time{0};
  std::string digest;
  std::uint64_t generation = 0;
  std::uint64_t records = 0;
  std::uint64_t deletions = 0;

  [[nodiscard]] auto to_text() const -> std::string {
    return id + ' ' + std::to_string(time.count()) + ' ' + digest + ' ' + std::to_string(generation) + ' ' +
           std::to_string(records) + ' ' + std::to_string(deletions);
  }

  static auto parse(std::string_view text) -> std::optional<past_call> {
    past_call out;
    const auto word = [&text] {
      const std::size_t end = std::min(text.find(' '), text.size());
      const std::string_view found = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      return found;
    };
    const auto number = [&word](auto& into) {
      const auto found = braid::detail::number_in<std::remove_reference_t<decltype(into)>>(word());
      if (found) into = *found;
      return found.has_value();
    };
    std::int64_t time = 0;
    out.id = word();
    if (!number(time)) return std::nullopt;
    out.time = milliseconds(time);
    out.digest = word();
    if (!number(out.generation) || !number(out.records) || !number(out.deletions)) return std::nullopt;
    return out;
  }
};

/// Returns the calls of the last day, oldest first.
auto recent_calls(const embedded_store::snapshot& snapshot, milliseconds now) -> braid::result<std::vector<past_call>> {
  std::vector<past_call> out;
  const auto kept = snapshot.history();
  if (!kept) return std::unexpected(kept.error());
  if (!*kept || (*kept)->kind() != record_kind::text_list) return out;
  for (std::size_t at = 0; at < (*kept)->count(); ++at)
    if (auto each = past_call::parse((*kept)->text_at(at)); each && each->time + record_writer::id_window > now)
      out.push_back(std::move(*each));
  return out;
}

/// Returns the record of a hash without some fields, or nothing if no field is left.
auto without_fields(const record_view& record, const std::vector<std::string>& fields) -> std::vector<std::byte> {
  std::vector<hash_field> left;
  for (std::size_t at = 0; at < record.count(); ++at)
    if (const hash_field each = record.field_at(at); !std::ranges::binary_search(fields, each.name))
      left.push_back(each);
  if (left.empty()) return {};
  record_builder builder;
  const auto bytes = builder.hash(left, record.origin());
  return {bytes.begin(), bytes.end()};
}

auto not_a_hash(const record_change& change) -> braid::diagnostics {
  return braid::diagnostics(line_diagnostic(change.line, "not_a_hash", "/fields",
                                            "the key `" + change.key + "` is not a hash, so it has no fields to delete",
                                            "remove `fields` to delete the whole key"));
}

/// Adds the deletion of fields to the changes of earlier calls. Returns false if the key does not hold a hash after
/// those changes.
auto delete_fields(store_changes& all, const embedded_store::snapshot& now, const record_change& change) -> bool {
  if (const auto set = all.records.find(change.key); set != all.records.end()) {
    const record_view record = *record_view::parse(set->second);
    if (record.kind() != record_kind::hash) return false;
    set->second = without_fields(record, change.fields);
    if (!set->second.empty()) return true;
    all.records.erase(set);
    all.deleted[change.key] = {};
    return true;
  }
  const auto deleted = all.deleted.find(change.key);
  if (deleted != all.deleted.end() && deleted->second.empty()) return true;  // the whole key
  const auto stored = now.find(change.key);
  if (stored && *stored && (*stored)->kind() != record_kind::hash) return false;
  std::vector<std::string>& fields = all.deleted[change.key];
  std::vector<std::string> both;
  std::ranges::set_union(fields, change.fields, std::back_inserter(both));
  fields = std::move(both);
  return true;
}

/// Adds one change, which overrides changes of earlier calls to the same key. Returns false if the change is
/// impossible.
auto add_change(store_changes& all, const embedded_store::snapshot& now, const record_change& change) -> bool {
  if (change.bytes.empty() && !change.fields.empty()) return delete_fields(all, now, change);
  if (change.bytes.empty()) {
    all.records.erase(change.key);
    all.deleted[change.key] = {};
    return true;
  }
  all.deleted.erase(change.key);
  all.records[change.key] = change.bytes;
  return true;
}

}  // namespace

/// A call that waits until its changes are written, or whose outcome is known.
struct record_writer::call {
  std::string id;
  std::string digest;
  std::vector<record_change> changes;
  std::optional<record_outcome> outcome = {};
};

/// A group of calls that are written together as one generation.
struct record_writer::group {
  std::vector<call*> calls;
  milliseconds time{0};
  braid::diagnostics problems = {};  ///< why no call can be written

  auto make(const embedded_store& now) -> store_changes;
  auto try_add(store_changes& all, const embedded_store::snapshot& now, call& one) const -> bool;
};

/// Adds all changes of a call. If one of the changes is impossible, adds no change and sets the outcome of the call.
auto record_writer::group::try_add(store_changes& all, const embedded_store::snapshot& now, call& one) const -> bool {
  for (const record_change& each : one.changes) {
    if (!each.bytes.empty() || each.fields.empty()) continue;
    store_changes only;  // the keys of a call differ, so its changes can be tried alone
    if (const auto set = all.records.find(each.key); set != all.records.end()) only.records.insert(*set);
    if (const auto gone = all.deleted.find(each.key); gone != all.deleted.end()) only.deleted.insert(*gone);
    if (!delete_fields(only, now, each)) {
      one.outcome = record_outcome{.result = outcome_kind::refused, .problems = not_a_hash(each)};
      return false;
    }
  }
  for (const record_change& each : one.changes) static_cast<void>(add_change(all, now, each));
  return true;
}

auto record_writer::group::make(const embedded_store& now) -> store_changes {
  store_changes all;
  const auto snapshot = now.take_snapshot();
  auto read = snapshot ? recent_calls(*snapshot, time) : std::unexpected(snapshot.error());
  if (!read) {
    // The call is refused, because without the list of earlier calls, a repeated call could not be recognized and would
    // be applied twice.
    problems.add({.code = "store_unreadable",
                  .pointer = {},
                  .message = "the earlier calls cannot be read: " + read.error().message(),
                  .hint = {},
                  .node = {},
                  .source = {}});
    return all;
  }
  std::vector<past_call> past = std::move(*read);
  const std::uint64_t next = now.manifest().generation + 1;
  for (call* each : calls) {
    const auto known = each->id.empty() ? past.end() : std::ranges::find(past, each->id, &past_call::id);
    if (known != past.end()) {
      const bool is_same = known->digest == each->digest;
      each->outcome = record_outcome{.result = is_same ? outcome_kind::repeated : outcome_kind::reused,
                                     .generation = known->generation,
                                     .records = known->records,
                                     .deletions = known->deletions};
      continue;
    }
    if (!try_add(all, *snapshot, *each)) continue;
    record_outcome done{.generation = next};
    for (const record_change& change : each->changes) ++(change.bytes.empty() ? done.deletions : done.records);
    if (!each->id.empty())
      past.push_back({.id = each->id,
                      .time = time,
                      .digest = each->digest,
                      .generation = next,
                      .records = done.records,
                      .deletions = done.deletions});
    each->outcome = std::move(done);
  }
  const std::size_t first = past.size() - std::min(past.size(), max_ids);
  for (std::size_t at = first; at < past.size(); ++at) all.history.push_back(past[at].to_text());
  return all;
}

record_writer::record_writer(const followed_store& into, vector_lengths vectors, std::function<void()> serve_now,
                             clock now)
    : into_(&into),
      vectors_(std::move(vectors)),
      serve_now_(std::move(serve_now)),
      now_(now ? std::move(now) : clock(system_now)) {}

auto record_writer::apply(std::string_view id, std::string_view lines) -> record_outcome {
  auto changes = parse_record_call(lines, vectors_);
  if (!changes) {
    refused_.fetch_add(1, braid::relaxed);
    return {.result = outcome_kind::refused, .problems = std::move(changes.error())};
  }
  call mine{.id = std::string(id), .digest = sha256_hex(lines), .changes = std::move(*changes)};
  {
    const std::scoped_lock lock(mutex_);
    waiting_.push_back(&mine);
  }
  const std::scoped_lock alone(writing_);  // whoever holds it writes all calls that wait
  if (!mine.outcome) {
    std::vector<call*> calls;
    {
      const std::scoped_lock lock(mutex_);
      calls.swap(waiting_);
    }
    write(calls);
  }
  count(*mine.outcome);
  return std::move(*mine.outcome);
}

/// Writes calls and sets their outcomes. If an allocation fails, all these calls fail, and clients may send them again.
void record_writer::write(const std::vector<call*>& calls) noexcept {
  try {
    write_group(calls);
  } catch (...) {
    for (call* each : calls) each->outcome.emplace(record_outcome{.result = outcome_kind::failed});
  }
}

void record_writer::write_group(const std::vector<call*>& calls) {
  group all{.calls = calls, .time = now_()};
  const auto written = change_store(into_->folder(), [&all](const embedded_store& now) { return all.make(now); });
  for (call* each : calls) {
    if (each->outcome && (written || each->outcome->result == outcome_kind::refused)) continue;
    each->outcome = record_outcome{.result = outcome_kind::failed};
    each->outcome->problems = written ? all.problems : written.error();
  }
  if (std::ranges::any_of(calls, [this](const call* each) { return is_ahead(*each); })) serve_now_();
  for (call* each : calls)
    if (is_ahead(*each)) each->outcome->result = outcome_kind::unserved;
}

/// Returns whether the changes of a call are on the disk, but not yet in the generation from which the store answers.
auto record_writer::is_ahead(const call& one) const noexcept -> bool {
  const bool is_made = one.outcome->result == outcome_kind::written || one.outcome->result == outcome_kind::repeated;
  return is_made && one.outcome->generation > into_->generation();
}

void record_writer::count(const record_outcome& outcome) noexcept {
  switch (outcome.result) {
    case outcome_kind::written: written_.fetch_add(1, braid::relaxed); return;
    case outcome_kind::repeated: repeated_.fetch_add(1, braid::relaxed); return;
    case outcome_kind::refused:
    case outcome_kind::reused: refused_.fetch_add(1, braid::relaxed); return;
    case outcome_kind::unserved:
    case outcome_kind::failed: failed_.fetch_add(1, braid::relaxed); return;
  }
}

auto record_writer::waiting() const -> std::size_t {
  const std::scoped_lock lock(mutex_);
  return waiting_.size();
}

auto record_writer::counts() const noexcept -> record_counts {
  return {.written = written_.load(braid::relaxed),
          .repeated = repeated_.load(braid::relaxed),
          .refused = refused_.load(braid::relaxed),
          .failed = failed_.load(braid::relaxed)};
}

}  // namespace rankd
