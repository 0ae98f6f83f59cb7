// rankd/server/sinks/capture_sink.cpp: writes the rows that were captured at nodes of plans to files of captures.
#include <rankd/server/detail/served_request.hpp>

#include <rankd/server/files/arrow_file.hpp>
#include <rankd/server/sinks/captured_lines.hpp>
#include <rankd/server/files/line_file.hpp>

#include <new>

namespace rankd::detail {
namespace {

class capture_sink final : public request_sink {
 public:
  explicit capture_sink(const serve_context& serving) noexcept : serving_(&serving) {}

  /// Writes the captured rows of the plan. If the fallback plan ran, also writes the captured rows of the fallback
  /// plan.
  void receive(served_request& request) override {
    if (request.ranked == nullptr) return;
    const ranking& ranked = *request.ranked;
    const bound_plan& plan = *request.plan;
    add(request, plan, ranked.failed_before == nullptr ? ranked : *ranked.failed_before);
    if (ranked.failed_before != nullptr) add(request, *plan.substitute, ranked);
    if (ranked.failed_after != nullptr) add(request, *plan.substitute, *ranked.failed_after);
  }

 private:
  void add(const served_request& request, const bound_plan& plan, const ranking& ranked) {
    const line_origin origin{request.record, request.time, plan.name, plan.digest, serving_->redacted};
    for (const captured_rows& each : ranked.captured_by_plan) {
      add(serving_->captures, [&] { serving_->captures->add(capture_line(origin, each)); });
      add(serving_->arrow_captures, [&] { serving_->arrow_captures->add(make_copy(origin, each)); });
    }
  }

  /// Adds rows to a file, if there is one. If an allocation fails, these rows are lost, but later rows may still be
  /// written.
  template <typename File, typename Add>
  static void add(File* to, Add add_rows) {
    if (to == nullptr) return;
    try {
      add_rows();
    } catch (const std::bad_alloc&) {
      to->lose();
    }
  }

  const serve_context* serving_;
};

}  // namespace

void add_capture_sink(endpoint_context& context, request_sinks& sinks) {
  if (context.serving().captures == nullptr && context.serving().arrow_captures == nullptr) return;
  sinks.push_back(std::make_unique<capture_sink>(context.serving()));
}

}  // namespace rankd::detail
