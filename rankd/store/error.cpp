// rankd/store/error.cpp: defines the messages of the stores' error codes.
#include <rankd/store/error.hpp>

#include <string>

namespace rankd {
namespace {

class category final : public std::error_category {
 public:
  [[nodiscard]] auto name() const noexcept -> const char* override { return "rankd.store"; }

  [[nodiscard]] auto message(int value) const -> std::string override {
    switch (static_cast<store_errc>(value)) {
      case store_errc::wrong_type: return "the key holds a different kind of value than the command reads";
      case store_errc::corrupt: return "the store's file is damaged";
      case store_errc::full: return "the store has reached its maximum size";
    }
    return "unknown store error";
  }
};

}  // namespace

auto store_category() noexcept -> const std::error_category& {
  static const category instance;
  return instance;
}

auto make_error_code(store_errc code) noexcept -> std::error_code { return {static_cast<int>(code), store_category()}; }

}  // namespace rankd
