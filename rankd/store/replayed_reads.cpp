// rankd/store/replayed_reads.cpp: parses recorded reads, and finds in them the answers to questions.
#include <rankd/store/replayed_reads.hpp>

#include <rankd/store/detail/recorded_batch.hpp>

#include <algorithm>
#include <optional>
#include <system_error>
#include <variant>

namespace rankd {
namespace {

using detail::store_call;

/// The category of replayed errors. The value of an error is the index of the recorded batch plus one; 0 means that the
/// batch was not recorded.
class replay_category final : public std::error_category {
 public:
  [[nodiscard]] auto name() const noexcept -> const char* override { return "rankd.replay"; }
  [[nodiscard]] auto message(int) const -> std::string override { return "the recorded read failed"; }
};

auto replayed() noexcept -> const std::error_category& {
  static const replay_category category;
  return category;
}

auto read_call(std::string_view head) -> store_call { return static_cast<store_call>(packed_reader(head).number()); }

/// The head of a recorded question for the first elements of lists.
struct list_question {
  explicit list_question(std::string_view head) {
    packed_reader in(head);
    static_cast<void>(in.number());
    prefix = in.text();
    static_cast<void>(in.text());
    first = in.number();
  }

  std::string_view prefix;
  std::uint64_t first = 0;
};

void pass_key(packed_reader& reader, store_call call) {
  if (call == store_call::score) {
    static_cast<void>(reader.text());
    return;
  }
  if (call != store_call::read) {
    static_cast<void>(reader.integer());
    return;
  }
  static_cast<void>(reader.text());
  for (std::size_t left = reader.count(); left > 0 && reader.is_sound(); --left) static_cast<void>(reader.text());
}

auto read_item(packed_reader& reader) -> stored_item {
  const std::uint64_t has = reader.number();
  stored_item out{.is_there = (has & detail::item_is_there) != 0, .text = {}};
  if ((has & detail::item_has_id) != 0) out.id = reader.integer();
  if ((has & detail::item_has_score) != 0) out.score = reader.real();
  if ((has & detail::item_has_text) != 0) out.text = reader.text();
  return out;
}

auto read_field(packed_reader& reader) -> std::optional<std::string_view> {
  if (reader.number() == 0) return std::nullopt;
  return reader.text();
}

/// Skips the value of one key.
void pass_found(packed_reader& reader, store_call call) {
  if (call == store_call::hget) {
    static_cast<void>(read_field(reader));
    return;
  }
  for (std::size_t left = reader.count(); left > 0 && reader.is_sound(); --left) {
    if (call == store_call::lrange_ids) static_cast<void>(reader.integer());
    if (call == store_call::read) static_cast<void>(read_item(reader));
    if (call == store_call::score) static_cast<void>(reader.real());
    if (call != store_call::hgetall) continue;
    static_cast<void>(reader.text());
    static_cast<void>(reader.text());
  }
}

using pass_one = void (*)(packed_reader&, store_call);

/// Skips one item, and returns its bytes.
auto parse_piece(packed_reader& reader, store_call call, pass_one pass) -> std::string_view {
  const std::string_view before = reader.rest();
  pass(reader, call);
  return before.substr(0, before.size() - reader.rest().size());
}

/// Skips `count` items, and returns their bytes.
auto parse_pieces(packed_reader& reader, std::size_t count, store_call call, pass_one pass) -> std::string_view {
  const std::string_view before = reader.rest();
  for (; count > 0 && reader.is_sound(); --count) pass(reader, call);
  return before.substr(0, before.size() - reader.rest().size());
}

/// The recorded values of all keys of a batch.
struct recorded {
  std::string_view found;  ///< values of all keys, one after the other
  std::size_t count = 0;   ///< of keys
  std::uint64_t malformed = 0;
};

auto read_answer(const field_read& /*to*/, const recorded& from, braid::arena& arena) -> field_batch {
  packed_reader found(from.found);
  const auto out = arena.filled(from.count, std::optional<std::string_view>());
  for (auto& each : out)
    if (const auto value = read_field(found)) each = arena.copied(*value);
  return out;
}

auto read_answer(const hash_read& /*to*/, const recorded& from, braid::arena& arena) -> hash_batch {
  packed_reader found(from.found);
  const auto out = arena.filled(from.count, std::span<const hash_field>());
  for (auto& hash : out) {
    const auto fields = arena.uninitialized<hash_field>(found.count());
    for (hash_field& each : fields) {
      each.name = arena.copied(found.text());
      each.value = arena.copied(found.text());
    }
    hash = fields;
  }
  return out;
}

auto read_answer(const list_read& /*to*/, const recorded& from, braid::arena& arena) -> id_batch {
  packed_reader found(from.found);
  const auto out = arena.filled(from.count, std::span<const std::int64_t>());
  for (auto& list : out) {
    const auto ids = arena.uninitialized<std::int64_t>(found.count());
    for (std::int64_t& each : ids) each = found.integer();
    list = ids;
  }
  return {.lists = out, .malformed = from.malformed};
}

auto read_answer(const named_read& /*to*/, const recorded& from, braid::arena& arena) -> item_batch {
  packed_reader found(from.found);
  const auto out = arena.filled(from.count, std::span<const stored_item>());
  for (auto& of_key : out) {
    const auto items = arena.uninitialized<stored_item>(found.count());
    for (stored_item& each : items) {
      each = read_item(found);
      each.text = arena.copied(each.text);
    }
    of_key = items;
  }
  return {.of_key = out, .malformed = from.malformed};
}

auto read_answer(const model_call& to, const recorded& from, braid::arena& arena) -> score_batch {
  packed_reader found(from.found);
  const std::size_t rows = from.count;
  const auto out = arena.filled(rows * to.scores, 0.0);
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t there = found.count();
    for (std::size_t at = 0; at < there; ++at) {
      const double value = found.real();
      if (at < to.scores) out[at * rows + row] = value;
    }
  }
  return {.values = out, .scores = to.scores};
}

/// Returns a key as text for messages.
auto spelled(std::string_view head, std::string_view key) -> std::string {
  packed_reader in(head);
  const auto call = static_cast<store_call>(in.number());
  if (call == store_call::score) return "the scores of a row by the model " + std::string(in.text());
  packed_reader of_key(key);
  if (call == store_call::read) return std::string(of_key.text());
  std::string out(in.text());
  return out += std::to_string(of_key.integer());
}

}  // namespace

