-- For wrk: every write has as many requests as the first argument says.
local requests

function init(arguments)
    requests = string.rep(wrk.format(), tonumber(arguments[1]))
end

function request()
    return requests
end
