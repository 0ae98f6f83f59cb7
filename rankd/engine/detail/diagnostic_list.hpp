// rankd/engine/detail/diagnostic_list.hpp: adds diagnostics about a request to a list of them.
#pragma once

#include <braid/base/error.hpp>

#include <string>
#include <utility>

namespace rankd::detail {

/// Diagnostics without a node; the source is filled in when all are known.
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
