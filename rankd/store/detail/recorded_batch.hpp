// rankd/store/detail/recorded_batch.hpp: the byte format of questions and answers, shared by the recorder and the
// replay.
#pragma once

#include <rankd/store/packed.hpp>
#include <rankd/store/question.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace rankd::detail {

/// The kinds of questions. The numbers are written to files, so they must not change.
enum class store_call : std::uint8_t { hget = 1, hgetall = 2, lrange_ids = 3, read = 4, score = 5 };

// The format of the bytes: a question consists of a head and the keys. The head describes which part of each key's
// value is read. An answer consists of the number of malformed elements and the values of each key. The length of each
// key and value is stored with it.

inline void put_head(packed_writer out, std::string& scratch, store_call call, std::string_view prefix,
                     std::string_view field = {}, std::uint32_t first = 0) {
  scratch.clear();
  packed_writer head(scratch);
  head.number(static_cast<std::uint64_t>(call));
  head.text(prefix);
  head.text(field);
  head.number(first);
  out.text(scratch);
}

inline void put_head(packed_writer out, std::string& scratch, const field_read& read) {
  put_head(out, scratch, store_call::hget, read.keys.prefix, read.field);
}

inline void put_head(packed_writer out, std::string& scratch, const hash_read& read) {
  put_head(out, scratch, store_call::hgetall, read.keys.prefix);
}

inline void put_head(packed_writer out, std::string& scratch, const list_read& read) {
  put_head(out, scratch, store_call::lrange_ids, read.keys.prefix, {}, read.first);
}

template <asks_ids Question>
void put_keys(packed_writer out, const Question& question) {
  out.number(question.keys.ids.size());
  out.integers(question.keys.ids);
}

inline void put_head(packed_writer out, std::string& scratch, const named_read& read) {
  scratch.clear();
  packed_writer head(scratch);
  head.number(static_cast<std::uint64_t>(store_call::read));
  head.number(static_cast<std::uint64_t>(read.kind));
  head.number(read.offset);
  head.number(read.count);
  head.number(static_cast<std::uint64_t>(read.order));
  head.number(static_cast<std::uint64_t>(read.ids));
  head.number(read.range ? 1 : 0);
  if (read.range) {
    head.real(read.range->min);
    head.real(read.range->max);
  }
  head.number(read.fields.size());
  for (const std::string_view each : read.fields) head.text(each);
  out.text(scratch);
}

inline void put_keys(packed_writer out, const named_read& read) {
  out.number(read.keys.size());
  for (std::size_t at = 0; at < read.keys.size(); ++at) {
    out.text(read.keys[at]);
    const auto members = read.members.empty() ? std::span<const std::string_view>() : read.members[at];
    out.number(members.size());
    for (const std::string_view each : members) out.text(each);
  }
}

inline void put_head(packed_writer out, std::string& scratch, const model_call& call) {
  scratch.clear();
  packed_writer head(scratch);
  head.number(static_cast<std::uint64_t>(store_call::score));
  head.text(call.model);
  head.text(call.version);
  head.text(call.tensor);
  head.number(static_cast<std::uint64_t>(call.floats));
  head.number(call.scores);
  head.number(call.outputs.size());
  for (const std::string_view each : call.outputs) head.text(each);
  head.number(call.inputs.size());
  for (const model_input& each : call.inputs) {
    head.text(each.name);
    head.number(each.values.index());
  }
  out.text(scratch);
}

/// Writes the inputs of each row in place of a key, because rows with equal inputs have equal scores.
inline void put_keys(packed_writer out, const model_call& call) {
  out.number(call.rows);
  std::string key;
  const auto put = [&](auto value) {
    packed_writer into(key);
    if constexpr (std::is_same_v<decltype(value), double>)
      into.real(value);
    else if constexpr (std::is_same_v<decltype(value), std::string_view>)
      into.text(value);
    else
      into.integer(value);
  };
  for (std::size_t row = 0; row < call.rows; ++row) {
    key.clear();
    for (const model_input& each : call.inputs) std::visit([&](const auto& values) { put(values[row]); }, each.values);
    out.text(key);
  }
}

/// Writes the head and the keys of a question. The head is built in `scratch`.
inline void put_question(packed_writer out, std::string& scratch, const store_question& question) {
  std::visit(
      [&](const auto& typed) {
        put_head(out, scratch, typed);
        put_keys(out, typed);
      },
      question);
}

inline void put_answer(packed_writer out, const score_batch& scores) {
  out.number(0);
  for (std::size_t row = 0; row < scores.rows(); ++row) {
    out.number(scores.scores);
    for (std::size_t at = 0; at < scores.scores; ++at) out.real(scores.at(row, at));
  }
}

inline void put_answer(packed_writer out, const field_batch& values) {
  out.number(0);
  out.optional_texts(values);
}

inline void put_answer(packed_writer out, const hash_batch& hashes) {
  out.number(0);
  for (const auto& hash : hashes) {
    out.number(hash.size());
    for (const hash_field& each : hash) {
      out.text(each.name);
      out.text(each.value);
    }
  }
}

inline void put_answer(packed_writer out, const id_batch& lists) {
  out.number(lists.malformed);
  for (const auto& list : lists.lists) {
    out.number(list.size());
    out.integers(list);
  }
}

/// Flags in the first byte of an item.
inline constexpr std::uint64_t item_is_there = 1;
inline constexpr std::uint64_t item_has_id = 2;
inline constexpr std::uint64_t item_has_score = 4;
inline constexpr std::uint64_t item_has_text = 8;

inline void put_answer(packed_writer out, const item_batch& found) {
  out.number(found.malformed);
  for (const auto& items : found.of_key) {
    out.number(items.size());
    for (const stored_item& each : items) {
      const bool has_score = std::bit_cast<std::uint64_t>(each.score) != 0;
      out.number((each.is_there ? item_is_there : 0) | (each.id != 0 ? item_has_id : 0) |
                 (has_score ? item_has_score : 0) | (each.text.empty() ? 0 : item_has_text));
      if (each.id != 0) out.integer(each.id);
      if (has_score) out.real(each.score);
      if (!each.text.empty()) out.text(each.text);
    }
  }
}

/// Writes an answer of any kind.
inline void put_answer(packed_writer out, const store_answer& answer) {
  std::visit([&](const auto& typed) { put_answer(out, typed); }, answer);
}

}  // namespace rankd::detail
