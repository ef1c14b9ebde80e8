-- PUT /v1/documents/{key} with the texts of the file that TEXTS names, each time under a new key.
local texts = require("texts")
local puts = 0

request = function()
    puts = puts + 1
    local body = string.format('{"text":%s}', texts.next())
    local path = "/v1/documents/wrk-" .. puts
    return wrk.format("PUT", path, { ["content-type"] = "application/json" }, body)
end
