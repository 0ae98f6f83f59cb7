// tests/fuzz/http_request_fuzz.cpp: any bytes as requests: the same in whatever pieces, and the same when written anew.
#include <tests/fuzz/http_pieces.hpp>
#include <tests/fuzz/target.hpp>

#include <braid/net/detail/http_encoder.hpp>
#include <braid/net/trace_context.hpp>

#include <string>
#include <string_view>
#include <vector>

using namespace braid;
using namespace braid::testing;

namespace {

/// The fields that `append_head` does not write by itself.
auto free_fields(const http_request_head& head) -> std::vector<http_fields::field> {
  std::vector<http_fields::field> out;
  for (const http_fields::field field : head.fields) {
    const auto fine = braid::detail::check_field(field);
    BRAID_EXPECTS(fine || fine.error() == http_errc::reserved_field, "what was read may be written");
    if (fine) out.push_back(field);
  }
  return out;
}

/// What was understood, written as a request of our own, is understood in the same way.
void write_anew(const http_request_head& head) {
  std::string target(head.path);
  if (head.target.find('?') != std::string_view::npos) (target += '?') += head.query;
  const std::vector<http_fields::field> fields = free_fields(head);
  const auto host = head.host.empty() ? std::string_view("none") : head.host;
  std::string text;
  const auto made = braid::detail::append_head(
      text, braid::detail::http_request_start{
                .method = head.method, .target = target, .host = host, .body = head.body, .fields = fields});
  BRAID_EXPECTS(made.has_value(), "what was understood can be written");
  braid::detail::http_request_parser again;
  BRAID_EXPECTS(again.parse(text) == braid::detail::http_progress::complete, "what was written is understood");
  BRAID_EXPECTS(again.size() == text.size(), "all of it is the head");
  BRAID_EXPECTS(again.head().method == head.method && again.head().path == head.path, "it is for the same");
  BRAID_EXPECTS(again.head().query == head.query && again.head().host == host, "it is at the same place");
  BRAID_EXPECTS(again.head().body == head.body, "its body is as long");
  for (const http_fields::field field : fields)
    BRAID_EXPECTS(again.head().fields.count(field.name) == head.fields.count(field.name), "no field is lost or new");
}

/// Whatever the fields say: a span that can be written, in the caller's trace where they name one.
void join_trace(const http_fields& fields) {
  const trace_context span = trace_context::of(fields);
  const auto again = trace_context::parse(span.traceparent());
  BRAID_EXPECTS(again && again->trace_id == span.trace_id && again->span_id == span.span_id, "a span can be read");
  const auto caller = trace_context::parse(fields.find("traceparent").value_or(""));
  const bool is_child = caller && span.trace_id == caller->trace_id && span.parent_id == caller->span_id;
  BRAID_EXPECTS(is_child || (span.parent_id == 0 && span.state.empty()), "a span is a child or the first one");
  BRAID_EXPECTS(span.state.size() <= 512, "a tracestate keeps to its limit");
}

void run(std::string_view input) {
  read_in_every_way<braid::detail::http_request_parser>(input);
  braid::detail::http_request_parser parser(fuzz_limits);
  if (parser.parse(input) != braid::detail::http_progress::complete) return;
  BRAID_EXPECTS(parser.size() <= input.size() && parser.size() <= fuzz_limits.head_bytes, "a head keeps to its limit");
  BRAID_EXPECTS(parser.head().target.size() <= fuzz_limits.target_bytes, "a target keeps to its limit");
  BRAID_EXPECTS(parser.head().fields.size() <= fuzz_limits.fields, "the fields keep to their limit");
  BRAID_EXPECTS(parser.head().body.length <= fuzz_limits.body_bytes, "a body keeps to its limit");
  BRAID_EXPECTS(parser.head().fields.count("content-length") <= 1, "there is one length at most");
  BRAID_EXPECTS(parser.head().fields.count("host") <= 1, "there is one host at most");
  BRAID_EXPECTS(input.substr(0, parser.size()).ends_with("\r\n\r\n"), "a head ends with an empty line");
  write_anew(parser.head());
  join_trace(parser.head().fields);
}

}  // namespace

const braid::testing::fuzz_target braid::testing::target{.run = &run, .words = http_words};
