// braid/base/detail/memory_shortage.hpp: checks whether an exception reports a lack of memory.
#pragma once

#include <exception>
#include <new>
#include <system_error>

namespace braid::detail {

/// Returns whether the exception reports a lack of memory. Requires that `thrown` is not null.
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

}  // namespace braid::detail
