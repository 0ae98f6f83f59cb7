// tests/rankd/store/question_test.cpp: questions, their hedges, and the kinds of their answers.
#include <rankd/store/question.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include <doctest/doctest.h>

using namespace rankd;
using namespace std::chrono_literals;

TEST_CASE("an answer has the kind of its question, and an error is passed on with the words of the server") {
  const std::array<std::optional<std::string_view>, 2> fields{"US", std::nullopt};
  const auto found = answer_to<field_read>(store_answer(field_batch(fields)));
  REQUIRE(found.has_value());
  CHECK((*found)[0] == "US");
  const auto ids = answer_to<list_read>(store_answer(id_batch{.lists = {}, .malformed = 3}));
  CHECK(ids.value().malformed == 3);
  const store_result<store_answer> failed = std::unexpected(store_error(store_errc::wrong_type, "WRONGTYPE"));
  CHECK(answer_to<named_read>(failed).error() == store_errc::wrong_type);
  CHECK(answer_to<named_read>(failed).error().server_text() == "WRONGTYPE");
}

TEST_CASE("every read has a hedge that can be set, and a model call has none") {
  for (store_question question : {store_question(field_read{}), store_question(hash_read{}),
                                  store_question(list_read{}), store_question(named_read{})}) {
    read_hedge* const hedge = find_hedge(question);
    REQUIRE(hedge != nullptr);
    hedge->after = 5ms;
    const store_question copy = question;
    question = copy;
    CHECK(find_hedge(question)->after == 5ms);
  }
  store_question call = model_call{.model = {}, .inputs = {}};
  CHECK(find_hedge(call) == nullptr);
}
