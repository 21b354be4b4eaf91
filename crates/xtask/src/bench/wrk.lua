-- Sends the requests of a file (the first argument), one after the other, again and again, and prints what came of it
-- as a line of JSON. Lines of the file, cells between tabs:
--   H name value            a header of every request
--   R method path [file]    a request, with the content of the file as its body
local requests, at = {}, 0

local function content(name)
  local file = assert(io.open(name, "rb"))
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
      requests[#requests + 1] = wrk.format(first, second, nil, body ~= "" and content(body) or nil)
    end
  end
end

function request()
  at = at % #requests + 1
  return requests[at]
end

function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    '{"requests":%d,"us":%d,"p50":%d,"p99":%d,"refused":%d,"broken":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    e.status, e.connect + e.read + e.write + e.timeout))
end
