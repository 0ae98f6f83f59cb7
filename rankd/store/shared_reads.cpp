// rankd/store/shared_reads.cpp: runs one task for each read in flight, and resumes the tasks that wait for it.
#include <rankd/store/shared_reads.hpp>

#include <rankd/store/detail/recorded_batch.hpp>
#include <rankd/store/store_layer.hpp>

#include <braid/coro/scope.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/task/detail/job_allocator.hpp>
#include <braid/task/detail/job_memory.hpp>

#include <algorithm>
#include <concepts>
#include <exception>
#include <memory_resource>
#include <optional>
#include <utility>
#include <variant>

namespace rankd {
namespace {

/// A memory resource for chunks of arenas. It uses the allocator of jobs, so that small chunks come from the thread's
/// free lists.
class job_chunks final : public std::pmr::memory_resource {
  auto do_allocate(std::size_t size, std::size_t /*alignment*/) -> void* override {
    return braid::detail::allocate_job(size);
  }
  void do_deallocate(void* place, std::size_t size, std::size_t /*alignment*/) override {
    braid::detail::free_job(place, size);
  }
  [[nodiscard]] auto do_is_equal(const memory_resource& other) const noexcept -> bool override {
    return this == &other;
  }
};

job_chunks chunks;
constexpr std::size_t first_chunk = 1024;

// Copies of questions and answers. A question is copied because it must outlive the task that asked first. The answer
// is copied into the memory of each task that asked, so that the memory use of a node does not depend on which task
// asked first.

auto make_copy(std::span<const std::string_view> texts, braid::arena& memory) -> std::span<const std::string_view> {
  const auto out = memory.uninitialized<std::string_view>(texts.size());
  std::ranges::transform(texts, out.begin(), [&memory](std::string_view each) { return memory.copied(each); });
  return out;
}

template <asks_ids Question>
auto make_copy(Question question, braid::arena& memory) -> Question {
  question.keys.prefix = memory.copied(question.keys.prefix);
  question.keys.ids = memory.copied(question.keys.ids);
  if constexpr (requires { question.field; }) question.field = memory.copied(question.field);
  return question;
}

auto make_copy(named_read question, braid::arena& memory) -> named_read {
  question.keys = make_copy(question.keys, memory);
  question.fields = make_copy(question.fields, memory);
  const auto members = memory.uninitialized<std::span<const std::string_view>>(question.members.size());
  for (std::size_t at = 0; at < members.size(); ++at) members[at] = make_copy(question.members[at], memory);
  question.members = members;
  return question;
}

/// Copies a question that may be sent a second time.
auto make_copy(const store_question& question, braid::arena& memory) -> store_question {
  return std::visit(
      [&]<typename Question>(const Question& question) -> store_question {
        if constexpr (std::same_as<Question, model_call>)
          return question;
        else
          return make_copy(question, memory);
      },
      question);
}

auto make_copy(const field_batch& fields, braid::arena& memory) -> field_batch {
  const auto out = memory.filled(fields.size(), std::optional<std::string_view>());
  for (std::size_t at = 0; at < out.size(); ++at)
    if (fields[at]) out[at] = memory.copied(*fields[at]);
  return out;
}

auto make_copy(const hash_batch& hashes, braid::arena& memory) -> hash_batch {
  const auto out = memory.uninitialized<std::span<const hash_field>>(hashes.size());
  for (std::size_t at = 0; at < out.size(); ++at) {
    const auto fields = memory.uninitialized<hash_field>(hashes[at].size());
    for (std::size_t i = 0; i < fields.size(); ++i)
      fields[i] = {memory.copied(hashes[at][i].name), memory.copied(hashes[at][i].value)};
    out[at] = fields;
  }
  return out;
}

auto make_copy(const id_batch& ids, braid::arena& memory) -> id_batch {
  const auto lists = memory.uninitialized<std::span<const std::int64_t>>(ids.lists.size());
  for (std::size_t at = 0; at < lists.size(); ++at) lists[at] = memory.copied(ids.lists[at]);
  return {.lists = lists, .malformed = ids.malformed, .malformed_of = memory.copied(ids.malformed_of)};
}

auto make_copy(const item_batch& items, braid::arena& memory) -> item_batch {
  const auto of_key = memory.uninitialized<std::span<const stored_item>>(items.of_key.size());
  for (std::size_t at = 0; at < of_key.size(); ++at) {
    const std::span<stored_item> own = memory.copied(items.of_key[at]);
    for (stored_item& each : own) each.text = memory.copied(each.text);
    of_key[at] = own;
  }
  return {.of_key = of_key, .malformed = items.malformed, .malformed_of = memory.copied(items.malformed_of)};
}

auto make_copy(const score_batch& scores, braid::arena& memory) -> score_batch {
  return {.values = memory.copied(scores.values), .scores = scores.scores};
}

auto make_copy(const store_answer& answer, braid::arena& memory) -> store_answer {
  return std::visit([&](const auto& typed) { return store_answer(make_copy(typed, memory)); }, answer);
}

}  // namespace

/// A read that is running or has ended.
struct shared_reads::flight : record_read, std::enable_shared_from_this<flight> {
  explicit flight(const shared_reads::question& question) : asked{memory.copied(question.text), question.hash} {}