/// A store that gives the answers that one store of the recorded request gave.
class replayed_reads::client final : public store {
 public:
  client(replayed_reads& from, std::size_t endpoint) noexcept : reads_(&from), endpoint_(endpoint) {}

  auto ask(store_question question, braid::arena& arena) -> braid::task<store_result<store_answer>> override {
    const batch* const known = find(question);
    if (store* const live = known == nullptr ? asked_live() : nullptr) co_return co_await live->ask(question, arena);
    if (known == nullptr || !known->is_answered) co_return refusal(known);
    const recorded from{.found = known->found, .count = known->count, .malformed = known->malformed};
    co_return std::visit([&](const auto& typed) { return store_answer(read_answer(typed, from, arena)); }, question);
  }

  [[nodiscard]] auto explain(const store_error& error) const -> store_failure override {
    const store* const live = reads_->live_store(endpoint_);
    if (error.category() != replayed()) return live == nullptr ? store::explain(error) : live->explain(error);
    if (error.value() > 0) return reads_->batches_[static_cast<std::size_t>(error.value()) - 1].failure;
    return {"read_not_recorded", "the recording does not contain " + reads_->missing_ + " of this request"};
  }

 private:
  auto find(const store_question& question) -> const batch* {
    std::string bytes;
    std::string scratch;
    detail::put_question(packed_writer(bytes), scratch, question);
    return reads_->find(endpoint_, bytes);
  }

  /// Counts an unrecorded question, and returns the live store that must answer the question, or null if there is no
  /// live store.
  [[nodiscard]] auto asked_live() const noexcept -> store* {
    store* const live = reads_->live_store(endpoint_);
    if (live != nullptr) ++reads_->live_batches_;
    return live;
  }

  /// Returns the error for a batch that failed when it was recorded, or that was not recorded.
  [[nodiscard]] auto refusal(const batch* known) const -> std::unexpected<store_error> {
    const int value = known == nullptr ? 0 : static_cast<int>(known - reads_->batches_.data()) + 1;
    return std::unexpected(store_error(std::error_code(value, replayed())));
  }

  replayed_reads* reads_;
  std::size_t endpoint_;
};

replayed_reads::replayed_reads(std::string bytes, const registries& declared, store_list live)
    : bytes_(std::move(bytes)), declared_(&declared), live_(std::move(live)) {
  for (std::size_t at = 0; at < declared.endpoints().size(); ++at) {
    const bool is_asked = declared.endpoints()[at].kind != endpoint_entry::kind_type::vectors;
    clients_.push_back(is_asked ? std::make_unique<client>(*this, at) : nullptr);
    pointers_.push_back(clients_.back().get());
  }
}

replayed_reads::~replayed_reads() = default;

