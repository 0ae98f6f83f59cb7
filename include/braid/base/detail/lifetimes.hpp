// braid/base/detail/lifetimes.hpp: attributes with which clang reports arguments that are destroyed before their
// coroutine.
#pragma once

#if defined(BRAID_CHECK_LIFETIMES) && defined(__has_cpp_attribute)
#if __has_cpp_attribute(clang::coro_return_type) && __has_cpp_attribute(clang::coro_lifetimebound)
#define BRAID_HAS_LIFETIME_CHECKS
#endif
#endif

/// Marks a class that coroutines return. Under BRAID_CHECK_LIFETIMES, clang assumes that each argument of such a
/// coroutine must live as long as the returned object.
#if defined(BRAID_HAS_LIFETIME_CHECKS)
#define BRAID_COROUTINE_TYPE [[clang::coro_return_type, clang::coro_lifetimebound]]
#else
#define BRAID_COROUTINE_TYPE
#endif

/// Marks a function that returns a class for coroutines (see above) but is not itself a coroutine. Under
/// BRAID_CHECK_LIFETIMES, clang refuses unmarked functions of this kind, and does not check the arguments of marked
/// functions.
#if defined(BRAID_HAS_LIFETIME_CHECKS)
#define BRAID_COROUTINE_WRAPPER [[clang::coro_wrapper]]
#else
#define BRAID_COROUTINE_WRAPPER
#endif

// Templates of the standard library, such as std::invoke and std::function, return a class for coroutines if their
// callable does. These templates are marked here, because the attribute must be on their first declaration.
#if defined(BRAID_HAS_LIFETIME_CHECKS)
#pragma clang attribute push(__attribute__((coro_wrapper)), apply_to = function)
#include <algorithm>
#include <array>
#include <expected>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>
#pragma clang attribute pop
#endif
