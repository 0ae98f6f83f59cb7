// tests/rankd/store/inference_messages_test.cpp: the inference protocol by gRPC: what is sent, which answers are read,
// and what wrong answers and failed calls say.
#include <rankd/store/detail/inference_messages.hpp>

#include <rankd/store/error.hpp>
#include <rankd/store/model_server.hpp>

#include <tests/rankd/store/asking.hpp>
#include <tests/support/http2_peer.hpp>
#include <tests/support/http_scene.hpp>

#include <braid/base/arena.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/with_scope.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using namespace rankd::detail;
using namespace std::chrono_literals;
using braid::http_exchange;
using braid::http_status;
using braid::testing::http_scene;
using rankd::testing::ask_store;

namespace {

using words = std::vector<std::string_view>;

auto varint(std::uint64_t value) -> std::string {
  std::string out;
  for (; value >= 128; value /= 128) out += static_cast<char>(value % 128 + 128);
  return out += static_cast<char>(value);
}

auto field(unsigned number, std::string_view bytes) -> std::string {
  return varint(number * 8 + 2) + varint(bytes.size()) + std::string(bytes);
}

auto number_field(unsigned number, std::uint64_t value) -> std::string { return varint(number * 8) + varint(value); }

template <typename Value>
auto raw(std::initializer_list<Value> values) -> std::string {
  std::string out;
  for (const Value each : values) {
    const auto bytes = std::bit_cast<std::array<char, sizeof(Value)>>(each);
    out.append(bytes.data(), bytes.size());
  }
  return out;
}

auto tensor(std::string_view name, std::string_view type, std::initializer_list<std::uint64_t> shape,
            std::string_view contents = {}) -> std::string {
  std::string dimensions;
  for (const std::uint64_t each : shape) dimensions += varint(each);
  std::string out = field(1, name) + field(2, type) + field(3, dimensions);
  if (!contents.empty()) out += field(5, contents);
  return field(5, out);
}

/// Contents of floats.
auto floats(std::initializer_list<float> values) -> std::string { return field(6, raw(values)); }

constexpr std::array price{1.5, -2.0};
constexpr std::array<std::int64_t, 2> stock{3, -9'007'199'254'740'993};
constexpr std::array in_sale{true, false};
constexpr std::array<std::string_view, 2> color{"red", ""};
const std::array numbers{model_input{.name = "price", .values = std::span<const double>(price)}};

auto two_rows() -> model_call { return {.model = "ctr", .inputs = numbers, .rows = 2}; }

/// The scores of a response, row by row, or what is wrong with it.
auto scores_in(std::string_view response, const words& outputs = {}, std::size_t scores = 1) -> std::string {
  model_call call = two_rows();
  call.outputs = outputs;
  call.scores = outputs.empty() ? scores : outputs.size();
  std::vector<double> into(call.rows * call.scores, std::numeric_limits<double>::quiet_NaN());
  if (std::string wrong = read_message_scores(response, call, {.begin = 0, .end = 2}, into); !wrong.empty())
    return wrong;
  std::string out;
  for (std::size_t row = 0; row < 2; ++row)
    for (std::size_t at = 0; at < call.scores; ++at) {
      const double value = into[at * 2 + row];
      out += (out.empty() ? "" : " ") + (std::isnan(value) ? "-" : nlohmann::json(value).dump());
    }
  return out;
}

/// A server of models that speaks gRPC.
struct grpc_scene {
  std::vector<std::string> bodies;
  std::vector<std::string> seen;  ///< fields of the last call
  std::function<void(http_exchange&)> answer;
  braid::http_router routes;
  std::deque<model_server> servers;  // which outlive the loop
  std::optional<http_scene> scene;
  braid::arena memory;
  std::string last;  ///< message of a failure

  explicit grpc_scene(std::function<void(http_exchange&)> how, braid::http_server::options serving = {})
      : answer(std::move(how)) {
    routes.add(braid::http_method::post, "/inference.GRPCInferenceService/{method}",
               [this](http_exchange& exchange) -> braid::task<void> { return take(*this, exchange); });
    scene.emplace(routes, std::move(serving));
  }

  static auto take(grpc_scene& by, http_exchange& exchange) -> braid::task<void> {
    by.seen.clear();
    for (const std::string_view name : {"content-type", "te", "grpc-timeout", "authorization"})
      by.seen.emplace_back(exchange.request().fields.find(name).value_or("-"));
    by.seen.emplace_back(exchange.request().target);
    const auto body = co_await exchange.read_all();
    by.bodies.push_back(body.value());
    if (by.answer == nullptr) co_await braid::sleep_for(1h);
    if (by.answer != nullptr) by.answer(exchange);
  }

  [[nodiscard]] auto options() const -> model_server_options {
    model_server_options out{.endpoint_id = "ep_0002",
                             .origin = "http://127.0.0.1:" + std::to_string(scene->address().port())};
    out.by_grpc = true;
    out.breaker.failures = 0;
    return out;
  }

  auto add(model_server_options how) -> model_server& { return servers.emplace_back(std::move(how)); }

  /// What comes back for a call, or its code.
  auto ask(model_server& at, const model_call& what, braid::duration step = {}) -> std::string {
    const auto got = scene->here.run_through(ask_store(at, what, memory), step).take();
    if (!got) {
      last = at.explain(got.error()).message;
      return at.explain(got.error()).code;
    }
    std::string out;
    for (std::size_t row = 0; row < got->rows(); ++row)
      out += (out.empty() ? "" : " ") + nlohmann::json(got->at(row, 0)).dump();
    return out;
  }

  auto ready(const model_server_options& how) -> std::string {
    braid::blocking_pool lookups({.max_threads = 1});
    return scene->here.run(ask_model_server(scene->here.io(), lookups, how)).take().value_or("ready");
  }
};

auto answer_with(std::string message, std::string status = "0") -> std::function<void(http_exchange&)> {
  return [message = std::move(message), status = std::move(status)](http_exchange& exchange) {
    CHECK(exchange.set_trailer("grpc-status", status));
    exchange.reply(http_status::ok, "application/grpc", framed_message(message));
  };
}

constexpr std::string_view advice =
    R"(; if the server expects JSON, remove `protocol = "grpc"` from the resolver of the endpoint)";

/// An answer that is a status only.
auto refuse_with(std::string status, std::string message = {}, http_status by_http = http_status::ok)
    -> std::function<void(http_exchange&)> {
  return [status = std::move(status), message = std::move(message), by_http](http_exchange& exchange) {
    if (!status.empty()) CHECK(exchange.set_field("grpc-status", status));
    if (!message.empty()) CHECK(exchange.set_field("grpc-message", message));
    exchange.reply(by_http, "application/grpc", {});
  };
}

}  // namespace

TEST_CASE("a request has a tensor for each input, or one of floats") {
  const std::array all{model_input{.name = "price", .values = std::span<const double>(price)},
                       model_input{.name = "stock", .values = std::span<const std::int64_t>(stock)},
                       model_input{.name = "in_sale", .values = std::span<const bool>(in_sale)},
                       model_input{.name = "color", .values = model_input::texts(color)}};
  const words wanted{"y[1]", "y[0]", "z"};
  model_call call{.model = "ctr", .version = "3", .inputs = all, .outputs = wanted, .rows = 2};
  CHECK(inference_message(call, {0, 2}) ==
        field(1, "ctr") + field(2, "3") + tensor("price", "FP64", {2, 1}, field(7, raw({1.5, -2.0}))) +
            tensor("stock", "INT64", {2, 1}, field(3, varint(3) + varint(static_cast<std::uint64_t>(stock[1])))) +
            tensor("in_sale", "BOOL", {2, 1}, field(1, std::string("\1\0", 2))) +
            tensor("color", "BYTES", {2, 1}, field(8, "red") + field(8, "")) + field(6, field(1, "y")) +
            field(6, field(1, "z")));
  const std::array pair{all[0], model_input{.name = "big", .values = std::span<const double>(price)}};
  call = {.model = "ctr", .inputs = pair, .tensor = "x", .floats = float_width::bits_32, .rows = 2};
  CHECK(inference_message(call, {1, 2}) == field(1, "ctr") + tensor("x", "FP32", {1, 2}, floats({-2.0F, -2.0F})));
}

TEST_CASE("scores are read from typed and from raw contents of all datatypes") {
  const std::uint64_t minus_one = std::numeric_limits<std::uint64_t>::max();
  struct row {
    std::string_view type;
    std::string contents;
    std::string raw;
    std::string scores;
  };
  const std::vector<row> rows{
      {"FP32", floats({0.5F, -1.0F}), raw({0.5F, -1.0F}), "0.5 -1.0"},
      {"FP64", field(7, raw({0.25, -1.0})), raw({0.25, -1.0}), "0.25 -1.0"},
      {"BOOL", field(1, std::string("\1\0", 2)), std::string("\1\0", 2), "1.0 0.0"},
      {"INT8", field(2, varint(7) + varint(minus_one)), raw<std::int8_t>({7, -1}), "7.0 -1.0"},
      {"INT16", field(2, varint(7) + varint(minus_one)), raw<std::int16_t>({7, -1}), "7.0 -1.0"},
      {"INT32", field(2, varint(7) + varint(minus_one)), raw<std::int32_t>({7, -1}), "7.0 -1.0"},
      {"INT64", field(3, varint(7) + varint(minus_one)), raw<std::int64_t>({7, -1}), "7.0 -1.0"},
      {"UINT8", field(4, varint(7) + varint(255)), raw<std::uint8_t>({7, 255}), "7.0 255.0"},
      {"UINT16", field(4, varint(7) + varint(65535)), raw<std::uint16_t>({7, 65535}), "7.0 65535.0"},
      {"UINT32", field(4, varint(7) + varint(4294967295)), raw<std::uint32_t>({7, 4294967295}), "7.0 4294967295.0"},
      {"UINT64", field(5, varint(7) + varint(minus_one)), raw<std::uint64_t>({7, minus_one}),
       "7.0 1.8446744073709552e+19"},
      {"FP16", {}, raw<std::uint16_t>({0x3800, 0xBC00}), "0.5 -1.0"},
      {"FP16", {}, raw<std::uint16_t>({0x0001, 0x7E00}), "5.960464477539063e-08 -"},
      {"BF16", {}, raw<std::uint16_t>({0x3F00, 0xBF80}), "0.5 -1.0"},
      {"FP32", floats({std::numeric_limits<float>::quiet_NaN(), 2.0F}), {}, "- 2.0"},
  };
  const words chosen{"y[0]"};  // integers are scores only if their column is chosen
  for (const row& each : rows) {
    INFO(each.type);
    if (!each.contents.empty()) CHECK(scores_in(tensor("y", each.type, {2, 1}, each.contents), chosen) == each.scores);
    if (!each.raw.empty()) CHECK(scores_in(tensor("y", each.type, {2}) + field(6, each.raw), chosen) == each.scores);
  }
}

TEST_CASE("tensors are found by their names, and columns by their numbers") {
  const std::string labels = tensor("label", "INT64", {2}, field(3, varint(0) + varint(1)));
  const std::string both = labels + tensor("p", "FP32", {2, 2}, floats({0.75F, 0.25F, 0.5F, 0.125F}));
  CHECK(scores_in(both, {"p[1]"}) == "0.25 0.125");
  CHECK(scores_in(both, {"p[1]", "label[0]"}) == "0.25 0.0 0.125 1.0");
  const std::string unpacked = field(1, "y") + field(2, "FP32") + number_field(3, 2) + number_field(3, 1) +
                               field(5, varint(6 * 8 + 5) + raw({0.5F}) + varint(6 * 8 + 5) + raw({1.0F}));
  CHECK(scores_in(field(5, unpacked)) == "0.5 1.0");
  CHECK(scores_in(field(1, "ctr") + field(4, "parameters") + tensor("y", "FP32", {2}, floats({1, 2})) +
                  number_field(99, 7)) == "1.0 2.0");
  CHECK(scores_in(tensor("y", "FP32", {2, 2}, floats({1, 2, 3, 4})), {}, 2) == "1.0 2.0 3.0 4.0");
}

TEST_CASE("a wrong answer says what is wrong with it") {
  const std::string good = tensor("y", "FP32", {2}, floats({1, 2}));
  const std::string_view broken = "the answer is not a valid protobuf message";
  const std::vector<std::pair<std::string, std::string_view>> rows{
      {"", "the answer has 0 tensors, but the node does not say which to use; name one of these in `outputs`: "},
      {"\xff", broken},
      {good.substr(0, good.size() - 1), broken},
      {std::string("\x2b\x2c", 2), broken},  // a group
      {std::string("\x02\x00", 2), broken},  // field 0
      {field(5, "\x1a\x01\xff"), broken},    // a dimension that does not end
      {good + good,
       "the answer has 2 tensors, but the node does not say which to use; name one of these in `outputs`: `y`, `y`"},
      {tensor("y", "FP32", {3}, floats({1, 2, 3})), "the tensor `y` has no shape of 2 rows"},
      {tensor("y", "FP32", {}, floats({1, 2})), "the tensor `y` has no shape of 2 rows"},
      {tensor("y", "FP32", {2, std::numeric_limits<std::uint64_t>::max(), 2}, floats({1, 2})),
       "the tensor `y` has no shape of 2 rows"},
      {tensor("y", "FP32", {2, 2}, floats({1, 2, 3, 4})),
       "the tensor `y` has 2 values for each row, but the plan needs 1; name one column in `outputs`, such as `y[1]`"},
      {tensor("y", "FP32", {2}, floats({1})), "the tensor `y` has 1 value in place of 2"},
      {tensor("y", "FP32", {2}), "the tensor `y` has no `data`, which must be an array of numbers"},
      {tensor("y", "FP32", {2}, floats({1, std::numeric_limits<float>::infinity()})),
       "the tensor `y` has a value that is not a finite number, for row 1"},
      {tensor("y", "FP32", {2}, field(6, "abc")), "the contents of a tensor are not a valid protobuf message"},
      {tensor("y", "FP32", {2}, number_field(6, 1)), "the contents of a tensor are not a valid protobuf message"},
      {tensor("y", "FP32", {2}, field(7, raw({1.0, 2.0}))), "a tensor has contents that are not of its datatype FP32"},
      {tensor("y", "FP16", {2}, floats({1, 2})), "a tensor has contents that are not of its datatype FP16"},
      {tensor("y", "FP8", {2}, floats({1, 2})), "the datatype `FP8` is not one of the inference protocol"},
      {tensor("y", "", {2}, floats({1, 2})), "the datatype `` is not one of the inference protocol"},
      {tensor("y", "FP32", {2}) + field(6, raw({1.0F, 2.0F})) + field(6, ""),
       "the answer has 1 tensor and 2 raw contents"},
      {good + tensor("z", "FP32", {2}) + field(6, ""), "the answer has 2 tensors and 1 raw content"},
      {tensor("y", "FP32", {2}) + field(6, "1234567"),
       "the raw contents of a tensor end in the middle of a value of the datatype FP32"},
      {tensor("y", "BYTES", {2}) + field(6, std::string("\x05\0\0\0a", 5)),
       "the raw contents of a tensor end in the middle of a value of the datatype BYTES"},
      {tensor("y", "FP8", {2}) + field(6, "12"), "the datatype `FP8` is not one of the inference protocol"},
  };
  for (const auto& [response, why] : rows) {
    INFO(why);
    CHECK(scores_in(response) == why);
  }
  CHECK(scores_in(tensor("y", "BYTES", {2}, field(8, "1") + field(8, "2")))
            .starts_with("the tensor `y` has the datatype BYTES, which contains labels instead of scores"));
  CHECK(scores_in(tensor("y", "BYTES", {2}) + field(6, std::string("\1\0\0\0a\0\0\0\0", 9)), {"y[0]"}) ==
        "the tensor `y` has a value that is not a finite number, for row 0");
  CHECK(scores_in(good, {"z"}) == "the answer has no tensor `z`; it has `y`");
  CHECK(scores_in(good, {"y[1]"}) == "the tensor `y` has 1 value for each row, numbered from 0, but no column 1");
  std::string many;
  for (int i = 0; i < 100; ++i) many += tensor("y", "FP32", {2}, floats({1, 2}));
  many += field(5, "\xff");  // so many are not read
  CHECK(scores_in(many).starts_with("the answer has 101 tensors"));
}

TEST_CASE("a call has the head of gRPC, and its scores come back") {
  if (!braid::testing::can_speak_http2()) return;
  grpc_scene at(answer_with(tensor("y", "FP32", {2}, floats({0.5F, 2.0F}))));
  model_server_options options = at.options();
  options.request_timeout = 1500us;
  options.token = "t0k";
  model_server& server = at.add(options);
  CHECK(at.ask(server, two_rows()) == "0.5 2.0");
  CHECK(at.seen == std::vector<std::string>{"application/grpc", "trailers", "2m", "Bearer t0k",
                                            "/inference.GRPCInferenceService/ModelInfer"});
  CHECK(at.bodies.back() == framed_message(inference_message(two_rows(), {0, 2})));
  at.answer = answer_with(tensor("y", "FP32", {1}, floats({0.5F})));
  model_call each = two_rows();
  each.rows_per_call = 1;
  CHECK(at.ask(server, each) == "0.5 0.5");
  CHECK(at.bodies.size() == 3);
  CHECK(at.scene->here.run(braid::with_timeout(1ms, ask_store(server, two_rows(), at.memory))).take().has_value());
  CHECK(at.seen[2] == "1m");  // the deadline is earlier than the timeout of the endpoint
}

TEST_CASE("a status of gRPC decides the code, and the server's words are shown only if they may be") {
  if (!braid::testing::can_speak_http2()) return;
  grpc_scene at(refuse_with("5", "no model `a%25b`"));
  model_server_options options = at.options();
  model_server& hidden = at.add(options);
  CHECK(at.ask(hidden, two_rows()) == "model_refused");
  CHECK(at.last == "endpoint `ep_0002` at " + options.origin + ": the server answers with gRPC status 5 (NOT_FOUND)");
  options.words = server_messages::shown;
  model_server& shown = at.add(options);
  CHECK(at.ask(shown, two_rows()) == "model_refused");
  CHECK(at.last.ends_with("(NOT_FOUND); the server says: no model `a%b`"));
  const std::vector<std::pair<std::string, std::string_view>> statuses{
      {"3", "model_refused"},      {"4", "model_timeout"},  {"8", "model_overloaded"},  {"13", "model_refused"},
      {"14", "model_unreachable"}, {"77", "model_refused"}, {"-1", "model_bad_answer"}, {"x", "model_bad_answer"}};
  for (const auto& [status, code] : statuses) {
    INFO(status);
    at.answer = refuse_with(status);
    CHECK(at.ask(shown, two_rows()) == code);
    at.answer = answer_with(tensor("y", "FP32", {2}, floats({1, 2})), status);
    CHECK(at.ask(shown, two_rows()) == code);
  }
  at.answer = refuse_with("", "", http_status::bad_gateway);
  CHECK(at.ask(shown, two_rows()) == "model_unreachable");
  CHECK(at.last.contains("the server answers with status 502"));
}

TEST_CASE("an answer that is not one message of gRPC says what is wrong with it") {
  if (!braid::testing::can_speak_http2()) return;
  const std::string good = framed_message(tensor("y", "FP32", {2}, floats({1, 2})));
  const std::string size = std::to_string(good.size() - 5);
  std::string compressed = good;
  compressed[0] = '\1';
  grpc_scene at(nullptr);
  model_server& server = at.add(at.options());
  const std::vector<std::pair<std::string, std::string>> rows{
      {"", "the answer has no gRPC message"},
      {good.substr(0, 4), "the answer has no gRPC message"},
      {compressed, "the message in the answer is compressed, but the call does not allow compression"},
      {good.substr(0, good.size() - 1),
       "the message in the answer must have " + size + " bytes, got " + std::to_string(good.size() - 6)},
      {good + "x", "the message in the answer must have " + size + " bytes, got " + std::to_string(good.size() - 4)},
  };
  for (const auto& [body, why] : rows) {
    INFO(why);
    at.answer = [&](http_exchange& exchange) {
      CHECK(exchange.set_trailer("grpc-status", "0"));
      exchange.reply(http_status::ok, "application/grpc", body);
    };
    CHECK(at.ask(server, two_rows()) == "model_bad_answer");
    CHECK(at.last.ends_with(why));
  }
  at.answer = [&](http_exchange& exchange) { exchange.reply(http_status::ok, "application/grpc", good); };
  CHECK(at.ask(server, two_rows()) == "model_bad_answer");
  CHECK(at.last.ends_with("the answer has no grpc-status"));
  const std::size_t most = max_answer_bytes(two_rows(), {0, 2});
  at.answer = answer_with(std::string(most, 'x'));
  CHECK(at.ask(server, two_rows()) == "model_bad_answer");
  CHECK(at.last.ends_with("the answer has more than " + std::to_string(most) +
                          " bytes, but the scores of 2 rows need fewer"));
}

TEST_CASE("a server that does not answer costs the time of a call") {
  if (!braid::testing::can_speak_http2()) return;
  grpc_scene at(nullptr);
  CHECK(at.ask(at.add(at.options()), two_rows(), 100ms) == "model_timeout");
  model_server_options options = at.options();
  options.origin = "http://127.0.0.1:1";
  CHECK(at.ask(at.add(options), two_rows()) == "model_unreachable");
}

TEST_CASE("a server of HTTP/1 is named as such") {
  if (!braid::testing::can_speak_http2()) return;
  grpc_scene old(nullptr, {.http2 = {.enabled = false}});
  CHECK(old.ask(old.add(old.options()), two_rows()) == "model_bad_answer");
  CHECK(old.last.contains("the server uses HTTP/1"));
  CHECK(old.last.ends_with(advice));
  CHECK(old.ready(old.options()).ends_with(advice));
}

TEST_CASE("a server of JSON that speaks HTTP/2 is named as such, and other refusals are not taken for that") {
  if (!braid::testing::can_speak_http2()) return;
  grpc_scene at(refuse_with("", "", http_status::not_found));
  CHECK(at.ask(at.add(at.options()), two_rows()) == "model_refused");
  CHECK(at.last.ends_with(advice));
  for (const http_status other : {http_status::unauthorized, http_status::service_unavailable}) {
    at.answer = refuse_with("", "", other);
    static_cast<void>(at.ask(at.add(at.options()), two_rows()));
    CHECK_FALSE(at.last.contains("protocol"));
  }
}

TEST_CASE("failures of the server open the breaker, and refusals do not") {
  if (!braid::testing::can_speak_http2()) return;
  grpc_scene at(refuse_with("14"));
  model_server_options options = at.options();
  options.breaker = {.failures = 2, .rest = 1s};
  model_server& server = at.add(options);
  CHECK(at.ask(server, two_rows()) == "model_unreachable");
  CHECK(at.ask(server, two_rows()) == "model_unreachable");
  CHECK(at.ask(server, two_rows()) == "model_unreachable");
  CHECK(at.last.ends_with("the last calls to this server have failed, so rankd sends no calls for a moment"));
  CHECK(at.bodies.size() == 2);
  at.scene->here.advance(1s);
  at.answer = refuse_with("5");
  for (int n = 0; n < 4; ++n) CHECK(at.ask(server, two_rows()) == "model_refused");
  CHECK(at.bodies.size() == 6);
}

TEST_CASE("a server says by gRPC whether it is ready") {
  if (!braid::testing::can_speak_http2()) return;
  grpc_scene at(answer_with(number_field(1, 1)));
  CHECK(at.ready(at.options()) == "ready");
  CHECK(at.seen.back() == "/inference.GRPCInferenceService/ServerReady");
  at.answer = answer_with("");
  CHECK(at.ready(at.options()) == "it answers to ServerReady that it is not ready");
  at.answer = refuse_with("12");
  CHECK(at.ready(at.options()) == "the server answers with gRPC status 12 (UNIMPLEMENTED) to ServerReady");
  at.answer = refuse_with("", "", http_status::not_found);
  CHECK(at.ready(at.options()).starts_with("it answers 404 to ServerReady; if the server expects JSON, "));
}
