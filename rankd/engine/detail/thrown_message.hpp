// rankd/engine/detail/thrown_message.hpp: the message of an exception that other code has caught.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <system_error>

namespace rankd::detail {

/// Returns whether an exception says that there was no memory. Requires an exception.
inline auto is_memory_shortage(const std::exception_ptr& thrown) -> bool {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    return true;
  } catch (const std::system_error& error) {
    return error.code() == std::errc::not_enough_memory;
  } catch (...) {
    return false;
  }
}

/// Requires an exception.
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
