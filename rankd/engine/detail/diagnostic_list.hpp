// rankd/engine/detail/diagnostic_list.hpp: a helper for adding diagnostics about a request.
#pragma once

#include <braid/base/error.hpp>

#include <string>
#include <utility>

namespace rankd::detail {

/// Adds diagnostics that belong to no node. Their source is set later, for all diagnostics together.
struct diagnostic_list {
  braid::diagnostics& out;

  void add(std::string code, std::string pointer, std::string message, std::string hint = {}) {
    out.add({.code = std::move(code),
             .pointer = std::move(pointer),
             .message = std::move(message),
             .hint = std::move(hint),
             .node = {},
             .source = {}});
  }
};

}  // namespace rankd::detail
