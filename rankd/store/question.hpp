// rankd/store/question.hpp: the kinds of questions that a store answers, with a kind of answer for each.
#pragma once

#include <rankd/store/id_batch.hpp>
#include <rankd/store/error.hpp>
#include <rankd/store/model_call.hpp>
#include <rankd/store/named_read.hpp>

#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace rankd {

/// Reads one field of each hash.
struct field_read {
  using answer = field_batch;

  key_batch keys;
  std::string_view field;
};

/// Reads all fields of each hash.
struct hash_read {
  using answer = hash_batch;

  key_batch keys;
};

/// Reads the first elements of each list as ids. Malformed elements are left out of the answer, and counted.
struct list_read {
  using answer = id_batch;

  key_batch keys;
  std::uint32_t first = 0;  ///< the maximum number of elements of each list
};

/// A question about keys that consist of a prefix and an id.
template <typename Question>
concept asks_ids = std::same_as<decltype(Question::keys), key_batch>;

/// A question to a store. The data that the question refers to must outlive the task that answers it. The question
/// itself need not.
using store_question = std::variant<field_read, hash_read, list_read, named_read, model_call>;
static_assert(std::is_trivially_copyable_v<store_question>,
              "stores copy questions often, so they must be trivially copyable");

/// The answer to a question. Each kind of question has its own kind of answer.
using store_answer =
    std::variant<field_read::answer, hash_read::answer, list_read::answer, named_read::answer, model_call::answer>;

/// Returns the answer of a store to one kind of question.
template <typename Question>
[[nodiscard]] auto answer_to(const store_result<store_answer>& answered) -> store_result<typename Question::answer> {
  if (!answered) return std::unexpected(answered.error());
  return std::get<typename Question::answer>(*answered);
}

/// Returns the settings for sending a question a second time. Returns null for a model call, which is sent only once.
[[nodiscard]] inline auto find_hedge(store_question& question) noexcept -> read_hedge* {
  return std::visit(
      []<typename Question>(Question& question) -> read_hedge* {
        if constexpr (std::same_as<Question, model_call>)
          return nullptr;
        else if constexpr (asks_ids<Question>)
          return &question.keys.hedge;
        else
          return &question.hedge;
      },
      question);
}

}  // namespace rankd