  braid::arena memory{first_chunk, &chunks};  // of the question and its parts, and of the answer
  shared_reads::question asked;
  std::optional<store_result<store_answer>> answer;  // nothing if the read was stopped
  std::exception_ptr thrown;
  braid::event landed;
  std::size_t waiting = 0;
  bool is_given_up = false;
  braid::scope* inside = nullptr;  // the scope of its task, while it runs
  bool is_over = false;            // its task has ended: without an answer, or with a failure, a second read may follow

  // The state of the second attempt.
  std::unique_ptr<braid::arena> second_memory;  // null: there was no second attempt
  bool is_second_under_way = false;
  braid::scope* second_inside = nullptr;

  /// Returns whether this read can serve an equal question of the same request. A read can do so while it is running,
  /// and after it has ended with an answer.
  [[nodiscard]] auto is_useful() const noexcept -> bool {
    if (is_given_up || thrown) return false;
    if (!landed.is_set()) return true;
    return answer && answer->has_value();
  }
};

/// A task that waits for a read. If all waiting tasks are stopped before the answer arrives, the read is cancelled.
struct shared_reads::waiting {
  waiting(shared_reads& owner, flight& one) noexcept : owner_(&owner), one_(&one) { ++one.waiting; }
  waiting(const waiting&) = delete;
  auto operator=(const waiting&) -> waiting& = delete;
  ~waiting() {
    if (--one_->waiting == 0 && !one_->landed.is_set()) owner_->give_up(*one_);
  }

