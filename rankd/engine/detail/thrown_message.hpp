// rankd/engine/detail/thrown_message.hpp: returns the message of a caught exception.
#pragma once

#include <exception>
#include <string>

namespace rankd::detail {

/// Returns the message of an exception. Requires a pointer that is not null.
inline auto thrown_message(const std::exception_ptr& thrown) -> std::string {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& known) {
    return known.what();
  } catch (...) {
    return "an object that is not a std::exception";
  }
}

}  // namespace rankd::detail
