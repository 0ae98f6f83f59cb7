// src/task/executor.cpp: where the tables of the abstract classes of this layer live.
#include <braid/task/executor.hpp>
#include <braid/task/timer_service.hpp>

namespace braid {

executor::~executor() = default;
timer_service::~timer_service() = default;

}  // namespace braid
