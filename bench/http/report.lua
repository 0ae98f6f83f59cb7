-- bench/http/report.lua: what wrk has seen, as numbers on one line.
function done(summary, latency, requests)
  local failed = summary.errors
  local errors = failed.connect + failed.read + failed.write + failed.status + failed.timeout
  print(string.format("%d %d %d %.1f %.1f", summary.requests, errors, summary.duration * 1000, latency:percentile(50),
                      latency:percentile(99)))
end
