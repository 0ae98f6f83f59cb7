// rankd/server/sinks/audit_sink.cpp: writes the audit, which has a line for each request to rank, with everything that
// is needed to send the request again.
#include <rankd/server/detail/served_request.hpp>

#include <rankd/server/files/line_file.hpp>

namespace rankd::detail {
namespace {

class audit_sink final : public request_sink {
 public:
  explicit audit_sink(const serve_context& serving) noexcept : serving_(&serving) {}

  void receive(served_request& request) override {
    if (is_reported(request)) serving_->audit->add(audit_line(request.record, serving_->redacted));
  }

  void lose(const served_request& /*request*/) noexcept override { serving_->audit->lose(); }

 private:
  const serve_context* serving_;
};

}  // namespace

void add_audit_sink(endpoint_context& context, request_sinks& sinks) {
  if (context.serving().audit != nullptr) sinks.push_back(std::make_unique<audit_sink>(context.serving()));
}

}  // namespace rankd::detail
