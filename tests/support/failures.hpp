// tests/support/failures.hpp: what futures of a test fail with.
#pragma once

#include <braid/base/error.hpp>

#include <doctest/doctest.h>

#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>

namespace braid::testing {

inline auto failure(const std::string& what) -> std::exception_ptr {
  return std::make_exception_ptr(std::runtime_error(what));
}

/// The text of what is kept.
inline auto text_of(const std::exception_ptr& kept) -> std::string {
  try {
    std::rethrow_exception(kept);
  } catch (const std::exception& thrown) {
    return thrown.what();
  }
}

/// What `get` throws: the text of a std::runtime_error, or nothing of the kind.
template <typename Future>
auto failure_text(Future&& from) -> std::string {
  try {
    static_cast<void>(from.get());
  } catch (const std::runtime_error& thrown) {
    return thrown.what();
  }
  return "it did not fail";
}

/// The code of the std::system_error that `get` throws; none when it throws nothing.
template <typename Future>
auto failure_code(Future&& from) -> std::error_code {
  try {
    static_cast<void>(from.get());
  } catch (const std::system_error& thrown) {
    return thrown.code();
  }
  return {};
}

}  // namespace braid::testing
