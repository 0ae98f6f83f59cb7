// tests/fuzz/http_chunk_fuzz.cpp: any bytes as the chunks of a body; and any bytes as data that chunks bring over.
#include <tests/fuzz/http_pieces.hpp>
#include <tests/fuzz/target.hpp>

#include <braid/net/detail/http_encoder.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

using namespace braid;
using namespace braid::testing;

namespace {

constexpr http_framing chunked{http_framing::kind::chunked, 0};

struct decoded {
  std::string data;
  std::string trailers;
  std::size_t consumed = 0;
  bool finished = false;
  std::optional<http_errc> error;

  friend auto operator==(const decoded&, const decoded&) -> bool = default;
};

auto decode(const std::vector<std::string_view>& pieces, http_limits limits) -> decoded {
  decoded out;
  braid::detail::http_body_decoder decoder(limits);
  decoder.start(chunked);
  for (std::string_view input : pieces) {
    while (!input.empty() && !decoder.finished()) {
      const auto piece = decoder.next(input);
      if (!piece) {
        out.error = piece.error();
        return out;
      }
      BRAID_EXPECTS(piece->consumed > 0 && piece->consumed <= input.size(), "input is consumed");
      out.data += piece->data;
      out.consumed += piece->consumed;
      input.remove_prefix(piece->consumed);
    }
  }
  out.finished = decoder.finished();
  out.trailers = written(decoder.trailers());
  return out;
}

void run(std::string_view input) {
  const decoded whole = decode({input}, fuzz_limits);
  BRAID_EXPECTS(whole.data.size() <= fuzz_limits.body_bytes, "a body keeps to its limit");
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    decoded split = decode(cut(input, seed), fuzz_limits);
    if (whole.error) split.consumed = whole.consumed;
    BRAID_EXPECTS(split.error == whole.error && split.finished == whole.finished, "the pieces do not change the end");
    BRAID_EXPECTS(whole.error || (split == whole), "the pieces do not change the data");
  }
  std::string text;
  for (const std::string_view piece : cut(input, input.size())) braid::detail::append_chunk(text, piece);
  BRAID_EXPECTS(braid::detail::append_last_chunk(text, {}).has_value(), "a body can be ended");
  const decoded back = decode({text}, {});
  BRAID_EXPECTS(back.finished && back.data == input && back.consumed == text.size(), "data comes over in chunks");
}

}  // namespace

const braid::testing::fuzz_target braid::testing::target{.run = &run, .words = http_words};
