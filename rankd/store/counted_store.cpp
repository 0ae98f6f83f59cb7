// rankd/store/counted_store.cpp: answers batches from a store and replaces loaded values by counters.
#include <rankd/store/counted_store.hpp>
#include <rankd/store/detail/key_speller.hpp>

#include <algorithm>
#include <concepts>
#include <string>
#include <variant>

namespace rankd {
namespace {

/// Merges two lists of fields that are sorted by name. If both have a field, the field of `over` is used.
auto merged(std::span<const hash_field> under, std::span<const hash_field> over, braid::arena& arena)
    -> std::span<const hash_field> {
  const std::span<hash_field> out = arena.uninitialized<hash_field>(under.size() + over.size());
  std::size_t used = 0;
  std::size_t next = 0;
  for (const hash_field& each : under) {
    while (next < over.size() && over[next].name < each.name) out[used++] = over[next++];
    if (next < over.size() && over[next].name == each.name) continue;
    out[used++] = each;
  }
  while (next < over.size()) out[used++] = over[next++];
  return out.first(used);
}

/// Returns whether counters may change the answer to a question: they may change only answers about hashes.
template <typename Question>
auto is_about_hashes(const Question& question) -> bool {
  if constexpr (std::same_as<Question, named_read>)
    return question.kind == read_kind::fields;
  else
    return true;
}

}  // namespace

auto counted_store::ask(store_question question, braid::arena& arena) -> braid::task<store_result<store_answer>> {
  if (counted_->size() == 0) return behind().ask(question, arena);
  return std::visit(
      [&]<typename Question>(const Question& question) {
        if constexpr (requires(typename Question::answer under) { over(question, under, arena); })
          if (is_about_hashes(question)) return ask_over(question, arena);
        return behind().ask(question, arena);
      },
      question);
}

auto counted_store::pinned() -> std::shared_ptr<store> {
  auto under = behind().pinned();
  return under == nullptr ? nullptr : std::make_shared<counted_store>(std::move(under), counted_);
}

template <typename Question>
auto counted_store::ask_over(Question question, braid::arena& arena) -> braid::task<store_result<store_answer>> {
  const auto under = answer_to<Question>(co_await behind().ask(question, arena));
  if (!under) co_return std::unexpected(under.error());
  co_return over(question, *under, arena);
}

auto counted_store::over(const field_read& question, field_batch under, braid::arena& arena) const -> field_batch {
  const auto out = arena.copied(under);
  detail::key_speller speller(question.keys.prefix);
  std::string key;
  for (std::size_t at = 0; at < out.size(); ++at) {
    key = speller.spell(question.keys.ids[at]);
    if (const auto value = counted_->field(key, question.field, arena)) out[at] = value;
  }
  return out;
}

auto counted_store::over(const hash_read& question, hash_batch under, braid::arena& arena) const -> hash_batch {
  const auto out = arena.copied(under);
  detail::key_speller speller(question.keys.prefix);
  std::string key;
  for (std::size_t at = 0; at < out.size(); ++at) {
    key = speller.spell(question.keys.ids[at]);
    if (const auto over = counted_->fields(key, arena); !over.empty()) out[at] = merged(out[at], over, arena);
  }
  return out;
}

/// Reads all fields of a hash at once, so that the answer never contains half of a change.
auto counted_store::over(const named_read& question, item_batch under, braid::arena& arena) const -> item_batch {
  const auto out = arena.copied(under.of_key);
  std::string key;
  for (std::size_t at = 0; at < out.size(); ++at) {
    key = question.keys[at];
    const auto over = counted_->fields(key, arena);
    if (over.empty()) continue;
    const auto items = arena.copied(out[at]);
    for (std::size_t field = 0; field < items.size(); ++field)
      if (const auto found = std::ranges::find(over, question.fields[field], &hash_field::name); found != over.end())
        items[field] = {.is_there = true, .text = found->value};
    out[at] = items;
  }
  return {.of_key = out, .malformed = under.malformed};
}

}  // namespace rankd
