// src/io/tls_backend.hpp: declares the table of functions that call OpenSSL. The table is loaded when TLS is used for
// the first time.
#pragma once

#include "tls_setup.hpp"

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/io/tls.hpp>

#include <memory>
#include <string>

namespace braid::detail {

/// The functions that call OpenSSL; the files src/io/openssl_* implement them. In a shared build, these functions are
/// in a separate library, libbraid_tls, so that programs without TLS do not load OpenSSL.
struct tls_backend {
  auto (*client)(const tls_context::client_options& options) -> result<std::shared_ptr<const tls_setup>>;
  auto (*server)(const tls_context::server_options& options) -> result<std::shared_ptr<const tls_setup>>;
  /// Returns OpenSSL's message for an error value of `tls_category` that is at least `errors_of_certificates`.
  auto (*message)(int value) -> std::string;
};

/// The first value of `tls_category` that stands for a failed certificate verification (X509_V_ERR_…) or an error of
/// OpenSSL's queue.
inline constexpr int errors_of_certificates = 4096;

/// Loads libbraid_tls if it is not loaded yet, and returns its table. Returns null if the library cannot be loaded; the
/// next call tries again.
/// Threads: any. Blocks: the first call, to load OpenSSL.
[[nodiscard]] auto find_tls_backend() -> const tls_backend*;

}  // namespace braid::detail

/// The function table, which is the only symbol that this library looks up in libbraid_tls.
extern "C" BRAID_API const braid::detail::tls_backend braid_tls_backend;
