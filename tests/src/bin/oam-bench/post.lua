-- Posts the body in its first argument, over and over. At the end it says how many requests were answered, the time that
-- took in microseconds, the 99th percentile of their latency in microseconds, and how many failed.
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"

function init(arguments)
    wrk.body = arguments[1]
end

function done(summary, latency)
    local errors = summary.errors
    local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
    io.write(string.format("measured %d %d %d %d\n", summary.requests, summary.duration, latency:percentile(99), failed))
end
