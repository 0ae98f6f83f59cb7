// src/task/executor.cpp: where the tables of the abstract classes of this layer live.
#include <braid/task/driver.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/timer_service.hpp>

namespace braid {

driver::~driver() = default;
executor::~executor() = default;
timer_service::~timer_service() = default;

}  // namespace braid
