// tests/windows/tests/support/environment.hpp: an environment variable with a value of the test's own.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace braid::testing {

/// Sets a variable, or unsets it if the value is null, for its own lifetime. Threads: only while there is one.
class environment {
 public:
  environment(const char* variable, const char* value) : variable_(variable) {
    if (const char* text = std::getenv(variable)) before_ = text;
    set(value);
  }
  environment(const environment&) = delete;
  auto operator=(const environment&) -> environment& = delete;
  ~environment() { set(before_ ? before_->c_str() : nullptr); }

 private:
  void set(const char* value) const { ::_putenv_s(variable_, value == nullptr ? "" : value); }

  const char* variable_;
  std::optional<std::string> before_;
};

}  // namespace braid::testing