auto replayed_reads::parse(std::string bytes, const registries& declared, store_list live)
    -> std::shared_ptr<replayed_reads> {
  std::shared_ptr<replayed_reads> made(new replayed_reads(std::move(bytes), declared, std::move(live)));
  return made->read_all() ? made : nullptr;
}

auto replayed_reads::read_all() -> bool {
  packed_reader in(bytes_);
  while (in.is_sound() && !in.rest().empty()) {
    batch one;
    one.endpoint = in.number();
    const std::string_view begin = in.rest();
    one.head = in.text();
    const store_call call = read_call(one.head);
    if (call < store_call::hget || call > store_call::score) return false;
    one.count = in.count();
    one.keys = parse_pieces(in, one.count, call, &pass_key);
    if (!in.is_sound()) return false;
    one.question = begin.substr(0, begin.size() - in.rest().size());
    one.is_answered = in.number() != 0;
    if (one.is_answered) {
      one.malformed = in.number();
      one.found = parse_pieces(in, one.count, call, &pass_found);
    } else {
      one.failure.code = in.text();
      one.failure.message = in.text();
    }
    batches_.push_back(std::move(one));
  }
  return in.is_sound();
}

/// Returns the first recorded batch with this question that was not used yet. If all such batches were used, returns
/// the last of them.
auto replayed_reads::find(std::uint64_t endpoint, std::string_view question) -> const batch* {
  batch* known = nullptr;
  for (batch& each : batches_) {
    if (each.endpoint != endpoint || each.question != question) continue;
    known = &each;
    if (!each.is_used) break;
  }
  if (known == nullptr) return assembled(endpoint, question);
  known->is_used = true;
  return known;
}

void replayed_reads::list_keys() {
  for (const batch& each : batches_) {
    if (!each.is_answered) continue;
    const store_call call = read_call(each.head);
    packed_reader keys(each.keys);
    packed_reader found(each.found);
    for (std::size_t left = each.count; left > 0; --left) {
      const std::string_view key = parse_piece(keys, call, &pass_key);
      const std::string_view value = parse_piece(found, call, &pass_found);
      by_key_.try_emplace({each.endpoint, each.head, key}, value);
      if (call != store_call::lrange_ids || each.malformed != 0) continue;
      const list_question asked(each.head);
      lists_[{each.endpoint, asked.prefix, key}].push_back({.first = asked.first, .found = value});
    }
  }
}

auto replayed_reads::live_store(std::uint64_t endpoint) const noexcept -> store* {
  return live_ == nullptr ? nullptr : (*live_)[endpoint];
}

/// Returns the first elements of a list from a recorded read of the same list. That read must have requested at least
/// as many elements, or returned the whole list.
auto replayed_reads::part_of_list(std::uint64_t endpoint, std::string_view head, std::string_view key) const
    -> std::optional<std::string> {
  if (read_call(head) != store_call::lrange_ids) return std::nullopt;
  const list_question asked(head);
  const auto parts = lists_.find({endpoint, asked.prefix, key});
  if (parts == lists_.end()) return std::nullopt;
  for (const list_part& each : parts->second) {
    packed_reader in(each.found);
    const std::uint64_t count = in.count();
    if (each.first < asked.first && count == each.first) continue;
    std::string out;
    packed_writer to(out);
    const std::uint64_t wanted = std::min(asked.first, count);
    to.number(wanted);
    for (std::uint64_t left = wanted; left > 0; --left) to.integer(in.integer());
    return out;
  }
  return std::nullopt;
}

/// Assembles the answer to an unrecorded batch from recorded batches that read the same part of each key.
auto replayed_reads::assembled(std::uint64_t endpoint, std::string_view question) -> const batch* {
  if (by_key_.empty()) list_keys();
  packed_reader in(question);
  const std::string_view head = in.text();
  auto made = std::make_unique<batch>();
  made->is_answered = true;
  made->count = in.count();
  for (std::size_t left = made->count; left > 0; --left) {
    const std::string_view key = parse_piece(in, read_call(head), &pass_key);
    const auto found = by_key_.find({endpoint, head, key});
    if (found == by_key_.end()) {
      if (const auto part = part_of_list(endpoint, head, key)) {
        made->made += *part;
        continue;
      }
      if (missing_.empty() && live_store(endpoint) == nullptr)
        missing_ = "`" + spelled(head, key) + "` of endpoint `" + declared_->endpoints()[endpoint].endpoint_id + "`";
      return nullptr;
    }
    made->made += found->second;
  }
  made->found = made->made;
  made_.push_back(std::move(made));
  return made_.back().get();
}

}  // namespace rankd
