// braid/task/stop_signal.hpp: what can say that work is no longer wanted.
#pragma once

#include <braid/sync/stop_flag.hpp>

#include <concepts>
#include <stop_token>
#include <type_traits>

namespace braid {

/// A std::stop_token, or a stop_flag that stays where it is.
template <typename Signal>
concept stop_signal = std::same_as<std::remove_cvref_t<Signal>, std::stop_token> ||
                      (std::same_as<std::remove_cvref_t<Signal>, stop_flag> && std::is_lvalue_reference_v<Signal>);

}  // namespace braid
