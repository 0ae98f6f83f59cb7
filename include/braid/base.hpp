// braid/base.hpp: errors, results, contracts and time: what the other parts share.
// In it: `result`, `errc` and `fail`; `checked` and `diagnostics`; BRAID_EXPECTS; `arena`; `duration`, `time_point` and
// `manual_clock`.
#pragma once

#include <braid/base/arena.hpp>
#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
