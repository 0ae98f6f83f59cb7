// tests/rankd/store/model_messages_test.cpp: an answer of a server of models costs memory for its scores alone.
#include <rankd/store/detail/model_messages.hpp>

#include <tests/support/sanitizer.hpp>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <doctest/doctest.h>

#include <malloc.h>

using namespace rankd;

namespace {

/// Bytes that this program holds, and the most since that was set. One thread allocates.
long held = 0;
long max_held = 0;

}  // namespace

#if !defined(BRAID_TEST_ADDRESS) && !defined(BRAID_TEST_THREAD)  // they have replaced these operators themselves
// Not inlined: g++ takes a deletion that it sees inside for one that does not match.
[[gnu::noinline]] auto operator new(std::size_t size) -> void* {
  void* block = std::malloc(size);
  if (block == nullptr) throw std::bad_alloc();
  held += static_cast<long>(::malloc_usable_size(block));
  if (held > max_held) max_held = held;
  return block;
}

[[gnu::noinline]] void operator delete(void* block) noexcept {
  held -= static_cast<long>(::malloc_usable_size(block));
  std::free(block);
}

[[gnu::noinline]] void operator delete(void* block, std::size_t /*size*/) noexcept { operator delete(block); }
#endif

namespace {

constexpr std::array price{1.5, -2.0};
const std::array numbers{model_input{.name = "price", .values = std::span<const double>(price)}};

auto call_of(std::size_t rows = 2) -> model_call { return {.model = "ctr", .inputs = numbers, .rows = rows}; }

auto tensor_of(std::string_view shape, std::string_view data) -> std::string {
  return R"({"name":"y","shape":)" + std::string(shape) + R"(,"data":)" + std::string(data) + "}";
}

auto outputs_of(const std::string& tensors) -> std::string { return R"({"outputs":[)" + tensors + "]}"; }

}  // namespace

TEST_CASE("the bound of an answer grows with its rows and scores") {
  model_call many = call_of(1000);
  const std::size_t one = rankd::detail::max_answer_bytes(many, {0, 1000});
  many.scores = 100;
  CHECK(rankd::detail::max_answer_bytes(many, {0, 1000}) - one >= std::size_t{99'000} * 40);
  CHECK(one < std::size_t{2} << 20U);
}

TEST_CASE("reading an answer takes memory for its scores, whatever else is in it") {
  std::string arrays;
  std::string tensors;
  std::string numbers_of_tensor = "[";
  for (int at = 0; at < 100'000; ++at) {
    arrays += "[],";
    tensors += R"({"data":[1]},)";
    numbers_of_tensor += "1,";
  }
  const std::array<std::pair<std::string, std::string_view>, 6> cases{{
      {std::string(1'000'000, '['), "the answer nests deeper than 32 levels"},
      {R"({"outputs":[{"data":)" + std::string(1'000'000, '['), "the answer nests deeper than 32 levels"},
      {R"({"x":[)" + arrays + "0]}", "the answer has no array `outputs`"},
      {R"({"outputs":[)" + tensors + "{}]}",
       "the answer has 100001 tensors, but the node does not say which to use; name one of these in `outputs`: "
       "``, ``, ``, ``, ``, ``, ``, ``, …"},
      {outputs_of(tensor_of("[2]", numbers_of_tensor + "1]")), "the tensor `y` has 100001 values in place of 2"},
      {outputs_of(tensor_of(numbers_of_tensor + "1]", "[1,2]")), "the tensor `y` has no shape of 2 rows"},
  }};
  std::array<double, 2> into{};
  for (const auto& [text, why] : cases) {
    const long before = max_held = held;
    const std::string wrong = rankd::detail::read_scores(text, call_of(), {0, 2}, into);
    CHECK(wrong == why);
    CHECK_MESSAGE(max_held - before < 3 * static_cast<long>(text.size()) + 64'000, why);  // the parser keeps its text
  }
}

TEST_CASE("members may come in any order and twice, and rows may be nested eight deep") {
  const std::array<std::pair<std::string, std::string_view>, 9> cases{{
      {R"({"outputs":[{"data":[1,2],"shape":[2],"name":"y"}],"id":{"outputs":[]}})", ""},
      {R"({"outputs":[],"outputs":[{"shape":[3],"shape":[2],"data":[9],"data":[1,2]}]})", ""},
      {R"({"outputs":[{"shape":[2],"parameters":{"data":[[9]],"shape":1},"data":[1,2]}]})", ""},
      {outputs_of(tensor_of("[2]", "[[[[[[[[[1,2]]]]]]]]]")), ""},
      {outputs_of(tensor_of("[2]", "[[[[[[[[[[1,2]]]]]]]]]]")), "the tensor `y` has 1 value in place of 2"},
      {outputs_of(tensor_of("[2]", R"([1,{"a":[2,3]}])")),
       "the tensor `y` has a value that is not a finite number, for row 1"},
      {outputs_of(tensor_of("2", "[1,2]")), "the tensor `y` has no shape of 2 rows"},
      {outputs_of(tensor_of(R"([2,"1"])", "[1,2]")), "the tensor `y` has no shape of 2 rows"},
      {outputs_of(tensor_of("[2]", "1")), "the tensor `y` has no `data`, which must be an array of numbers"},
  }};
  for (const auto& [text, why] : cases) {
    CAPTURE(text);
    std::array<double, 2> into{};
    CHECK(rankd::detail::read_scores(text, call_of(), {0, 2}, into) == why);
    if (why.empty()) CHECK((into == std::array<double, 2>{1, 2}));
  }
}

TEST_CASE("the error of a refusal is read from a short body that nests little") {
  CHECK(rankd::detail::refusal_text(R"({"error":"no model","more":[[[1]]]})") == "no model");
  CHECK(rankd::detail::refusal_text(R"({"error":["no model"]})").empty());
  CHECK(rankd::detail::refusal_text(R"({"error":"no model"})" + std::string(16U << 10U, ' ')).empty());
  const long before = max_held = held;
  CHECK(rankd::detail::refusal_text(std::string(16'000, '[')).empty());
  CHECK(max_held - before < 256'000);
}