 private:
  shared_reads* owner_;
  flight* one_;
};

shared_reads::shared_reads(std::vector<store*> behind, const record_cache_options& kept)
    : inner_(std::move(behind)), counts_(inner_.size()), records_(inner_.size()) {
  const auto is_kept = [](const store* each) { return each != nullptr && !each->answers_at_once(); };
  const auto caches = static_cast<std::size_t>(std::ranges::count_if(inner_, is_kept));
  if (kept.bytes == 0 || caches == 0) return;
  record_cache_options each = kept;
  each.bytes = std::max<std::size_t>(kept.bytes / caches, 1);
  each.entries = std::max<std::size_t>(kept.entries / caches, 1);
  for (std::size_t at = 0; at < inner_.size(); ++at)
    if (is_kept(inner_[at])) records_[at].cache = std::make_unique<record_cache>(each);
}

shared_reads::~shared_reads() = default;

auto shared_reads::suits(const std::vector<store*>& behind) noexcept -> bool {
  return std::ranges::any_of(behind, [](const store* each) { return each != nullptr && !each->answers_at_once(); });
}

auto shared_reads::for_request(store_list now) -> std::shared_ptr<request_reads> {
  return std::allocate_shared<request_reads>(braid::detail::job_allocator<request_reads>(), *this, std::move(now));
}

auto shared_reads::counts(std::size_t endpoint) const noexcept -> read_counts {
  const endpoint_counts& of = counts_[endpoint];
  return {.asked = of.asked.load(braid::relaxed),
          .shared = of.shared.load(braid::relaxed),
          .hedged = of.hedged.load(braid::relaxed),
          .won = of.won.load(braid::relaxed),
          .unhedged = of.unhedged.load(braid::relaxed)};
}

auto shared_reads::records(std::size_t endpoint) const noexcept -> record_cache_counts {
  return records_[endpoint].cache == nullptr ? record_cache_counts() : records_[endpoint].cache->counts();
}

auto shared_reads::find(const question& asked) const -> std::shared_ptr<flight> {
  const auto found = under_way_.find(asked);
  return found == under_way_.end() ? nullptr : found->second;
}

auto shared_reads::add(const question& asked) -> std::shared_ptr<flight> {
  auto one = std::allocate_shared<flight>(braid::detail::job_allocator<flight>(), asked);
  under_way_.erase(one->asked);  // the key refers to its value
  under_way_.try_emplace(one->asked, one);
  return one;
}

/// Removes a read from the reads in flight, so that the next request with this question begins a new read.
void shared_reads::land(flight& one) {
  const auto found = under_way_.find(one.asked);
  if (found != under_way_.end() && found->second.get() == &one) under_way_.erase(found);
  if (one.cache != nullptr) one.cache->end(one, one.answer && *one.answer ? &**one.answer : nullptr);
  one.landed.set();
}

void shared_reads::give_up(flight& one) {
  one.is_given_up = true;
  const auto found = under_way_.find(one.asked);
  if (found != under_way_.end() && found->second.get() == &one) under_way_.erase(found);
  if (one.cache != nullptr) one.cache->end(one, nullptr);
  if (one.inside != nullptr) one.inside->request_stop();
  if (one.second_inside != nullptr) one.second_inside->request_stop();
}

namespace {

template <typename Flight>
auto until_landed(Flight& one) -> braid::task<void> {
  co_await one.landed;
}

}  // namespace

/// Runs a read in the root scope of the loop, because the task that asked first may end before the other waiting tasks.
/// The read has a scope inside the root scope, so that it can be stopped alone.
auto shared_reads::fly(shared_reads& owner, std::shared_ptr<flight> one, braid::task<store_result<store_answer>> work)
    -> braid::task<void> {
  if (one->is_given_up) co_return;
  braid::scope& around = co_await braid::this_scope();
  braid::scope inside(around);
  one->inside = &inside;
  braid::outcome<store_result<store_answer>> ended = co_await braid::detail::outcome_in(inside, std::move(work));
  one->inside = nullptr;
  one->is_over = true;
  if (one->landed.is_set()) co_return;
  bool is_answer = false;
  if (ended.has_value()) {
    is_answer = one->answer.emplace(ended.take()).has_value();
  } else if (ended.has_exception()) {
    one->thrown = ended.exception();
  }
  // If the first attempt has no answer, the read waits for the second attempt. If no second attempt is running, the
  // failure of the first attempt is the result of the read.
  if (!is_answer && one->is_second_under_way) co_return;
  owner.land(*one);
  if (one->second_inside != nullptr) one->second_inside->request_stop();
}

auto shared_reads::ask_again(shared_reads& owner, std::shared_ptr<flight> one, endpoint_counts& counts,
                             braid::task<store_result<store_answer>> work) -> braid::task<void> {
  store_result<store_answer> got = co_await std::move(work);
  if (!got || one->landed.is_set()) co_return;
  one->answer = std::move(got);
  one->thrown = nullptr;
  counts.won.fetch_add(1, braid::relaxed);
  owner.land(*one);
  if (one->inside != nullptr) one->inside->request_stop();
}

/// Runs the second attempt of a read. A failure of this attempt does not fail the read as long as the first attempt may
/// still answer.
auto shared_reads::fly_again(shared_reads& owner, std::shared_ptr<flight> one, endpoint_counts& counts,
                             braid::task<store_result<store_answer>> work) -> braid::task<void> {
  if (!one->landed.is_set() && !one->is_given_up) {
    braid::scope& around = co_await braid::this_scope();
    braid::scope inside(around);
    one->second_inside = &inside;
    inside.spawn(ask_again(owner, one, counts, std::move(work)));
    try {
      co_await inside.join();
    } catch (...) {  // NOLINT(bugprone-empty-catch)
      // If the second attempt throws, the result of the first attempt is used instead.
    }
    one->second_inside = nullptr;
  }
  one->is_second_under_way = false;
  if (one->is_over && !one->landed.is_set()) owner.land(*one);
}

/// Waits for the answer of a read. If there is no answer after the time `after`, calls `again`, which sends the read a
/// second time or counts that the budget forbids that.
template <typename Again>
auto shared_reads::wait_or_repeat(flight& one, braid::duration after, const Again& again) -> braid::task<void> {
  auto landing = braid::with_timeout(after, until_landed(one));
  const braid::result<void> in_time = co_await std::move(landing);
  if (!in_time && !one.landed.is_set() && one.second_memory == nullptr) again();
}

auto shared_reads::make_answer(const flight& one, braid::arena& memory) -> store_result<store_answer> {
  if (one.thrown) std::rethrow_exception(one.thrown);
  if (!one.answer) return braid::fail(braid::errc::closed);
  const store_result<store_answer>& got = *one.answer;
  if (!got) return std::unexpected(store_error(got.error(), memory.copied(got.error().server_text())));
  return make_copy(*got, memory);
}

/// The read that answers a question, and whether it is new.
struct request_reads::joined {
  std::shared_ptr<shared_reads::flight> one;
  bool is_new = false;
};

/// A layer through which the request sends its questions to one store.
class request_reads::client final : public store_layer {
 public:
  client(request_reads& owner, std::size_t endpoint, store& behind) noexcept
      : store_layer(behind), reads_(&owner), endpoint_(endpoint) {}

