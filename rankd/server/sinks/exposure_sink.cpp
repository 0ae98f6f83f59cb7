// rankd/server/sinks/exposure_sink.cpp: writes the exposure log, which has a line for each answer with candidates.
#include <rankd/server/detail/served_request.hpp>

#include <rankd/server/sinks/captured_lines.hpp>
#include <rankd/server/files/line_file.hpp>

namespace rankd::detail {
namespace {

class exposure_sink final : public request_sink {
 public:
  explicit exposure_sink(const serve_context& serving) noexcept : serving_(&serving) {}

  void receive(served_request& request) override {
    if (request.ranked == nullptr || request.ranked->error) return;
    const request_record& record = request.record;
    serving_->exposures->add(
        exposure_line({record, request.time, record.plan, record.plan_digest, serving_->redacted}, *request.ranked));
  }

  void lose(const served_request& /*request*/) noexcept override { serving_->exposures->lose(); }

 private:
  const serve_context* serving_;
};

}  // namespace

void add_exposure_sink(endpoint_context& context, request_sinks& sinks) {
  if (context.serving().exposures != nullptr) sinks.push_back(std::make_unique<exposure_sink>(context.serving()));
}

}  // namespace rankd::detail
