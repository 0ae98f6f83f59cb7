// rankd/store/record_cache.cpp: stores cached values as blocks of bytes, found by key and by the part of the key's
// value that was read.
#include <rankd/store/record_cache.hpp>

#include <rankd/store/detail/key_speller.hpp>
#include <rankd/store/detail/recorded_batch.hpp>

#include <algorithm>
#include <concepts>
#include <cstring>
#include <limits>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

namespace rankd {
namespace {

/// The approximate memory of a record without its key and its values, which consists of a map node with two strings and
/// a list.
constexpr std::size_t record_overhead = 160;
/// The maximum number of values of one key. A further value replaces the oldest value.
constexpr std::size_t max_values = 16;

// A cached value is a sequence of elements. Depending on the question that read the value, these are the fields of a
// hash, the elements of a list, or at most one field.

using field_values = std::span<const std::optional<std::string_view>>;

template <typename Answer>
auto list_values(const Answer& answer) {
  if constexpr (std::same_as<Answer, field_batch> || std::same_as<Answer, hash_batch>)
    return answer;
  else if constexpr (std::same_as<Answer, id_batch>)
    return answer.lists;
  else
    return answer.of_key;
}

auto elements_of(const std::optional<std::string_view>& value) noexcept -> std::span<const std::string_view> {
  return value ? std::span(&*value, 1) : std::span<const std::string_view>();
}

template <typename T>
auto elements_of(std::span<const T> value) noexcept -> std::span<const T> {
  return value;
}

/// Calls `use` with each of the texts that an element contains.
template <typename Use>
void for_texts(std::string_view& element, const Use& use) {
  use(element);
}
template <typename Use>
void for_texts(hash_field& element, const Use& use) {
  use(element.name);
  use(element.value);
}
template <typename Use>
void for_texts(stored_item& element, const Use& use) {
  use(element.text);
}
template <typename Use>
void for_texts(std::int64_t& /*element*/, const Use& /*use*/) {}

/// Returns whether the value of a key is absent.
auto is_absent(std::span<const stored_item> items) -> bool {
  return std::ranges::none_of(items, &stored_item::is_there);
}
template <typename T>
auto is_absent(std::span<const T> elements) -> bool {
  return elements.empty();
}

/// Elements and their texts in one block of memory, the elements first. After the block is copied, only the pointers to
/// the texts must be adjusted.
struct block {
  std::unique_ptr<std::byte[]> bytes;
  std::uint32_t size = 0;
  std::uint32_t count = 0;

  template <typename T>
  static auto of(std::span<const T> elements) -> block {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    std::size_t size = elements.size_bytes();
    for (T each : elements) for_texts(each, [&](std::string_view text) { size += text.size(); });
    if (size > std::numeric_limits<std::uint32_t>::max()) throw std::bad_alloc();
    block out{.bytes = std::make_unique_for_overwrite<std::byte[]>(size),
              .size = static_cast<std::uint32_t>(size),
              .count = static_cast<std::uint32_t>(elements.size())};
    std::byte* texts = out.bytes.get() + elements.size_bytes();
    for (std::size_t at = 0; at < elements.size(); ++at) {
      T each = elements[at];
      for_texts(each, [&](std::string_view& text) {
        if (!text.empty()) std::memcpy(texts, text.data(), text.size());
        text = {reinterpret_cast<const char*>(texts), text.size()};
        texts += text.size();
      });
      std::memcpy(out.bytes.get() + at * sizeof(T), &each, sizeof(T));
    }
    return out;
  }

  /// Returns a copy of the elements.
  template <typename T>
  [[nodiscard]] auto copied(braid::arena& memory) const -> std::span<const T> {
    if (count == 0) return {};
    void* const place = memory.bytes(size, alignof(T));
    std::memcpy(place, bytes.get(), size);
    const std::span<T> elements(std::launder(static_cast<T*>(place)), count);
    const char* const old = reinterpret_cast<const char*>(bytes.get());
    for (T& each : elements)
      for_texts(each, [&](std::string_view& text) {
        text = {static_cast<const char*>(place) + (text.data() - old), text.size()};
      });
    return elements;
  }
};

/// Returns the number of malformed elements in the value of a key.
template <typename Answer>
auto malformed_at(const Answer& answer, std::size_t index) -> std::uint32_t {
  if constexpr (requires { answer.malformed_of; })
    return answer.malformed_of.empty() ? 0 : answer.malformed_of[index];
  else
    return 0;
}

/// Returns whether an answer shows which of its values contain the malformed elements.
template <typename Answer>
auto knows_malformed(const Answer& answer) -> bool {
  if constexpr (requires { answer.malformed_of; })
    return answer.malformed == 0 || !answer.malformed_of.empty();
  else
    return true;
}

template <typename Question>
auto key_count(const Question& question) -> std::size_t {
  if constexpr (asks_ids<Question>)
    return question.keys.ids.size();
  else
    return question.keys.size();
}

/// Calls `use` with the question in its own type. Requires a question whose values can be cached.
template <typename Use>
auto with_question(const store_question& question, const Use& use) {
  return std::visit(
      [&]<typename Question>(const Question& question) {
        if constexpr (std::same_as<Question, model_call>) {
          BRAID_EXPECTS(false, "the scores of a model are not cached");
          return use(named_read());
        } else {
          return use(question);
        }
      },
      question);
}

}  // namespace

/// The cached answer to one kind of question about a key.
struct record_cache::value {
  head* what = nullptr;
  block content;
  braid::time_point read;  // when the read of it began
  std::uint32_t malformed = 0;
  bool is_tracked = false;
  bool is_absent = false;

