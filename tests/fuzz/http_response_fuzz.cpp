// tests/fuzz/http_response_fuzz.cpp: any bytes as responses, to GET and to HEAD: the same in whatever pieces.
#include <tests/fuzz/http_pieces.hpp>
#include <tests/fuzz/target.hpp>

#include <string_view>

using namespace braid;
using namespace braid::testing;

namespace {

void expect_framing(const http_response_head& head, http_method asked) {
  const bool none = asked == http_method::head || braid::detail::is_bodiless(head.status);
  BRAID_EXPECTS(!none || head.body == http_framing{}, "what has no body has none, whatever it says");
  const bool chunked = head.body.how == http_framing::kind::chunked;
  BRAID_EXPECTS(!chunked || head.fields.count("content-length") == 0, "chunks have no length beside them");
  BRAID_EXPECTS(head.body.length <= fuzz_limits.body_bytes, "a body keeps to its limit");
  const bool open = head.body.how == http_framing::kind::until_close;
  BRAID_EXPECTS(!open || !head.keep_alive, "where the body ends with the connection, nothing follows");
}

void run(std::string_view input) {
  for (const http_method asked : {http_method::get, http_method::head}) {
    read_in_every_way<braid::detail::http_response_parser>(input, asked);
    braid::detail::http_response_parser parser(fuzz_limits);
    if (parser.parse(input, asked) == braid::detail::http_progress::complete) expect_framing(parser.head(), asked);
  }
}

}  // namespace

const braid::testing::fuzz_target braid::testing::target{.run = &run, .words = http_words};
