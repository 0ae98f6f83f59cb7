// src/io/tls_backend.hpp: the table of OpenSSL functions, which is loaded when TLS is used for the first time.
#pragma once

#include "tls_setup.hpp"

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/io/tls.hpp>

#include <memory>
#include <string>

namespace braid::detail {

/// The functions that contain all calls of OpenSSL: src/io/openssl_*. In the shared form that is a separate library,
/// libbraid_tls, so that a program that does not use TLS does not load it.
struct tls_backend {
  auto (*client)(const tls_context::client_options& options) -> result<std::shared_ptr<const tls_setup>>;
  auto (*server)(const tls_context::server_options& options) -> result<std::shared_ptr<const tls_setup>>;
  /// Returns OpenSSL's message for a value of `tls_category` from `errors_of_certificates` on.
  auto (*message)(int value) -> std::string;
};

/// Values of `tls_category` from here on are verdicts on certificates (X509_V_ERR_…), or errors of OpenSSL's queue.
inline constexpr int errors_of_certificates = 4096;

/// Loads the library if it is not loaded yet. Returns null if it cannot be loaded; the next call tries again.
/// Threads: any. Blocks: the first call, to load OpenSSL.
[[nodiscard]] auto find_tls_backend() -> const tls_backend*;

}  // namespace braid::detail

/// The table: the only name that the library looks up in libbraid_tls.
extern "C" BRAID_API const braid::detail::tls_backend braid_tls_backend;