  /// Shares all reads except model calls, because scores are not shared.
  auto ask(store_question question, braid::arena& memory) -> braid::task<store_result<store_answer>> override {
    if (std::holds_alternative<model_call>(question)) return behind().ask(question, memory);
    record_cache* const cache = reads_->reads_->records_[endpoint_].cache.get();
    if (cache == nullptr || !record_cache::suits(question)) return shared(question, memory);
    return with_cache(question, *cache, memory);
  }

 private:
  auto shared(store_question question, braid::arena& memory) -> braid::task<store_result<store_answer>> {
    braid::scope& around = co_await braid::this_scope();
    ask_for_reports(around);
    reads_->count_asked(endpoint_);
    const joined to = reads_->join(endpoint_, question);
    if (to.is_new) begin(around, to.one, question, nullptr);
    const shared_reads::waiting counted(*reads_->reads_, *to.one);
    auto waiting = wait(around, to.one, question);
    co_await std::move(waiting);
    co_return shared_reads::make_answer(*to.one, memory);
  }

  /// Waits for a read. If the question has a hedge delay, sends the read a second time after this delay.
  auto wait(braid::scope& around, std::shared_ptr<shared_reads::flight> one, store_question question)
      -> braid::task<void> {
    const braid::duration after = find_hedge(question)->after;
    if (after != braid::duration::zero() && !one->landed.is_set()) {
      const auto again = [&] { begin_again(around, one, question); };
      co_await shared_reads::wait_or_repeat(*one, after, again);
    }
    if (!one->landed.is_set()) co_await one->landed;
  }