  [[nodiscard]] auto bytes() const noexcept -> std::size_t { return sizeof(value) + content.size; }
};

struct record_cache::record : braid::list_hook {
  std::string_view key;
  std::vector<value> values;
  bool is_used = false;  // since it was last considered for eviction

  [[nodiscard]] auto bytes() const noexcept -> std::size_t {
    std::size_t out = record_overhead + key.size();
    for (const value& each : values) out += each.bytes();
    return out;
  }
};

void record_cache_counts::add(const record_cache_counts& other) noexcept {
  hits += other.hits;
  misses += other.misses;
  joined += other.joined;
  evicted += other.evicted;
  changed += other.changed;
  emptied += other.emptied;
  bytes += other.bytes;
  entries += other.entries;
  caches += other.caches;
  tracked += other.tracked;
}

record_cache::record_cache(const record_cache_options& options) : options_(options) {}

record_cache::~record_cache() {
  while (in_order_.pop_front() != nullptr) {}
}

auto record_cache::suits(const store_question& question) noexcept -> bool {
  if (std::holds_alternative<model_call>(question)) return false;
  const auto* const named = std::get_if<named_read>(&question);
  return named == nullptr || (named->kind != read_kind::members && named->kind != read_kind::scores);
}

template <typename Question, typename Each>
void record_cache::for_each_key(const Question& question, const Each& each) {
  if constexpr (asks_ids<Question>) {
    detail::key_speller keys(question.keys.prefix);
    for (std::size_t at = 0; at < question.keys.ids.size(); ++at) each(at, keys.spell(question.keys.ids[at]));
  } else {
    for (std::size_t at = 0; at < question.keys.size(); ++at) each(at, question.keys[at]);
  }
}

auto record_cache::find_part(const store_question& question, std::span<const std::uint32_t> positions,
                             braid::arena& memory) -> store_question {
  return with_question(question, [&]<typename Question>(Question question) -> store_question {
    const auto chosen = [&]<typename T>(std::span<const T> all) -> std::span<const T> {
      const std::span<T> out = memory.uninitialized<T>(positions.size());
      std::ranges::transform(positions, out.begin(), [all](std::uint32_t index) { return all[index]; });
      return out;
    };
    if constexpr (asks_ids<Question>)
      question.keys.ids = chosen(question.keys.ids);
    else
      question.keys = chosen(question.keys);
    return question;
  });
}

// The functions below manage the heads, which identify the kinds of questions about a key.

auto record_cache::find_head(const store_question& question) -> head* {
  head_text_.clear();
  std::visit([&](const auto& typed) { detail::put_head(packed_writer(head_text_), scratch_, typed); }, question);
  if (const auto known = heads_.find(std::string_view(head_text_)); known != heads_.end()) return &*known;
  if (heads_.size() >= max_heads_) {
    std::erase_if(heads_, [](const head& each) { return each.second == 0; });
    max_heads_ = std::max<std::size_t>(64, 2 * heads_.size());
  }
  return &*heads_.try_emplace(head_text_, 0U).first;
}

// The functions below look up cached values.

/// Returns the cached value of a key if it is recent enough. Drops the value if it is too old.
auto record_cache::find_value(std::string_view key, const head* kind, braid::time_point now) -> const value* {
  const auto found = records_.find(key);
  if (found == records_.end()) return nullptr;
  record& of = found->second;
  for (std::size_t at = 0; at < of.values.size(); ++at) {
    const value& each = of.values[at];
    if (each.what != kind) continue;
    const braid::duration limit = each.is_tracked  ? options_.tracked_age
                                  : each.is_absent ? options_.absent_age
                                                   : options_.age;
    if (now - each.read < limit) {
      of.is_used = true;
      return &each;
    }
    drop_value(of, at);
    return nullptr;
  }
  return nullptr;
}

auto record_cache::find_read(std::string_view key, const head* kind) const -> const expected* {
  if (expected_.empty()) return nullptr;
  const auto found = expected_.find(key);
  if (found == expected_.end()) return nullptr;
  const auto same = std::ranges::find(found->second, kind, &expected::what);
  return same == found->second.end() ? nullptr : &*same;
}

template <typename Question>
auto record_cache::find_values(const Question& question, braid::arena& memory) -> record_lookup {
  using answer = Question::answer;
  using stored = std::remove_cvref_t<decltype(list_values(answer())[0])>;
  using element = std::remove_cvref_t<decltype(elements_of(stored())[0])>;

  const head* const what = find_head(question);
  const braid::time_point now = options_.clock->now();
  const std::span<stored> values = memory.filled(key_count(question), stored());
  record_lookup out;
  std::vector<record_lookup::missing_key> missing;
  std::uint64_t malformed = 0;
  for_each_key(question, [&](std::size_t index, std::string_view key) {
    const value* const known = find_value(key, what, now);
    if (known == nullptr) {
      const expected* const reading = find_read(key, what);
      missing.push_back({.position = static_cast<std::uint32_t>(index),
                         .index = reading == nullptr ? 0 : reading->index,
                         .read = reading == nullptr ? nullptr : reading->read});
      return;
    }
    const std::span<const element> elements = known->content.copied<element>(memory);
    if constexpr (std::same_as<stored, std::optional<std::string_view>>) {
      if (!elements.empty()) values[index] = elements[0];
    } else {
      values[index] = elements;
    }
    malformed += known->malformed;
    out.oldest = std::max<braid::duration>(out.oldest, now - known->read);
  });
  out.hits = values.size() - missing.size();
  out.missing = memory.copied(std::span<const record_lookup::missing_key>(missing));
  if constexpr (std::same_as<answer, id_batch>)
    out.answer = id_batch{.lists = values, .malformed = malformed};
  else if constexpr (std::same_as<answer, item_batch>)
    out.answer = item_batch{.of_key = values, .malformed = malformed};
  else
    out.answer = answer(values);
  hits_.fetch_add(out.hits, braid::relaxed);
  return out;
}

auto record_cache::find(const store_question& question, braid::arena& memory) -> record_lookup {
  return with_question(question, [&](const auto& typed) { return find_values(typed, memory); });
}

void record_cache::add(record_lookup& to_lookup, std::span<const std::uint32_t> to, const store_answer& part,
                       std::span<const std::uint32_t> from) {
  std::visit(
      [&]<typename Answer>(Answer& all) {
        if constexpr (!std::same_as<Answer, score_batch>) {
          const auto& given = std::get<Answer>(part);
          const auto source = list_values(given);
          using stored = std::remove_cvref_t<decltype(source[0])>;
          // Removes const: `find_values` has allocated these values as mutable.
          const std::span<stored> values(const_cast<stored*>(list_values(all).data()), list_values(all).size());
          for (std::size_t at = 0; at < to.size(); ++at) values[to[at]] = source[from[at]];
          if constexpr (requires { all.malformed; }) {
            if (!knows_malformed(given)) all.malformed += given.malformed;
            for (const std::uint32_t at : from) all.malformed += malformed_at(given, at);
          }
        }
      },
      to_lookup.answer);
}

// The functions below register running reads, and cache their answers.

void record_cache::begin(record_read& read) {
  head* const what = find_head(read.question);
  std::size_t keys = 0;
  try {
    with_question(read.question, [&](const auto& question) {
      for_each_key(question, [&](std::size_t index, std::string_view key) {
        ++keys;
        if (find_read(key, what) != nullptr) return;
        auto found = expected_.find(key);
        if (found == expected_.end()) found = expected_.try_emplace(std::string(key)).first;
        found->second.push_back({.what = what, .read = &read, .index = static_cast<std::uint32_t>(index)});
      });
    });
  } catch (...) {
    read.cache = this;
    read.head = what;
    ++what->second;
    end(read, nullptr);
    throw;
  }
  read.cache = this;
  read.head = what;
  read.begun = options_.clock->now();
  ++what->second;
  misses_.fetch_add(keys, braid::relaxed);
}

void record_cache::end(record_read& read, const store_answer* answer) noexcept {
  if (std::exchange(read.cache, nullptr) == nullptr) return;
  with_question(read.question, [&](const auto& question) { keep_all(read, question, answer); });
  --static_cast<head*>(const_cast<void*>(read.head))->second;
  set_counts();
}

/// Caches the values of an answer whose keys have not changed since the read began. If the allocation for a value
/// fails, the value is not cached.
template <typename Question>
void record_cache::keep_all(const record_read& read, const Question& question, const store_answer* answer) {
  auto* const what = static_cast<head*>(const_cast<void*>(read.head));
  const auto* const given = answer == nullptr ? nullptr : &std::get<typename Question::answer>(*answer);
  const bool is_kept = given != nullptr && knows_malformed(*given);
  const bool is_tracked = is_tracked_.load(braid::relaxed) && is_complete();
  for_each_key(question, [&](std::size_t index, std::string_view key) {
    const auto found = expected_.find(key);
    if (found == expected_.end()) return;
    const auto removed =
        std::erase_if(found->second, [&](const expected& each) { return each.read == &read && each.index == index; });
    if (found->second.empty()) expected_.erase(found);
    if (removed == 0 || !is_kept) return;
    try {
      const auto elements = elements_of(list_values(*given)[index]);
      keep(key, {.what = what,
                 .content = block::of(elements),
                 .read = read.begun,
                 .malformed = malformed_at(*given, index),
                 .is_tracked = is_tracked,
                 .is_absent = is_absent(elements)});
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
      // If the allocation fails, the value is not cached, so the next request reads it again.
    }
  });
}

/// Caches a value in place of an older value, unless the new value is larger than the whole cache.
void record_cache::keep(std::string_view key, value made) {
  if (record_overhead + key.size() + made.bytes() > options_.bytes) return;
  auto found = records_.find(key);
  if (found == records_.end()) {
    found = records_.try_emplace(std::string(key)).first;
    found->second.key = found->first;
    bytes_ += found->second.bytes();
    in_order_.push_back(found->second);
  }
  record& of = found->second;
  const auto same = std::ranges::find(of.values, made.what, &value::what);
  if (same != of.values.end())
    drop_value(of, static_cast<std::size_t>(same - of.values.begin()));
  else if (of.values.size() == max_values)
    drop_value(of, 0);
  of.values.push_back(std::move(made));
  ++of.values.back().what->second;
  bytes_ += of.values.back().bytes();
  make_room(of);
}

// The functions below drop cached values.

void record_cache::drop_value(record& entry, std::size_t index) noexcept {
  bytes_ -= entry.values[index].bytes();
  --entry.values[index].what->second;
  entry.values.erase(entry.values.begin() + static_cast<std::ptrdiff_t>(index));
}

void record_cache::drop(record& entry) noexcept {
  bytes_ -= entry.bytes();
  for (const value& each : entry.values) --each.what->second;
  entry.unlink();
  records_.erase(records_.find(entry.key));
}

/// Drops other records until the cache is within its limits. If this record alone exceeds the limits, drops this record
/// as well.
void record_cache::make_room(const record& but) noexcept {
  const auto fits = [this] { return bytes_ <= options_.bytes && records_.size() <= options_.entries; };
  while (!fits()) {
    record& first = in_order_.front();
    if (&first == &but && records_.size() > 1) {
      first.unlink();
      in_order_.push_back(first);
      continue;
    }
    if (&first != &but && std::exchange(first.is_used, false)) {
      first.unlink();
      in_order_.push_back(first);
      continue;
    }
    drop(first);
    evicted_.fetch_add(1, braid::relaxed);
  }
}

void record_cache::key_changed(std::string_view key) noexcept {
  if (const auto reading = expected_.find(key); reading != expected_.end()) expected_.erase(reading);
  const auto found = records_.find(key);
  if (found == records_.end()) return;
  drop(found->second);
  changed_.fetch_add(1, braid::relaxed);
  set_counts();
}

void record_cache::all_changed() noexcept {
  expected_.clear();
  if (records_.empty()) return;
  while (const record* const each = in_order_.pop_front())
    for (const value& of : each->values) --of.what->second;
  records_.clear();
  bytes_ = 0;
  emptied_.fetch_add(1, braid::relaxed);
  set_counts();
}

void record_cache::set_counts() noexcept {
  held_bytes_.store(bytes_, braid::relaxed);
  held_entries_.store(records_.size(), braid::relaxed);
}

auto record_cache::counts() const noexcept -> record_cache_counts {
  return {.hits = hits_.load(braid::relaxed),
          .misses = misses_.load(braid::relaxed),
          .joined = joined_.load(braid::relaxed),
          .evicted = evicted_.load(braid::relaxed),
          .changed = changed_.load(braid::relaxed),
          .emptied = emptied_.load(braid::relaxed),
          .bytes = held_bytes_.load(braid::relaxed),
          .entries = held_entries_.load(braid::relaxed),
          .caches = 1,
          .tracked = is_tracked_.load(braid::relaxed) ? 1U : 0U};
}

}  // namespace rankd
