// braid/base/detail/deleted.hpp: deleted functions with a reason in the error message.
#pragma once

/// Expands to `= delete` with a reason, which the compiler prints in its error message. If the compiler does not
/// support reasons, the macro expands to `= delete` alone.
#if defined(__clang__) && defined(__cpp_deleted_function)
#define BRAID_DELETED(reason)                                                                   \
  _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wc++26-extensions\"") = \
      delete (reason)_Pragma("clang diagnostic pop")
#else
#define BRAID_DELETED(reason) = delete
#endif
