// rankd/store/faulty_store.cpp: implements a store that fails the batches that read the key of a planted fault.
#include <rankd/store/faulty_store.hpp>

#include <algorithm>
#include <concepts>
#include <string_view>
#include <system_error>
#include <variant>

namespace rankd {
namespace {

/// The category of planted faults. The value of an error is its index in `fault_codes` plus one.
class fault_category final : public std::error_category {
 public:
  [[nodiscard]] auto name() const noexcept -> const char* override { return "planted fault"; }
  [[nodiscard]] auto message(int) const -> std::string override { return "a test has planted this fault"; }
};

auto planted_faults() noexcept -> const std::error_category& {
  static const fault_category category;
  return category;
}

auto refusal(const planted_fault& fault) -> std::unexpected<store_error> {
  return std::unexpected(store_error(std::error_code(static_cast<int>(fault.code) + 1, planted_faults())));
}

/// Returns whether a question reads a key that begins with `prefix`. A model call reads no keys.
auto reads_key(const store_question& question, std::string_view prefix) -> bool {
  return std::visit(
      [&]<typename Question>(const Question& question) {
        if constexpr (std::same_as<Question, model_call>)
          return false;
        else if constexpr (asks_ids<Question>)
          return std::ranges::any_of(question.keys.ids, [&](std::int64_t id) {
            return (std::string(question.keys.prefix) + std::to_string(id)).starts_with(prefix);
          });
        else
          return std::ranges::any_of(question.keys, [&](std::string_view key) { return key.starts_with(prefix); });
      },
      question);
}

}  // namespace

auto faulty_store::find_fault(const store_question& question) const -> const planted_fault* {
  if (std::holds_alternative<model_call>(question)) return nullptr;
  const auto found = std::ranges::find_if(faults_, [&](const planted_fault& fault) {
    return fault.key_prefix.empty() || reads_key(question, fault.key_prefix);
  });
  return found == faults_.end() ? nullptr : &*found;
}

auto faulty_store::ask(store_question question, braid::arena& arena) -> braid::task<store_result<store_answer>> {
  if (const planted_fault* fault = find_fault(question)) co_return refusal(*fault);
  co_return co_await behind().ask(question, arena);
}

auto faulty_store::explain(const store_error& error) const -> store_failure {
  if (error.category() != planted_faults()) return store_layer::explain(error);
  return {std::string(fault_codes.at(static_cast<std::size_t>(error.value()) - 1)),
          "endpoint `" + endpoint_id_ + "`: " + error.message()};
}

}  // namespace rankd