  /// A running read that will return values that the cache lacks.
  struct part {
    part(shared_reads& owner, std::shared_ptr<shared_reads::flight> read)
        : one(std::move(read)), counted(std::make_unique<shared_reads::waiting>(owner, *one)) {}

    std::shared_ptr<shared_reads::flight> one;
    std::unique_ptr<shared_reads::waiting> counted;
    std::vector<std::uint32_t> to;    // positions in the answer
    std::vector<std::uint32_t> from;  // the same values in the answer of the read
  };

  /// Answers a question with cached values. Waits for missing values that other requests are already reading, and reads
  /// the remaining keys.
  auto with_cache(store_question question, record_cache& cache, braid::arena& memory)
      -> braid::task<store_result<store_answer>> {
    braid::scope& around = co_await braid::this_scope();
    record_lookup known = cache.find(question, memory);
    reads_->note_lookup(endpoint_, known);
    if (known.missing.empty()) co_return known.answer;
    shared_reads& owner = *reads_->reads_;
    std::vector<part> parts;
    std::vector<std::uint32_t> own;
    for (const record_lookup::missing_key& each : known.missing) {
      if (each.read == nullptr) {
        own.push_back(each.position);
        continue;
      }
      auto* const one = static_cast<shared_reads::flight*>(each.read);
      auto same = std::ranges::find(parts, one, [](const part& other) { return other.one.get(); });
      if (same == parts.end()) same = parts.emplace(same, owner, one->shared_from_this());
      same->to.push_back(each.position);
      same->from.push_back(each.index);
    }
    cache.count_joined(known.missing.size() - own.size());
    if (!own.empty()) parts.push_back(read_rest(around, record_cache::find_part(question, own, memory), own, cache));
    for (part& each : parts) {
      store_question asked = each.one->question;
      *find_hedge(asked) = *find_hedge(question);
      auto waiting = wait(around, each.one, asked);
      co_await std::move(waiting);
      const store_result<store_answer> got = shared_reads::make_answer(*each.one, memory);
      if (!got) co_return got;
      record_cache::add(known, each.to, *got, each.from);
    }
    co_return known.answer;
  }

  /// Reads the keys of `rest`. `positions` are the positions of these keys in the original question.
  auto read_rest(braid::scope& around, const store_question& rest, std::vector<std::uint32_t> positions,
                 record_cache& cache) -> part {
    ask_for_reports(around);
    const joined to = reads_->join(endpoint_, rest);
    if (to.is_new) begin(around, to.one, rest, &cache);
    part out(*reads_->reads_, to.one);
    for (std::uint32_t at = 0; at < positions.size(); ++at) out.from.push_back(at);
    out.to = std::move(positions);
    return out;
  }

  /// Asks the store to report changed keys. Must be called before the loop reads from the store for the first time: a
  /// store cannot begin to report changes after that.
  void ask_for_reports(braid::scope& around) {
    auto& kept = reads_->reads_->records_[endpoint_];
    if (kept.cache == nullptr || std::exchange(kept.has_asked, true) || !kept.cache->wants_tracking()) return;
    kept.cache->set_tracked(behind().report_changes(around.where(), *kept.cache));
  }

  auto ask_again(store_question question, braid::arena& memory) -> braid::task<store_result<store_answer>> {
    find_hedge(question)->attempt = read_attempt::second;
    return behind().ask(make_copy(question, memory), memory);
  }

  /// Starts a new read. If `cache` is not null, the answer will be stored in this cache. If starting fails, no other
  /// task may wait for the read.
  void begin(braid::scope& around, const std::shared_ptr<shared_reads::flight>& one, const store_question& question,
             record_cache* cache) {
    try {
      one->question = make_copy(question, one->memory);
      find_hedge(one->question)->attempt = read_attempt::first;
      if (cache != nullptr) cache->begin(*one);
      around.where().root().spawn(shared_reads::fly(*reads_->reads_, one, behind().ask(one->question, one->memory)));
    } catch (...) {
      reads_->reads_->give_up(*one);
      throw;
    }
  }

