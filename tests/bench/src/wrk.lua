-- Sends the requests of a file (the first argument) in turn, repeatedly, and prints the result as a line of JSON.
-- Lines of the file, with tabs between the cells:
--   H name value            a header of every request after it
--   R method path [body]    a request; a body that begins with @ is in the file of that name
local requests, last = {}, 0

local function content(body)
  if body == "" or body:sub(1, 1) ~= "@" then return body ~= "" and body or nil end
  local file = assert(io.open(body:sub(2), "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

function init(args)
  for line in io.lines(args[1]) do
    local kind, first, second, body = line:match("^(%u)\t([^\t]*)\t([^\t]*)\t?(.*)$")
    if kind == "H" then
      wrk.headers[first] = second
    else
      requests[#requests + 1] = wrk.format(first, second, nil, content(body))
    end
  end
end

function request()
  last = last % #requests + 1
  return requests[last]
end

function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    '{"requests":%d,"us":%d,"p50":%d,"p99":%d,"p999":%d,"status_errors":%d,"socket_errors":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    latency:percentile(99.9), e.status, e.connect + e.read + e.write + e.timeout))
end
