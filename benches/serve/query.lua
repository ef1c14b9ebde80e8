-- POST /v1/query with the texts of the file that TEXTS names, one a line, in turn.
local texts = require("texts")

request = function()
    local body = string.format('{"text":%s}', texts.next())
    return wrk.format("POST", "/v1/query", { ["content-type"] = "application/json" }, body)
end
