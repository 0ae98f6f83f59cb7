// rankd/store/store.cpp: the embedded store as a store that operators can await, and the choice among stores.
#include <rankd/store/store.hpp>

#include <rankd/store/batch_read.hpp>
#include <rankd/store/embedded.hpp>
#include <rankd/store/error.hpp>
#include <rankd/store/model_server.hpp>
#include <rankd/store/redis_options.hpp>
#include <rankd/store/redis_store.hpp>

#include <concepts>
#include <filesystem>
#include <string>
#include <utility>
#include <variant>

namespace rankd {
namespace {

/// Takes a snapshot for each batch, so that batches on different threads share nothing.
class embedded_client final : public store {
 public:
  embedded_client(embedded_store data, std::filesystem::path path, std::string endpoint_id) noexcept
      : data_(std::move(data)), path_(std::move(path)), endpoint_id_(std::move(endpoint_id)) {}

  auto ask(store_question question, braid::arena& arena) -> braid::task<store_result<store_answer>> override {
    const auto snapshot = data_.take_snapshot();
    if (!snapshot) co_return braid::fail(snapshot.error());
    co_return std::visit(
        [&]<typename Question>(const Question& question) -> store_result<store_answer> {
          if constexpr (std::same_as<Question, model_call>)
            return braid::fail(store_errc::wrong_type);
          else
            return read_batch(*snapshot, question, arena);
        },
        question);
  }

  [[nodiscard]] auto explain(const store_error& error) const -> store_failure override {
    if (error == store_errc::wrong_type) return wrong_type_failure(endpoint_id_);
    store_failure failure = store::explain(error);
    if (error == store_errc::corrupt) failure = {"store_corrupt", damage().empty() ? error.message() : damage()};
    failure.message = "endpoint `" + endpoint_id_ + "` at `" + path_.string() + "`: " + failure.message;
    return failure;
  }

  [[nodiscard]] auto answers_at_once() const noexcept -> bool override { return true; }
  auto scrub(std::uint64_t max_bytes) -> scrub_step override { return data_.scrub(max_bytes); }

  [[nodiscard]] auto damage() const -> std::string override {
    const auto found = data_.damage();
    if (!found) return {};
    return data_file({}, data_.manifest().generation).string() + ": " + found->to_string();
  }

 private:
  embedded_store data_;
  std::filesystem::path path_;
  std::string endpoint_id_;
};

auto unsupported(const endpoint_entry& endpoint, std::string_view message) -> std::unexpected<braid::diagnostics> {
  return std::unexpected(
      braid::diagnostics({.code = "store_unsupported",
                          .pointer = {},
                          .message = "endpoint `" + endpoint.endpoint_id + "`: " + std::string(message),
                          .hint = {},
                          .node = {},
                          .source = {}}));
}

auto open_redis(const endpoint_entry& endpoint, server_messages words) -> braid::checked<std::unique_ptr<store>> {
  auto server = parse_redis_options(endpoint);
  if (!server) {
    server.error().set_source("endpoint `" + endpoint.endpoint_id + "`");
    return std::unexpected(std::move(server.error()));
  }
  return std::make_unique<redis_store>(redis_store_options{.endpoint_id = endpoint.endpoint_id,
                                                           .server = std::move(*server),
                                                           .connections = endpoint.policy.connections,
                                                           .words = words});
}

auto open_model_server(const endpoint_entry& endpoint, server_messages words)
    -> braid::checked<std::unique_ptr<store>> {
  auto server = make_model_server_options(endpoint, words);
  if (!server) {
    server.error().set_source("endpoint `" + endpoint.endpoint_id + "`");
    return std::unexpected(std::move(server.error()));
  }
  return std::make_unique<model_server>(std::move(*server));
}

}  // namespace

auto store::explain(const store_error& error) const -> store_failure {
  return {"store_error", "the store refused to answer: " + error.message()};
}

auto store::scrub(std::uint64_t /*max_bytes*/) -> scrub_step { return {}; }

auto store::damage() const -> std::string { return {}; }

auto wrong_type_failure(std::string_view endpoint_id) -> store_failure {
  return {"store_wrong_type",
          "endpoint `" + std::string(endpoint_id) + "`: " + make_error_code(store_errc::wrong_type).message()};
}

auto open_store(const endpoint_entry& endpoint, const std::filesystem::path& root, server_messages words)
    -> braid::checked<std::unique_ptr<store>> {
  if (endpoint.kind == endpoint_entry::kind_type::http) return open_model_server(endpoint, words);
  if (!is_store(endpoint)) return unsupported(endpoint, "a file of vectors is not a store");
  const auto* embedded = std::get_if<endpoint_entry::embedded_resolver>(&endpoint.resolver);
  if (embedded == nullptr) return open_redis(endpoint, words);
  std::filesystem::path path = root / embedded->path;
  auto data = embedded_store::open(path);
  if (!data) return std::unexpected(std::move(data.error()));
  return std::make_unique<embedded_client>(std::move(*data), std::move(path), endpoint.endpoint_id);
}

}  // namespace rankd
