// braid/base.hpp: errors, results, contracts and time, which all other parts of the library use.
// It contains `result`, `errc` and `fail`; `checked` and `diagnostics`; BRAID_EXPECTS; `arena`; `duration`,
// `time_point` and `manual_clock`.
#pragma once

#include <braid/base/arena.hpp>
#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