  /// Sends a read a second time if the budget allows it.
  void begin_again(braid::scope& around, const std::shared_ptr<shared_reads::flight>& one,
                   const store_question& question) {
    if (!reads_->may_ask_again(endpoint_)) return;
    one->second_memory = std::make_unique<braid::arena>();
    one->is_second_under_way = true;
    try {
      around.where().root().spawn(shared_reads::fly_again(*reads_->reads_, one, reads_->reads_->counts_[endpoint_],
                                                          ask_again(question, *one->second_memory)));
    } catch (...) {
      one->is_second_under_way = false;
      throw;
    }
  }

  request_reads* reads_;
  std::size_t endpoint_;
};

request_reads::request_reads(shared_reads& from, store_list now)
    : reads_(&from), inner_(std::move(now)), memory_(first_chunk, &chunks) {
  const std::vector<store*>& behind = *inner_;
  pointers_ = behind;
  known_.reserve(8);
  clients_ = memory_.uninitialized<client*>(behind.size());
  std::size_t used = 0;
  for (std::size_t at = 0; at < behind.size(); ++at) {
    if (behind[at] == nullptr || behind[at]->answers_at_once()) continue;
    void* const place = memory_.bytes(sizeof(client), alignof(client));
    clients_[used++] = std::construct_at(static_cast<client*>(place), *this, at, *behind[at]);
    pointers_[at] = clients_[used - 1];
  }
  clients_ = clients_.first(used);
}

request_reads::~request_reads() {
  for (client* const each : clients_) std::destroy_at(each);
}

/// Returns the read that this request has started or joined for an earlier equal question. Returns null if there is no
/// such read or if it has failed.
auto request_reads::known(const shared_reads::question& asked) -> std::shared_ptr<shared_reads::flight> {
  const auto own = std::ranges::find_if(
      known_, [&asked](const auto& each) { return each.first == asked.hash && each.second->asked == asked; });
  if (own == known_.end()) return nullptr;
  if (own->second->is_useful()) return own->second;
  known_.erase(own);
  return nullptr;
}

/// Returns the read that answers the question: an earlier read of this request, a running read of another request, or a
/// new read.
auto request_reads::join(std::size_t endpoint, const store_question& question) -> joined {
  reads_->question_.clear();
  packed_writer bytes(reads_->question_);
  bytes.number(endpoint);
  detail::put_question(bytes, reads_->scratch_, question);
  shared_reads::endpoint_counts& of_endpoint = reads_->counts_[endpoint];
  const shared_reads::question asked{reads_->question_, std::hash<std::string_view>()(reads_->question_)};
  joined out{.one = known(asked)};
  const bool is_known = out.one != nullptr;
  if (!is_known) out.one = reads_->find(asked);
  if (out.one != nullptr) {
    ++counts_.shared;
    of_endpoint.shared.fetch_add(1, braid::relaxed);
  } else {
    out = {.one = reads_->add(asked), .is_new = true};
    of_endpoint.budget.sent_a_read();
  }
  if (!is_known) known_.emplace_back(asked.hash, out.one);
  return out;
}

void request_reads::count_asked(std::size_t endpoint) noexcept {
  ++counts_.asked;
  reads_->counts_[endpoint].asked.fetch_add(1, braid::relaxed);
}

void request_reads::note_lookup(std::size_t endpoint, const record_lookup& found) noexcept {
  count_asked(endpoint);
  counts_.kept += found.hits;
  counts_.missed += found.missing.size();
  counts_.oldest = std::max(counts_.oldest, found.oldest);
}

auto request_reads::may_ask_again(std::size_t endpoint) -> bool {
  shared_reads::endpoint_counts& of = reads_->counts_[endpoint];
  const bool may = of.budget.try_take();
  (may ? of.hedged : of.unhedged).fetch_add(1, braid::relaxed);
  ++(may ? counts_.hedged : counts_.unhedged);
  return may;
}

}  // namespace rankd
